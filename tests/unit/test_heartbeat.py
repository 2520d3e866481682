"""Heartbeats, row by row: the paragraph of that name in the semantics, as histories."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from healthd.model import (
    HOUR_US,
    SECOND_US,
    ActiveState,
    Closing,
    Edition,
    HoldsChanged,
    How,
    JobRun,
    LoadState,
    Policy,
    RunResult,
)
from tests.unit.clockwork import CHECK, DAY_S, JOB, KEY, Clockwork

WITHIN = replace(CHECK, declared=True, within_us=26 * HOUR_US)


def test_a_job_that_runs_well_is_green() -> None:
    """The summary says when it ran, and when it runs next."""
    clock = Clockwork()
    assert clock.face == ("grey", "starting")
    assert clock.says == "has not run yet, next run 2026-11-30 01:53 UTC"
    clock.run(3 * 3600)
    clock.reconcile()
    assert clock.face == ("green", "ok")
    assert clock.says == "ran 2026-11-30 01:54 UTC, next run 2026-12-01 01:54 UTC"


def test_the_end_of_a_first_run_is_not_taken_for_no_run() -> None:
    """systemd shows that the job is down before it says how that came: three changes for one."""
    clock = Clockwork()
    clock.run(3600 + 30)
    assert clock.face == ("green", "ok")
    clock.job = replace(clock.job, active_state=ActiveState.INACTIVE, sub_state="dead")
    clock.see()
    assert clock.face == ("green", "ok")


def test_a_failed_run_is_one_incident_until_one_succeeds() -> None:
    """The next night's failure belongs to the same incident; one good run ends it."""
    clock = Clockwork(every_s=1800)
    clock.status = 1
    clock.run(3600 + 90)
    assert clock.face == ("red", "failed")
    assert clock.says.startswith("exit code 1, last run ")
    clock.run(2 * 1800)
    assert clock.face == ("red", "failed")
    assert clock.play.told() == [Edition.ENGAGED]
    clock.status = 0
    clock.run(clock.left_s + 30)
    assert clock.face == ("red", "failed"), "a run that is under way proves nothing"
    clock.run(60)
    assert clock.face == ("green", "ok")
    assert set(clock.play.endings()) == {Closing.USER_FIXED}


def test_a_failure_is_confirmed_by_a_second_reading_only() -> None:
    """What systemd shows for a millisecond is no failure."""
    clock = Clockwork()
    clock.status = 1
    clock.run(3600 + 61)
    assert clock.face == ("yellow", "suspect")
    clock.run(6)
    assert clock.face == ("red", "failed")


def test_a_run_that_somebody_stopped_is_neither() -> None:
    """It is no success, so a failure before it stays; and no failure by itself."""
    clock = Clockwork()
    clock.run(3600 + 10)
    clock.end(How.ASKED, 15)
    clock.run(60)
    assert clock.face == ("grey", "starting")
    clock.status = 1
    clock.run(clock.left_s + 90)
    assert clock.face == ("red", "failed")
    clock.start()
    clock.end(How.ASKED, 0)
    clock.run(60)
    assert clock.face == ("red", "failed")
    assert clock.play.endings() == []


def test_a_stopped_timer_is_grey() -> None:
    """Whoever stopped it meant to."""
    clock = Clockwork()
    clock.run(2 * 3600)
    clock.stop()
    assert clock.face == ("grey", "stopped")
    clock.run(7 * DAY_S)
    assert clock.play.told() == []


def test_a_timer_that_a_stopping_machine_takes_down_is_not_judged() -> None:
    """A shutdown stops timers too, and nobody means them."""
    clock = Clockwork()
    clock.run(2 * 3600)
    clock.play.frozen = "the machine stops"
    clock.stop(How.UNDECIDED)
    clock.run(300)
    assert clock.face == ("green", "ok")


def test_a_timer_that_is_wanted_and_does_not_run_is_overdue() -> None:
    """A timer that was dead for two months, and nothing failed."""
    clock = Clockwork()
    clock.run(2 * 3600)
    clock.stop(How.UNDECIDED)
    clock.run(30)
    assert clock.face == ("red", "overdue")
    assert clock.says == "the timer does not run"
    incident = clock.play.open(KEY)
    assert incident is not None
    assert incident.remedy == "systemctl start backup.timer"


def test_a_dead_timer_that_runs_again_is_well_before_its_first_run() -> None:
    """Whoever started it put right what was wrong; that its job runs in a month is no fault."""
    clock = Clockwork(first_s=30 * DAY_S)
    clock.stop(How.UNDECIDED)
    clock.run(30)
    assert clock.face == ("red", "overdue")
    clock.revive(30 * DAY_S)
    clock.run(30)
    assert clock.play.endings()[0] is Closing.USER_FIXED
    assert clock.play.told() == [Edition.ENGAGED, Edition.CLEARED]
    clock.reconcile()
    assert clock.face == ("grey", "starting")


def test_a_stop_that_is_under_way_is_no_start() -> None:
    """systemd shows the timer down before its job is over; that job is the stop."""
    clock = Clockwork()
    clock.run(2 * 3600)
    clock.goes_down()
    assert clock.face == ("green", "ok")
    clock.stop()
    assert clock.face == ("grey", "stopped")


def test_a_job_that_somebody_masked_is_out_of_service() -> None:
    """The timer fails for that (Result=resources), and nobody is alarmed by what he did himself."""
    clock = Clockwork()
    clock.run(2 * 3600)
    clock.job = replace(clock.job, load_state=LoadState.MASKED)
    clock.facts = replace(clock.facts, active_state=ActiveState.FAILED, sub_state="failed")
    clock.timer = replace(clock.timer, result="resources", next_at=0)
    clock.see(fresh=True)
    clock.run(3600)
    assert clock.face == ("grey", "not-configured")
    assert clock.says == "its job backup.service is masked"
    clock.job = replace(clock.job, load_state=LoadState.LOADED)
    clock.see(fresh=True)
    clock.run(60)
    assert clock.face == ("red", "overdue")
    assert clock.play.told() == [Edition.ENGAGED]


def test_a_timer_whose_condition_is_not_met_is_grey() -> None:
    """fstrim in a container: enabled, inactive, and right so."""
    clock = Clockwork()
    clock.facts = replace(
        clock.facts,
        active_state=ActiveState.INACTIVE,
        sub_state="dead",
        condition_checked=True,
        condition_met=False,
        conditions_failed=("ConditionVirtualization=!container",),
    )
    clock.see(fresh=True)
    assert clock.face == ("grey", "not-configured")


def test_a_job_that_its_condition_skipped_is_grey() -> None:
    """On battery nothing is backed up: the timer fired, and nothing ran."""
    clock = Clockwork()
    clock.run(2 * 3600)
    clock.job = replace(
        clock.job,
        condition_checked=True,
        condition_met=False,
        conditions_failed=("ConditionACPower=true",),
    )
    clock.see(fresh=True)
    assert clock.face == ("grey", "not-configured")
    assert clock.says == "its job was skipped: ConditionACPower=true not met"


def test_a_job_without_a_unit_is_a_fault_of_configuration() -> None:
    """Its timer fires into nothing."""
    clock = Clockwork()
    clock.job = replace(clock.job, load_state=LoadState.NOT_FOUND)
    clock.see(fresh=True)
    assert clock.face == ("yellow", "configuration")


def test_a_job_that_takes_far_longer_than_usual_is_seen() -> None:
    """A oneshot that hangs is missed silently: yellow, never red."""
    clock = Clockwork()
    clock.run(2 * 3600)
    clock.takes_s = 5 * DAY_S
    clock.run(clock.left_s + 30 * 60)
    clock.reconcile()
    assert clock.says == "running since 2026-12-01 01:54 UTC"
    clock.run(DAY_S)
    assert clock.face == ("yellow", "degraded")
    assert clock.says.endswith("its longest lately took 1 min")
    assert clock.play.told() == []


def test_one_shot_timers_are_done_when_they_have_fired() -> None:
    """OnBootSec= only: there is no next run, and right so."""
    clock = Clockwork(one_shot=True)
    clock.run(2 * 3600)
    clock.facts = replace(clock.facts, sub_state="elapsed")
    clock.timer = replace(clock.timer, next_at=0)
    clock.see(fresh=True)
    assert clock.face == ("green", "ok")


def test_no_next_run_is_yellow() -> None:
    """A oneshot with RemainAfterExit= and OnUnitActiveSec=: the timer stopped repeating."""
    clock = Clockwork()
    clock.run(2 * 3600)
    clock.facts = replace(clock.facts, sub_state="elapsed")
    clock.timer = replace(clock.timer, next_at=0)
    clock.see(fresh=True)
    assert clock.face == ("yellow", "missed")
    assert clock.says.startswith("no next run is planned, last run ")


def test_one_announced_run_that_did_not_come_is_yellow_a_second_one_red() -> None:
    """What systemd itself announced, and no later than it allows itself to be."""
    clock = Clockwork()
    clock.run(3 * DAY_S)
    clock.fires = False
    clock.run(clock.left_s + 170)
    assert clock.face == ("green", "ok")
    clock.run(20)
    assert clock.face == ("yellow", "missed")
    clock.run(DAY_S + 120)
    assert clock.face == ("red", "overdue")


def test_a_late_run_within_accuracy_is_not_missed() -> None:
    """exim4-base may be 12 h late, and says so."""
    clock = Clockwork(accuracy_for_us=12 * HOUR_US)
    clock.run(3 * DAY_S)
    clock.fires = False
    clock.run(clock.left_s + 11 * 3600)
    assert clock.face == ("green", "ok")


def test_a_reload_sleep_or_gap_in_between_is_no_missed_run() -> None:
    """Nobody can say whether what was announced before still counts."""
    acts: tuple[Callable[[Clockwork], None], ...] = (
        lambda clock: clock.see(anew=True),
        lambda clock: clock.sleep(60),
        lambda clock: clock.healthd_restarts(),
    )
    for act in acts:
        clock = Clockwork()
        clock.run(3 * DAY_S)
        clock.fires = False
        clock.run(clock.left_s + 170)
        act(clock)
        clock.run(170)
        assert clock.face == ("green", "ok")


def test_a_clock_that_is_set_back_makes_no_run_late() -> None:
    """systemd waits for the wall clock; the steady one has gone on."""
    clock = Clockwork()
    clock.run(3 * DAY_S)
    clock.fires = False
    left_s = clock.left_s
    clock.play.wall_ahead_us = -7200 * SECOND_US
    clock.run(left_s + 400)
    assert clock.face == ("green", "ok")


def test_within_is_overdue_when_no_success_comes() -> None:
    """Counted from when healthd first saw the job, however long it had been silent before."""
    clock = Clockwork(check=WITHIN, first_s=100 * DAY_S)
    clock.run(26 * 3600 - 10)
    assert clock.face == ("grey", "starting")
    clock.run(60)
    assert clock.face == ("red", "overdue")
    assert clock.says == "no success yet, and one is due within 1 day 2 h"
    clock.start()
    clock.run(120)
    assert clock.face == ("green", "ok")


def test_a_persistent_timer_may_catch_up_after_the_machine_was_off() -> None:
    """Three days off: the run at the boot is the one that was due."""
    clock = Clockwork(check=WITHIN, persistent=True)
    clock.run(2 * 3600)
    clock.reboot(3 * DAY_S)
    clock.run(600)
    assert clock.face == ("green", "ok")
    clock.fires = False
    clock.run(400)
    assert clock.face == ("red", "overdue")


def test_the_ledger_outlives_a_reboot() -> None:
    """systemd has forgotten everything; healthd has not, and nobody is told twice."""
    clock = Clockwork()
    clock.status = 1
    clock.run(2 * 3600)
    assert clock.face == ("red", "failed")
    clock.reboot(3600)
    clock.run(60)
    assert clock.face == ("red", "failed")
    assert clock.play.told() == [Edition.ENGAGED]


def test_what_ran_in_a_gap_is_found_in_the_journal() -> None:
    """healthd was away for a night, and the job failed in it."""
    clock = Clockwork()
    clock.run(2 * 3600)
    at = clock.play.now.wall_at + 20 * SECOND_US
    clock.now_us += 60 * SECOND_US
    clock.healthd_restarts(JobRun("jx", RunResult.FAILED, at, 0, "exit code 3"))
    clock.run(30)
    assert clock.face == ("red", "failed")
    clock.healthd_restarts(JobRun("jx", RunResult.FAILED, at, 0, "exit code 3"))
    clock.run(30)
    assert clock.play.told() == [Edition.ENGAGED]


def test_a_failed_run_that_systemd_restarts_is_not_over() -> None:
    """Restart=on-failure of a job: only how the last try ends counts."""
    clock = Clockwork(policy=Policy())
    clock.run(2 * 3600)
    clock.run(DAY_S)
    clock.start()
    clock.end(How.BY_ITSELF, 1)
    clock.job = replace(clock.job, active_state=ActiveState.ACTIVATING, sub_state="auto-restart")
    clock.see(fresh=True)
    clock.run(30)
    assert clock.play.told() == []


def test_a_job_that_systemd_restarts_for_ever_is_told_once() -> None:
    """Restart=on-failure slower than its start limit never reaches `failed`: no run is over."""
    clock = Clockwork()
    clock.run(3600)
    for restarts in range(8):
        clock.job = replace(clock.job, n_restarts=restarts)
        clock.start()
        clock.see(fresh=True)
        clock.run(1)
        clock.end(How.BY_ITSELF, 1)
        state = ActiveState.ACTIVATING
        clock.job = replace(clock.job, active_state=state, sub_state="auto-restart")
        clock.see(fresh=True)
        assert restarts > 3 or clock.play.told() == []
        clock.run(20)
    assert clock.face == ("red", "crash-loop")
    assert clock.says == "systemd restarted backup.service 7 times, last: exit code 1"
    assert clock.play.told() == [Edition.ENGAGED]
    clock.start()
    clock.run(70)
    assert clock.face == ("green", "ok")
    assert set(clock.play.endings()) == {Closing.USER_FIXED}


def test_who_holds_the_job_holds_its_heartbeat() -> None:
    """Whoever works on a job says so for the job; the timer is not what he has in mind."""
    clock = Clockwork()
    clock.status = 1
    clock.play.held[JOB] = "held by pid 812: restore"
    clock.put(HoldsChanged())
    assert (clock.face, clock.says) == (("grey", "held"), "held by pid 812: restore")
    clock.run(2 * 3600)
    assert (clock.face, clock.play.told()) == (("grey", "held"), [])
    del clock.play.held[JOB]
    clock.put(HoldsChanged())
    clock.run(120)
    assert clock.face == ("red", "failed")
    assert clock.play.told() == [Edition.ENGAGED]
