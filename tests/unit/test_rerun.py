"""One more run of a timer's job that failed: made once, waited for, and never in the way."""

from __future__ import annotations

from healthd.model import (
    AttemptResult,
    Closing,
    Edition,
    How,
)
from tests.unit.clockwork import LISTED_JOB, Clockwork


def test_a_listed_job_is_run_once_more_and_never_twice() -> None:
    """It may have done half of its work already."""
    clock = Clockwork(policy=LISTED_JOB, every_s=1800)
    clock.status = 1
    clock.run(3600 + 60 + 20)
    assert clock.reruns == 1
    assert clock.play.told() == []
    assert clock.play.repairs()[0].attempt.repairer == "rerun"
    clock.run(120)
    assert clock.play.told() == [Edition.ENGAGED]
    clock.run(3 * 1800)
    assert clock.reruns == 1


def test_a_rerun_that_somebody_overtook_was_none() -> None:
    """Nothing was run again, so "run again, and that did not help" would be a lie."""
    clock = Clockwork(policy=LISTED_JOB)
    clock.status, clock.overtakes = 1, 1
    clock.run(3600 + 60 + 6)
    clock.status = 0
    clock.run(90)
    assert clock.reruns == 1
    results = [a.result for a in clock.play.story.incidents[0].attempts]
    assert results == [AttemptResult.OVERTAKEN, AttemptResult.DONE]
    assert clock.play.endings() == [Closing.SELF_HEALED]
    assert clock.play.told() == []


def test_what_is_overtaken_over_and_over_is_tried_ever_more_rarely() -> None:
    """Each try is written down: a hold of four hours must not leave thousands of them."""
    clock = Clockwork(policy=LISTED_JOB)
    clock.status, clock.overtakes = 1, 10_000
    clock.run(3600 + 60 + 4 * 3600)
    assert 5 < len(clock.play.repairs()) < 40
    assert clock.play.told() == []


def test_a_rerun_that_takes_an_hour_is_waited_for() -> None:
    """That RestartUnit has answered says only that the job is queued."""
    clock = Clockwork(policy=LISTED_JOB)
    clock.status = 1
    clock.run(3600 + 60)
    clock.takes_s, clock.status = 3000, 0
    clock.run(2900)
    assert clock.reruns == 1
    assert clock.play.told() == []
    clock.run(200)
    assert clock.play.endings() == [Closing.SELF_HEALED]
    assert clock.face == ("green", "ok")


def test_an_overdue_timer_is_not_repaired() -> None:
    """There is nothing that failed: the owner is told what to start."""
    clock = Clockwork(policy=LISTED_JOB)
    clock.stop(How.UNDECIDED)
    clock.run(60)
    assert clock.reruns == 0
    assert clock.play.told() == [Edition.ENGAGED]
