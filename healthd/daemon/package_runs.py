"""Tell a stop by a package run from a person's: who holds dpkg's lock while it happens.

Nothing else tells them apart. The lock is looked at only when a unit was stopped, and every few
seconds while a run under which one was stopped goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from msgspec.structs import replace

from healthd.daemon.inbox import Inbox
from healthd.daemon.reads import Spawn
from healthd.host.package_run import under_way
from healthd.model import Began, End, Ended, How, PackageRunOver, Story

_PAUSE_S = 5.0


class PackageRuns:
    """The units that were stopped under a package run which is not over."""

    def __init__(self, inbox: Inbox, stories: Mapping[str, Story], spawn: Spawn) -> None:
        self._inbox = inbox
        self._stories = stories
        self._spawn = spawn
        self._stopped: set[str] = set()
        self._waiting = False

    def begin(self) -> None:
        """Go on with those that the store remembers."""
        self._stopped = {
            name
            for name, story in self._stories.items()
            if (last := story.run.last) and last.in_package_run and not last.package_run_over_us
        }
        self._wait()

    def heard(self, unit: str, event: Ended | Began) -> None:
        """An invocation of *unit* ended, or began."""
        if isinstance(event, Ended) and event.end.how is How.ASKED:
            self._spawn(self._ask(unit, event.end))

    async def _ask(self, unit: str, end: End) -> None:
        if await asyncio.to_thread(under_way):
            self._inbox.put(unit, Ended(replace(end, in_package_run=True)))
            self._stopped.add(unit)
            self._wait()

    def _wait(self) -> None:
        if self._stopped and not self._waiting:
            self._waiting = True
            self._spawn(self._until_over())

    async def _until_over(self) -> None:
        while True:
            if not await asyncio.to_thread(under_way):
                break
            await asyncio.sleep(_PAUSE_S)
        self._waiting = False
        for unit in self._stopped:
            self._inbox.put(unit, PackageRunOver())
        self._stopped.clear()
