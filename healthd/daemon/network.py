"""The machine's network, looked at when a remote check fails: reads the link, decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from healthd.daemon.inbox import Inbox
from healthd.daemon.looks import Spawn
from healthd.host import link
from healthd.judge.network import NETWORK, network_check
from healthd.model import (
    CheckKey,
    Declared,
    DeclaredCheck,
    FailureClass,
    Link,
    LinkSeen,
    Look,
    Looked,
    Outcome,
    Reason,
)

_UNREADABLE = Look(
    Outcome.NOT_JUDGED,
    Reason.UNKNOWN,
    "the machine's routes cannot be read",
    failure_class=FailureClass.COULD_NOT_RUN,
)


class Network:
    """Holds whether there is anything that needs the network, and whether a reading is under way.

    A reading that was asked for while another was under way is made after it: what it is judged
    with may be newer.
    """

    def __init__(self, inbox: Inbox, spawn: Spawn, read: Callable[[], Link] = link.read) -> None:
        self._inbox = inbox
        self._spawn = spawn
        self._read = read
        self._needed = False
        self._reading = False
        self._again = False

    def declare(self, declared: Mapping[CheckKey, DeclaredCheck], *, network: bool) -> None:
        """The settings say which checks there are: the network is judged where one needs it."""
        needed = network and any(d.check.remote for d in declared.values())
        self._inbox.put(NETWORK, Declared((network_check(),) if needed else ()))
        self._needed = needed
        self.look()

    def look(self) -> None:
        """Read the link soon."""
        if not self._needed:
            return
        self._again = self._reading
        if not self._reading:
            self._reading = True
            self._spawn(self._look())

    async def _look(self) -> None:
        while True:
            try:
                self._inbox.put(NETWORK, LinkSeen(await asyncio.to_thread(self._read)))
            except (OSError, ValueError):
                self._inbox.put(NETWORK, Looked(NETWORK, _UNREADABLE))
            if not self._again:
                break
            self._again = False
        self._reading = False
