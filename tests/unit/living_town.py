"""A town whose units live and die as systemd lets them, in which healthd repairs, and may be away.

A start pulls in what is needed, a stop takes along what needs it; who is bound falls with a crash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from healthd.daemon.saving import Owed, Step
from healthd.judge.dependents import Dependents
from healthd.judge.endings import Endings
from healthd.judge.run import called_off, gap_end
from healthd.model import (
    SECOND_US,
    ActiveState,
    Attempt,
    AttemptResult,
    Began,
    Check,
    CheckKey,
    Effect,
    Ended,
    Event,
    Froze,
    HoldsChanged,
    JobNew,
    Policy,
    Repair,
    RepairFinished,
    RestartAsked,
    Story,
    SystemdSignal,
    Thawed,
    UnitChanged,
    UnitName,
    UnitSeen,
    Woken,
)
from healthd.store.records import decode, encode
from tests.unit.histories import OK
from tests.unit.laws import LawfulPlay
from tests.unit.town import ACTIVE, FAILED, INACTIVE, Town

ACTIVATING, DEACTIVATING = ActiveState.ACTIVATING, ActiveState.DEACTIVATING
_EXITED, _KILLED = 1, 2
_CALL_US = 10_000
# systemd's own limit of starts, StartLimitBurst= in StartLimitIntervalSec=.
_STARTS, _STARTS_IN_US = 5, 10 * SECOND_US


class Citizen(LawfulPlay):
    """One story of a living town. Time never passes there without the looks that are due."""


class LivingTown(Town):
    """*requires*, *checks*: as in a Town. *bound*: units that fall with what they require.

    *restart_s*: units that systemd restarts by itself, and after how long. *frail*: units that die
    so many seconds after each start. *slow*: units whose start takes so long.
    """

    def __init__(
        self,
        requires: Mapping[str, tuple[str, ...]],
        *,
        checks: tuple[Check, ...] = (),
        bound: frozenset[str] = frozenset(),
        restart_s: Mapping[str, float] | None = None,
        policy: Policy | None = None,
        saves: bool = False,
    ) -> None:
        self.restart_s = dict(restart_s or {})
        self.frail: dict[str, float] = {}
        self.slow: dict[str, float] = {}
        self.refusal: AttemptResult | None = None
        self.held: dict[str, str] = {}
        self.away = False
        self.frozen_us = 0
        self.deaf_to: set[str] = set()
        #: Whom a person stopped, when; and who went along with whom.
        self.put_away: dict[str, int] = {}
        self.along: dict[str, str] = {}
        self.effects: list[Effect] = []
        self._saved: dict[str, Story] = {}
        self._away_us = 0
        self._lives = 1
        self._incidents = self._attempts = 1
        self._restarts_us: list[int] = []
        self._starts_us: dict[str, list[int]] = {}
        super().__init__(requires, checks=checks, bound=bound, policy=policy, kind=Citizen)
        for unit, play in self.plays.items():
            assert isinstance(play, LawfulPlay)
            play.held, play.machine_restarts_us = self.held, self._restarts_us
            play.saves = saves
            self.serves.setdefault(unit, lambda: OK)

    # ---- healthd

    def put(self, unit: str, event: Event) -> None:
        """Judge one event, if healthd is there."""
        if self.away:
            return
        play = self.plays[unit]
        play.incidents, play.attempts = self._incidents, self._attempts
        before, had = play.story, len(play.effects)
        super().put(unit, event)
        self._incidents, self._attempts = play.incidents, play.attempts
        new = tuple(play.effects[had:])
        self.effects += new
        owed = Owed()
        owed.add(Step(unit, event, before, play.story, ()))
        if owed.names:
            self._saved[unit] = play.story
        self.judged(unit, before, event, new)

    def judged(self, unit: str, before: Story, event: Event, effects: tuple[Effect, ...]) -> None:
        """Called after each event: a place for what must hold after every one of them."""

    def settle(self, unit: str) -> None:
        play = self.plays[unit]
        for effect in play.effects[self._acted[unit] :]:
            if isinstance(effect, Repair):
                self._own_act(_CALL_US, partial(self._repair, unit, effect.attempt))
        super().settle(unit)

    def look(self, key: CheckKey) -> None:
        """The look at a check; what is not running answers nobody."""
        if self.away or self.frozen_us:
            return
        super().look(key)

    def _own_act(self, us: int, act: Callable[[], None]) -> None:
        """What healthd itself does, if it still lives then."""
        life = self._lives
        self.after_us(us, lambda: act() if self._lives == life else None)

    def _repair(self, unit: str, attempt: Attempt) -> None:
        result = self.refusal or AttemptResult.DONE
        if not self.refusal:
            if self.facts[unit].job or self.away:
                result = AttemptResult.OVERTAKEN
            else:
                self.restart(unit)
        self.put(unit, RepairFinished(attempt.id, result))

    def goes_away(self) -> None:
        """healthd is killed: nobody hears, nobody looks."""
        self.away = True
        self._away_us = self.now_us
        self._lives += 1
        self._due.clear()

    def comes_back(self, order: Iterable[str]) -> None:
        """It starts with what was saved; *order*: in which the units answer it."""
        self.away = False
        self.dependents, self.endings = Dependents(), Endings()
        for unit, play in self.plays.items():
            assert isinstance(play, LawfulPlay)
            play.silent_since_us.clear()
            play.story = decode(encode(self._saved.get(unit, play.story)), Story)
            self.stories[unit] = play.story
            self.dependents.keep(play.story)
        for unit in self.plays:
            self.put(unit, Woken(True, self.now_us - self._away_us))
        for unit in order:
            self._read_anew(unit)

    def _read_anew(self, unit: str) -> None:
        """A first reading: with what it tells of the time before it."""
        facts, run = self.facts[unit], self.plays[unit].story.run
        self.endings.prime(facts)
        now = self.plays[unit].now
        end = gap_end(run, facts, None, now) or called_off(run, facts, now)
        if end is not None:
            self.put(unit, Ended(end))
        if facts.invocation != run.invocation:
            self.put(unit, Began(facts.invocation, facts.inactive_exit_us))
        self.put(unit, UnitSeen(facts, fresh=True, due=True))

    def freeze(self) -> None:
        """logind says that the machine is about to sleep."""
        self.frozen_us = self.now_us
        for unit, play in self.plays.items():
            play.frozen = "the machine goes to sleep"
            self.put(unit, Froze())

    def thaw(self) -> None:
        """It says that this is over."""
        away_us, self.frozen_us = self.now_us - self.frozen_us, 0
        for unit, play in self.plays.items():
            play.frozen = ""
            self.put(unit, Thawed(away_us))
        for unit in self.plays:
            self._read_anew(unit)

    def hold(self, unit: str) -> None:
        """Somebody takes a hold on a unit."""
        self.held[unit] = "held by pid 812: pg_upgrade"
        self.put(unit, HoldsChanged())

    def release(self, unit: str) -> None:
        """The hold ends."""
        del self.held[unit]
        self.put(unit, HoldsChanged())

    def _signal(self, signal: SystemdSignal) -> None:
        self.now_us += 1_000
        if self.away or self.frozen_us:
            return
        play = next(iter(self.plays.values()))
        play.now_us = self.now_us
        for unit, event in self.endings.feed(signal, play.now):
            self.put(unit, event)
            if not isinstance(signal, UnitChanged):
                self.put(unit, UnitSeen(self.facts[unit]))

    # ---- systemd

    def runs(self, unit: str) -> bool:
        return self.facts[unit].active_state is ACTIVE and not self.facts[unit].job

    def rests(self, unit: str) -> bool:
        return self.facts[unit].active_state in (FAILED, INACTIVE) and not self.facts[unit].job

    def waits(self, unit: str) -> bool:
        """Whether its automatic restart is pending."""
        return self.facts[unit].sub_state == "auto-restart"

    def consumers(self, unit: str) -> Iterator[str]:
        """Who requires *unit*, directly or not, nearest first."""
        seen, waiting = {unit}, [unit]
        while waiting:
            name = waiting.pop(0)
            for other, facts in self.facts.items():
                if name in facts.requires and other not in seen:
                    seen.add(other)
                    waiting.append(other)
                    yield other

    def ends(self, unit: str, result: str, code: int, status: int) -> None:
        """Its main process is gone, and nobody asked for that."""
        how: dict[str, object] = {"result": result, "exit_code": code, "exit_status": status}
        how["main_exit_us"] = self.now_us - 500
        delay_s = self.restart_s.get(unit)
        if result == "success" or delay_s is None or self._at_limit(unit):
            state, sub = (INACTIVE, "dead") if result == "success" else (FAILED, "failed")
            self.show(unit, state, sub, **how)
            self._bound_fall(unit)
            return
        self.show(unit, FAILED, "failed-before-auto-restart", **how)
        wait_us = int(delay_s * SECOND_US)
        self.show(
            unit,
            ACTIVATING,
            "auto-restart",
            restart_delay_for_us=wait_us,
            inactive_exit_us=self.now_us,
        )
        self._bound_fall(unit)
        invocation = self.facts[unit].invocation
        self.after_us(wait_us, lambda: self._restarts(unit, invocation))

    def _at_limit(self, unit: str) -> bool:
        lately = [t for t in self._starts_us.get(unit, []) if t > self.now_us - _STARTS_IN_US]
        return len(lately) >= _STARTS

    def _bound_fall(self, unit: str) -> None:
        """PID 1 stops those that are bound to what has just fallen, one after the other."""
        for other, facts in self.facts.items():
            if other in self.bound and unit in facts.requires and self.runs(other):
                self.stop_one(other, self.queue(other))
                self._bound_fall(other)

    def stop_one(self, unit: str, job: int) -> None:
        """A stop job runs."""
        if self.facts[unit].active_state is ACTIVE:
            self.show(unit, DEACTIVATING, "stop-sigterm", main_exit_us=self.now_us)
        if self.facts[unit].active_state is not FAILED:
            self.show(unit, INACTIVE, "dead")
        self.over(unit, job)

    def _restarts(self, unit: str, invocation: str) -> None:
        """An automatic restart: it restarts those along that require it and run."""
        facts = self.facts[unit]
        if not self.waits(unit) or facts.invocation != invocation or facts.job:
            return
        along = [u for u in self.consumers(unit) if self.runs(u)]
        job = next(self._numbers)
        restarts = facts.n_restarts + 1
        self.show(unit, ACTIVATING, "auto-restart-queued", job=job, n_restarts=restarts)
        self._job_new(job, unit)
        jobs = {other: self.queue(other) for other in along}
        self._all_again({unit: job, **jobs}, along)

    def _all_again(self, jobs: Mapping[str, int], down: list[str]) -> None:
        """*down* are taken down, the furthest first; all of *jobs* come up, the nearest first."""
        for unit in reversed(down):
            self.show(unit, DEACTIVATING, "stop-sigterm", main_exit_us=self.now_us)
            self.show(unit, INACTIVE, "dead")
        delay_us = 0
        for unit, job in jobs.items():
            if delay_us:
                self.after_us(delay_us, partial(self._comes_up, unit, job))
            else:
                self._comes_up(unit, job)
            delay_us += int(self.slow.get(unit, 0) * SECOND_US)

    def _comes_up(self, unit: str, job: int) -> None:
        self.put_away.pop(unit, None)
        self.along.pop(unit, None)
        self.along = {u: p for u, p in self.along.items() if p != unit}
        self._starts_us.setdefault(unit, []).append(self.now_us)
        slow_s = self.slow.get(unit, 0)
        if not slow_s:
            self._is_up(unit, job)
            return
        invocation = f"{unit}-{next(self._numbers)}"
        self.show(
            unit,
            ACTIVATING,
            "start",
            invocation=invocation,
            inactive_exit_us=self.now_us,
            main_start_us=self.now_us,
            result="success",
        )
        self.after_us(int(slow_s * SECOND_US), lambda: self._is_up(unit, job, invocation))

    def _is_up(self, unit: str, job: int, invocation: str = "") -> None:
        began_us = self.facts[unit].main_start_us if invocation else self.now_us
        invocation = invocation or f"{unit}-{next(self._numbers)}"
        self.show(
            unit,
            ACTIVE,
            "running",
            invocation=invocation,
            result="success",
            exit_code=0,
            exit_status=0,
            inactive_exit_us=began_us,
            main_start_us=began_us,
        )
        self.over(unit, job)
        if unit in self.frail:
            self.after_us(int(self.frail[unit] * SECOND_US), lambda: self._dies(unit, invocation))

    def _dies(self, unit: str, invocation: str) -> None:
        if self.facts[unit].invocation == invocation and self.runs(unit):
            self.ends(unit, "exit-code", _EXITED, 1)

    def _job_new(self, job: int, unit: str) -> None:
        self._signal(JobNew(job, UnitName(unit)))

    # ---- what people do

    def kill(self, unit: str) -> None:
        if self.runs(unit):
            self.ends(unit, "signal", _KILLED, 9)

    def terminate(self, unit: str) -> None:
        """`kill`, not by systemd: a clean end by SIGTERM."""
        if self.runs(unit):
            self.ends(unit, "success", _KILLED, 15)

    def exit(self, unit: str) -> None:
        if self.runs(unit):
            self.ends(unit, "exit-code", _EXITED, 1)

    def finish(self, unit: str) -> None:
        if self.runs(unit):
            self.ends(unit, "success", _EXITED, 0)

    def stop(self, unit: str, *along: str) -> None:
        """`systemctl stop`: whoever requires it goes along."""
        names = [unit, *self.consumers(unit)]
        names = [n for n in names if self.runs(n) or (self.waits(n) and not self.facts[n].job)]
        if unit not in names or any(self.facts[n].job for n in names):
            return
        jobs = {name: self.queue(name) for name in names}
        for name in reversed(names):
            self.stop_one(name, jobs[name])
        self.put_away[unit] = self.now_us
        self.along.update(dict.fromkeys(names[1:], unit))

    def start(self, unit: str) -> None:
        """`systemctl start`: what it requires is started with it, first."""
        names = [n for n in self.needed(unit) if self.rests(n)]
        if self.rests(unit):
            self._all_again({name: self.queue(name) for name in (*names, unit)}, [])

    def needed(self, unit: str) -> list[str]:
        """What *unit* requires, directly or not, the furthest first."""
        found: list[str] = []
        waiting = list(self.facts[unit].requires)
        while waiting:
            name = waiting.pop(0)
            if name != unit and name not in found:
                found.append(name)
                waiting += self.facts[name].requires
        return found[::-1]

    def restart(self, unit: str) -> None:
        """`systemctl restart`, or a restart by healthd: the same job."""
        if self.facts[unit].job:
            return
        along = [u for u in self.consumers(unit) if self.runs(u)]
        down = [u for u in (unit, *along) if self.runs(u)]
        first = [n for n in self.needed(unit) if self.rests(n)]
        self._all_again({u: self.queue(u) for u in (*first, unit, *along)}, down)

    def ask(self, unit: str) -> None:
        """A person asks healthd for a restart."""
        self.put(unit, RestartAsked("uid 1000"))
