"""What comes in at the judge's door."""

from __future__ import annotations

from msgspec import Struct

from healthd.model.checks import Check, Look
from healthd.model.network import Link
from healthd.model.timers import JobRun, TimerFacts
from healthd.model.units import End, UnitFacts
from healthd.model.words import AttemptId, AttemptResult, CheckKey, Edition, IncidentId


class Looked(Struct, frozen=True, tag=True):
    """A look of a declared check ended.

    *invocation* is its unit's, when the look began. *asked*: by a person.
    """

    key: CheckKey
    look: Look
    invocation: str = ""
    asked: bool = False


class UnitSeen(Struct, frozen=True, tag=True):
    """systemd's facts of the story's unit.

    *fresh*: read just now, not taken from a signal. *due*: its time had come.
    """

    facts: UnitFacts
    fresh: bool = False
    due: bool = False
    asked: bool = False


class TimerSeen(Struct, frozen=True, tag=True):
    """systemd's facts of the story's timer, and of its job where they are known.

    *fresh*, *due*, *asked*: as of UnitSeen. *anew*: systemd has read its units again, and what it
    announced before says nothing any more.
    """

    facts: UnitFacts
    timer: TimerFacts
    job: UnitFacts | None = None
    fresh: bool = False
    due: bool = False
    asked: bool = False
    anew: bool = False


class JobRan(Struct, frozen=True, tag=True):
    """A run of the job of the story's timer ended."""

    run: JobRun


class Ended(Struct, frozen=True, tag=True):
    """An invocation of the story's unit ended."""

    end: End


class Began(Struct, frozen=True, tag=True):
    """An invocation of the story's unit began.

    *automatic*: systemd's own restart. *asked*: nothing that keeps the unit running by itself
    ordered it (no automatic restart, Upholds=, socket, timer, path or bus name): a person did, or
    we. *unheard_us*: when invocations ended by themselves before it that a gap hid altogether.
    """

    invocation: str
    at_us: int
    automatic: bool = False
    n_restarts: int = 0
    asked: bool = False
    unheard_us: tuple[int, ...] = ()


class RestartAsked(Struct, frozen=True, tag=True):
    """A person asked over D-Bus to restart the story's unit."""

    by: str


class RepairFinished(Struct, frozen=True, tag=True):
    """A repairer's call ended; whether it helped is for the looks to say."""

    attempt: AttemptId
    result: AttemptResult
    detail: str = ""
    along: tuple[str, ...] = ()


class Delivered(Struct, frozen=True, tag=True):
    """A channel delivered a notice. *drop*: the notice that the outbox need not keep, or "".

    *incident* 0: the digest of what was found at the first start.
    """

    incident: IncidentId
    edition: Edition
    channel: str
    drop: str = ""


class Woken(Struct, frozen=True, tag=True):
    """healthd started again and this story came from the store, *away_us* after it stopped."""

    same_boot: bool = True
    away_us: int = 0


class ProviderMoved(Struct, frozen=True, tag=True):
    """A unit that the story's unit needs, or fell with, is another."""


class Froze(Struct, frozen=True, tag=True):
    """The machine is about to stop or sleep: nothing is looked at, repaired or told."""


class Thawed(Struct, frozen=True, tag=True):
    """The machine is watched again, *away_us* after that ended."""

    away_us: int = 0


class Declared(Struct, frozen=True, tag=True):
    """The settings (or systemd) say which checks the story has now."""

    checks: tuple[Check, ...]


class LinkSeen(Struct, frozen=True, tag=True):
    """The machine's way out, read just now: something could not be reached."""

    link: Link


class PackageRunOver(Struct, frozen=True, tag=True):
    """The package run is over under which the story's unit was stopped."""


class FoundTold(Struct, frozen=True, tag=True):
    """The owner is told, in one digest of the whole machine, of what failed from the first."""


class HoldsChanged(Struct, frozen=True, tag=True):
    """A hold on the story's unit began or ended; the scene says what there is now."""


Event = (
    Looked
    | UnitSeen
    | TimerSeen
    | JobRan
    | Ended
    | Began
    | RestartAsked
    | RepairFinished
    | Delivered
    | Woken
    | Declared
    | FoundTold
    | PackageRunOver
    | HoldsChanged
    | Froze
    | Thawed
    | LinkSeen
    | ProviderMoved
)
