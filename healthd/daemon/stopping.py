"""Whether systemd has a job that takes the machine down: what ends then, nobody stopped. Pure.

A forced stop and an isolate have no signal of logind, but all of them have one of these jobs, and
their JobNew comes before the first unit goes down.
"""

from __future__ import annotations

from healthd.model import JobNew, JobRemoved, SystemdSignal

_STOPS = frozenset(
    f"{name}.target"
    for name in (
        "shutdown",
        "reboot",
        "poweroff",
        "halt",
        "kexec",
        "soft-reboot",
        "rescue",
        "emergency",
    )
)


class MachineStop:
    """Follows the jobs that take the machine down."""

    def __init__(self) -> None:
        self._jobs: set[int] = set()

    @property
    def under_way(self) -> bool:
        return bool(self._jobs)

    @property
    def jobs(self) -> frozenset[int]:
        """Those that were not called off."""
        return frozenset(self._jobs)

    def heard(self, signal: SystemdSignal) -> None:
        """Take one signal in."""
        match signal:
            case JobNew(id=job, unit=unit) if unit in _STOPS:
                self._jobs.add(job)
            case JobRemoved(id=job, result=result) if job in self._jobs and result != "done":
                self._jobs.discard(job)
            case _:
                pass

    def is_over(self, jobs: frozenset[int]) -> None:
        """The machine runs as it did before these *jobs*: rescue mode was left again."""
        self._jobs -= jobs
