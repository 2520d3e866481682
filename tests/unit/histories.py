"""Play a history of events against the judge as the loop would, and keep what came out."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from healthd.judge.incident import is_open
from healthd.judge.judge import judge
from healthd.model import (
    SECOND_US,
    UNIT_RULES,
    ActiveState,
    Aspect,
    AttemptId,
    AttemptResult,
    Check,
    CheckKey,
    Closing,
    Declared,
    Delivered,
    Edition,
    Effect,
    Event,
    FailureClass,
    Incident,
    IncidentId,
    IncidentStep,
    Look,
    Now,
    Outcome,
    Policy,
    Reason,
    Repair,
    RepairFinished,
    Rules,
    Scene,
    Story,
    Tell,
    UnitFacts,
    UnitName,
    Watch,
)

UNIT = UnitName("web.service")
LIVENESS = CheckKey(f"liveness:{UNIT}")
READINESS = CheckKey(f"readiness:{UNIT}")
BEGIN_US = 1_000_000 * SECOND_US
BEGIN_AT = 1_796_000_000 * SECOND_US
LISTED = Policy(allow_restart=frozenset({UNIT}))

LIVE_CHECK = Check(LIVENESS, Aspect.LIVENESS, "unit", UNIT, UNIT_RULES)
READY_CHECK = Check(READINESS, Aspect.READINESS, "http", UNIT, Rules(), declared=True)

FAIL = Look(Outcome.FAILING, Reason.UNREADY, "HTTP 503", FailureClass.STATUS)
OK = Look(Outcome.OK, Reason.OK, "HTTP 200")
SLOW = Look(Outcome.DEGRADED, Reason.DEGRADED, "answered in 812 ms")

RUNNING = UnitFacts(
    id=UNIT,
    active_state=ActiveState.ACTIVE,
    sub_state="running",
    invocation="a1",
    wanted=True,
    active_enter_us=BEGIN_US - 3600 * SECOND_US,
    inactive_exit_us=BEGIN_US - 3600 * SECOND_US,
    main_start_us=BEGIN_US - 3600 * SECOND_US,
)


@dataclass
class Play:
    """One story with a clock that only the test moves.

    *delivers*: a channel takes each notice at once. *held*: what holds on units say. *frozen*: why
    nothing is judged. *stories*: those of other units, by name. *wall_ahead_us*: how far
    the wall clock was set.
    """

    policy: Policy = LISTED
    checks: tuple[Check, ...] = (READY_CHECK,)
    first_start: bool = False
    delivers: bool = True
    held: dict[str, str] = field(default_factory=dict)
    frozen: str = ""
    stories: dict[str, Story] = field(default_factory=dict)
    story: Story = field(default_factory=lambda: Story(name=UNIT, facts=RUNNING))
    effects: list[Effect] = field(default_factory=list)
    machine_restarts_us: list[int] = field(default_factory=list)
    now_us: int = BEGIN_US
    wall_ahead_us: int = 0
    incidents: int = 1
    attempts: int = 1

    def __post_init__(self) -> None:
        self.story = replace(
            self.story, run=replace(self.story.run, watched_since_us=BEGIN_US - 3600 * SECOND_US)
        )
        self.put(Declared(self.checks))

    def at(self, seconds: float, event: Event) -> tuple[Effect, ...]:
        """Judge *event* at *seconds* after the beginning; returns its effects."""
        self.now_us = BEGIN_US + int(seconds * SECOND_US)
        return self.put(event)

    @property
    def now(self) -> Now:
        """The present instant."""
        return Now(self.now_us, BEGIN_AT + self.now_us - BEGIN_US + self.wall_ahead_us)

    def put(self, event: Event) -> tuple[Effect, ...]:
        scene = Scene(
            now=self.now,
            policy=self.policy,
            held=dict(self.held),
            frozen=self.frozen,
            stories=self.stories,
            first_start=self.first_start,
            machine_restarts_us=tuple(self.machine_restarts_us),
            next_incident=IncidentId(self.incidents),
            next_attempt=AttemptId(self.attempts),
        )
        before = self.story
        self.story, effects = judge(before, event, scene)
        self.stories[self.story.name] = self.story
        self.effects += effects
        given_back = set(before.restarts_us).difference(self.story.restarts_us)
        self.machine_restarts_us = [t for t in self.machine_restarts_us if t not in given_back]
        self.judged(before, event, scene, effects)
        for effect in effects:
            match effect:
                case IncidentStep(incident=incident):
                    self.incidents = max(self.incidents, incident.id + 1)
                case Repair(attempt=attempt):
                    self.attempts = attempt.id + 1
                    self.machine_restarts_us.append(attempt.at_us)
                case Tell(notice=notice) if self.delivers:
                    self.put(Delivered(notice.incident, notice.edition, "journal"))
                case _:
                    pass
        return effects

    def judged(
        self, before: Story, event: Event, scene: Scene, effects: tuple[Effect, ...]
    ) -> None:
        """Called after each event: a place for what must hold after every one of them."""

    def watch(self, key: CheckKey = READINESS) -> Watch:
        return next(w for w in self.story.watches if w.check.key == key)

    def face(self, key: CheckKey = READINESS) -> tuple[str, str]:
        """State and reason of a check."""
        verdict = self.watch(key).verdict
        return verdict.state.value, verdict.reason.value

    def open(self, key: CheckKey = READINESS) -> Incident | None:
        return next((i for i in self.story.incidents if i.key == key and is_open(i)), None)

    def repairs(self) -> list[Repair]:
        return [e for e in self.effects if isinstance(e, Repair)]

    def told(self) -> list[Edition]:
        return [e.notice.edition for e in self.effects if isinstance(e, Tell)]

    def endings(self) -> list[Closing]:
        return [
            e.incident.closing
            for e in self.effects
            if isinstance(e, IncidentStep) and e.incident.closing is not Closing.NOT_YET
        ]


def finished(play: Play, result: AttemptResult = AttemptResult.DONE) -> None:
    """The attempt under way ends with *result*, just now."""
    play.put(RepairFinished(play.repairs()[-1].attempt.id, result))
