"""The only reader of clocks: wall time, and steady time that is carried on over reboots.

All of them are read by `read_us`: what stands in for it in a test is a machine with other clocks.
"""

from __future__ import annotations

import time
from pathlib import Path

from msgspec import Struct

from healthd.model import Now

_JITTER_US = 1000
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """The kernel's identity of this boot."""
    return BOOT_ID.read_text(encoding="ascii").strip()


def boot_identity(soft_reboots: int) -> str:
    """A boot of the kernel, and of all that stands on it: that is one more at each soft reboot."""
    return f"{boot_id()}/{soft_reboots}" if soft_reboots else boot_id()


def kernel_of(identity: str) -> str:
    """The kernel's part of a boot's identity: as long as it is the same, so are the clocks."""
    return identity.partition("/")[0]


def soft_reboots_of(identity: str) -> int:
    """The other part, 0 = none yet."""
    return int(identity.partition("/")[2] or 0)


class Reading(Struct, frozen=True):
    """Three clocks at one instant, µs: since the boot with and without sleep, and wall time."""

    boottime_us: int
    monotonic_us: int
    wall_at: int


def read_us(which: int) -> int:
    """One of the kernel's clocks, in whole µs."""
    return time.clock_gettime_ns(which) // 1000


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

    def reading(self) -> Reading:
        """All clocks, to be held against another reading: they run apart where time was lost."""
        return Reading(_boottime_us(), read_us(time.CLOCK_MONOTONIC), _wall_at())

    def steady_minus_monotonic_us(self) -> int:
        """What to add to one of systemd's monotonic stamps. Time asleep since then is not in it."""
        offset_us = self.steady_us() - read_us(time.CLOCK_MONOTONIC)
        # Reading two clocks jitters by a microsecond; the same stamp must stay the same instant.
        if abs(offset_us - self._offset_us) > _JITTER_US:
            self._offset_us = offset_us
        return self._offset_us


def _boottime_us() -> int:
    return read_us(time.CLOCK_BOOTTIME)


def _wall_at() -> int:
    return read_us(time.CLOCK_REALTIME)
