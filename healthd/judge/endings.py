"""How each invocation of each unit ended, from systemd's signals alone.

Pure: no clock, no I/O, no logging; the daemon's loop owns the one Endings and feeds it in order.
Reads no job's type and no journal: what a gap hid is for run.gap_end.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from healthd.judge import life as lives
from healthd.judge.jobs import Jobs
from healthd.judge.life import DOWN, UP, Fall, Life, Step, restarts_by_itself
from healthd.model import (
    SECOND_US,
    ActiveState,
    Began,
    BootFinished,
    Ended,
    How,
    JobNew,
    JobRemoved,
    Now,
    OwnerChanged,
    Reloading,
    SystemdSignal,
    UnitChanged,
    UnitFacts,
    UnitFilesChanged,
    UnitName,
    UnitNew,
    UnitRemoved,
)

# PID 1 queues the stop of what is bound to a fallen unit while it notes the fall: a few ms apart on
# the bus, 4 in the recordings. A provider that fell long ago did not cause a stop of today.
_JUST_BEFORE_US = 2 * SECOND_US

News = tuple[UnitName, Ended | Began]


class Endings:
    """What is known of every unit and job of the machine, and what each signal makes of it."""

    def __init__(self) -> None:
        self._lives: dict[UnitName, Life] = {}
        self._jobs = Jobs()

    def prime(self, facts: UnitFacts) -> bool:
        """Take what was read of a unit. True: it shows an end that no signal told (ask gap_end).

        Of a unit that signals told of, only what they never tell is taken, unless what was read is
        newer than the last of them.
        """
        known = self._lives.get(facts.id)
        read = lives.first_read(facts)
        if known is None or known.active is ActiveState.UNKNOWN:
            self._lives[facts.id] = read
            return False
        changed = (known.active, known.invocation) != (read.active, read.invocation)
        if changed and facts.state_change_us > known.changed_us:
            self._lives[facts.id] = read
            if not known.living:
                # What waited for its automatic restart was stopped.
                return restarts_by_itself(known.sub) and not restarts_by_itself(read.sub)
            return not (read.living and read.invocation == known.invocation)
        self._lives[facts.id] = replace(
            known,
            providers=facts.providers,
            bound_to=facts.bound_to,
            foes=facts.foes,
            on_demand=facts.on_demand,
        )
        return False

    def forget(self, unit: UnitName) -> None:
        """The unit is gone."""
        self._lives.pop(unit, None)

    def feed(self, signal: SystemdSignal, now: Now) -> tuple[News, ...]:
        """What this signal tells of invocations' ends and beginnings, in order."""
        match signal:
            case UnitChanged(unit=unit):
                return self._changed(unit, signal, now)
            case JobNew(id=job, unit=unit):
                self._jobs.begin(job, unit, self._fallen_provider(unit, now))
                return ()
            case JobRemoved(id=job, unit=unit, result=result):
                return self._removed(job, unit, result, now)
            case Reloading() | UnitNew() | UnitRemoved() | UnitFilesChanged():
                return ()
            case BootFinished() | OwnerChanged():
                return ()
            case _:
                assert_never(signal)

    def _changed(self, unit: UnitName, signal: UnitChanged, now: Now) -> tuple[News, ...]:
        known = self._lives.get(unit)
        if signal.interface != "Unit":
            before = known or Life(active=ActiveState.UNKNOWN)
            self._lives[unit] = lives.of_kind(before, signal.properties)
            return ()
        after, steps = lives.of_unit(known, signal.properties, now)
        self._lives[unit] = after
        return self._news(unit, after, steps)

    def _removed(self, job: int, unit: UnitName, result: str, now: Now) -> tuple[News, ...]:
        known = self._lives.get(unit)
        news: tuple[News, ...] = ()
        if known is not None:
            after, steps = lives.job_removed(known, job, result, now)
            self._lives[unit] = after
            news = self._news(unit, after, steps)
        # Last: which jobs came before this one is asked while it is unfinished.
        self._jobs.end(job)
        return news

    def _news(self, unit: UnitName, life: Life, steps: tuple[Step, ...]) -> tuple[News, ...]:
        news: list[News] = []
        along = False
        for step in steps:
            told = self._told(life, step)
            if isinstance(told, Ended):
                along = told.end.how is How.TAKEN_ALONG
            elif along:
                # What a provider's restart took along, it also started again.
                told = replace(told, asked=False)
            news.append((unit, told))
        return tuple(news)

    def _told(self, life: Life, step: Step) -> Ended | Began:
        if isinstance(step, Began):
            return step
        if not step.job:
            return Ended(step.end)
        how, by = self._cause(life, step)
        return Ended(replace(step.end, how=how, by=by))

    def _cause(self, life: Life, fall: Fall) -> tuple[How, UnitName]:
        """Who wanted the job that brought the invocation down."""
        fallen = self._jobs.fallen(fall.job)
        if fallen:
            return How.TAKEN_ALONG, fallen
        ahead = self._jobs.ahead(fall.job)
        for provider in map(UnitName, life.providers):
            if provider in ahead:
                return How.TAKEN_ALONG, provider
        for foe in map(UnitName, life.foes):
            if foe in ahead and self._is_a_start(foe, finished=ahead[foe].gone != 0):
                return How.PUSHED_OUT, foe
        return How.ASKED, UnitName("")

    def _fallen_provider(self, unit: UnitName, now: Now) -> UnitName:
        """What *unit* is bound to and fell just now; the fall of what it only requires stops it by
        no job of PID 1, so that a stop right after is somebody's.
        """
        life = self._lives.get(unit)
        for provider in map(UnitName, life.bound_to if life else ()):
            other = self._lives.get(provider)
            if (
                other is not None
                and other.active not in UP
                and other.left_us > 0
                and now.steady_us - other.left_us <= _JUST_BEFORE_US
            ):
                return provider
        return UnitName("")

    def _is_a_start(self, foe: UnitName, *, finished: bool) -> bool:
        """Whether a rival's job is one that starts it, as its state tells."""
        other = self._lives.get(foe)
        if other is None:
            return True
        if finished:
            return other.active not in DOWN and other.active is not ActiveState.DEACTIVATING
        return other.active is not ActiveState.DEACTIVATING
