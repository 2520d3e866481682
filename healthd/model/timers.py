"""A timer as systemd shows it, and what healthd keeps of the runs of its job."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from healthd.model.words import UnitName


class TimerFacts(Struct, frozen=True):
    """What systemd says of one timer besides what it says of any unit.

    *unit*: its job. *next_at*: the next run by the wall clock; *next_us*: the next one by
    CLOCK_MONOTONIC, as a steady instant, and *next_stamp_us* the same as systemd wrote it; 0 =
    none. *trigger_at*: when it last fired, which proves no run. *one_shot*: once its lines have
    fired, none of them fires again.
    """

    unit: UnitName = UnitName("")
    next_at: int = 0
    next_us: int = 0
    next_stamp_us: int = 0
    trigger_at: int = 0
    accuracy_for_us: int = 60_000_000
    persistent: bool = False
    one_shot: bool = False
    result: str = "success"

    @property
    def has_next(self) -> bool:
        return bool(self.next_at or self.next_us)


class RunResult(StrEnum):
    """How one run of a job ended. STOPPED: somebody, or another unit, took it down; SKIPPED: its
    start condition said no. Both are neither a success nor a failure.
    """

    SUCCESS = "success"
    FAILED = "failed"
    STOPPED = "stopped"
    SKIPPED = "skipped"


class JobRun(Struct, frozen=True):
    """One run of a job that has ended. *words*: how it failed. *for_us*: how long it took, 0 =
    nobody knows. *invocation*: "" where its start never came to one.
    """

    invocation: str
    result: RunResult
    at: int
    at_us: int
    words: str = ""
    for_us: int = 0


class Announced(Struct, frozen=True):
    """The next run that systemd announced for a timer.

    *at* and *stamp_us* tell one announcement from another. *due_us*: its steady instant, never
    before healthd first saw it. *missed*: how many times it was found to be past.
    """

    at: int
    stamp_us: int
    due_us: int
    missed: int = 0


class Ledger(Struct, frozen=True):
    """What healthd itself keeps of a job's runs, across its own restarts and reboots.

    *seen_us*: when healthd first saw the job. *last*: the last run that succeeded or failed;
    *success*: the last one that succeeded. *ended*: the invocation of the last run that ended,
    however. *took_us*: how long the last runs took, the newest last. *running* and *running_us*:
    the invocation that runs, and since when. *missed*: announced runs that did not come since the
    last one that did; *last_due_us*: when the latest of them was due; *period_us*: how far apart
    two were. *catch_up_us*: until
    when a persistent timer may still make good what the machine was off or asleep for.
    """

    seen_us: int = 0
    last: JobRun | None = None
    success: JobRun | None = None
    ended: str = ""
    took_us: tuple[int, ...] = ()
    running: str = ""
    running_us: int = 0
    announced: Announced | None = None
    trigger_at: int = 0
    missed: int = 0
    last_due_us: int = 0
    period_us: int = 0
    catch_up_us: int = 0
