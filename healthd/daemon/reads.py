"""Read units, so that a flood of signals costs no flood of questions. Decides nothing of them.

A few at once, a unit that loops not as fast as systemd answers, and what a signal has overtaken is
read again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping

from msgspec import Struct

from healthd.errors import HealthdError
from healthd.host.systemd import Systemd, UnitRow
from healthd.model import UnitFacts, UnitName, UnitSeen

log = logging.getLogger(__name__)

Spawn = Callable[[Coroutine[object, object, None]], object]

READS_AT_ONCE = 16
READS_AT_MOST = 3
_BETWEEN_READS_S = 0.25


class Want(Struct, frozen=True):
    """Why something is read again: its time had come, a person asked, or just so."""

    due: bool = False
    asked: bool = False

    def __or__(self, other: Want) -> Want:
        return Want(self.due or other.due, self.asked or other.asked)


class Rereads:
    """Reads again what is asked for: one of a name at a time, and those asked for meanwhile are one
    more. *read* is the reading.
    """

    def __init__(self, spawn: Spawn, read: Callable[[str, Want], Awaitable[None]]) -> None:
        self._spawn = spawn
        self._read = read
        self._reading: dict[str, Want | None] = {}

    def soon(self, name: str, want: Want) -> None:
        """Read *name* again."""
        if name in self._reading:
            self._reading[name] = want | (self._reading[name] or want)
            return
        self._reading[name] = None
        self._spawn(self._until_current(name, want))

    async def _until_current(self, name: str, want: Want) -> None:
        while True:
            await self._read(name, want)
            if self._reading[name] is None:
                del self._reading[name]
                return
            # What loops is not read as fast as systemd answers.
            await asyncio.sleep(_BETWEEN_READS_S)
            want, self._reading[name] = self._reading[name] or want, None


class Reads:
    """*found* gets what was read, with why; *missed* is told of each unit that could not be."""

    def __init__(
        self,
        systemd: Systemd,
        spawn: Spawn,
        found: Callable[[UnitSeen], Awaitable[None]],
        missed: Callable[[], None],
    ) -> None:
        self._systemd = systemd
        self._again = Rereads(spawn, self._read)
        self._found = found
        self._missed = missed
        self._heard: Counter[str] = Counter()
        self._at_once = asyncio.Semaphore(READS_AT_ONCE)

    def heard(self, unit: str) -> None:
        """A signal of the unit came: what is being read of it may be older."""
        self._heard[unit] += 1

    def forget(self, unit: str) -> None:
        """The unit is gone."""
        self._heard.pop(unit, None)

    def soon(self, unit: str, *, due: bool = False, asked: bool = False) -> None:
        """Read a unit again."""
        self._again.soon(unit, Want(due, asked))

    async def now(self, unit: str, loaded: Mapping[str, UnitRow] | None = None) -> UnitFacts | None:
        """A unit as it is now; None: it could not be read.

        One that never rests is taken as it was read last. *loaded*: a listing of just now.
        """
        heard, facts = -1, UnitFacts(UnitName(unit))
        async with self._at_once:
            try:
                for _ in range(READS_AT_MOST):
                    if heard != self._heard[unit]:
                        heard = self._heard[unit]
                        facts = await self._systemd.read(unit, loaded)
                return facts
            except HealthdError as err:
                log.warning("%s could not be read: %s", unit, err)
                self._missed()
                return None

    async def _read(self, unit: str, want: Want) -> None:
        facts = await self.now(unit)
        if facts is not None:
            await self._found(UnitSeen(facts, fresh=True, due=want.due, asked=want.asked))
