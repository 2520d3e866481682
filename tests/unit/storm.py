"""Long histories of anything: every event the judge knows, with any values, in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from msgspec.structs import replace

from healthd.model import (
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    ActiveState,
    Aspect,
    AttemptId,
    AttemptResult,
    Began,
    Budget,
    Check,
    CheckKey,
    Declared,
    Delivered,
    Edition,
    End,
    Ended,
    Event,
    FailureClass,
    Froze,
    HoldsChanged,
    How,
    IncidentId,
    LoadState,
    Look,
    Looked,
    Outcome,
    Policy,
    Reason,
    RepairFinished,
    RestartAsked,
    Thawed,
    UnitFacts,
    UnitName,
    UnitSeen,
    Woken,
)
from tests.unit.histories import (
    BEGIN_AT,
    BEGIN_US,
    FAIL,
    LIVE_CHECK,
    OK,
    READY_CHECK,
    RUNNING,
    SLOW,
    UNIT,
)
from tests.unit.laws import LawfulPlay

FIX = UnitName("fix-web.service")
ADMIN_CHECK = replace(READY_CHECK, key=CheckKey(f"readiness:{UNIT}/admin"), repair_unit=FIX)
FUNCTION_CHECK = Check(
    CheckKey(f"function:{UNIT}"), Aspect.FUNCTION, "exec", UNIT, READY_CHECK.rules, declared=True
)
CHECKS = (LIVE_CHECK, READY_CHECK, ADMIN_CHECK, FUNCTION_CHECK)

_NOT_RUN = Look(Outcome.NOT_JUDGED, Reason.UNKNOWN, "could not run", FailureClass.COULD_NOT_RUN)
_LOOKS = (FAIL, FAIL, FAIL, OK, OK, SLOW, _NOT_RUN)
_PAUSES_US = (
    *(0, 1_000, SECOND_US, 5 * SECOND_US, 5 * SECOND_US, 15 * SECOND_US, 15 * SECOND_US),
    *(30 * SECOND_US, MINUTE_US, 10 * MINUTE_US, HOUR_US, 13 * HOUR_US),
)
_BRISK_US = (5 * SECOND_US, 5 * SECOND_US, 15 * SECOND_US, 15 * SECOND_US, 30 * SECOND_US)
# Long spells of one weather: what it takes to confirm, to settle, to close.
_MOODS = ("bad", "bad", "good", "good", "odd")
_SPELL = 25
_SUBS = ("running", "exited", "dead", "failed", "auto-restart", "start", "odd")


class SilentPlay(LawfulPlay):
    """In a storm nobody makes the looks that are due."""

    def may_be_silent(self) -> bool:
        return True


@dataclass
class Storm:
    """One random history. The same seed is the same history."""

    seed: int
    saves: bool = False
    wild: float = 0.3

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        self.play = SilentPlay(
            policy=self._policy(),
            checks=CHECKS,
            first_start=self._random.random() < 0.2,
            delivers=self._random.random() < 0.7,
            saves=self.saves,
        )
        self._invocation = 1
        self._mood = "odd"
        self._down = False

    def blow(self, events: int) -> None:
        """So many events."""
        kinds = tuple(_WEIGHTS)
        weights = tuple(_WEIGHTS.values())
        for make in self._random.choices(kinds, weights, k=events):
            if self._random.randrange(_SPELL) == 0:
                self._mood = self._random.choice(_MOODS)
                self._down = self._random.random() < 0.5
            calm = self._mood != "odd" and not self._rarely()
            self.play.now_us += self._random.choice(_BRISK_US if calm else _PAUSES_US)
            self.play.put(make(self))

    def settle(self) -> None:
        """All is well from now on, for as long as it takes."""
        self._invocation += 1
        well = replace(RUNNING, invocation=f"run{self._invocation}")
        self.play.held = {}
        self.play.frozen = ""
        self.play.put(Thawed())
        self.play.put(Declared(CHECKS))
        for attempt in self.play.story.attempts:
            self.play.put(RepairFinished(attempt.id, AttemptResult.DONE))
        self.play.put(Began(well.invocation, self.play.now_us, asked=True))
        for _ in range(80):
            self.play.now_us += 15 * SECOND_US
            self.play.put(UnitSeen(well, fresh=True, due=True))
            for check in CHECKS[1:]:
                self.play.put(Looked(check.key, OK, well.invocation))

    def looked(self) -> Event:
        check = self._random.choice(CHECKS[1:])
        facts = self.play.story.facts
        invocation = facts.invocation if facts else ""
        if self._rarely() and self._rarely():
            invocation = "another"
        look = self._random.choice(_LOOKS)
        if self._mood != "odd":
            look = FAIL if self._mood == "bad" else OK
        elif self._rarely():
            outcome, reason = self._random.choice([*Outcome]), self._random.choice([*Reason])
            look = replace(look, outcome=outcome, reason=reason)
        return Looked(check.key, look, invocation, asked=self._rarely())

    def seen(self) -> Event:
        pick = self._random.choice
        facts = self._facts()
        if self._mood != "odd" and not self._rarely():
            failed = self._mood == "bad" and self._down
            facts = replace(
                facts,
                active_state=ActiveState.FAILED if failed else ActiveState.ACTIVE,
                sub_state="failed" if failed else "running",
                load_state=LoadState.LOADED,
                job=0,
                active_foes=(),
                acts_on_machine=False,
                start_limit_interval_for_us=10 * SECOND_US,
                start_limit_burst=5,
            )
        fresh, due = pick((True, True, False)), pick((True, False))
        return UnitSeen(facts, fresh=fresh, due=due, asked=pick((True, False, False)))

    def ended(self) -> Event:
        now_us = self.play.now_us
        invocation = f"run{self._invocation}" if not self._rarely() else ""
        return Ended(
            End(
                invocation,
                now_us,
                BEGIN_AT + now_us - BEGIN_US,
                self._random.choice([*How]),
                clean=self._rarely(),
                after_gap=self._rarely(),
            )
        )

    def began(self) -> Event:
        self._invocation += 1
        asked = self._random.random() < 0.3
        return Began(f"run{self._invocation}", self.play.now_us, asked=asked)

    def asked(self) -> Event:
        return RestartAsked("uid 1000")

    def finished(self) -> Event:
        pending = [a for a in self.play.story.attempts if a.result is AttemptResult.PENDING]
        number = pending[0].id if pending and not self._rarely() else AttemptId(9999)
        results = [r for r in AttemptResult if r is not AttemptResult.PENDING]
        return RepairFinished(number, self._random.choice([AttemptResult.DONE, *results]))

    def delivered(self) -> Event:
        stories = self.play.story.incidents
        number = self._random.choice(stories).id if stories else IncidentId(7)
        return Delivered(number, self._random.choice([*Edition]), "mail")

    def woken(self) -> Event:
        return Woken(same_boot=not self._rarely())

    def declared(self) -> Event:
        if self._rarely():
            return Declared(tuple(c for c in CHECKS if self._random.random() < 0.7))
        return Declared(CHECKS)

    def held(self) -> Event:
        """Somebody takes a hold, another one, or lets go."""
        words = self._random.choice(("", "held by pid 7: work", "held by pid 8"))
        self.play.held = {UNIT: words} if words else {}
        return HoldsChanged()

    def frozen(self) -> Event:
        """The machine is about to sleep or stop, or that is over; or it slept without a word."""
        if self.play.frozen or self._rarely():
            self.play.frozen = ""
            return Thawed(self._random.choice(_PAUSES_US))
        self.play.frozen = "the machine is going to sleep"
        return Froze()

    def reloaded(self) -> Event:
        self.play.policy = self._policy()
        return Declared(tuple(w.check for w in self.play.story.watches))

    def _rarely(self) -> bool:
        return self._random.random() < self.wild

    def _policy(self) -> Policy:
        pick = self._random.choice
        return Policy(
            allow_restart=pick((frozenset(), frozenset({UNIT}), frozenset({UNIT, FIX}))),
            max_attempts=pick((0, 1, 2, 2, 3)),
            unit_budget=Budget(pick((1, 4, 4)), HOUR_US),
            renotify_us=pick((HOUR_US, 12 * HOUR_US)),
            self_healed=pick((False, False, True)),
        )

    def _facts(self) -> UnitFacts:
        pick, now_us = self._random.choice, self.play.now_us
        state = pick([*ActiveState, ActiveState.ACTIVE, ActiveState.ACTIVE, ActiveState.FAILED])
        return replace(
            RUNNING,
            active_state=state,
            sub_state=pick(_SUBS) if self._rarely() else pick(("running", "dead")),
            load_state=pick([*LoadState])
            if self._rarely() and self._rarely()
            else LoadState.LOADED,
            invocation=f"run{self._invocation}" if not self._rarely() else "",
            job=pick((0, 0, 0, 7)),
            result=pick(("success", "signal", "exit-code", "odd")),
            service_type=pick(("simple", "simple", "simple", "oneshot")),
            wanted=pick((True, True, True, False)),
            on_demand=pick(("", "", "", "web.socket")),
            condition_met=not (self._rarely() and self._rarely()),
            condition_checked=True,
            active_foes=pick(((), (), (), ("rival.service",))),
            acts_on_machine=self._random.random() < 0.05,
            active_enter_us=now_us - pick(_PAUSES_US),
            inactive_enter_us=now_us - pick(_PAUSES_US),
            inactive_exit_us=now_us - pick(_PAUSES_US),
            state_change_us=now_us - pick(_PAUSES_US),
            main_start_us=now_us - pick(_PAUSES_US),
            main_exit_us=now_us - pick(_PAUSES_US),
            start_limit_burst=pick((0, 1, 5, 5)),
            start_limit_interval_for_us=pick((-1, 10 * SECOND_US, 10 * SECOND_US, HOUR_US)),
        )


_WEIGHTS: dict[Callable[[Storm], Event], int] = {
    Storm.looked: 120,
    Storm.seen: 70,
    Storm.ended: 8,
    Storm.began: 8,
    Storm.asked: 1,
    Storm.finished: 40,
    Storm.delivered: 8,
    Storm.woken: 4,
    Storm.declared: 2,
    Storm.reloaded: 2,
    Storm.held: 3,
    Storm.frozen: 3,
}
