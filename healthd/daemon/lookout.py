"""What is due: one heap, one timer, in ticks. A wake-up that does nothing costs more than a look,
so looks that are nearly due at once share one.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable

from healthd.daemon.clock import Clock
from healthd.model import CheckKey

_TICK_SHARE = 50
_TICK_MIN_US = 20_000
_TICK_MAX_US = 1_000_000


class Lookout:
    """Calls *due* with each key whose instant has come. Owned by the loop's task group."""

    def __init__(
        self,
        clock: Clock,
        due: Callable[[CheckKey], None],
        woke: Callable[[], None],
        means: Callable[[int], None],
    ) -> None:
        """*woke* is called at each wake-up, *means* with the instant of the next, 0 = none."""
        self._clock = clock
        self._due = due
        self._woke = woke
        self._means = means
        self._heap: list[tuple[int, CheckKey]] = []
        self._at: dict[CheckKey, int] = {}
        self._changed = asyncio.Event()

    def set(self, key: CheckKey, at_us: int) -> None:
        """Look at *key* at *at_us* (0 = no more), instead of what was said before."""
        if not at_us:
            self._at.pop(key, None)
            return
        at_us = _tick_after(at_us, at_us - self._clock.steady_us())
        if self._at.get(key) == at_us:
            return
        self._at[key] = at_us
        heapq.heappush(self._heap, (at_us, key))
        if self._heap[0][0] == at_us:
            self._changed.set()

    async def run(self) -> None:
        while True:
            wait_s = self._fire()
            self._changed.clear()
            try:
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _fire(self) -> float | None:
        """Call for all that is due; seconds until the next, None = nothing waits."""
        self._woke()
        now_us = self._clock.steady_us()
        while self._heap:
            at_us, key = self._heap[0]
            if self._at.get(key) != at_us:
                heapq.heappop(self._heap)
            elif at_us > now_us:
                self._means(at_us)
                return (at_us - now_us) / 1e6
            else:
                heapq.heappop(self._heap)
                del self._at[key]
                self._due(key)
        self._means(0)
        return None


def _tick_after(at_us: int, away_us: int) -> int:
    """*at_us* on the next tick; the further away, the wider the tick. What is due now stays so."""
    if away_us <= 0:
        return at_us
    tick_us = max(_TICK_MIN_US, min(_TICK_MAX_US, away_us // _TICK_SHARE))
    return -(-at_us // tick_us) * tick_us
