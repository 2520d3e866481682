"""Histories that are long: stopped and started, reopened, over restarts, over hours and boots."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from healthd.model import (
    HOUR_US,
    Closing,
    Edition,
    Idle,
    Phase,
    Policy,
    Withdraw,
)
from tests.unit.histories import LISTED, LIVENESS
from tests.unit.scenes import HOUR, MINUTE
from tests.unit.stage import Stage


def test_stopped_during_an_incident_and_started_again_is_the_same_incident() -> None:
    """A person at work on a broken unit hears nothing twice."""
    stage = Stage(policy=Policy())
    stage.run(10)
    stage.kill()
    stage.run(MINUTE)
    stage.start()
    stage.run(2)
    stage.stop()
    stage.run(20 * MINUTE)
    incident = stage.play.open(LIVENESS)
    assert incident is not None
    assert (incident.id, incident.idle) == (1, Idle.STOPPED)
    stage.start()
    stage.run(1)
    stage.kill()
    stage.run(10 * MINUTE)
    incident = stage.play.open(LIVENESS)
    assert incident is not None
    assert (incident.id, incident.phase, incident.reopened) == (1, Phase.ENGAGED, 0)
    assert stage.play.told() == [Edition.ENGAGED]


def test_stopped_for_an_hour_the_incident_is_gone_without_a_word() -> None:
    """Who puts a unit away for good does not want its notice to stand."""
    stage = Stage(policy=Policy())
    stage.run(10)
    stage.kill()
    stage.run(MINUTE)
    stage.start()
    stage.run(1)
    stage.stop()
    stage.run(50 * MINUTE)
    assert stage.play.open(LIVENESS) is not None
    stage.run(20 * MINUTE)
    assert stage.play.endings()[-1] is Closing.GONE
    assert stage.play.told() == [Edition.ENGAGED]
    assert any(isinstance(e, Withdraw) for e in stage.play.effects)


def test_stopped_over_a_boot_the_incident_is_gone() -> None:
    """What a person stopped before the reboot is not a story of this boot."""
    stage = Stage(policy=Policy())
    stage.run(10)
    stage.kill()
    stage.run(MINUTE)
    stage.start()
    stage.run(1)
    stage.stop()
    stage.run(MINUTE)
    stage.healthd_restarts(same_boot=False)
    assert stage.play.open(LIVENESS) is None
    assert stage.play.endings()[-1] is Closing.GONE


def test_an_incident_of_a_loop_is_not_written_anew_at_every_crash() -> None:
    """A loop may go on for days: its record changes with its reason, not with each crash."""
    stage = Stage(restart_s=2)
    stage.lives_s = 5
    stage.run(10)
    stage.kill()
    stage.run(5 * MINUTE)
    before = stage.play.open(LIVENESS)
    stage.run(5 * MINUTE)
    assert before is not None
    assert stage.play.open(LIVENESS) == before


def test_red_again_within_15_min_of_its_close_goes_on_counting_attempts() -> None:
    """A unit that dies every ten minutes is restarted twice, and then it is the owner's turn."""
    stage = Stage()
    stage.run(10)
    for _ in range(4):
        stage.kill()
        stage.run(10 * MINUTE)
    assert len(stage.play.repairs()) == 2
    assert stage.play.told() == [Edition.ENGAGED]
    incident = stage.play.open(LIVENESS)
    assert incident is not None
    assert (incident.id, incident.recent) == (1, 0)


def test_a_reopened_incident_is_one_of_the_past_not_two() -> None:
    """ "3rd time in 7 days" counts incidents, not how often one of them came back."""
    stage = Stage()
    stage.run(10)
    for _ in range(2):
        stage.kill()
        stage.run(10 * MINUTE)
    stage.run(2 * HOUR)
    stage.kill()
    stage.run(MINUTE)
    incident = stage.play.open(LIVENESS)
    assert incident is not None
    assert (incident.id, incident.recent) == (2, 1)


@pytest.mark.parametrize("at_s", [0.001, 0.05, 3, 5.005, 5.02, 6, 60, 130])
def test_healthd_killed_at_any_moment_of_a_repair_makes_no_second_one(at_s: float) -> None:
    """The attempt was stored before it was made: at worst it is `unknown`, and it counts."""
    stage = Stage()
    stage.run(10)
    stage.kill()
    stage.run(at_s)
    stage.healthd_restarts()
    stage.run(10 * MINUTE)
    assert stage.calls == 1
    made = [r.attempt.id for r in stage.play.repairs()]
    assert made == sorted(set(made))
    assert stage.play.told() == []
    assert stage.play.face(LIVENESS) == ("green", "ok")
    assert stage.play.open(LIVENESS) is None


def test_healthd_killed_while_engaged_tells_nothing_twice() -> None:
    """Ten restarts of healthd, one notice."""
    stage = Stage(policy=Policy())
    stage.run(10)
    stage.kill()
    for _ in range(10):
        stage.run(MINUTE)
        stage.healthd_restarts()
    incident = stage.play.open(LIVENESS)
    assert incident is not None
    assert incident.id == 1
    assert stage.play.told() == [Edition.ENGAGED]


def test_new_rules_change_what_follows_and_lose_nothing() -> None:
    """A reload in the middle of an incident: the list is longer, the incident is the same."""
    stage = Stage(policy=replace(LISTED, max_attempts=1))
    stage.lives_s = 0.05
    stage.run(10)
    stage.kill()
    stage.run(0.5)
    before = stage.play.watch(LIVENESS)
    rules = replace(before.check.rules, after=4)
    stage.declare(replace(before.check, rules=rules))
    after = stage.play.watch(LIVENESS)
    assert after == replace(before, check=replace(before.check, rules=rules))
    stage.run(12)
    assert stage.play.face(LIVENESS) == ("yellow", "suspect")
    stage.run(6)
    assert stage.play.face(LIVENESS)[0] == "red"


def test_the_clock_of_again_stands_still_while_the_incident_is_idle() -> None:
    """Twelve hours of red are told again, not six of red and six of rest."""
    policy = Policy(renotify_us=2 * HOUR_US)
    stage = Stage(policy=policy)
    stage.run(10)
    stage.kill()
    stage.run(HOUR)
    stage.start()
    stage.run(0.5)
    stage.stop()
    stage.run(45 * MINUTE)
    stage.lives_s = 0.05
    stage.start()
    stage.run(50 * MINUTE)
    assert stage.play.told() == [Edition.ENGAGED]
    stage.run(15 * MINUTE)
    assert stage.play.told() == [Edition.ENGAGED, Edition.AGAIN]


def test_a_stop_begins_the_settling_anew() -> None:
    """Two good looks with a stop between them prove nothing of the second start."""
    stage = Stage(policy=Policy())
    stage.run(10)
    stage.kill()
    stage.run(10 * MINUTE)
    for _ in range(2):
        stage.start()
        stage.run(1)
        assert stage.play.open(LIVENESS) is not None
        stage.stop()
        stage.run(10 * MINUTE)
    stage.start()
    stage.run(MINUTE)
    assert stage.play.open(LIVENESS) is None
