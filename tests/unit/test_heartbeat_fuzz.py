"""Whatever systemd shows of a timer and its job, there is one answer and a sound record."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from healthd.model import (
    HOUR_US,
    MINUTE_US,
    ActiveState,
    Event,
    JobRan,
    JobRun,
    LoadState,
    RunResult,
    Story,
    Thawed,
    TimerFacts,
    TimerSeen,
    UnitFacts,
    Woken,
)
from healthd.store.records import decode, encode
from tests.unit.clockwork import CHECK, JOB, KEY, TIMER
from tests.unit.histories import BEGIN_AT, BEGIN_US, Play

DAY_US = 24 * HOUR_US
STEADY = st.one_of(st.just(0), st.integers(BEGIN_US - DAY_US, BEGIN_US + DAY_US))
WALL = st.one_of(st.just(0), st.integers(BEGIN_AT - DAY_US, BEGIN_AT + DAY_US))
TIMERS = st.builds(
    UnitFacts,
    id=st.just(TIMER),
    load_state=st.sampled_from(LoadState),
    active_state=st.sampled_from(ActiveState),
    sub_state=st.sampled_from(["waiting", "running", "elapsed", "dead", "odd"]),
    wanted=st.booleans(),
    booted=st.booleans(),
    condition_checked=st.booleans(),
    condition_met=st.booleans(),
)
SHOWN = st.builds(
    TimerFacts,
    unit=st.just(JOB),
    next_at=WALL,
    next_us=STEADY,
    next_stamp_us=STEADY,
    trigger_at=WALL,
    accuracy_for_us=st.integers(0, DAY_US),
    persistent=st.booleans(),
    one_shot=st.booleans(),
)
JOBS = st.builds(
    UnitFacts,
    id=st.just(JOB),
    load_state=st.sampled_from(LoadState),
    active_state=st.sampled_from(ActiveState),
    sub_state=st.sampled_from(["start", "exited", "auto-restart", "dead", "odd"]),
    service_type=st.sampled_from(["simple", "oneshot"]),
    result=st.sampled_from(["success", "exit-code", "exec-condition", "odd"]),
    invocation=st.sampled_from(["", "a", "b"]),
    active_enter_us=STEADY,
    inactive_exit_us=STEADY,
)
RUNS = st.builds(
    JobRun,
    invocation=st.sampled_from(["", "a", "b", "c"]),
    result=st.sampled_from(RunResult),
    at=WALL,
    at_us=STEADY,
    words=st.just("exit code 1"),
    for_us=st.integers(0, DAY_US),
)
EVENTS = st.one_of(
    st.builds(
        TimerSeen,
        facts=TIMERS,
        timer=SHOWN,
        job=st.one_of(st.none(), JOBS),
        fresh=st.booleans(),
        due=st.booleans(),
        anew=st.booleans(),
    ),
    st.builds(JobRan, run=RUNS),
    st.builds(Woken, same_boot=st.booleans()),
    st.builds(Thawed, away_us=st.integers(0, HOUR_US)),
)


@given(st.lists(st.tuples(EVENTS, st.integers(0, HOUR_US)), max_size=25), st.booleans())
def test_any_history_has_an_answer_and_survives_the_store(
    history: list[tuple[Event, int]], within: bool
) -> None:
    """Hostile values and lost signals end no watch, and what is stored reads back the same."""
    check = replace(CHECK, declared=within, within_us=HOUR_US if within else 0)
    play = Play(checks=(check,), story=Story(name=TIMER))
    for event, later_us in history:
        play.now_us += later_us
        play.put(event)
        assert decode(encode(play.story), Story) == play.story
        ledger = play.story.ledger
        assert len(ledger.took_us) <= 10
        assert ledger.success is None or ledger.success.result is RunResult.SUCCESS
        watch = play.watch(KEY)
        assert (watch.verdict.state == "red") <= (play.open(KEY) is not None)
        lately = watch.until_us > play.now_us - MINUTE_US
        assert not watch.until_us or watch.looked_us < play.now_us or lately


@given(st.lists(RUNS, max_size=12))
def test_a_run_counts_once_whoever_tells_of_it(runs: list[JobRun]) -> None:
    """Signals, a reading and the journal may all tell of the same end."""
    play = Play(checks=(CHECK,), story=Story(name=TIMER))
    for run in runs:
        play.put(JobRan(run))
        once = play.story.ledger
        if run.invocation:
            play.put(JobRan(run))
            assert play.story.ledger == once
