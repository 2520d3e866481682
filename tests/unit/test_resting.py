"""The liveness rows of a unit that rests, and why."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from healthd.judge.liveness import liveness
from healthd.model import (
    SECOND_US,
    ActiveState,
    How,
    LoadState,
    Outcome,
    Policy,
    Reason,
    Run,
    UnitFacts,
    UnitName,
)
from tests.unit.sights import FAILED, NOW, RESTED, RUNS, T0_US, WEB, after, end, says, seen


def test_a_unit_file_that_systemd_refuses_is_a_finding() -> None:
    """It cannot be started, though nothing has failed."""
    assert says(replace(RESTED, load_state=LoadState.BAD_SETTING)) == (
        "degraded configuration: its unit file has a setting that systemd refuses"
    )
    assert says(UnitFacts(WEB, load_state=LoadState.NOT_FOUND)) == (
        "degraded configuration: systemd finds no such unit"
    )


def test_a_masked_unit_is_nobodys_trouble() -> None:
    """Somebody took it out of service."""
    assert says(replace(FAILED, load_state=LoadState.MASKED)) == "not-judged not-configured: masked"


def test_a_unit_that_was_stopped_is_grey_whatever_it_shows() -> None:
    """Java exits with 143 on SIGTERM: the person still meant it."""
    java = replace(FAILED, exit_status=143)
    assert says(RESTED, after(end(how=How.ASKED))) == "not-judged stopped: stopped"
    assert says(java, after(end(how=How.ASKED))) == (
        "not-judged stopped: stopped (exit code 143 (128 + SIGTERM) when asked to stop)"
    )
    pushed = after(end(how=How.PUSHED_OUT, by=UnitName("rival.service")))
    assert says(RESTED, pushed) == (
        "not-judged stopped: stopped for rival.service, which conflicts with it"
    )


def test_a_start_that_systemd_refused_after_a_stop_is_no_stop() -> None:
    """Whoever stops and starts a unit too often wants it to run, and it does not."""
    refused = replace(
        FAILED,
        result="start-limit-hit",
        exit_status=0,
        start_limit_burst=5,
        start_limit_interval_for_us=10 * SECOND_US,
    )
    assert says(refused, after(end(how=How.ASKED))) == (
        "failing failed: systemd gave up after 5 starts in 10 s"
    )


def test_a_unit_that_was_stopped_while_it_waited_to_restart_says_what_came_before() -> None:
    """The failure was not an answer to the stop."""
    run = Run(last=end(how=How.ASKED), ends=(end(),))
    called_off = replace(RESTED, result="exit-code", exit_status=3)
    assert says(called_off, run) == (
        "not-judged stopped: stopped (exit code 3 before it was stopped)"
    )


def test_a_unit_that_its_provider_took_along_waits() -> None:
    """The provider's own check says what is wrong."""
    along = after(end(how=How.TAKEN_ALONG, by=UnitName("db.service")))
    assert says(RESTED, along) == "not-judged waiting: stopped along with db.service"


def test_how_an_earlier_invocation_ended_says_nothing_of_this_one() -> None:
    """A stop last week does not excuse what failed today."""
    earlier = after(end("z", how=How.ASKED))
    assert says(FAILED, earlier) == "failing failed: exit code 3"


def test_a_failed_unit_fails_with_or_without_memory() -> None:
    """What failed before healthd came is as broken."""
    assert says(FAILED) == says(FAILED, after(end())) == "failing failed: exit code 3"
    killed = replace(FAILED, result="signal", exit_code=2, exit_status=9)
    assert says(killed) == "failing failed: killed by SIGKILL"


def test_a_failed_unit_whose_start_is_queued_is_starting() -> None:
    """Upholds=, a person or our repair: what comes of it is seen soon."""
    assert says(replace(FAILED, job=7)) == "not-judged starting: its start is queued"


def test_a_oneshot_at_rest_is_not_checked() -> None:
    """It has done its work."""
    oneshot = replace(RESTED, service_type="oneshot")
    assert liveness(oneshot, Run(), NOW, Policy(), declared=False, grace_us=0, stories={}) is None
    failed = replace(FAILED, service_type="oneshot")
    assert seen(failed).reason is Reason.FAILED


def test_a_condition_that_is_not_met_is_named() -> None:
    """The unit rests because its author said so."""
    unmet = replace(
        RESTED,
        condition_checked=True,
        condition_met=False,
        conditions_failed=("ConditionVirtualization=!container",),
    )
    assert says(unmet) == (
        "not-judged not-configured: condition not met: ConditionVirtualization=!container"
    )
    unlooked = replace(unmet, condition_checked=False)
    assert seen(unlooked, after(end())).reason is Reason.EXITED
    own = replace(RESTED, result="exec-condition")
    assert says(own) == "not-judged not-configured: condition not met: ExecCondition"


def test_what_starts_on_demand_rests_well() -> None:
    """cups ends when nobody prints, whatever code it ends with."""
    cups = replace(RESTED, on_demand="cups.socket")
    assert says(cups, after(end())) == "ok ok: started on demand by cups.socket"
    assert seen(replace(FAILED, on_demand="cups.socket")).reason is Reason.FAILED


def test_what_nothing_wants_may_rest() -> None:
    """Meant to run is systemd's own word; a declared check is another."""
    unwanted = replace(RESTED, wanted=False)
    assert says(unwanted, after(end())) == "not-judged not-configured: nothing wants it"
    assert seen(unwanted, after(end()), declared=True).reason is Reason.EXITED


def test_what_the_boot_did_not_start_is_grey() -> None:
    """Nothing is known of it yet."""
    assert (
        says(UnitFacts(WEB, wanted=True)) == "not-judged not-configured: not started in this boot"
    )


def test_a_unit_that_a_signal_ended_is_down_though_systemd_calls_it_clean() -> None:
    """SIGTERM from anybody but systemd is no stop."""
    termed = replace(RESTED, exit_code=2, exit_status=15)
    assert says(termed, after(end())) == ("failing exited: ended by SIGTERM, not by systemd")


def test_a_program_that_soon_has_nothing_to_do_is_yellow() -> None:
    """irqbalance on a machine with one processor; unless somebody asked for it to be watched."""
    brief = replace(RESTED, main_start_us=T0_US - 14 * SECOND_US)
    assert says(brief, after(end())) == "degraded degraded: ended by itself after 4 s"
    assert says(brief, after(end()), declared=True) == ("failing exited: ended by itself after 4 s")
    assert says(RESTED, after(end())) == "failing exited: ended by itself after 1 h 59 min"
    coded = replace(RESTED, exit_status=7)
    assert says(coded, after(end())).endswith("after 1 h 59 min: exit code 7")


def test_a_restart_that_systemd_refused_has_taken_the_unit_down() -> None:
    """Its start half never ran: what is shown is the end before."""
    run = Run(last=end("", how=How.BY_ITSELF))
    assert says(RESTED, run) == ("failing exited: systemd refused its start")


@pytest.mark.parametrize("run", [Run(), after(end(how=How.UNDECIDED))])
def test_what_nobody_can_say_is_grey(run: Run) -> None:
    """A guess would be a false alarm or a missed outage."""
    assert says(RESTED, run) == "not-judged stopped: stopped; systemd no longer says by whom"


def test_a_state_of_a_newer_systemd_decides_nothing() -> None:
    """The last verdict stands."""
    assert seen(replace(RUNS, active_state=ActiveState.UNKNOWN)).outcome is Outcome.KEEP
