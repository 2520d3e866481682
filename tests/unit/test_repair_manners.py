"""Histories of repairs: when healthd restarts a unit, when it waits, when it keeps away."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.model import (
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    ActiveState,
    AttemptResult,
    Began,
    Budget,
    Closing,
    Edition,
    End,
    Ended,
    How,
    Idle,
    IncidentStep,
    Looked,
    Phase,
    Policy,
    Publish,
    Repair,
    RepairFinished,
    RestartAsked,
    UnitSeen,
)
from tests.unit.histories import (
    BEGIN_US,
    FAIL,
    LISTED,
    LIVE_CHECK,
    LIVENESS,
    OK,
    READINESS,
    READY_CHECK,
    RUNNING,
    Play,
    finished,
)
from tests.unit.scenes import HOUR, MINUTE, dying, made_at, why
from tests.unit.stage import FAILED, Stage


def test_the_pauses_grow_from_attempt_to_attempt() -> None:
    """0 s, 10 s, 60 s, and the last for all that follow: a slow cure gets its time."""
    stage = dying(replace(LISTED, max_attempts=4, machine_budget=Budget(9, MINUTE_US)))
    stage.run(10 * MINUTE)
    assert made_at(stage) == [0, 10, 70, 130]
    assert why(stage) == "4 restarts did not help"


def test_a_units_budget_goes_over_incidents() -> None:
    """A repair that only lasts twenty minutes is no repair: the hour's budget ends it."""
    stage = Stage(policy=replace(LISTED, unit_budget=Budget(2, HOUR_US)))
    stage.run(10)
    for number in (1, 2, 3):
        stage.kill()
        stage.run(MINUTE)
        assert stage.play.story.incidents[-1].id == number
        stage.run(20 * MINUTE)
    assert stage.calls == 2
    assert why(stage) == "restarted 2 times lately, not trying again"


def test_a_budget_of_a_day_counts_a_day() -> None:
    """What the owner wrote holds, not the hour of the default."""
    stage = Stage(policy=replace(LISTED, unit_budget=Budget(2, 24 * HOUR_US)))
    stage.run(10)
    for _ in range(3):
        stage.kill()
        stage.run(3 * HOUR)
    assert stage.calls == 2
    assert why(stage) == "restarted 2 times lately, not trying again"


def test_three_restarts_a_minute_are_enough_for_a_machine() -> None:
    """When thirty units die at once, thirty restarts would be a second storm."""
    stage = dying()
    stage.play.machine_restarts_us += [stage.now_us] * 3
    stage.run(MINUTE)
    assert stage.calls == 0
    assert why(stage) == "3 restarts on this machine lately, not trying another"


def test_a_rival_that_runs_is_not_pushed_out() -> None:
    """Its start would stop what somebody else started."""
    stage = dying(facts=replace(RUNNING, active_foes=("apache2.service",)))
    stage.run(MINUTE)
    assert stage.calls == 0
    assert why(stage) == "apache2.service is active and conflicts with it"


def test_a_unit_whose_failure_acts_on_the_machine_is_left_alone() -> None:
    """FailureAction=reboot: a restart that fails would reboot the machine."""
    stage = dying(facts=replace(RUNNING, acts_on_machine=True))
    stage.run(MINUTE)
    assert stage.calls == 0
    assert why(stage) == "a failure of this unit acts on the whole machine"


def test_nothing_is_done_while_systemd_has_a_job() -> None:
    """What somebody has just asked for may be the cure, and is not to be doubled."""
    play = Play(checks=(LIVE_CHECK,))
    failed = replace(RUNNING, active_state=FAILED, sub_state="failed", result="signal")
    play.at(0, UnitSeen(failed, fresh=True, due=True))
    play.at(5, UnitSeen(replace(failed, job=7), fresh=True, due=True))
    assert play.face(LIVENESS) == ("grey", "starting")
    assert play.repairs() == []


def test_readiness_waits_for_a_job_of_its_unit() -> None:
    """In the middle of a reload that somebody asked for, nothing is restarted."""
    play = Play()
    play.put(UnitSeen(replace(RUNNING, job=7), fresh=True))
    for second in range(0, 90, 15):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    assert (play.face(), play.repairs()) == (("red", "unready"), [])
    play.put(UnitSeen(RUNNING, fresh=True))
    play.at(105, Looked(READINESS, FAIL, "a1"))
    assert len(play.repairs()) == 1


def test_readiness_waits_for_systemds_own_restart() -> None:
    """A unit that systemd is about to restart is not restarted by us."""
    play = Play()
    waits = replace(RUNNING, active_state=ActiveState.ACTIVATING, sub_state="auto-restart")
    play.put(UnitSeen(waits, fresh=True))
    for second in range(0, 90, 15):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    assert (play.face(), play.repairs()) == (("red", "unready"), [])


def test_one_attempt_at_a_time() -> None:
    """The call is under way: looks go on, and nothing is called again."""
    play = Play()
    for second in range(0, 600, 15):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    assert len(play.repairs()) == 1
    play.put(RestartAsked("uid 1000"))
    assert len(play.repairs()) == 1


def test_polkits_no_is_final_and_told_at_once() -> None:
    """No grace for what was never restarted, and the owner reads polkit's word."""
    play = Play()
    for second in (0, 15, 30):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    play.at(31, RepairFinished(play.repairs()[0].attempt.id, AttemptResult.FINAL, "polkit says no"))
    assert play.told() == [Edition.ENGAGED]
    assert play.face() == ("red", "unready")
    shown = [e.watch.verdict.reason.value for e in play.effects if isinstance(e, Publish)]
    assert shown[-2:] == ["repairing", "unready"]
    for second in range(45, 600, 15):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    assert (len(play.repairs()), play.told()) == (1, [Edition.ENGAGED])


def test_a_final_word_about_a_unit_that_is_well_again_is_nobodys_news() -> None:
    """It came back while polkit was asked: only a red check engages the owner."""
    play = Play()
    for second in (0, 15, 30):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    play.at(31, Looked(READINESS, OK, "a1"))
    play.at(32, RepairFinished(play.repairs()[0].attempt.id, AttemptResult.FINAL, "polkit says no"))
    play.at(46, Looked(READINESS, OK, "a1"))
    assert (play.told(), play.endings()) == ([], [Closing.SELF_HEALED])


def test_a_person_who_is_refused_does_not_end_our_repairs() -> None:
    """What polkit says to one caller says nothing about healthd's own right."""
    stage = Stage(policy=replace(LISTED, backoff_us=(0, 0)))
    stage.run(10)
    stage.refusal = (AttemptResult.FINAL, "polkit says no")
    stage.restart_asked()
    stage.run(1)
    stage.refusal = None
    stage.kill()
    stage.run(MINUTE)
    assert stage.calls == 1
    assert stage.play.told() == []


def test_a_restart_by_a_person_is_theirs() -> None:
    """Recorded, not counted: both of our attempts are left after it."""
    stage = dying(Policy(max_attempts=2))
    stage.run(MINUTE)
    stage.play.policy = replace(LISTED)
    stage.restart_asked()
    stage.run(MINUTE)
    incident = stage.play.open(LIVENESS)
    assert incident is not None
    assert [(a.by, a.result) for a in incident.attempts] == [("uid 1000", AttemptResult.DONE)]
    assert stage.play.story.restarts_us == ()


def test_a_person_may_restart_a_unit_that_is_well() -> None:
    """No incident, nothing told; and the new run has its grace."""
    stage = Stage(checks=(LIVE_CHECK, READY_CHECK))
    stage.run(MINUTE)
    stage.restart_asked()
    stage.run(5 * MINUTE)
    assert stage.play.face(LIVENESS) == ("green", "ok")
    assert (stage.play.told(), stage.play.endings(), stage.play.story.attempts) == ([], [], ())


def test_what_was_overtaken_is_not_counted() -> None:
    """Somebody was quicker: neither an attempt nor a part of the hour's budget is gone."""
    stage = Stage()
    stage.lives_s = 0.05
    stage.refusal = (AttemptResult.OVERTAKEN, "systemd has a job for it already")
    stage.run(10)
    stage.kill()
    stage.run(5.2)
    assert len(stage.play.repairs()) == 1
    assert stage.play.story.restarts_us == ()
    stage.refusal = None
    stage.run(5 * MINUTE)
    assert stage.calls == 2
    assert why(stage) == "2 restarts did not help"


def test_one_that_may_have_been_tried_counts_and_says_so() -> None:
    """healthd died in the call: nobody knows, so it counts, and the words do not claim it."""
    stage = dying(replace(LISTED, max_attempts=1))
    stage.run(5.005)
    assert len(stage.play.repairs()) == 1
    stage.healthd_restarts()
    stage.run(MINUTE)
    assert (len(stage.play.repairs()), stage.calls) == (1, 0)
    assert why(stage) == "a restart may have been tried and did not help"


def test_no_attempt_where_the_settings_allow_none() -> None:
    """`max_attempts: 0` watches and tells."""
    stage = dying(replace(LISTED, max_attempts=0))
    stage.run(MINUTE)
    assert stage.calls == 0
    assert why(stage) == "the settings allow no attempt"


def test_watching_off_freezes_the_repair_and_on_goes_on() -> None:
    """HEALTHD_WATCH_ENABLED=0 in the middle of a story: nothing is tried, told or closed."""
    stage = dying(replace(LISTED, max_attempts=1))
    stage.run(5.005)
    stage.play.policy = replace(LISTED, watch_enabled=False)
    before = stage.play.open(LIVENESS)
    assert before is not None
    stage.run(HOUR)
    after = stage.play.open(LIVENESS)
    assert after is not None
    assert (after.phase, after.idle, len(after.attempts)) == (Phase.REPAIRING, Idle.NO, 1)
    assert stage.play.told() == []
    stage.play.policy = replace(LISTED, max_attempts=1)
    stage.run(6 * MINUTE)
    assert stage.play.told() == [Edition.ENGAGED]


def test_a_unit_taken_off_the_list_is_the_owners_at_once() -> None:
    """The settings of now decide, not those of when it broke."""
    stage = dying()
    stage.run(6)
    stage.play.policy = Policy()
    stage.run(MINUTE)
    assert stage.calls == 1
    assert why(stage) == "web.service is not listed in repair.allow_restart"


def test_an_attempt_is_stored_in_the_incident_before_it_is_made() -> None:
    """Save before act: the record comes first in the order of effects."""
    play = Play()
    for second in (0, 15):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    effects = play.at(30, Looked(READINESS, FAIL, "a1"))
    steps = [e for e in effects if isinstance(e, (IncidentStep, Repair))]
    repair = steps[-1]
    assert isinstance(repair, Repair)
    assert isinstance(steps[-2], IncidentStep)
    assert steps[-2].incident.attempts == play.story.attempts == (repair.attempt,)


def test_a_call_that_ends_after_its_incident_is_still_written_down() -> None:
    """The unit was well before the job ended: no record says "under way" for ever."""
    play = Play()
    for second in (0, 15, 30):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    for second in (45, 60):
        play.at(second, Looked(READINESS, OK, "a1"))
    assert play.endings() == [Closing.SELF_HEALED]
    finished(play)
    assert [i.attempts[0].result for i in play.story.incidents] == [AttemptResult.DONE]


def test_the_remedy_is_the_command_that_helps_when_it_is_read() -> None:
    """Between the opening and the notice the unit hit its start limit."""
    stage = dying(facts=replace(RUNNING, start_limit_interval_for_us=2 * MINUTE_US))
    stage.run(6)
    incident = stage.play.open(LIVENESS)
    assert incident is not None
    assert incident.remedy == "systemctl restart web.service"
    stage.set(result="start-limit-hit")
    stage.lives_s = None
    stage.refusal = (AttemptResult.FAILED, "systemd's job ended: failed")
    stage.run(5 * MINUTE)
    incident = stage.play.open(LIVENESS)
    assert incident is not None
    remedy = "systemctl reset-failed web.service && systemctl restart web.service"
    assert incident.remedy == remedy


def test_self_healed_is_said_to_those_who_asked_for_it() -> None:
    """`notify.self_healed: true`: one word afterwards, none without it."""
    for said, told in ((False, []), (True, [Edition.CLEARED])):
        stage = Stage(policy=replace(LISTED, self_healed=said))
        stage.run(10)
        stage.kill()
        stage.run(5 * MINUTE)
        assert stage.play.endings()[0] is Closing.SELF_HEALED
        assert stage.play.told() == told


def test_a_death_in_the_middle_of_the_call_is_not_called_again() -> None:
    """The unit is down and red while the restart is under way: one attempt at a time."""
    play = Play(checks=(LIVE_CHECK,))
    failed = replace(RUNNING, active_state=FAILED, sub_state="failed", result="signal")
    for second in range(0, 60, 5):
        play.at(second, UnitSeen(failed, fresh=True, due=True))
    assert len(play.repairs()) == 1


def test_a_loop_that_systemd_gave_up_on_is_ours_to_try() -> None:
    """It rests in `failed`, nothing will start it: that is what the list is for."""
    stage = Stage(facts=replace(RUNNING, on_demand="web.socket"))
    stage.run(10)
    for _ in range(3):
        stage.kill()
        stage.run(0.1)
        stage.start()
        stage.run(0.1)
    stage.kill()
    stage.run(0.5)
    assert stage.play.watch(LIVENESS).last_reason == "crash-loop"
    stage.run(MINUTE)
    assert stage.calls == 1
    assert stage.play.told() == []


def test_a_loop_that_waits_at_every_look_is_left_to_systemd() -> None:
    """RestartSec=20 and a program that dies at once: every look finds it waiting."""
    stage = Stage(restart_s=20)
    stage.lives_s = 0.05
    stage.run(10)
    stage.kill()
    stage.run(10 * MINUTE)
    assert stage.calls == 0
    assert why(stage) == "systemd itself restarts it, again and again"


def test_a_loop_that_somebody_has_taken_in_hand_is_left_to_them() -> None:
    """Red, and a person's start is queued: neither a restart nor a notice before its end."""
    play = Play(checks=(LIVE_CHECK,))
    for second in range(3):
        end = End(f"run{second}", BEGIN_US + second * SECOND_US, 1, How.BY_ITSELF, clean=False)
        play.at(second, Ended(end))
        play.at(second, Began(f"run{second + 1}", BEGIN_US + second * SECOND_US))
    failed = replace(RUNNING, active_state=FAILED, sub_state="failed", invocation="run3")
    for second in (4, 9, 14):
        play.at(second, UnitSeen(replace(failed, job=7), fresh=True, due=True))
    assert play.face(LIVENESS) == ("red", "crash-loop")
    assert (play.repairs(), play.told()) == ([], [])


def test_an_automatic_restart_that_does_not_come_is_told_and_not_doubled() -> None:
    """systemd says that it will start it: we do not, but somebody must hear that it is late."""
    play = Play(checks=(LIVE_CHECK,))
    late = replace(
        RUNNING,
        active_state=FAILED,
        sub_state="failed-before-auto-restart",
        result="signal",
        state_change_us=BEGIN_US - 60 * SECOND_US,
    )
    for second in (0, 5, 10):
        play.at(second, UnitSeen(late, fresh=True, due=True))
    assert play.face(LIVENESS) == ("red", "failed")
    assert (play.repairs(), play.told()) == ([], [Edition.ENGAGED])


def test_a_final_word_holds_for_the_whole_stretch() -> None:
    """Well for a moment and red again: polkit is not asked a second time."""
    play = Play()
    for second in (0, 15, 30):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    play.at(31, Looked(READINESS, OK, "a1"))
    play.at(32, RepairFinished(play.repairs()[0].attempt.id, AttemptResult.FINAL, "polkit says no"))
    play.at(46, Looked(READINESS, FAIL, "a1"))
    assert len(play.repairs()) == 1
    assert play.told() == [Edition.ENGAGED]
