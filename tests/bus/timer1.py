"""A timer and its job on the fake systemd: what the real one shows when it fires, and after."""

from __future__ import annotations

import os
import time

from tests.bus.systemd1 import NEVER, FakeSystemd, monotonic_us

DAY_US = 24 * 3600 * 1_000_000


def wall_at() -> int:
    """systemd's wall clock."""
    return time.time_ns() // 1000


class FakeTimer:
    """`name.timer`, enabled, active and a day away from its next run, and `name.service`."""

    def __init__(self, systemd: FakeSystemd, name: str, **properties: object) -> None:
        self.systemd = systemd
        self.unit, self.job = f"{name}.timer", f"{name}.service"
        shown: dict[str, object] = {
            "SubState": "waiting",
            "Unit": self.job,
            "WantedBy": ["timers.target"],
            "NextElapseUSecRealtime": wall_at() + DAY_US,
        }
        systemd.unit("timers.target")
        systemd.unit(self.unit, **(shown | properties))
        systemd.unit(
            self.job,
            ActiveState="inactive",
            SubState="dead",
            Type="oneshot",
            TriggeredBy=[self.unit],
        )

    def fire(self, status: int = 0) -> None:
        """The timer elapses; its job runs and ends with *status*."""
        fired_at, change = wall_at(), self.systemd.change
        change(
            self.unit, SubState="running", NextElapseUSecRealtime=NEVER, LastTriggerUSec=fired_at
        )
        self.begin()
        self.end(status)
        change(self.unit, SubState="waiting", NextElapseUSecRealtime=fired_at + DAY_US)

    def begin(self) -> None:
        """The job is started, by whomever."""
        self.began(self.systemd.queue(self.job))

    def began(self, job: int) -> None:
        """The queued *job* has begun to start it."""
        now = monotonic_us()
        self.systemd.change(
            self.job,
            ActiveState="activating",
            SubState="start",
            Result="success",
            InvocationID=os.urandom(16),
            InactiveExitTimestampMonotonic=now,
            StateChangeTimestampMonotonic=now,
        )
        self._number = job

    def end(self, status: int = 0) -> None:
        """Its program exits, and with it the start job is over."""
        now = monotonic_us()
        self.systemd.change(
            self.job,
            ActiveState="failed" if status else "inactive",
            SubState="failed" if status else "dead",
            Result="exit-code" if status else "success",
            ExecMainCode=1,
            ExecMainStatus=status,
            InactiveEnterTimestampMonotonic=now,
            StateChangeTimestampMonotonic=now,
        )
        self.systemd.finish(self.job, self._number, "failed" if status else "done")
