"""Read units, so that a flood of signals costs no flood of questions. Decides nothing of them.

A few at once, a unit that loops not as fast as systemd answers, and what a signal has overtaken is
read again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping

from msgspec.structs import replace

from healthd.errors import HealthdError
from healthd.host.systemd import Systemd, UnitRow
from healthd.model import UnitFacts, UnitName, UnitSeen

log = logging.getLogger(__name__)

Spawn = Callable[[Coroutine[object, object, None]], object]

_READS_AT_ONCE = 16
_READS_AT_MOST = 3
_BETWEEN_READS_S = 0.25


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
        self._spawn = spawn
        self._found = found
        self._missed = missed
        self._heard: Counter[str] = Counter()
        self._at_once = asyncio.Semaphore(_READS_AT_ONCE)
        self._reading: dict[str, UnitSeen | None] = {}

    def heard(self, unit: str) -> None:
        """A signal of the unit came: what is being read of it may be older."""
        self._heard[unit] += 1

    def forget(self, unit: str) -> None:
        """The unit is gone."""
        self._heard.pop(unit, None)

    def soon(self, unit: str, *, due: bool = False, asked: bool = False) -> None:
        """Read a unit again; reads asked for while one is under way become one more."""
        want = UnitSeen(UnitFacts(UnitName(unit)), fresh=True, due=due, asked=asked)
        if unit in self._reading:
            waiting = self._reading[unit]
            if waiting is not None:
                want = replace(want, due=due or waiting.due, asked=asked or waiting.asked)
            self._reading[unit] = want
            return
        self._reading[unit] = None
        self._spawn(self._until_current(unit, want))

    async def now(self, unit: str, loaded: Mapping[str, UnitRow] | None = None) -> UnitFacts | None:
        """A unit as it is now; None: it could not be read.

        One that never rests is taken as it was read last. *loaded*: a listing of just now.
        """
        heard, facts = -1, UnitFacts(UnitName(unit))
        async with self._at_once:
            try:
                for _ in range(_READS_AT_MOST):
                    if heard != self._heard[unit]:
                        heard = self._heard[unit]
                        facts = await self._systemd.read(unit, loaded)
                return facts
            except HealthdError as err:
                log.warning("%s could not be read: %s", unit, err)
                self._missed()
                return None

    async def _until_current(self, unit: str, want: UnitSeen) -> None:
        while True:
            facts = await self.now(unit)
            if facts is not None:
                await self._found(replace(want, facts=facts))
            again = self._reading[unit]
            if again is None:
                del self._reading[unit]
                return
            # A unit that loops is not read as fast as systemd answers.
            await asyncio.sleep(_BETWEEN_READS_S)
            want = self._reading[unit] or again
            self._reading[unit] = None
