"""Several units that need each other, and the one healthd that judges them all."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from itertools import count

from msgspec.structs import replace

from healthd.judge.dependents import Dependents
from healthd.judge.endings import Endings
from healthd.judge.network import NETWORK, fell_short, network_check
from healthd.model import (
    SECOND_US,
    UNIT_RULES,
    ActiveState,
    Aspect,
    Check,
    CheckKey,
    Edition,
    Event,
    How,
    JobNew,
    JobRemoved,
    Link,
    LinkSeen,
    Look,
    LookAt,
    Looked,
    Notice,
    Policy,
    ReadUnit,
    Repair,
    Rules,
    Story,
    SystemdSignal,
    Tell,
    UnitChanged,
    UnitFacts,
    UnitName,
    UnitSeen,
    Watch,
)
from tests.unit.histories import BEGIN_AT, BEGIN_US, OK, Play

_READ_US = 3_000
_RECONCILE_US = 300 * SECOND_US
ACTIVE, FAILED, INACTIVE = ActiveState.ACTIVE, ActiveState.FAILED, ActiveState.INACTIVE


def live(unit: str, needs: tuple[str, ...] | None = None) -> Check:
    """The liveness check of *unit*."""
    said = None if needs is None else tuple(map(UnitName, needs))
    key = CheckKey(f"liveness:{unit}")
    return Check(key, Aspect.LIVENESS, "unit", UnitName(unit), UNIT_RULES, needs=said)


def ready(unit: str, needs: tuple[str, ...] | None = None) -> Check:
    """A declared readiness check of *unit*."""
    said = None if needs is None else tuple(map(UnitName, needs))
    key = CheckKey(f"readiness:{unit}")
    return Check(key, Aspect.READINESS, "http", UnitName(unit), Rules(), declared=True, needs=said)


class Town:
    """*requires*: each unit with those that systemd says it cannot be without. All of them run.
    *bound*: the units that fall with any of those.

    *serves*: what a look at the readiness of a unit finds. *kind*: the play of each story. Where a
    check is remote, the network is judged too: *link* is the way out.
    """

    def __init__(
        self,
        requires: Mapping[str, tuple[str, ...]],
        *,
        checks: tuple[Check, ...] = (),
        bound: frozenset[str] = frozenset(),
        policy: Policy | None = None,
        kind: type[Play] = Play,
    ) -> None:
        self.bound = bound
        self.now_us = BEGIN_US
        #: healthd is away: nothing of what happens is signalled to it.
        self.quiet = False
        self.stories: dict[str, Story] = {}
        self.plays: dict[str, Play] = {}
        self.facts: dict[str, UnitFacts] = {}
        self.serves: dict[str, Callable[[], Look]] = {}
        self.link = Link(routes=("eth0",))
        self.dependents = Dependents()
        self.endings = Endings()
        self._numbers = count(1)
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._due: dict[CheckKey, int] = {}
        self._acted: dict[str, int] = {}
        for unit, needed in requires.items():
            own = tuple(c for c in checks if c.unit == unit)
            if not any(c.aspect is Aspect.LIVENESS for c in own):
                own = (live(unit), *own)
            self._acted[unit] = 0
            self.plays[unit] = kind(
                policy=policy or Policy(), checks=own, story=Story(name=unit), stories=self.stories
            )
            self.facts[unit] = UnitFacts(
                id=UnitName(unit),
                active_state=ACTIVE,
                sub_state="running",
                invocation=f"{unit}-1",
                wanted=True,
                requires=needed,
                providers=needed,
                bound_to=needed if unit in bound else (),
                active_enter_us=BEGIN_US - 3600 * SECOND_US,
                inactive_exit_us=BEGIN_US - 3600 * SECOND_US,
                main_start_us=BEGIN_US - 3600 * SECOND_US,
            )
            self.endings.prime(self.facts[unit])
            self.settle(unit)
        if any(check.remote for check in checks):
            story = Story(name=NETWORK)
            self.plays[NETWORK] = kind(checks=(network_check(),), story=story, stories=self.stories)
            self._acted[NETWORK] = 0
            self.settle(NETWORK)
        self._reconcile()
        self.run(60)

    # ---- time

    def run(self, seconds: float) -> None:
        """Let time pass, with everything that falls due in it."""
        until_us = self.now_us + int(seconds * SECOND_US)
        while True:
            acts_us = self._heap[0][0] if self._heap else until_us + 1
            looks_us = min(self._due.values(), default=until_us + 1)
            if min(acts_us, looks_us) > until_us:
                break
            if acts_us <= looks_us:
                self.now_us = max(self.now_us, acts_us)
                heapq.heappop(self._heap)[2]()
            else:
                self.now_us = max(self.now_us, looks_us)
                key = min(self._due, key=lambda k: (self._due[k], k))
                del self._due[key]
                self.look(key)
        self.now_us = until_us

    def after_us(self, us: int, act: Callable[[], None]) -> None:
        """Do *act* in so many microseconds."""
        heapq.heappush(self._heap, (self.now_us + us, next(self._numbers), act))

    def _reconcile(self) -> None:
        for unit in self.facts:
            self.put(unit, UnitSeen(self.facts[unit], fresh=True, due=True))
        self.after_us(_RECONCILE_US, self._reconcile)

    def look(self, key: CheckKey) -> None:
        """The look at a check, which is due now."""
        unit = key.partition(":")[2]
        if key == NETWORK:
            self.put(NETWORK, LinkSeen(self.link))
        elif key.startswith(f"{Aspect.LIVENESS}:"):
            self.put(unit, UnitSeen(self.facts[unit], fresh=True, due=True))
        else:
            found = self.serves.get(unit, lambda: OK)()
            self.put(unit, Looked(key, found, self.facts[unit].invocation))
            if NETWORK in self.plays and fell_short(found):
                self.after_us(_READ_US, lambda: self.look(NETWORK))

    def put(self, unit: str, event: Event) -> None:
        """Judge one event, and all that follows from it."""
        play = self.plays[unit]
        play.now_us = self.now_us
        before = play.story
        play.put(event)
        self.settle(unit)
        for name, moved in self.dependents.moved(before, play.story, self.stories, play.now):
            self.after_us(0, lambda name=name, moved=moved: self.put(name, moved))  # type: ignore[misc]

    def settle(self, unit: str) -> None:
        """Take up what the judge asked for."""
        play = self.plays[unit]
        self.stories[unit] = play.story
        self.dependents.keep(play.story)
        new, self._acted[unit] = play.effects[self._acted[unit] :], len(play.effects)
        for effect in new:
            match effect:
                case LookAt(key=key, at_us=at_us):
                    self._due.pop(key, None)
                    if at_us:
                        self._due[key] = max(at_us, self.now_us)
                case ReadUnit():
                    self.after_us(_READ_US, lambda: self._read(unit))
                case _:
                    pass

    def _read(self, unit: str) -> None:
        self.put(unit, UnitSeen(self.facts[unit], fresh=True))

    # ---- what happens to units

    def kill(self, unit: str) -> None:
        """Its main process is killed; systemd does not restart it."""
        changes = {"result": "signal", "exit_code": 2, "exit_status": 9}
        self.show(unit, FAILED, "failed", main_exit_us=self.now_us, **changes)

    def crash(self, unit: str) -> None:
        """It exits with code 1, and systemd restarts it after 100 ms."""
        changes = {"result": "exit-code", "exit_code": 1, "exit_status": 1}
        self.show(unit, FAILED, "failed-before-auto-restart", main_exit_us=self.now_us, **changes)
        self.show(unit, ActiveState.ACTIVATING, "auto-restart", inactive_exit_us=self.now_us)
        self.run(0.1)
        restarts = self.facts[unit].n_restarts + 1
        job = next(self._numbers)
        sub = "auto-restart-queued"
        self.show(unit, ActiveState.ACTIVATING, sub, job=job, n_restarts=restarts)
        self._signal(JobNew(job, UnitName(unit)))
        self._comes_up(unit, job)

    def start(self, unit: str) -> None:
        """`systemctl start`."""
        self._comes_up(unit, self.queue(unit))

    def _comes_up(self, unit: str, job: int) -> None:
        self.show(
            unit,
            ACTIVE,
            "running",
            invocation=f"{unit}-{next(self._numbers)}",
            result="success",
            exit_code=0,
            exit_status=0,
            inactive_exit_us=self.now_us,
            main_start_us=self.now_us,
        )
        self.over(unit, job)

    def stop(self, unit: str, *along: str) -> None:
        """`systemctl stop`, and what the transaction takes along."""
        jobs = {name: self.queue(name) for name in (unit, *along)}
        for name in (*along, unit):
            self.show(name, ActiveState.DEACTIVATING, "stop-sigterm", main_exit_us=self.now_us)
            self.show(name, INACTIVE, "dead")
            self.over(name, jobs[name])

    def queue(self, unit: str) -> int:
        job = next(self._numbers)
        self._signal(JobNew(job, UnitName(unit)))
        self.show(unit, self.facts[unit].active_state, self.facts[unit].sub_state, job=job)
        return job

    def over(self, unit: str, job: int) -> None:
        self._signal(JobRemoved(job, UnitName(unit), "done"))
        self.show(unit, self.facts[unit].active_state, self.facts[unit].sub_state, job=0)

    def show(self, unit: str, state: ActiveState, sub: str, **changes: object) -> None:
        """One change of a unit, as its two signals."""
        before = self.facts[unit].active_state
        if state is not before:
            changes["state_change_us"] = self.now_us
        if state is ACTIVE and before is not ACTIVE:
            changes["active_enter_us"] = self.now_us
        if before is ACTIVE and state is not ACTIVE:
            changes["active_exit_us"] = self.now_us
        if state in (INACTIVE, FAILED) and before not in (INACTIVE, FAILED):
            changes["inactive_enter_us"] = self.now_us
        facts = replace(self.facts[unit], active_state=state, sub_state=sub, **changes)
        self.facts[unit] = facts
        if self.quiet:
            return
        service: dict[str, object] = {"Result": facts.result, "NRestarts": facts.n_restarts}
        self._signal(UnitChanged(UnitName(unit), "Service", service))
        shown: dict[str, object] = {
            "ActiveState": state.value,
            "SubState": sub,
            "Job": facts.job,
            "InvocationID": facts.invocation,
        }
        self._signal(UnitChanged(UnitName(unit), "Unit", shown))
        self.put(unit, UnitSeen(facts))

    def _signal(self, signal: SystemdSignal) -> None:
        self.now_us += 1_000
        play = next(iter(self.plays.values()))
        now = replace(play.now, steady_us=self.now_us, wall_at=BEGIN_AT + self.now_us - BEGIN_US)
        for unit, event in self.endings.feed(signal, now):
            self.put(unit, event)

    # ---- what came of it

    def watch(self, key: str) -> Watch:
        story = self.stories.get(key) or self.stories[key.partition(":")[2]]
        return next(w for w in story.watches if w.check.key == key)

    def face(self, key: str) -> tuple[str, str]:
        """State and reason of a check."""
        verdict = self.watch(key).verdict
        return verdict.state.value, verdict.reason.value

    def how(self, unit: str) -> How | None:
        """How the unit's last invocation ended."""
        last = self.stories[unit].run.last
        return last.how if last else None

    def notices(self, *editions: Edition) -> list[Notice]:
        told = [e.notice for p in self.plays.values() for e in p.effects if isinstance(e, Tell)]
        return [
            n for n in sorted(told, key=lambda n: n.at) if not editions or n.edition in editions
        ]

    def repairs(self) -> list[Repair]:
        return [e for p in self.plays.values() for e in p.effects if isinstance(e, Repair)]
