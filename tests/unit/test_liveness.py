"""The liveness rows of a unit that runs, starts, waits to restart, or goes from state to state."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from healthd.model import (
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    ActiveState,
    Outcome,
    Reason,
    Run,
    UnitFacts,
)
from tests.unit.sights import (
    FAILED,
    RUNS,
    STARTS,
    T0_US,
    WAITS,
    WEB,
    after,
    crashed,
    end,
    says,
    seen,
)


@pytest.mark.parametrize("facts", [RUNS, WAITS, STARTS])
def test_three_ends_in_ten_minutes_are_a_crash_loop_in_any_state(facts: UnitFacts) -> None:
    """A unit that always comes back is not well."""
    run = crashed(5 * MINUTE_US, 3 * MINUTE_US, 10 * SECOND_US)
    found = seen(facts, run)
    assert (found.outcome, found.reason) == (Outcome.FAILING, Reason.CRASH_LOOP)
    assert found.summary.startswith("3 ends in 10 min")
    assert found.until_us == T0_US - 10 * SECOND_US + 2 * MINUTE_US


def test_a_crash_loop_says_how_the_last_one_ended_while_systemd_shows_it() -> None:
    """A running unit shows nothing of the one before."""
    run = crashed(3 * MINUTE_US, 2 * MINUTE_US, 10 * SECOND_US)
    assert says(WAITS, run).endswith("3 ends in 10 min, last: exit code 3")
    assert says(RUNS, run).endswith("3 ends in 10 min")


def test_a_unit_that_holds_still_has_settled() -> None:
    """Two quiet minutes end a crash loop, and it was churned until then."""
    run = crashed(3 * MINUTE_US, 2 * MINUTE_US, 10 * SECOND_US)
    assert seen(RUNS, run, later_us=110 * SECOND_US - 1).reason is Reason.CRASH_LOOP
    assert seen(RUNS, run, later_us=110 * SECOND_US).outcome is Outcome.OK


def test_two_ends_are_churn() -> None:
    """Not a loop yet; a look that says when it will be well."""
    found = seen(RUNS, crashed(3 * MINUTE_US, 10 * SECOND_US))
    assert says(RUNS, crashed(3 * MINUTE_US, 10 * SECOND_US)) == (
        "degraded churned: ended by itself 10 s ago and was started again"
    )
    assert found.until_us == T0_US + 110 * SECOND_US
    assert says(RUNS, crashed(3 * MINUTE_US)) == "ok ok: running"


def test_what_ended_when_idle_and_was_called_again_did_not_churn() -> None:
    """hostnamed, geoclue, snapd: ending is how they rest; a yellow each time would be noise."""
    idle = Run(ends=(end("1", clean=True),))
    assert says(replace(RUNS, on_demand="org.example.Idle"), idle) == "ok ok: running"
    assert seen(RUNS, idle).reason is Reason.CHURNED
    assert seen(replace(RUNS, on_demand="a.socket"), crashed(10 * SECOND_US)).reason is (
        Reason.CHURNED
    )


def test_an_end_that_nothing_followed_is_no_loop() -> None:
    """The unit rests: that it failed is the finding."""
    run = crashed(3 * MINUTE_US, 2 * MINUTE_US, 10 * SECOND_US, down=True)
    assert seen(replace(FAILED, invocation="2"), run).reason is Reason.FAILED


def test_a_loop_too_slow_for_ten_minutes_is_one_all_the_same() -> None:
    """Once an hour, all day: red until it has held still for twice as long."""
    run = crashed(*(hour * HOUR_US for hour in range(6, 0, -1)))
    assert seen(RUNS, run).summary == "6 ends in 1 day"
    assert seen(RUNS, run).until_us == T0_US + HOUR_US
    assert seen(RUNS, run, later_us=HOUR_US).outcome is Outcome.OK
    assert seen(RUNS, crashed(*(h * HOUR_US for h in range(5, 0, -1)))).outcome is Outcome.OK


def test_ends_before_a_person_came_are_no_crash_loop_but_churn() -> None:
    """Whoever restarts a broken unit is not told at once that it is broken."""
    run = crashed(3 * MINUTE_US, 2 * MINUTE_US, 10 * SECOND_US)
    excused = replace(run, excused_us=T0_US - SECOND_US)
    assert seen(RUNS, excused).reason is Reason.CHURNED


def test_clean_ends_are_churn_however_many() -> None:
    """A program that is meant to end and start again does no harm."""
    ends = tuple(replace(e, clean=True) for e in crashed(*range(9 * SECOND_US, 0, -SECOND_US)).ends)
    assert seen(RUNS, Run(ends=ends)).reason is Reason.CHURNED


def test_ends_that_a_gap_hid_are_in_no_window() -> None:
    """When they were is not known."""
    ends = tuple(replace(e, after_gap=True) for e in crashed(3, 2, 1).ends)
    assert says(RUNS, Run(ends=ends)) == "ok ok: running"


@pytest.mark.parametrize("run", [Run(), after(end())])
def test_a_unit_that_waits_for_its_restart_is_churned(run: Run) -> None:
    """systemd is at it; said with how long, and which restart it is, with or without memory."""
    found = seen(WAITS, run)
    assert (found.outcome, found.reason) == (Outcome.DEGRADED, Reason.CHURNED)
    assert found.summary == "restarts in 12 s, restart 1 (exit code 3)"
    assert found.until_us == T0_US + 22 * SECOND_US


def test_a_restart_that_is_queued_has_its_number_already() -> None:
    """NRestarts rises with the job."""
    queued = replace(WAITS, sub_state="auto-restart-queued", n_restarts=1, job=7)
    assert seen(queued).summary == "its restart is queued, restart 1 (exit code 3)"


def test_a_restart_that_is_queued_behind_others_has_the_time_of_a_start() -> None:
    """Behind its provider's slow start, or while systemd is reloaded over and over: it comes."""
    queued = replace(WAITS, sub_state="auto-restart-queued", n_restarts=1, job=7)
    assert seen(queued, later_us=90 * SECOND_US - 1).outcome is Outcome.DEGRADED
    late = seen(queued, later_us=90 * SECOND_US)
    assert (late.outcome, late.reason) == (Outcome.FAILING, Reason.STUCK)
    assert late.summary == "exit code 3; its restart has been queued for 1 min 40 s"
    endless = replace(queued, timeout_start_for_us=-1)
    assert seen(endless, later_us=9 * MINUTE_US).outcome is Outcome.DEGRADED
    assert seen(endless, later_us=10 * MINUTE_US).reason is Reason.STUCK


def test_a_restart_that_does_not_come_is_a_failure() -> None:
    """Ten seconds after it was due."""
    assert seen(WAITS, later_us=22 * SECOND_US - 1).outcome is Outcome.DEGRADED
    late = seen(WAITS, later_us=22 * SECOND_US)
    assert (late.outcome, late.reason) == (Outcome.FAILING, Reason.FAILED)
    endless = replace(WAITS, restart_delay_for_us=-1)
    assert seen(endless, later_us=HOUR_US).outcome is Outcome.DEGRADED


def test_a_pause_between_clean_runs_is_well() -> None:
    """Restart=always used as a timer."""
    pause = replace(WAITS, result="success", exit_status=0)
    assert says(pause) == "ok ok: restarts in 12 s, after a clean end"
    assert seen(pause, later_us=HOUR_US).outcome is Outcome.OK


def test_result_of_the_run_to_come_does_not_make_the_last_one_clean() -> None:
    """As a restart fires, systemd shows Result=success before it shows that the wait is over."""
    firing = replace(WAITS, result="success", exit_status=0)
    assert seen(firing, after(end(clean=False))).reason is Reason.CHURNED
    assert seen(firing, after(end(clean=True))).outcome is Outcome.OK


def test_a_start_has_its_limit_and_ten_seconds() -> None:
    """systemd itself acts at the limit; what is past it asked for more time, and is no fault."""
    assert says(STARTS) == "not-judged starting: starting"
    until_us = STARTS.state_change_us + 100 * SECOND_US
    assert seen(STARTS).until_us == until_us
    assert says(STARTS, later_us=until_us - T0_US) == (
        "degraded degraded: still starting after 1 min 31 s, its limit is 1 min 30 s"
    )


def test_a_start_without_a_limit_is_never_red() -> None:
    """A data base may take its time; what is unusual is said."""
    endless = replace(STARTS, timeout_start_for_us=-1, inactive_exit_us=T0_US)
    assert seen(endless, later_us=10 * MINUTE_US - 1).reason is Reason.STARTING
    assert says(endless, later_us=10 * MINUTE_US) == (
        "degraded degraded: still starting after 10 min, and has no limit"
    )
    slow = Run(longest_start_for_us=HOUR_US)
    assert seen(endless, slow, later_us=3 * HOUR_US - 1).reason is Reason.STARTING


def test_a_start_after_an_automatic_restart_is_measured_from_its_own_beginning() -> None:
    """systemd's InactiveExit is then when the wait began."""
    waited = replace(STARTS, timeout_start_for_us=-1, inactive_exit_us=T0_US - HOUR_US)
    assert seen(waited).outcome is Outcome.DEGRADED
    assert seen(waited, Run(started_us=T0_US)).reason is Reason.STARTING


def test_a_oneshot_that_works_is_well() -> None:
    """How long it may is its timer's matter."""
    oneshot = replace(STARTS, service_type="oneshot")
    assert says(oneshot, later_us=HOUR_US) == "ok ok: running for 1 h"


def test_what_the_boot_will_start_is_starting() -> None:
    """Nobody is told about a machine that is not up yet."""
    booting = UnitFacts(WEB, wanted=True, booted=False)
    assert says(booting) == "not-judged starting: the boot is not finished"
    assert seen(replace(booting, wanted=False)).reason is Reason.NOT_CONFIGURED


@pytest.mark.parametrize(
    ("state", "limit_us"),
    [
        (ActiveState.DEACTIVATING, 100 * SECOND_US),
        (ActiveState.RELOADING, 100 * SECOND_US),
        (ActiveState.REFRESHING, 100 * SECOND_US),
        (ActiveState.MAINTENANCE, 30 * MINUTE_US + 10 * SECOND_US),
    ],
)
def test_a_transition_says_nothing_until_it_hangs(state: ActiveState, limit_us: int) -> None:
    """The last verdict stands; past the unit's own limit it is stuck."""
    facts = replace(RUNS, active_state=state, state_change_us=T0_US)
    assert seen(facts).outcome is Outcome.KEEP
    assert seen(facts).until_us == T0_US + limit_us
    assert seen(facts, later_us=limit_us - 1).outcome is Outcome.KEEP
    assert seen(facts, later_us=limit_us).reason is Reason.STUCK


def test_a_transition_without_a_limit_has_half_an_hour() -> None:
    """Infinity is not for ever."""
    stops = replace(RUNS, active_state=ActiveState.DEACTIVATING, timeout_stop_for_us=-1)
    assert seen(stops, later_us=29 * MINUTE_US).outcome is Outcome.KEEP
    assert seen(stops, later_us=31 * MINUTE_US).reason is Reason.STUCK


def test_an_active_unit_is_well() -> None:
    """Also one that systemd only calls so, which is said."""
    assert says(RUNS) == "ok ok: running"
    exited = replace(RUNS, sub_state="exited")
    assert says(exited) == "ok ok: active; systemd does not watch its processes"
    assert says(replace(exited, service_type="oneshot")) == "ok ok: ended well"
