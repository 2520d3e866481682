"""Which timers are watched, and what systemd says of them and their jobs: signals in, events out.

Nothing is read in answer to UnitNew, JobNew or UnitRemoved. A timer that fires costs its signals.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from healthd.daemon.clock import Clock
from healthd.daemon.gap import bridged, runs_meanwhile
from healthd.daemon.inbox import Inbox
from healthd.daemon.naming import Naming
from healthd.daemon.reads import READS_AT_MOST, READS_AT_ONCE, Rereads, Spawn, Want
from healthd.errors import HealthdError
from healthd.host.systemd import Systemd, UnitRow, shows
from healthd.host.timer_facts import INTERFACE, merge_timer
from healthd.host.unit_facts import merge
from healthd.judge.endings import Endings
from healthd.judge.ledger import run_of
from healthd.judge.life import DOWN
from healthd.judge.watched import is_fleeting
from healthd.model import (
    Began,
    BootFinished,
    Check,
    Declared,
    Ended,
    JobRan,
    Ledger,
    LoadState,
    OwnerChanged,
    Reloading,
    Run,
    Story,
    SystemdSignal,
    TimerFacts,
    TimerSeen,
    UnitChanged,
    UnitFacts,
    UnitName,
)

log = logging.getLogger(__name__)


class Seen(Struct, frozen=True):
    """One timer as it was seen last."""

    facts: UnitFacts
    timer: TimerFacts


def is_timer(name: str) -> bool:
    """Whether a unit of this name is a timer."""
    return name.endswith(".timer")


class Timers:
    """Every timer with a heartbeat, beside Units. *missed* is told of each that cannot be read."""

    def __init__(
        self,
        systemd: Systemd,
        inbox: Inbox,
        stories: Mapping[str, Story],
        clock: Clock,
        naming: Callable[[], Naming],
        spawn: Spawn,
        endings: Endings,
        missed: Callable[[], None],
    ) -> None:
        self._systemd = systemd
        self._inbox = inbox
        self._stories = stories
        self._clock = clock
        self._naming = naming
        self._spawn = spawn
        self._again = Rereads(spawn, self._read_again)
        self._endings = endings
        self._missed = missed
        self._known: dict[str, Seen] = {}
        self._jobs: dict[str, UnitFacts] = {}
        self._no_check: set[str] = set()
        self._stale: set[str] = set()
        self._heard: Counter[str] = Counter()
        self._at_once = asyncio.Semaphore(READS_AT_ONCE)

    def followed(self, loaded: Mapping[str, UnitRow]) -> set[str]:
        """The units whose changes decide; of a timer not read yet, the job that it likely has."""
        unknown = self._loaded(loaded) - self._known.keys() - self._no_check
        likely = {f"{name.removesuffix('.timer')}.service" for name in unknown}
        return {*self._known, *self._jobs, *unknown, *(likely & loaded.keys())}

    def watches(self, unit: str) -> bool:
        """Whether *unit* is a timer that is watched, or the job of one."""
        return unit in self._known or unit in self._jobs

    async def take(self, loaded: Mapping[str, UnitRow]) -> None:
        """Compare with a listing of all units; whoever differs is read, and new ones."""
        names = self._loaded(loaded)
        self._no_check &= names
        declared = {n for n in self._naming().checks if is_timer(n)}
        for name in {n for n in self._stories if is_timer(n)} | self._known.keys():
            if name not in names and name not in declared:
                self._drop(name)
        async with asyncio.TaskGroup() as group:
            for name in (names | declared) - self._no_check:
                group.create_task(self._compare(name, loaded))

    def meet_jobs(self, watched: set[str]) -> None:
        """What a job did between its reading and its watching, while its name was not known."""
        for name, seen in self._known.items():
            if seen.timer.unit in self._jobs and seen.timer.unit not in watched:
                self.read_soon(name)

    def rouse(self) -> None:
        """What a timer is may have changed: all are read again with the next listing."""
        self._no_check.clear()
        self._stale.update(self._known)

    def read_soon(self, name: str, *, due: bool = False, asked: bool = False) -> None:
        """Read a timer and its job again."""
        self._again.soon(name, Want(due, asked))

    def heard(self, signal: SystemdSignal) -> None:
        """A signal of systemd, before Endings has it: an end is worded by what came with it."""
        match signal:
            case UnitChanged(unit=unit):
                if self.watches(unit):
                    self._heard[unit] += 1
                self._changed(signal)
            case Reloading(active=False) | OwnerChanged(present=True):
                for name in self._known:
                    self._put(name, anew=True)
            case BootFinished():
                for name, seen in self._known.items():
                    facts = replace(seen.facts, booted=True)
                    self._known[name] = replace(seen, facts=facts)
                    self._put(name)
            case _:
                pass

    def told(self, unit: str, event: Ended | Began) -> None:
        """A timer, or the job of one, ended or began."""
        if unit in self._known:
            self._put(unit)
            return
        for name in self._of(unit):
            match event:
                case Ended(end=end) if not end.after_gap:
                    self._inbox.put(name, JobRan(run_of(end, self._jobs[unit])))
                    self._put(name)
                case Ended():
                    # Its signal was lost: the journal knows more than what is left of it.
                    self._spawn(self._catch_up(name))
                case _:
                    pass

    # ---- reading

    def _loaded(self, loaded: Mapping[str, UnitRow]) -> set[str]:
        lasting = (LoadState.NOT_FOUND, LoadState.MERGED, LoadState.STUB)
        return {
            name
            for name, row in loaded.items()
            if is_timer(name) and not is_fleeting(name) and row.load_state not in lasting
        }

    async def _compare(self, name: str, loaded: Mapping[str, UnitRow]) -> None:
        seen, row = self._known.get(name), loaded.get(name)
        if seen is None or row is None or name in self._stale or not self._same(seen, loaded):
            await self._adopt(name, loaded)
        elif not self._checks(seen.facts):
            self._no_check.add(name)
            self._drop(name)
        else:
            self._declare(name)
            self._put(name, due=True)

    def _same(self, seen: Seen, loaded: Mapping[str, UnitRow]) -> bool:
        """Whether a listing shows the timer and its job as we know them."""
        job, row = self._jobs.get(seen.timer.unit), loaded.get(seen.timer.unit)
        same_job = job is not None and row is not None and shows(row, job)
        return shows(loaded[seen.facts.id], seen.facts) and (same_job or job is None)

    async def _adopt(self, name: str, loaded: Mapping[str, UnitRow] | None = None) -> None:
        seen = await self._read(name, loaded)
        if seen is None:
            return
        self._stale.discard(name)
        facts, first = seen.facts, seen.facts.id not in self._known
        if not self._checks(facts):
            self._no_check.add(name)
            self._drop(facts.id)
            return
        self._known[facts.id] = seen
        # First, so that there is a story that what follows can be told to.
        self._declare(facts.id)
        await self._bridge(facts.id, first=first)
        self._put(facts.id, fresh=True, due=True)

    async def _read(self, name: str, loaded: Mapping[str, UnitRow] | None = None) -> Seen | None:
        """The timer as it is now, and its job taken in; None: it could not be read.

        What a signal has overtaken is read again, but not for ever.
        """
        async with self._at_once:
            try:
                return await self._read_whole(name, loaded)
            except HealthdError as err:
                log.warning("%s could not be read: %s", name, err)
                self._missed()
                return None

    async def _read_whole(self, name: str, loaded: Mapping[str, UnitRow] | None) -> Seen:
        tries = 0
        while True:
            tries, heard, job = tries + 1, self._heard[name], None
            facts, timer = await self._systemd.read_timer(name, loaded)
            heard_job = self._heard[timer.unit]
            if timer.unit and self._checks(facts):
                job = await self._systemd.read(timer.unit, loaded)
            still = (heard, heard_job) == (self._heard[name], self._heard[timer.unit])
            if still or tries == READS_AT_MOST:
                break
        if job is not None:
            self._jobs[timer.unit] = job
        return Seen(facts, timer)

    async def _read_again(self, name: str, want: Want) -> None:
        seen = await self._read(name)
        if seen is not None and name in self._known:
            self._known[name] = seen
            await self._bridge(name, first=False)
            self._put(name, fresh=True, due=want.due, asked=want.asked)

    async def _bridge(self, name: str, *, first: bool) -> None:
        """What happened while no signal told of it, to the timer and to its job."""
        seen = self._known[name]
        if self._endings.prime(seen.facts) or first:
            story = self._stories.get(name)
            run = story.run if story else Run()
            for event in await bridged(run, seen.facts, self._clock.now()):
                self._inbox.put(name, event)
        job = self._jobs.get(seen.timer.unit)
        if job is not None and (self._endings.prime(job) or first):
            await self._catch_up(name)

    async def _catch_up(self, name: str) -> None:
        seen = self._known.get(name)
        job = self._jobs.get(seen.timer.unit) if seen else None
        if job is None:
            return
        story = self._stories.get(name)
        ledger = story.ledger if story else Ledger()
        for run in await runs_meanwhile(ledger, job, self._clock.now()):
            self._inbox.put(name, JobRan(run))
        self._put(name)

    # ---- telling

    def _changed(self, signal: UnitChanged) -> None:
        unit, offset_us = signal.unit, self._clock.steady_minus_monotonic_us()
        seen, job = self._known.get(unit), self._jobs.get(unit)
        if seen is not None:
            facts = merge(seen.facts, signal.interface, signal.properties, offset_us)
            timer = seen.timer
            if signal.interface == INTERFACE:
                timer = merge_timer(timer, signal.properties, offset_us)
            self._known[unit] = Seen(facts, timer)
        if job is not None:
            self._jobs[unit] = merge(job, signal.interface, signal.properties, offset_us)
        # systemd sends the kind's own interface first: half of a change is nothing to judge.
        if signal.interface == "Unit":
            for name in (unit,) if seen is not None else self._of(unit):
                self._put(name)

    def _put(
        self,
        name: str,
        *,
        fresh: bool = False,
        due: bool = False,
        asked: bool = False,
        anew: bool = False,
    ) -> None:
        seen = self._known.get(name)
        if seen is not None:
            job = self._jobs.get(seen.timer.unit)
            said = TimerSeen(seen.facts, seen.timer, job, fresh, due, asked, anew)
            self._inbox.put(name, said)

    def _of(self, job: str) -> tuple[str, ...]:
        """The timers whose job this is."""
        if job not in self._jobs:
            return ()
        return tuple(name for name, seen in self._known.items() if seen.timer.unit == job)

    def _checks(self, facts: UnitFacts) -> tuple[Check, ...]:
        """The timer's heartbeat, if it is one to watch."""
        naming = self._naming()
        check = naming.heartbeat(facts.id)
        if facts.transient or naming.ignored(facts.id):
            return ()
        exists = facts.load_state is LoadState.LOADED and (
            facts.active_state not in DOWN or facts.wanted
        )
        return (check,) if exists or check.declared else ()

    def _declare(self, name: str) -> None:
        """Tell the story which check it has, where that is new."""
        checks = self._checks(self._known[name].facts)
        story = self._stories.get(name)
        if story is None or tuple(w.check for w in story.watches) != checks:
            self._inbox.put(name, Declared(checks))

    def _drop(self, name: str) -> None:
        seen = self._known.pop(name, None)
        self._endings.forget(UnitName(name))
        job = seen.timer.unit if seen else UnitName("")
        if not self._of(job):
            self._jobs.pop(job, None)
            self._heard.pop(job, None)
        self._heard.pop(name, None)
        if name in self._stories:
            self._inbox.put(name, Declared(()))
