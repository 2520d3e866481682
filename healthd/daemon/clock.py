"""The only reader of clocks: wall time, and steady time that is carried on over reboots."""

from __future__ import annotations

import time
from pathlib import Path

from healthd.model import Now

_JITTER_US = 1000
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """The kernel's identity of this boot."""
    return BOOT_ID.read_text(encoding="ascii").strip()


class Clock:
    """Steady time is CLOCK_BOOTTIME plus *base_us*: it never steps, runs on while the machine
    sleeps, and after a reboot goes on where it was, later by the time the wall clock says passed.
    """

    def __init__(self, base_us: int) -> None:
        self.base_us = base_us
        self._offset_us = 0

    @classmethod
    def carried_on(
        cls, *, same_boot: bool, base_us: int, steady_mark_us: int, wall_mark_at: int
    ) -> Clock:
        """The clock of a store that was last written at the two marks. A first start has none."""
        if same_boot:
            return cls(base_us)
        if not steady_mark_us:
            return cls(_wall_at() - _boottime_us())
        away_us = max(0, _wall_at() - wall_mark_at)
        return cls(steady_mark_us + away_us - _boottime_us())

    def now(self) -> Now:
        return Now(steady_us=self.steady_us(), wall_at=_wall_at())

    def steady_us(self) -> int:
        return _boottime_us() + self.base_us

    def steady_minus_monotonic_us(self) -> int:
        """What to add to one of systemd's monotonic stamps. Time asleep since then is not in it."""
        offset_us = self.steady_us() - time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        # Reading two clocks jitters by a microsecond; the same stamp must stay the same instant.
        if abs(offset_us - self._offset_us) > _JITTER_US:
            self._offset_us = offset_us
        return self._offset_us


def _boottime_us() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def _wall_at() -> int:
    return time.time_ns() // 1000
