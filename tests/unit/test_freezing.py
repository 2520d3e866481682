"""Histories of a machine that stops or sleeps: nothing moves in it, nothing false comes after.

Sleep and steps of clocks cannot be made where these tests run: a history moves its own clock.
"""

from __future__ import annotations

import pytest

from healthd.model import (
    SECOND_US,
    AttemptResult,
    Check,
    CheckKey,
    Edition,
    Idle,
    LookAt,
    Phase,
    Policy,
    Reason,
    RepairFinished,
    Rules,
    State,
    Thawed,
)
from tests.unit.histories import FAIL, LIVENESS, OK, READINESS, READY_CHECK, Play
from tests.unit.scenes import HOUR, MINUTE, dying, opened, well
from tests.unit.stage import Stage

UNLISTED = Policy()
GREEN = (State.GREEN, Reason.OK)


def face(stage: Stage, key: CheckKey = LIVENESS) -> tuple[str, str]:
    """State and reason of one check."""
    return stage.play.face(key)


def test_what_dies_while_the_machine_stops_changes_no_verdict() -> None:
    """A shutdown ends every service, some of them badly: none of it is an outage."""
    stage = well()
    stage.freeze()
    before = list(stage.play.effects)
    stage.kill()
    stage.serves = lambda: FAIL
    stage.run(10 * MINUTE)
    assert (face(stage), face(stage, READINESS)) == (GREEN, GREEN)
    assert stage.play.effects == before
    assert stage.calls == 0


def test_an_incident_is_idle_while_frozen_and_the_same_after() -> None:
    """BR-51: no repeat; what was told of it before the night stands in the morning."""
    stage = dying(policy=UNLISTED)
    stage.run(MINUTE)
    before = opened(stage, LIVENESS)
    stage.freeze()
    assert opened(stage, LIVENESS).idle is Idle.FROZEN
    stage.run(8 * HOUR)
    stage.thaw()
    stage.run(10 * MINUTE)
    after = opened(stage, LIVENESS)
    assert (after.id, after.idle, after.phase) == (before.id, Idle.NO, Phase.ENGAGED)
    assert stage.play.told() == [Edition.ENGAGED]


def test_the_clock_of_again_stands_still_while_frozen() -> None:
    """A night asleep is no night in which somebody let it lie."""
    stage = dying(policy=UNLISTED)
    stage.run(11 * HOUR)
    stage.freeze()
    stage.run(8 * HOUR)
    stage.thaw()
    stage.run(30 * MINUTE)
    assert stage.play.told() == [Edition.ENGAGED]
    stage.run(HOUR)
    assert stage.play.told() == [Edition.ENGAGED, Edition.AGAIN]


def test_the_clock_of_again_stands_still_in_a_sleep_that_nobody_announced() -> None:
    """Without logind the clocks alone tell of it, afterwards."""
    stage = dying(policy=UNLISTED)
    stage.run(11 * HOUR)
    stage.sleep(8 * HOUR)
    stage.run(30 * MINUTE)
    assert stage.play.told() == [Edition.ENGAGED]
    stage.run(HOUR)
    assert stage.play.told() == [Edition.ENGAGED, Edition.AGAIN]


def test_every_check_has_its_grace_anew_after_it() -> None:
    """Networks and disks come back after their users: that is no failure of theirs."""
    stage = well(policy=UNLISTED)
    stage.freeze()
    stage.run(HOUR)
    stage.serves = lambda: FAIL
    stage.thaw()
    stage.run(MINUTE - 1)
    assert face(stage, READINESS) in (GREEN, (State.GREY, Reason.FROZEN))
    stage.serves = lambda: OK
    stage.run(5 * MINUTE)
    assert face(stage, READINESS) == GREEN
    assert (stage.play.told(), stage.play.story.incidents) == ([], ())


def test_what_still_fails_after_its_grace_is_told_as_any_other() -> None:
    """A service that did not survive the sleep is broken all the same."""
    stage = well(policy=UNLISTED)
    stage.freeze()
    stage.run(HOUR)
    stage.kill()
    stage.thaw()
    stage.run(5 * MINUTE)
    assert face(stage) == (State.RED, Reason.FAILED)
    assert stage.play.told() == [Edition.ENGAGED]


@pytest.mark.parametrize("grace_s", [0, 60])
def test_the_first_look_after_it_never_counts(grace_s: int) -> None:
    """It may have been made of what was still waking up: a streak stands where it stood."""
    rules = Rules(every_us=30 * SECOND_US, after=2, grace_us=grace_s * SECOND_US)
    check = Check(READINESS, READY_CHECK.aspect, "http", READY_CHECK.unit, rules, declared=True)
    stage = well(policy=UNLISTED)
    stage.declare(check)
    stage.serves = lambda: FAIL
    stage.look(READINESS)
    assert stage.play.watch(READINESS).verdict.streak == 1
    stage.sleep(HOUR)
    stage.look(READINESS)
    assert stage.play.watch(READINESS).verdict.streak == 1
    assert stage.play.story.incidents == ()


def test_a_good_first_look_closes_nothing() -> None:
    """An incident settles by looks of a machine that is awake."""
    stage = dying(policy=UNLISTED)
    stage.run(MINUTE)
    stage.lives_s = None
    stage.freeze()
    stage.start()
    stage.thaw()
    assert opened(stage, LIVENESS).good_looks == 0
    stage.run(10 * MINUTE)
    assert stage.play.told() == [Edition.ENGAGED, Edition.CLEARED]


def test_looks_after_it_are_spread() -> None:
    """All of them are overdue at the same instant: a thousand at once would time each other out."""
    keys = [CheckKey(f"{READINESS}/{n}") for n in range(100)]
    checks = tuple(
        Check(key, READY_CHECK.aspect, "http", READY_CHECK.unit, Rules(), declared=True)
        for key in keys
    )
    play = Play(checks=checks)
    due = [e.at_us for e in play.at(HOUR, Thawed(HOUR * SECOND_US)) if isinstance(e, LookAt)]
    assert len(due) == 100
    assert max(due.count(at_us) for at_us in due) <= 3
    assert min(due) >= play.now_us
    assert max(due) <= play.now_us + MINUTE * SECOND_US


def test_an_attempt_that_the_shutdown_overtook_is_not_counted() -> None:
    """polkit may be gone before the restart is asked for: nobody is told for that."""
    stage = dying()
    stage.run(5.01)
    (repair,) = stage.play.repairs()
    stage.freeze()
    stage.put(RepairFinished(repair.attempt.id, AttemptResult.FINAL, "polkit refuses"))
    assert opened(stage, LIVENESS).attempts[-1].result is AttemptResult.OVERTAKEN
    assert stage.play.told() == []


def test_a_stop_that_is_called_off_leaves_all_as_it_was() -> None:
    """Somebody changed their mind: what was green is green at the next look."""
    stage = well()
    stage.freeze()
    stage.run(5)
    stage.thaw()
    stage.run(2 * MINUTE)
    assert (face(stage), face(stage, READINESS)) == (GREEN, GREEN)
    assert (stage.play.told(), stage.play.repairs(), stage.play.story.incidents) == ([], [], ())


def test_frozen_when_the_machine_went_off_it_goes_on_at_the_next_start() -> None:
    """The incident of before the reboot is the same after it; nothing is told twice."""
    stage = dying(policy=UNLISTED)
    stage.run(MINUTE)
    before = opened(stage, LIVENESS)
    stage.freeze()
    stage.run(HOUR)
    stage.play.frozen = ""
    stage.healthd_restarts(same_boot=False)
    stage.run(10 * MINUTE)
    after = opened(stage, LIVENESS)
    assert (after.id, after.idle) == (before.id, Idle.NO)
    assert stage.play.told() == [Edition.ENGAGED]


def test_a_hold_that_begins_right_after_a_sleep_is_in_force_at_once() -> None:
    """A look after a freeze may count for nothing; a hold is no look."""
    stage = dying(policy=UNLISTED)
    stage.run(MINUTE)
    stage.freeze()
    stage.run(HOUR)
    stage.thaw()
    stage.hold()
    assert face(stage) == ("grey", "held")
