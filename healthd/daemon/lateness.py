"""How late the loop is while looks are under way: what came back late may be our fault, not theirs.

One timer for all looks, and none while there is no look. Measured on a clock that runs on in sleep,
so that a look in whose middle the machine slept came late, too. Decides nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from healthd.model import SECOND_US

_TICK_US = SECOND_US
# The jitter of a busy machine is not worth remembering.
_STALL_US = SECOND_US // 4
_KEPT = 64


class Lateness:
    """*steady_us* reads the clock."""

    def __init__(self, steady_us: Callable[[], int]) -> None:
        self._steady_us = steady_us
        self._under_way = 0
        self._due_us = 0
        self._timer: asyncio.TimerHandle | None = None
        #: When each stall was over, and how long it was.
        self._stalls: deque[tuple[int, int]] = deque(maxlen=_KEPT)

    def begin(self) -> int:
        """A look begins; returns when."""
        now_us = self._steady_us()
        self._under_way += 1
        if self._timer is None:
            self._arm(now_us)
        return now_us

    def end(self, begun_us: int) -> int:
        """A look that began then is over: by how much the loop was late in it, at the most."""
        self._note(self._steady_us())
        self._under_way -= 1
        if not self._under_way and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return max((late_us for over_us, late_us in self._stalls if over_us >= begun_us), default=0)

    def _arm(self, now_us: int) -> None:
        self._due_us = now_us + _TICK_US
        self._timer = asyncio.get_running_loop().call_later(_TICK_US / SECOND_US, self._tick)

    def _tick(self) -> None:
        now_us = self._steady_us()
        self._note(now_us)
        self._arm(now_us)

    def _note(self, now_us: int) -> None:
        # Asked by a look that came back before the timer had its turn, too.
        late_us = now_us - self._due_us
        if late_us >= _STALL_US:
            self._stalls.append((now_us, late_us))
            self._due_us = now_us
