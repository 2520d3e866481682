"""What logind says of the machine: that it is about to sleep or to stop, and that this is over.

Never starts logind, and is never waited for by a verdict: where it is absent, or gone from the bus
(as after a restart of the bus), it says nothing, and other signs are left (daemon/vigil.py).
A signal is believed only from the present owner of its name: any local user can send one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import StrEnum

from healthd.bus.connection import BUS_NAME, BusError, Connection, Signal
from healthd.errors import HealthdError

log = logging.getLogger(__name__)

NAME = "org.freedesktop.login1"
PATH = "/org/freedesktop/login1"
MANAGER = f"{NAME}.Manager"
PROPERTIES = f"{BUS_NAME}.Properties"
LIMIT_S = 2.0


class Preparing(StrEnum):
    """For what logind prepares; the value is its property's name."""

    SLEEP = "PreparingForSleep"
    SHUTDOWN = "PreparingForShutdown"


_SIGNALS = {"PrepareForSleep": Preparing.SLEEP, "PrepareForShutdown": Preparing.SHUTDOWN}
RULES = (
    f"type='signal',sender='{BUS_NAME}',interface='{BUS_NAME}',"
    f"member='NameOwnerChanged',arg0='{NAME}'",
    *(
        f"type='signal',sender='{NAME}',interface='{MANAGER}',path='{PATH}',member='{member}'"
        for member in _SIGNALS
    ),
)


class Logind:
    """logind over one connection. *heard* is told of each beginning and end."""

    def __init__(self, connection: Connection, heard: Callable[[Preparing, bool], None]) -> None:
        self._connection = connection
        self._heard = heard
        self._owner = ""
        self._owner_heard = False
        self._signalled: set[Preparing] = set()

    async def begin(self) -> None:
        """Hear it from now on, and ask how it stands; whatever it answers, this returns."""
        self._connection.on_signal(self._on_signal)
        for rule in RULES:
            await self._connection.add_match(rule)
        owner = await self._connection.owner_of(NAME)
        # A change that was signalled since is newer than this answer.
        if not self._owner_heard:
            self._owner = owner
        for what in Preparing:
            prepares = await self._prepares(what) if self._owner else False
            if what not in self._signalled:
                self._heard(what, prepares)

    async def _prepares(self, what: Preparing) -> bool:
        body = (MANAGER, what.value)
        try:
            (value,) = await self._connection.call(
                NAME, PATH, PROPERTIES, "Get", "ss", body, limit_s=LIMIT_S
            )
        except BusError:
            return False
        except HealthdError as err:
            if err.code == "bus-lost":
                raise
            log.warning("logind does not answer: %s", err)
            return False
        return value is True

    def _on_signal(self, signal: Signal) -> None:
        if signal.sender == BUS_NAME and signal.member == "NameOwnerChanged":
            self._own(signal.body)
            return
        what = _SIGNALS.get(signal.member)
        believed = signal.sender == self._owner != "" and signal.path == PATH
        if what is None or not believed or signal.interface != MANAGER:
            return
        match signal.body:
            case (bool(begins),):
                self._signalled.add(what)
                self._heard(what, begins)
            case _:
                pass

    def _own(self, body: tuple[object, ...]) -> None:
        match body:
            case (str(name), str(), str(owner)) if name == NAME:
                self._owner, self._owner_heard = owner, True
            case _:
                return
        # Whoever prepared is gone, and with it the word that it is over. A stop that goes on has
        # jobs of systemd.
        for what in Preparing:
            self._signalled.add(what)
            self._heard(what, False)
