"""What holds for every history: storms of anything, and lives of a unit among people.

`pytest tests/unit/test_judge_properties.py -m soak --timeout 0` plays many more and longer ones.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from healthd.judge.incident import is_open
from healthd.model import AttemptResult, Budget, State
from tests.unit.histories import FAIL, LISTED, LIVE_CHECK, OK, READY_CHECK, SLOW
from tests.unit.laws import LawfulPlay
from tests.unit.stage import ACTIVE, FAILED, INACTIVE, Stage
from tests.unit.storm import Storm

SEEDS = st.integers(0, 2**32)
WILDNESS = st.sampled_from([0.02, 0.1, 0.3, 0.6])
POLICIES = st.sampled_from(
    [
        LISTED,
        replace(LISTED, allow_restart=frozenset()),
        replace(LISTED, max_attempts=1, self_healed=True),
        replace(LISTED, max_attempts=3, unit_budget=Budget(2, 3_600_000_000)),
    ]
)
_MINUTE = 60.0


def few(examples: int) -> settings:
    """Long examples, so few of them, and the seconds they take are not the test's matter."""
    return settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))


# ---- storms: any event, any value, any order


@few(40)
@given(SEEDS, WILDNESS, st.integers(400, 800))
def test_no_history_breaks_a_law(seed: int, wild: float, events: int) -> None:
    """Red is open, repairs are allowed, notices are told once: after every single event."""
    Storm(seed, wild=wild).blow(events)


@few(10)
@given(SEEDS, WILDNESS, st.integers(100, 300))
def test_a_restart_between_any_two_events_changes_nothing(
    seed: int, wild: float, events: int
) -> None:
    """Every event is judged from what was saved and from what was held: the same comes out."""
    Storm(seed, wild=wild, saves=True).blow(events)


@few(10)
@given(SEEDS, WILDNESS, st.integers(100, 300))
def test_the_same_history_has_the_same_effects(seed: int, wild: float, events: int) -> None:
    """Replay must show what was decided."""
    storms = [Storm(seed, wild=wild) for _ in range(2)]
    for storm in storms:
        storm.blow(events)
    assert storms[0].play.effects == storms[1].play.effects
    assert storms[0].play.story == storms[1].play.story


@few(30)
@given(SEEDS, WILDNESS, st.integers(100, 300))
def test_after_all_is_well_everything_closes(seed: int, wild: float, events: int) -> None:
    """Whatever happened: twenty good minutes end every story."""
    storm = Storm(seed, wild=wild)
    storm.blow(events)
    storm.settle()
    story = storm.play.story
    assert not [i for i in story.incidents if is_open(i)]
    assert {w.verdict.state for w in story.watches} == {State.GREEN}
    assert not [a for a in story.attempts if a.result is AttemptResult.PENDING]


# ---- lives: what can happen to a unit on a real machine, with every look that is due


class Person:
    """Does to a unit what its state allows."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def kill(self) -> None:
        if self._runs():
            self.stage.kill()

    def terminate(self) -> None:
        if self._runs():
            self.stage.kill(15)

    def finish(self) -> None:
        if self._runs():
            self.stage.exit(0)

    def stop(self) -> None:
        if not self.stage.facts.job and self.stage.facts.active_state is not INACTIVE:
            self.stage.stop()

    def start(self) -> None:
        if not self.stage.facts.job and self.stage.facts.active_state in (FAILED, INACTIVE):
            self.stage.start()

    def restart(self) -> None:
        if not self.stage.facts.job:
            self.stage.restart()

    def ask_healthd(self) -> None:
        self.stage.restart_asked()

    def hold(self) -> None:
        self.stage.hold()

    def release(self) -> None:
        if self.stage.play.held:
            self.stage.release()

    def blip(self) -> None:
        self.stage.blip()

    def end_healthd(self) -> None:
        self.stage.healthd_restarts()

    def read_settings(self) -> None:
        self.stage.declare(*(w.check for w in self.stage.play.story.watches))

    def make_sick(self) -> None:
        self.stage.serves = lambda: FAIL

    def make_slow(self) -> None:
        self.stage.serves = lambda: SLOW

    def make_well(self) -> None:
        self.stage.serves = lambda: OK

    def make_frail(self) -> None:
        self.stage.lives_s = 0.05

    def make_mortal(self) -> None:
        self.stage.lives_s = 40.0

    def make_robust(self) -> None:
        self.stage.lives_s = None

    def make_late(self) -> None:
        self.stage.starts_in_s = 20.0

    def make_quick(self) -> None:
        self.stage.starts_in_s = 0.0

    def _runs(self) -> bool:
        return self.stage.facts.active_state is ACTIVE and not self.stage.facts.job


Deed = Callable[[Person], None] | float

WAITS: list[Deed] = [0.002, 1.0, 5.0, 12.0, _MINUTE, _MINUTE, 5 * _MINUTE, 20 * _MINUTE]
ASKED: list[Deed] = [
    *(Person.stop, Person.start, Person.restart, Person.ask_healthd),
    *(Person.hold, Person.release, Person.release),
    *(Person.end_healthd, Person.read_settings, Person.blip, Person.make_late, Person.make_quick),
]
MISHAPS: list[Deed] = [
    *(Person.kill, Person.kill, Person.terminate, Person.finish, Person.make_sick),
    *(Person.make_slow, Person.make_well, Person.make_frail, Person.make_mortal),
    Person.make_robust,
]


def life(stage: Stage, deeds: list[Deed]) -> None:
    """Do one after the other, and let time pass in between."""
    person = Person(stage)
    for deed in deeds:
        if isinstance(deed, float):
            stage.run(deed)
        else:
            deed(person)
            stage.run(0.004)


@few(25)
@given(
    st.lists(st.sampled_from([*WAITS, *WAITS, *ASKED, *MISHAPS]), min_size=12, max_size=40),
    POLICIES,
    st.sampled_from([None, 2.0, 12.0]),
)
def test_no_life_of_a_unit_breaks_a_law(
    deeds: list[Deed], policy: object, restart_s: float | None
) -> None:
    """With every look that is due made: no silence where something is broken, and a good end."""
    assert isinstance(policy, type(LISTED))
    stage = Stage(
        policy=policy, checks=(LIVE_CHECK, READY_CHECK), restart_s=restart_s, kind=LawfulPlay
    )
    life(stage, deeds)
    life(stage, [Person.make_robust, Person.make_well, Person.make_quick, 130.0, Person.stop])
    life(stage, [Person.release, 1.0, Person.start, 40 * _MINUTE])
    assert stage.facts.active_state is ACTIVE
    assert not [i for i in stage.play.story.incidents if is_open(i)]
    assert {w.verdict.state for w in stage.play.story.watches} == {State.GREEN}


@few(40)
@given(
    st.lists(st.sampled_from([*WAITS, *ASKED]), min_size=12, max_size=40),
    POLICIES,
    st.sampled_from([None, 0.1]),
)
def test_what_people_ask_for_is_never_repaired_nor_told(
    deeds: list[Deed], policy: object, restart_s: float | None
) -> None:
    """Stops, starts and restarts in any order are nobody's alarm."""
    assert isinstance(policy, type(LISTED))
    stage = Stage(
        policy=policy, checks=(LIVE_CHECK, READY_CHECK), restart_s=restart_s, kind=LawfulPlay
    )
    life(stage, deeds)
    stage.run(20 * _MINUTE)
    assert all(r.attempt.by != "healthd" for r in stage.play.repairs())
    assert stage.play.told() == []
    assert stage.play.endings() == []


# ---- longer, for `make soak`


@pytest.mark.soak
@few(1000)
@given(SEEDS, WILDNESS)
def test_long_storms(seed: int, wild: float) -> None:
    """Thousands of events each."""
    storm = Storm(seed, wild=wild)
    storm.blow(5000)
    storm.settle()
    assert not [i for i in storm.play.story.incidents if is_open(i)]


@pytest.mark.soak
@few(1000)
@given(
    st.lists(st.sampled_from([*WAITS, *WAITS, *ASKED, *MISHAPS]), min_size=20, max_size=200),
    POLICIES,
    st.sampled_from([None, 0.1, 12.0]),
)
def test_long_lives(deeds: list[Deed], policy: object, restart_s: float | None) -> None:
    """Weeks among people and mishaps."""
    assert isinstance(policy, type(LISTED))
    stage = Stage(
        policy=policy, checks=(LIVE_CHECK, READY_CHECK), restart_s=restart_s, kind=LawfulPlay
    )
    life(stage, deeds)
