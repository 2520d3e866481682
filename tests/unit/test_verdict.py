"""From one look to a verdict: the four states, the streak, the grace, flapping."""

from __future__ import annotations

from itertools import cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthd.judge.verdict import LOOKS_KEPT, Standing, remember, verdict, waits_on
from healthd.model import (
    SECOND_US,
    CheckKey,
    Closing,
    Edition,
    FailureClass,
    Look,
    Looked,
    Now,
    Outcome,
    Policy,
    Reason,
    Rules,
    State,
    Verdict,
)
from tests.unit.histories import BEGIN_AT, BEGIN_US, FAIL, OK, READINESS, SLOW, Play

NOW = Now(BEGIN_US, BEGIN_AT)
RULES = Rules()
WELL = Verdict(State.GREEN, Reason.OK, "HTTP 200", BEGIN_AT - SECOND_US)
NOT_RUN = Look(Outcome.NOT_JUDGED, Reason.UNKNOWN, "no such program", FailureClass.COULD_NOT_RUN)
STANDINGS = st.builds(
    Standing,
    open=st.booleans(),
    in_grace=st.booleans(),
    counts=st.booleans(),
    failing_of_last=st.integers(0, 20),
)
VERDICTS = st.builds(
    Verdict,
    state=st.sampled_from(State),
    reason=st.sampled_from(Reason),
    summary=st.just("before"),
    since_at=st.integers(0, BEGIN_AT),
    streak=st.integers(0, 9),
)
LOOKS = st.builds(
    Look,
    outcome=st.sampled_from(Outcome),
    reason=st.sampled_from(Reason),
    summary=st.just("now"),
    failure_class=st.none() | st.sampled_from(FailureClass),
)


def said(look: Look, streak: int, standing: Standing, rules: Rules = RULES) -> tuple[str, str, int]:
    """State, reason and streak of a look after *streak* failing ones."""
    previous = Verdict(State.YELLOW, Reason.SUSPECT, "HTTP 503", 1, streak) if streak else WELL
    found = verdict(previous, look, NOW, rules, standing)
    return found.state.value, found.reason.value, found.streak


@pytest.mark.parametrize(
    ("look", "streak", "standing", "expected"),
    [
        (OK, 2, Standing(), ("green", "ok", 0)),
        (SLOW, 2, Standing(), ("yellow", "degraded", 0)),
        (NOT_RUN, 2, Standing(), ("grey", "unknown", 2)),
        (FAIL, 0, Standing(), ("yellow", "suspect", 1)),
        (FAIL, 1, Standing(), ("yellow", "suspect", 2)),
        (FAIL, 2, Standing(), ("red", "unready", 3)),
        (FAIL, 2, Standing(counts=False), ("yellow", "suspect", 2)),
        (FAIL, 0, Standing(counts=False), ("yellow", "suspect", 1)),
        (FAIL, 2, Standing(in_grace=True), ("grey", "starting", 2)),
        (FAIL, 0, Standing(open=True), ("red", "unready", 1)),
        (FAIL, 3, Standing(open=True, in_grace=True), ("red", "repairing", 3)),
        (FAIL, 0, Standing(failing_of_last=9), ("yellow", "suspect", 1)),
        (FAIL, 0, Standing(failing_of_last=10), ("red", "flapping", 1)),
        (FAIL, 0, Standing(failing_of_last=10, open=True), ("red", "flapping", 1)),
        (FAIL, 2, Standing(failing_of_last=12), ("red", "unready", 3)),
        (FAIL, 0, Standing(failing_of_last=12, in_grace=True), ("grey", "starting", 0)),
    ],
)
def test_each_look_in_each_standing(
    look: Look, streak: int, standing: Standing, expected: tuple[str, str, int]
) -> None:
    """The table of semantics.md, row by row."""
    assert said(look, streak, standing) == expected


def test_after_is_the_checks_own() -> None:
    """A unit check is red with the second failing look, others with the third."""
    assert said(FAIL, 1, Standing(), Rules(after=2))[0] == "red"
    assert said(FAIL, 1, Standing(), Rules(after=5))[0] == "yellow"


@given(VERDICTS, LOOKS, STANDINGS)
def test_every_look_has_a_verdict(previous: Verdict, look: Look, standing: Standing) -> None:
    """Total, and red only by a failing look, green only by a good one."""
    found = verdict(previous, look, NOW, RULES, standing)
    if look.outcome is Outcome.KEEP:
        assert found == previous
        return
    assert found.summary == "now"
    assert (found.state is State.GREEN) == (look.outcome is Outcome.OK)
    assert found.state is not State.RED or look.outcome is Outcome.FAILING
    assert found.streak <= previous.streak + 1


@given(VERDICTS, LOOKS, STANDINGS)
def test_since_moves_with_state_or_reason_only(
    previous: Verdict, look: Look, standing: Standing
) -> None:
    """ "Red since 14:03" must not become "since now" with each look."""
    found = verdict(previous, look, NOW, RULES, standing)
    same = (found.state, found.reason) == (previous.state, previous.reason)
    if same and previous.since_at:
        assert found.since_at == previous.since_at
    elif look.outcome is not Outcome.KEEP:
        assert found.since_at == NOW.wall_at


def test_waiting_keeps_the_streak_and_the_time() -> None:
    """Whose provider is down is neither better nor worse for it."""
    provider = CheckKey("liveness:web.service")
    suspect = Verdict(State.YELLOW, Reason.SUSPECT, "HTTP 503", 1, 2)
    first = waits_on(suspect, provider, NOW, "waits")
    assert (first.state, first.reason, first.waiting_on) == (State.GREY, Reason.WAITING, provider)
    assert (first.streak, first.since_at) == (2, NOW.wall_at)
    later = Now(NOW.steady_us + 1, NOW.wall_at + 1)
    assert waits_on(first, provider, later, "waits").since_at == NOW.wall_at
    assert (
        waits_on(first, CheckKey("liveness:db.service"), later, "waits").since_at == later.wall_at
    )


@given(st.lists(st.sampled_from(Outcome), max_size=60))
def test_the_last_twenty_looks_that_judge_are_kept(outcomes: list[Outcome]) -> None:
    """What could not be judged is neither a failure nor a success."""
    recent = looks = 0
    for outcome in outcomes:
        recent, looks = remember(recent, looks, outcome)
    judged = [o for o in outcomes if o not in (Outcome.KEEP, Outcome.NOT_JUDGED)][-LOOKS_KEPT:]
    assert looks == len(judged)
    assert recent.bit_count() == sum(o is Outcome.FAILING for o in judged)


def flap(play: Play, pattern: list[Look], count: int, begin: float = 0) -> float:
    """*count* looks of a repeated pattern, 30 s apart; returns the second after them."""
    for number, look in enumerate(islice(cycle(pattern), count)):
        play.at(begin + 30 * number, Looked(READINESS, look, "a1"))
    return begin + 30 * count


def test_ten_of_twenty_failing_looks_are_flapping() -> None:
    """Two bad, two good, for ever: never three in a row, and never well."""
    play = Play(policy=Policy())
    second = flap(play, [FAIL, FAIL, OK, OK], 19)
    assert play.told() == []
    flap(play, [OK, FAIL], 2, second)
    assert play.face() == ("red", "flapping")
    assert play.told() == [Edition.ENGAGED]


def test_twenty_flips_and_then_well_end_well() -> None:
    """One incident, its end states the true state, and no ticket stays open."""
    play = Play(policy=Policy())
    second = flap(play, [FAIL, OK], 40)
    assert len({i.id for i in play.story.incidents}) == 1
    incident = play.open()
    assert incident is not None
    assert (incident.reason, incident.summary) == (Reason.FLAPPING, "HTTP 503")
    flap(play, [OK], 4, second)
    assert play.face() == ("green", "ok")
    assert play.endings()[-1] is Closing.USER_FIXED
    assert play.told() == [Edition.ENGAGED, Edition.CLEARED]


def test_an_outage_that_is_over_does_not_make_the_next_blip_a_flapping() -> None:
    """One lost packet, half an hour after a long outage, opens nothing."""
    play = Play(policy=Policy())
    second = flap(play, [FAIL], 30)
    second = flap(play, [OK], 5, second)
    assert play.open() is None
    flap(play, [FAIL], 1, second)
    assert play.face() == ("yellow", "suspect")
    assert play.told() == [Edition.ENGAGED, Edition.CLEARED]


def test_looks_that_a_person_asks_for_do_not_make_a_flapping() -> None:
    """Twenty clicks in twenty seconds on a page that answers every other time."""
    play = Play(policy=Policy())
    for second in range(40):
        play.at(second, Looked(READINESS, FAIL if second % 2 else OK, "a1", asked=True))
    assert play.watch().looks <= 5
    assert play.told() == []
