"""Whatever systemd shows of a unit, the liveness table has one answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from healthd.judge.liveness import liveness
from healthd.model import (
    HOUR_US,
    MINUTE_US,
    ActiveState,
    How,
    LoadState,
    Now,
    Policy,
    Run,
    UnitFacts,
)
from tests.unit.sights import NOW, T0_US, WEB, end

INSTANTS = st.one_of(st.just(0), st.integers(T0_US - 2 * HOUR_US, T0_US + MINUTE_US))
ENDS = st.builds(
    end,
    st.sampled_from(["", "a", "b"]),
    st.integers(0, HOUR_US),
    st.sampled_from(How),
    clean=st.booleans(),
    after_gap=st.booleans(),
)
FACTS = st.builds(
    UnitFacts,
    id=st.just(WEB),
    load_state=st.sampled_from(LoadState),
    active_state=st.sampled_from(ActiveState),
    sub_state=st.sampled_from(["running", "exited", "auto-restart", "dead", "odd"]),
    service_type=st.sampled_from(["simple", "oneshot", "odd"]),
    result=st.sampled_from(["success", "signal", "exec-condition", "odd"]),
    exit_code=st.integers(-1, 5),
    invocation=st.sampled_from(["", "a"]),
    job=st.integers(0, 1),
    restart_delay_for_us=st.integers(-1, MINUTE_US),
    active_exit_us=INSTANTS,
    inactive_exit_us=INSTANTS,
    main_start_us=INSTANTS,
    main_exit_us=INSTANTS,
    state_change_us=INSTANTS,
    timeout_start_for_us=st.integers(-1, MINUTE_US),
    wanted=st.booleans(),
    on_demand=st.sampled_from(["", "web.socket"]),
)
RUNS_OF = st.builds(
    Run,
    last=st.none() | ENDS,
    ends=st.lists(ENDS, max_size=8).map(lambda es: tuple(sorted(es, key=lambda e: e.at_us))),
    excused_us=INSTANTS,
    started_us=INSTANTS,
)


@given(FACTS, RUNS_OF, st.booleans())
def test_every_state_of_a_unit_has_an_answer(facts: UnitFacts, run: Run, declared: bool) -> None:
    """Total, and a look that time alone will change says when, which is not yet."""
    found = liveness(facts, run, NOW, Policy(), declared=declared, grace_us=MINUTE_US, stories={})
    if found is not None:
        assert found.summary
        assert found.until_us == 0 or found.until_us > NOW.steady_us


@given(FACTS, RUNS_OF, st.booleans())
def test_a_look_holds_until_the_instant_it_names(
    facts: UnitFacts, run: Run, declared: bool
) -> None:
    """Nobody looks again before it: what it says must still be so a microsecond earlier."""
    found = liveness(facts, run, NOW, Policy(), declared=declared, grace_us=MINUTE_US, stories={})
    if found is None or not found.until_us:
        return
    then = Now(found.until_us - 1, NOW.wall_at)
    later = liveness(facts, run, then, Policy(), declared=declared, grace_us=MINUTE_US, stories={})
    assert later is not None
    assert (later.outcome, later.reason) == (found.outcome, found.reason)


@given(FACTS, RUNS_OF, st.booleans())
def test_a_look_that_names_no_instant_holds(facts: UnitFacts, run: Run, declared: bool) -> None:
    """Nobody looks again for its sake: time alone must not change it."""
    found = liveness(facts, run, NOW, Policy(), declared=declared, grace_us=MINUTE_US, stories={})
    if found is None or found.until_us:
        return
    then = Now(NOW.steady_us + 48 * HOUR_US, NOW.wall_at)
    later = liveness(facts, run, then, Policy(), declared=declared, grace_us=MINUTE_US, stories={})
    assert later is not None
    assert (later.outcome, later.reason) == (found.outcome, found.reason)
