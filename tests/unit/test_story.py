"""Histories of one unit's life: what systemd shows, what healthd says, tries and tells."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.model import (
    AttemptResult,
    Closing,
    Edition,
    LoadState,
    Phase,
    Policy,
    Publish,
    ReadUnit,
    Removed,
    UnitSeen,
)
from tests.unit.histories import LIVENESS, RUNNING, Play
from tests.unit.scenes import HOUR, MINUTE
from tests.unit.stage import ACTIVATING, ACTIVE, DEACTIVATING, FAILED, INACTIVE, Stage


def faces(stage: Stage) -> list[str]:
    """State and reason each time they changed, "green ok" of the beginning left out."""
    said = [e.watch.verdict for e in stage.play.effects if isinstance(e, Publish)]
    return [f"{v.state} {v.reason}" for v in said if v.reason != "starting"][1:]


def is_untouched(stage: Stage) -> bool:
    """No incident, no repair, no notice: as if nobody had looked."""
    play = stage.play
    return not (play.story.incidents or play.repairs() or play.told() or play.endings())


def test_a_killed_unit_on_the_list_is_healed_untold() -> None:
    """The whole path: suspect, red, restarted, churned, well, and nobody was woken."""
    stage = Stage()
    stage.run(10)
    stage.kill()
    stage.run(3 * MINUTE)
    assert faces(stage) == ["yellow suspect", "red repairing", "yellow churned", "green ok"]
    assert len(stage.play.repairs()) == 1
    assert (stage.play.endings(), stage.play.told()) == ([Closing.SELF_HEALED], [])


def test_the_first_failing_look_comes_with_the_read_and_the_second_after_retry() -> None:
    """Suspect at once, red after 5 s: a person who watches sees it happen."""
    stage = Stage()
    stage.run(10)
    stage.kill()
    stage.run(0.05)
    assert stage.play.face(LIVENESS) == ("yellow", "suspect")
    stage.run(4.8)
    assert stage.play.face(LIVENESS) == ("yellow", "suspect")
    stage.run(0.16)
    assert stage.play.face(LIVENESS) == ("red", "repairing")


def test_a_killed_unit_that_is_not_listed_is_told_once_and_cleared_when_fixed() -> None:
    """healthd touches nothing that nobody listed, and says what to type."""
    stage = Stage(policy=Policy())
    stage.run(10)
    stage.kill()
    stage.run(10 * MINUTE)
    incident = stage.play.open(LIVENESS)
    assert incident is not None
    assert (incident.phase, incident.remedy) == (Phase.ENGAGED, "systemctl restart web.service")
    assert stage.play.repairs() == []
    stage.start()
    stage.run(5 * MINUTE)
    assert stage.play.told() == [Edition.ENGAGED, Edition.CLEARED]
    assert stage.play.endings()[-1] is Closing.USER_FIXED


def test_a_unit_that_always_fails_is_restarted_max_attempts_times_and_told() -> None:
    """Two restarts, not one more in a whole day, however often it is looked at."""
    stage = Stage()
    stage.lives_s = 0.05
    stage.run(10)
    stage.kill()
    stage.run(11 * HOUR)
    assert [a.result for a in stage.play.story.attempts] == [AttemptResult.DONE] * 2
    assert len(stage.play.repairs()) == 2
    assert stage.play.told() == [Edition.ENGAGED]
    stage.lives_s = None
    stage.start()
    stage.run(5 * MINUTE)
    assert stage.play.told() == [Edition.ENGAGED, Edition.CLEARED]
    assert stage.play.endings()[-1] is Closing.USER_FIXED


def test_a_stopped_unit_is_grey_and_nothing_follows() -> None:
    """Intent decides everything: who stops a unit is not to be told that it is down."""
    stage = Stage()
    stage.run(10)
    stage.stop()
    stage.run(5 * HOUR)
    assert stage.play.face(LIVENESS) == ("grey", "stopped")
    assert is_untouched(stage)


def test_a_stop_that_ends_as_a_failure_is_still_a_stop() -> None:
    """Exit code on SIGTERM: systemd shows `failed`, the person meant it."""
    stage = Stage()
    stage.run(10)
    job = stage.queue_job()
    stage.show(DEACTIVATING, "stop-sigterm", job=job)
    stage.show(FAILED, "failed", result="exit-code", exit_code=1, exit_status=143)
    stage.job_over(job)
    stage.run(5 * HOUR)
    assert stage.play.face(LIVENESS) == ("grey", "stopped")
    assert is_untouched(stage)


def test_one_crash_that_systemd_restarts_is_churned_and_no_incident() -> None:
    """Restart=on-failure did its work: seen, recorded, silent."""
    stage = Stage(restart_s=12)
    stage.run(10)
    stage.kill()
    stage.run(10 * MINUTE)
    assert faces(stage) == ["yellow churned", "green ok"]
    assert is_untouched(stage)


def test_one_crash_that_systemd_heals_in_a_tenth_of_a_second_is_churned() -> None:
    """Never missed, however quick systemd is."""
    stage = Stage(restart_s=0.1)
    stage.run(10)
    stage.kill()
    stage.run(10 * MINUTE)
    assert faces(stage) == ["yellow churned", "green ok"]
    assert is_untouched(stage)


def test_a_loop_that_never_is_failed_is_told_and_left_to_systemd() -> None:
    """systemd restarts it already; another restart from us would only be one more."""
    stage = Stage(restart_s=20)
    stage.lives_s = 5
    stage.run(10)
    stage.kill()
    stage.run(30 * MINUTE)
    assert stage.play.face(LIVENESS) == ("red", "crash-loop")
    assert (stage.play.repairs(), stage.play.told()) == ([], [Edition.ENGAGED])
    incident = stage.play.open(LIVENESS)
    assert incident is not None
    assert incident.why_engaged == "systemd itself restarts it, again and again"


def test_a_loop_whose_starts_are_jobs_all_the_time_is_told_too() -> None:
    """Type=notify that never gets ready: systemd has a job for it at every look."""
    stage = Stage(restart_s=0.1)
    stage.run(10)
    stage.fail_every_start(after_s=8)
    stage.kill()
    stage.run(10 * MINUTE)
    assert stage.play.face(LIVENESS) == ("red", "crash-loop")
    assert (stage.play.repairs(), stage.play.told()) == ([], [Edition.ENGAGED])


def test_what_shows_for_a_millisecond_changes_nothing() -> None:
    """systemd shows every automatic restart as `failed`; only what a read still finds counts."""
    stage = Stage()
    stage.run(10)
    before = len(stage.play.effects)
    stage.blip()
    stage.run(10)
    assert {type(e) for e in stage.play.effects[before:]} == {ReadUnit}
    assert stage.play.face(LIVENESS) == ("green", "ok")


def test_a_change_for_the_better_needs_no_second_read() -> None:
    """Good news is believed as it comes; a wrong one is found by the next look."""
    play = Play(checks=Stage().play.checks)
    failed = replace(RUNNING, active_state=FAILED, sub_state="failed", result="signal")
    play.at(0, UnitSeen(failed, fresh=True, due=True))
    effects = play.at(1, UnitSeen(RUNNING))
    assert not any(isinstance(e, ReadUnit) for e in effects)
    assert play.face(LIVENESS) == ("green", "ok")


def test_a_repeated_signal_with_the_same_values_is_not_another_look() -> None:
    """Ten signals of one death must not confirm it."""
    stage = Stage()
    stage.run(10)
    stage.kill()
    stage.run(0.1)
    for _ in range(10):
        stage.put(UnitSeen(stage.facts, fresh=True))
        stage.run(0.1)
    assert stage.play.face(LIVENESS) == ("yellow", "suspect")


def test_asked_looks_count_at_most_once_per_retry() -> None:
    """A person who asks ten times in a second does not make a unit red."""
    stage = Stage()
    stage.run(10)
    stage.kill()
    stage.run(0.1)
    for _ in range(10):
        stage.put(UnitSeen(stage.facts, fresh=True, asked=True))
        stage.run(0.1)
    assert stage.play.watch(LIVENESS).verdict.streak == 1


def test_a_stop_that_hangs_behind_its_own_job_is_stuck_and_told() -> None:
    """The job that never ends is the very trouble: nobody may wait for it in silence."""
    stage = Stage()
    stage.run(10)
    stage.show(DEACTIVATING, "stop-sigterm", job=stage.queue_job())
    stage.run(5 * MINUTE)
    assert stage.play.face(LIVENESS) == ("red", "stuck")
    assert (stage.play.repairs(), stage.play.told()) == ([], [Edition.ENGAGED])


def test_a_masked_unit_takes_its_incident_along() -> None:
    """`gone`: nothing left to judge, so the notice is withdrawn without a word."""
    stage = Stage(policy=Policy())
    stage.run(10)
    stage.kill()
    stage.run(MINUTE)
    stage.set(load_state=LoadState.MASKED, active_state=INACTIVE, sub_state="dead")
    stage.run(10 * MINUTE)
    assert stage.play.endings()[-1] is Closing.GONE
    assert stage.play.told() == [Edition.ENGAGED]
    assert stage.play.face(LIVENESS) == ("grey", "not-configured")


def test_a_unit_file_that_is_gone_is_not_working_again() -> None:
    """Named by a setting and no longer there: the notice goes, and says nothing of well."""
    stage = Stage(policy=Policy())
    stage.run(10)
    stage.kill()
    stage.run(MINUTE)
    stage.set(load_state=LoadState.NOT_FOUND, active_state=INACTIVE, sub_state="dead")
    stage.run(20 * MINUTE)
    assert stage.play.face(LIVENESS) == ("yellow", "configuration")
    assert stage.play.endings()[-1] is Closing.GONE
    assert stage.play.told() == [Edition.ENGAGED]


def test_a_oneshot_that_failed_and_then_ended_well_is_closed() -> None:
    """The next run of a job settles what the last one left."""
    stage = Stage(policy=Policy(), facts=replace(RUNNING, service_type="oneshot"))
    stage.run(10)
    stage.exit(1)
    stage.run(MINUTE)
    assert stage.play.face(LIVENESS) == ("red", "failed")
    stage.start()
    stage.run(1)
    stage.exit(0)
    stage.run(20 * MINUTE)
    assert stage.play.open(LIVENESS) is None
    assert stage.play.told() == [Edition.ENGAGED, Edition.CLEARED]
    assert isinstance(stage.play.effects[-1], Removed) or not stage.play.watch(LIVENESS).present


def test_a_oneshot_that_ended_well_starts_its_streak_anew() -> None:
    """Two failures with a success between them are not two in a row."""
    stage = Stage(policy=Policy(), facts=replace(RUNNING, service_type="oneshot"))
    stage.run(10)
    for _ in range(2):
        stage.exit(1)
        stage.run(1)
        assert stage.play.face(LIVENESS) == ("yellow", "suspect")
        stage.start()
        stage.run(0.1)
        stage.exit(0)
        stage.run(1)
        stage.start()
        stage.run(1)
    assert is_untouched(stage)


def test_a_unit_at_work_is_never_judged_by_the_state_before_its_job() -> None:
    """Reloading and stopping keep the verdict; starting is grey."""
    stage = Stage()
    stage.run(10)
    stage.stop()
    stage.starts_in_s = 30
    stage.start()
    stage.run(10)
    assert stage.facts.active_state is ACTIVATING
    assert stage.play.face(LIVENESS) == ("grey", "starting")
    stage.run(30)
    assert stage.facts.active_state is ACTIVE
    assert stage.play.face(LIVENESS) == ("green", "ok")
