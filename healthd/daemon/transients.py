"""Keep count of failed transient units, hundreds of which may fail at once: few are ever read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping

from healthd.daemon.inbox import Inbox
from healthd.daemon.naming import Naming
from healthd.daemon.reads import Spawn
from healthd.errors import HealthdError
from healthd.host.systemd import Systemd, UnitRow
from healthd.judge.transients import CHECK, KEY, transient_look
from healthd.judge.watched import is_fleeting
from healthd.model import (
    ActiveState,
    Declared,
    JobRemoved,
    LoadState,
    Looked,
    Story,
    SystemdSignal,
    UnitFacts,
    UnitRemoved,
)

log = logging.getLogger(__name__)

# Of a flood, so many are read to say which failed last.
_READ_AT_MOST = 8
# A burst of jobs is served by one listing, and the next one waits.
_SETTLE_S = 1.0
_PAUSE_S = 5.0


class Transients:
    """The one check of all that somebody made up while the machine runs."""

    def __init__(
        self,
        systemd: Systemd,
        inbox: Inbox,
        stories: Mapping[str, Story],
        naming: Callable[[], Naming],
        spawn: Spawn,
    ) -> None:
        self._systemd = systemd
        self._inbox = inbox
        self._stories = stories
        self._naming = naming
        self._spawn = spawn
        self._known: set[str] = set()
        self._failed: frozenset[str] = frozenset()
        self._wanted = self._looking = False
        self._one_at_a_time = asyncio.Lock()

    def learn(self, unit: str) -> None:
        """A unit was read, and is one of them, whatever its name."""
        self._known.add(unit)

    def knows(self, unit: str) -> bool:
        return unit in self._known or is_fleeting(unit)

    def heard(self, signal: SystemdSignal) -> None:
        """One of them may have failed, or is gone."""
        match signal:
            case JobRemoved(unit=unit) if self.knows(unit):
                self._look_soon()
            case UnitRemoved(unit=unit):
                # Another may come by the same name.
                self._known.discard(unit)
                if unit in self._failed:
                    self._look_soon()
            case _:
                pass

    async def take(self, rows: Iterable[UnitRow]) -> None:
        """Count the failed ones of a listing that has all failed units."""
        async with self._one_at_a_time:
            await self._take(rows)

    async def _take(self, rows: Iterable[UnitRow]) -> None:
        ignored = self._naming().ignored
        failed = frozenset(
            str(row.name)
            for row in rows
            if row.active_state is ActiveState.FAILED
            and self.knows(row.name)
            and not ignored(row.name)
        )
        if failed == self._failed and bool(failed) == (KEY in self._stories):
            return
        new, self._failed = failed - self._failed, failed
        if not failed:
            self._inbox.put(KEY, Declared(()))
            return
        some = sorted(new or failed)
        example = await self._latest(some[:_READ_AT_MOST])
        look = transient_look(len(failed), example, last=len(some) <= _READ_AT_MOST)
        self._inbox.put(KEY, Declared((CHECK,)))
        self._inbox.put(KEY, Looked(KEY, look))

    async def _latest(self, units: Iterable[str]) -> UnitFacts | None:
        """The one of *units* that went down last; None: they are gone already."""
        read = []
        for unit in units:
            facts = await self._systemd.read(unit)
            if facts.load_state is not LoadState.NOT_FOUND:
                read.append(facts)
        return max(read, key=lambda facts: facts.inactive_enter_us, default=None)

    def _look_soon(self) -> None:
        self._wanted = True
        if not self._looking:
            self._looking = True
            self._spawn(self._look())

    async def _look(self) -> None:
        while self._wanted:
            await asyncio.sleep(_SETTLE_S)
            self._wanted = False
            try:
                await self.take(await self._systemd.list_failed())
            except HealthdError as err:
                # The reconcile asks again.
                log.warning("systemd could not be asked: %s", err)
            await asyncio.sleep(_PAUSE_S)
        self._looking = False
