"""Which units are watched, and what systemd says of them: signals in, events out.

Signals are hints. Nothing is read in answer to UnitNew, JobNew or UnitRemoved: reading loads units,
and two watchers would feed each other.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from healthd.daemon.clock import Clock
from healthd.daemon.gap import bridged
from healthd.daemon.inbox import Inbox
from healthd.daemon.naming import Naming, checks_of, ignored_among
from healthd.daemon.package_runs import PackageRuns
from healthd.daemon.reads import Reads, Spawn
from healthd.daemon.stopping import MachineStop
from healthd.daemon.timers import Timers, is_timer
from healthd.daemon.transients import Transients
from healthd.daemon.vigil import Cause, Vigil
from healthd.errors import HealthdError
from healthd.host.systemd import Systemd, UnitRow, shows
from healthd.host.unit_facts import merge
from healthd.judge.endings import Endings
from healthd.judge.watched import may_be_watched
from healthd.model import (
    BootFinished,
    Check,
    Declared,
    JobRemoved,
    LoadState,
    OwnerChanged,
    Reloading,
    Run,
    Story,
    SystemdSignal,
    UnitChanged,
    UnitFacts,
    UnitFilesChanged,
    UnitName,
    UnitRemoved,
    UnitSeen,
)

log = logging.getLogger(__name__)

_SETTLE_S = 1.0
_RECONCILE_S = 300.0


class Units:
    """Watches every loaded unit that lasts, through one connection's Systemd."""

    def __init__(
        self,
        systemd: Systemd,
        inbox: Inbox,
        stories: Mapping[str, Story],
        clock: Clock,
        naming: Callable[[], Naming],
        spawn: Spawn,
        vigil: Vigil,
    ) -> None:
        self._vigil = vigil
        self._naming = naming
        self.aliases: dict[str, UnitName] = {}
        self._systemd = systemd
        self._inbox = inbox
        self._stories = stories
        self._clock = clock
        self._endings = Endings()
        self._facts: dict[str, UnitFacts] = {}
        self._reads = Reads(systemd, spawn, self._was_read, self._miss)
        self._package_runs = PackageRuns(inbox, stories, spawn)
        self._transients = Transients(systemd, inbox, stories, naming, spawn)
        self._timers = Timers(
            *(systemd, inbox, stories, clock, naming, spawn, self._endings, self._miss)
        )
        self._no_check: set[str] = set()
        #: The loaded units that are not judged because a list or a setting says so.
        self.ignored: tuple[str, ...] = ()
        self._one_at_a_time = asyncio.Lock()
        self._stop = MachineStop()
        #: Set once a pass over all units was whole.
        self.passed = asyncio.Event()
        self._missed = False
        self._rousing: asyncio.Event = asyncio.Event()
        self._reloading = False
        self._anew = False

    async def begin(self) -> None:
        """The first pass over all that is loaded or named; then signals are believed."""
        self._systemd.on_signal(self._on_signal)
        await self._systemd.subscribe()
        self._package_runs.begin()
        await self.reconcile()

    async def run(self) -> None:
        """Reconcile when roused (a reload, a stranger) and every five minutes."""
        while True:
            try:
                async with asyncio.timeout(_RECONCILE_S):
                    await self._rousing.wait()
                # Let a burst of jobs end: one listing serves them all.
                await asyncio.sleep(_SETTLE_S)
            except TimeoutError:
                pass
            self._rousing.clear()
            if not self._reloading:
                await self.reconcile()

    def read_anew(self) -> None:
        """Nothing that is known of any unit is believed until it has been read again."""
        self._anew = True
        self._rouse()

    async def settings_changed(self) -> None:
        """Look at everything again with what the settings say now."""
        self._no_check.clear()
        self._timers.rouse()
        await self.reconcile()

    async def reconcile(self) -> None:
        """Find what a lost signal missed."""
        async with self._one_at_a_time:
            await self._reconcile()

    async def _reconcile(self) -> None:
        self._missed, anew = False, self._anew
        try:
            await self._ask_state()
            if self._vigil.why:
                return
            self._anew = False
            await self._pass_over_all(anew=anew)
        except* HealthdError as errors:
            log.warning("systemd could not be asked: %s", errors.exceptions[0])
            self._anew = self._anew or anew
            self._miss()
        if not self._missed:
            self.passed.set()

    async def _pass_over_all(self, *, anew: bool) -> None:
        loaded = {str(row.name): row for row in await self._systemd.list_units()}
        self._no_check &= loaded.keys()
        absent = self._expected() - loaded.keys()
        others = await self._systemd.list_by_names(tuple(absent)) if absent else ()
        named = self._naming().names
        ours = [row for row in loaded.values() if not is_timer(row.name)]
        looked_at = [r for r in ours if may_be_watched(r.name) or r.name in named]
        unknown = {row.name for row in looked_at} - self._no_check
        # Before they are read: what happens between the two would be told to nobody.
        timers = self._timers.followed(loaded)
        await self._systemd.watch({*self._facts, *unknown, *absent, *timers})
        async with asyncio.TaskGroup() as group:
            for row in looked_at:
                group.create_task(self._compare(row, loaded, anew=anew))
            for row in others:
                group.create_task(self._compare_absent(row))
            # systemd answers about an alias under the unit's own name.
            for name in absent & named - {row.name for row in others}:
                group.create_task(self._adopt(name))
        if anew:
            self._timers.rouse()
        await self._timers.take(loaded)
        await self._systemd.watch({*self._facts, *self._timers.followed({})})
        self._timers.meet_jobs(timers)
        await self._transients.take(loaded.values())
        self.ignored = ignored_among(loaded.values(), self._naming())

    def read_soon(self, unit: str, *, due: bool = False, asked: bool = False) -> None:
        """Read a unit again."""
        if is_timer(unit):
            self._timers.read_soon(unit, due=due, asked=asked)
            return
        self._reads.soon(unit, due=due, asked=asked)

    def _expected(self) -> set[str]:
        stories = {n for n, s in self._stories.items() if s.facts or may_be_watched(n)}
        return {n for n in stories | self._naming().names if not is_timer(n)}

    async def _ask_state(self) -> None:
        """A stop or a rescue mode whose signal was never heard, and the end of either."""
        jobs = self._stop.jobs
        match await self._systemd.system_state():
            case "stopping" | "maintenance":
                self._vigil.set(Cause.STATE, True)
            case "running" | "degraded" | "starting" | "initializing":
                self._stop.is_over(jobs)
                self._vigil.set(Cause.JOBS, self._stop.under_way)
                self._vigil.set(Cause.STATE, False)
            case _:
                pass

    async def _compare(self, row: UnitRow, loaded: Mapping[str, UnitRow], *, anew: bool) -> None:
        if row.name in self._no_check or self._transients.knows(row.name):
            return
        known = self._facts.get(row.name)
        if known is not None and not self._checks(known):
            self._no_check.add(row.name)
            self._drop(row.name)
            return
        if known is not None and shows(row, known) and not anew:
            self._inbox.put(row.name, UnitSeen(known, fresh=True, due=True))
            self._declare(known)
            return
        await self._adopt(row.name, loaded)

    async def _compare_absent(self, row: UnitRow) -> None:
        """A unit that is not loaded: gone with its file, else at rest as we last saw it."""
        if row.name in self._naming().names:
            await self._adopt(row.name)
        elif row.load_state is LoadState.NOT_FOUND:
            self._drop(row.name)
        else:
            story = self._stories.get(row.name)
            facts = self._facts.get(row.name) or (story.facts if story else None)
            if facts is not None:
                rested = replace(
                    facts, active_state=row.active_state, sub_state=row.sub_state, job=0
                )
                self._inbox.put(row.name, UnitSeen(rested, fresh=True, due=True))

    async def _adopt(self, unit: str, loaded: Mapping[str, UnitRow] | None = None) -> None:
        """Begin to watch a unit, or take over what was known of it.

        *loaded*: a listing of just now, which saves questions about other units.
        """
        facts = await self._reads.now(unit, loaded)
        if facts is None or self._vigil.why:
            return
        if unit != facts.id:
            self.aliases[unit] = facts.id
        if not self._checks(facts):
            if facts.transient:
                self._transients.learn(unit)
            self._no_check.add(unit)
            self._drop(unit)
            return
        first = facts.id not in self._facts
        self._facts[facts.id] = facts
        # First, so that there is a story that what follows can be told to.
        self._declare(facts)
        if self._endings.prime(facts) or first:
            await self._bridge_gap(facts)
        self._put_read(UnitSeen(facts, fresh=True, due=True), facts)

    async def _was_read(self, read: UnitSeen) -> None:
        facts = read.facts
        if self._vigil.why:
            return
        self._facts[facts.id] = facts
        if self._endings.prime(facts):
            await self._bridge_gap(facts)
        self._put_read(read, facts)

    def _put_read(self, want: UnitSeen, facts: UnitFacts) -> None:
        """Hand on what was read, with what signals have said since."""
        current = self._facts.get(facts.id, facts)
        self._inbox.put(facts.id, replace(want, facts=current, fresh=current == facts))

    def _checks(self, facts: UnitFacts) -> tuple[Check, ...]:
        return checks_of(facts, self.aliases, self._naming())

    async def _bridge_gap(self, facts: UnitFacts) -> None:
        story = self._stories.get(facts.id)
        run = story.run if story else Run()
        for event in await bridged(run, facts, self._clock.now()):
            self._inbox.put(facts.id, event)

    def _declare(self, facts: UnitFacts) -> None:
        """Tell the story which checks it has, where that is new."""
        checks = self._checks(facts)
        story = self._stories.get(facts.id)
        if story is None or tuple(w.check for w in story.watches) != checks:
            self._inbox.put(facts.id, Declared(checks))

    def _forget(self, unit: str) -> None:
        """What signals have told of a unit, unless it is watched."""
        if unit in self._facts:
            return
        self._reads.forget(unit)
        if not self._timers.watches(unit):
            # The job of a timer has no check, and how it ends is followed all the same.
            self._endings.forget(UnitName(unit))

    def _drop(self, unit: str) -> None:
        self._facts.pop(unit, None)
        self._forget(unit)
        if unit in self._stories:
            self._inbox.put(unit, Declared(()))

    def _on_signal(self, signal: SystemdSignal) -> None:
        self._stop.heard(signal)
        self._vigil.set(Cause.JOBS, self._stop.under_way)
        if isinstance(signal, Reloading):
            self._reloading = signal.active
        if self._vigil.why:
            # What ends now ends for that. Rescue mode is left by the job of another target.
            if isinstance(signal, JobRemoved) and signal.unit.endswith(".target"):
                self._rousing.set()
            return
        self._transients.heard(signal)
        self._timers.heard(signal)
        self._hear_ends(signal)
        self._hear_changes(signal)

    def _hear_ends(self, signal: SystemdSignal) -> None:
        for unit, event in self._endings.feed(signal, self._clock.now()):
            self._inbox.put(unit, event)
            self._package_runs.heard(unit, event)
            self._timers.told(unit, event)
            if unit in self._facts and not isinstance(signal, UnitChanged):
                self._inbox.put(unit, UnitSeen(self._facts[unit]))
        if isinstance(signal, UnitRemoved) and not self._reloading:
            # Sessions and what somebody made up come by new names for as long as we live.
            self._forget(signal.unit)

    def _hear_changes(self, signal: SystemdSignal) -> None:
        match signal:
            case UnitChanged():
                self._changed(signal)
            case JobRemoved(unit=unit):
                self._meet(unit)
            case Reloading(active=False) | UnitFilesChanged():
                self._rouse()
            case OwnerChanged(present=True):
                # What happened while nobody had the name was signalled to nobody.
                self.read_anew()
            case BootFinished():
                for name in self._facts:
                    self._facts[name] = replace(self._facts[name], booted=True)
                    self._inbox.put(name, UnitSeen(self._facts[name]))
            case _:
                pass

    def _miss(self) -> None:
        """Something could not be asked: soon again."""
        self._missed = True
        self._rousing.set()

    def _changed(self, signal: UnitChanged) -> None:
        unit = signal.unit
        self._reads.heard(unit)
        facts = self._facts.get(unit)
        if facts is None:
            return
        offset_us = self._clock.steady_minus_monotonic_us()
        facts = merge(facts, signal.interface, signal.properties, offset_us)
        self._facts[unit] = facts
        # systemd sends Service first and Unit right after: half of a change is nothing to judge.
        if signal.interface == "Unit":
            self._inbox.put(unit, UnitSeen(facts))

    def _rouse(self) -> None:
        """What a unit is may have changed: all of them are asked again soon."""
        self._no_check.clear()
        self._timers.rouse()
        self._rousing.set()

    def _meet(self, unit: str) -> None:
        """A job of a unit that we do not know has ended: it was not loaded before."""
        if self._timers.watches(unit):
            return
        if may_be_watched(unit) and unit not in self._facts and unit not in self._no_check:
            self._rousing.set()
