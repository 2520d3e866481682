"""What went wrong for people with other watchers, as histories; the table is in tests/README.md."""

from __future__ import annotations

import pytest

from healthd.model import Edition, LoadState, Policy, Reason, Tell, Urgency, Withdraw
from healthd.settings.files import Source
from healthd.settings.load import read
from tests.transcripts import replay
from tests.transcripts.expected import LIMIT
from tests.unit.histories import FAIL, LISTED, LIVE_CHECK, LIVENESS, READINESS, READY_CHECK
from tests.unit.scenes import HOUR, MINUTE
from tests.unit.stage import INACTIVE, Stage
from tests.unit.test_transcripts import play


def _notices(stage: Stage) -> list[str]:
    """What was told, in full."""
    tells = [e.notice for e in stage.play.effects if isinstance(e, Tell)]
    return [f"{notice.title}\n{notice.body}" for notice in tells]


def test_a_loop_slower_than_its_own_start_limit_is_told_with_count_and_window() -> None:
    """BR-14: what counts failed units, or trusts the start limit, never sees it."""
    stage = Stage(restart_s=20)
    stage.run(10)
    stage.fail_every_start(after_s=90)
    stage.kill()
    stage.run(20 * MINUTE)
    assert stage.play.face(LIVENESS) == ("red", "crash-loop")
    [told] = _notices(stage)
    assert "ends in 10 min" in told


def test_ten_crashes_in_five_minutes_are_one_incident_where_one_crash_was_none() -> None:
    """BR-15: alarms at each restart were switched off, and then nobody saw the loop either."""
    stage = Stage(restart_s=0.1, policy=Policy())
    stage.run(10)
    stage.kill()
    stage.run(10 * MINUTE)
    assert (stage.play.story.incidents, stage.play.told()) == ((), [])
    for _ in range(10):
        stage.kill()
        stage.run(30)
    assert stage.play.face(LIVENESS) == ("red", "crash-loop")
    assert stage.play.told() == [Edition.ENGAGED]
    stage.run(10 * MINUTE)
    assert stage.play.told() == [Edition.ENGAGED, Edition.CLEARED]
    assert len({incident.id for incident in stage.play.story.incidents}) == 1


def test_a_start_limit_is_the_same_story_on_every_systemd() -> None:
    """BR-21: `OnFailure=` fires at the limit, or at each attempt, as the version has it.

    healthd reads how each invocation ended, which is the same on 257 and on 262.
    """
    said = {
        name: [words for words in play(name)[0].values() if words]
        for name in replay.names()
        if replay.scenario(name) == "q1-always"
    }
    assert said == {"f1-q1-always": [LIMIT], "r1-q1-always": [LIMIT]}


def test_one_crash_a_day_is_never_a_loop_and_the_grown_wait_is_said() -> None:
    """BR-23: systemd's wait between restarts grows for ever, after months of health too.

    The change in a window is judged, not the total; and the owner can read why an outage that
    took a tenth of a second now takes minutes.
    """
    stage = Stage(restart_s=5 * MINUTE, policy=Policy())
    stage.set(restart_delay_max_for_us=5 * 60_000_000)
    stage.run(10)
    said = set()
    for _ in range(10):
        stage.kill()
        stage.run(10)
        watch = stage.play.watch(LIVENESS)
        said.add(
            (watch.verdict.reason, "the longest that RestartMaxDelaySec=" in watch.verdict.summary)
        )
        stage.run(24 * HOUR)
        assert stage.play.face(LIVENESS) == ("green", "ok")
    assert said == {(Reason.CHURNED, True)}
    assert (stage.play.story.incidents, stage.play.told()) == ((), [])


@pytest.mark.parametrize(
    "text",
    [
        "repair: {command: systemctl restart web}",
        "units: {web.service: {repair: /usr/local/bin/fix-web}}",
        "checks: {http: [{unit: web.service, repair: 'service web restart'}]}",
    ],
)
def test_a_repair_is_a_unit_and_never_a_command(text: str) -> None:
    """BR-25: a program that a healer started beside systemd made systemd start it over and over."""
    assert read((Source("healthd.yaml", f"{text}\n"),), (), {}).faults


def test_a_database_in_recovery_is_starting_and_nobody_kills_it() -> None:
    """BR-28: it was killed over and over, lost its progress each time, and never came up."""
    stage = Stage(checks=(LIVE_CHECK, READY_CHECK), restart_s=0.1, policy=LISTED)
    stage.set(timeout_start_for_us=0)
    stage.run(10)
    stage.starts_in_s = 9 * MINUTE
    stage.kill()
    stage.run(8 * MINUTE)
    assert stage.play.face(LIVENESS) == ("grey", "starting")
    assert stage.play.face(READINESS)[0] == "grey"
    stage.run(10 * MINUTE)
    assert stage.play.face(LIVENESS) == ("green", "ok")
    assert stage.play.face(READINESS) == ("green", "ok")
    assert (stage.play.repairs(), stage.play.told()) == ([], [])


def test_a_database_that_runs_and_does_not_serve_is_told_and_not_killed() -> None:
    """BR-28: its restart loses what it has recovered; nothing is listed that nobody listed."""
    stage = Stage(checks=(LIVE_CHECK, READY_CHECK), policy=Policy())
    stage.run(10)
    stage.serves = lambda: FAIL
    stage.run(10 * MINUTE)
    assert (stage.play.repairs(), stage.play.told()) == ([], [Edition.ENGAGED])


def test_no_notice_of_a_closed_incident_is_left_standing() -> None:
    """BR-58: old notices came back after a reboot, and critical ones never left.

    "Working again" takes the place of what it answers, and is not loud; where there is nothing to
    say, the notice is withdrawn.
    """
    fixed, removed = (Stage(policy=Policy()) for _ in range(2))
    for stage in (fixed, removed):
        stage.run(10)
        stage.kill()
        stage.run(MINUTE)
    fixed.start()
    removed.set(load_state=LoadState.MASKED, active_state=INACTIVE, sub_state="dead")
    for stage in (fixed, removed):
        stage.run(10 * MINUTE)
    engaged, cleared = (e.notice for e in fixed.play.effects if isinstance(e, Tell))
    assert engaged.id == cleared.id
    assert (engaged.urgency, cleared.urgency) == (Urgency.CRITICAL, Urgency.LOW)
    [incident] = removed.play.story.incidents
    assert [e.incident for e in removed.play.effects if isinstance(e, Withdraw)] == [incident.id]
