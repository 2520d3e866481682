"""Histories of one unit with several checks: one unit, one story."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.model import (
    SECOND_US,
    ActiveState,
    AttemptResult,
    Closing,
    Edition,
    End,
    Ended,
    How,
    Idle,
    LoadState,
    Looked,
    Policy,
    Publish,
    Reason,
    RepairFinished,
    RestartAsked,
    UnitName,
    UnitSeen,
    Withdraw,
)
from tests.unit.histories import (
    FAIL,
    LISTED,
    LIVE_CHECK,
    LIVENESS,
    OK,
    READINESS,
    READY_CHECK,
    RUNNING,
    UNIT,
    Play,
)
from tests.unit.scenes import ADMIN, ADMIN_CHECK, MINUTE, opened, well
from tests.unit.stage import INACTIVE


def test_a_unit_that_dies_takes_its_readiness_along_in_silence() -> None:
    """The liveness says it; what the unit does not serve then is no second finding."""
    made = well(policy=Policy())
    made.kill()
    made.run(10 * MINUTE)
    assert made.play.face(READINESS) == ("grey", "waiting")
    assert made.play.watch(READINESS).verdict.waiting_on == LIVENESS
    assert [i.key for i in made.play.story.incidents] == [LIVENESS]
    assert made.play.told() == [Edition.ENGAGED]


def test_both_red_are_one_notice_and_two_restarts_in_all() -> None:
    """First it does not serve, then it does not even start: repair belongs to the unit."""
    made = well()
    made.serves = lambda: FAIL
    made.run(50)
    assert made.calls == 1
    made.lives_s = 0.05
    made.kill()
    made.run(30 * MINUTE)
    assert made.calls == 2
    assert made.play.told() == [Edition.ENGAGED]
    ready = opened(made)
    assert (ready.idle, ready.held_under) == (Idle.WAITING, opened(made, LIVENESS).id)
    assert len(opened(made, LIVENESS).attempts) == 1
    assert len(ready.attempts) == 2


def test_the_engaged_readiness_and_the_liveness_after_it_are_one_notice() -> None:
    """The owner knows that this unit is broken; that it broke further is no second message."""
    made = well(policy=Policy())
    made.serves = lambda: FAIL
    made.run(3 * MINUTE)
    assert made.play.told() == [Edition.ENGAGED]
    made.kill()
    made.run(3 * MINUTE)
    assert made.play.told() == [Edition.ENGAGED]
    made.serves = lambda: OK
    made.start()
    made.run(30 * MINUTE)
    assert made.play.told() == [Edition.ENGAGED, Edition.CLEARED]
    assert not made.play.story.incidents


def test_a_new_invocation_gives_its_readiness_a_grace() -> None:
    """Whoever started it: a service that needs 40 s to answer is starting, not failing."""
    made = well()
    made.serves = lambda: FAIL
    made.restart()
    made.run(40)
    assert made.play.face(READINESS) == ("grey", "starting")
    made.serves = lambda: OK
    made.run(5 * MINUTE)
    assert made.play.face(READINESS) == ("green", "ok")
    assert not made.play.endings()


def test_the_grace_of_a_slow_starter_runs_from_the_end_of_its_start() -> None:
    """90 s of start and 40 s until it answers: nothing is wrong, and nothing is restarted."""
    made = well()
    made.serves = lambda: FAIL
    made.starts_in_s = 85
    made.restart()
    made.run(85 + 45)
    assert made.facts.active_state is ActiveState.ACTIVE
    assert made.play.face(READINESS) == ("grey", "starting")
    made.run(60)
    assert made.play.face(READINESS)[0] == "red"


def test_a_streak_belongs_to_one_invocation() -> None:
    """Two failing looks before a restart and one after it are not three in a row."""
    made = well()
    made.serves = lambda: FAIL
    while made.play.watch(READINESS).verdict.streak < 2:
        made.run(1)
    made.restart()
    made.run(1)
    made.look(READINESS)
    assert made.play.face(READINESS) == ("grey", "starting")
    assert made.play.watch(READINESS).verdict.streak == 0


def test_a_look_whose_invocation_is_over_is_thrown_away() -> None:
    """What the old process did not answer says nothing of the new one."""
    made = well()
    old = made.facts.invocation
    made.restart()
    made.run(1)
    before = made.play.watch(READINESS)
    made.put(Looked(READINESS, FAIL, old))
    assert replace(made.play.watch(READINESS), due_us=0) == replace(before, due_us=0)


def test_an_attempt_gives_all_checks_of_the_unit_one_grace() -> None:
    """One restart, and one wait for its effect: red or not yet, none asks for another."""
    made = well(LIVE_CHECK, READY_CHECK, ADMIN_CHECK)
    made.serves = lambda: FAIL
    made.run(80)
    assert made.calls == 1
    assert made.play.face(READINESS) == ("red", "repairing")
    assert made.play.face(ADMIN) == ("grey", "starting")


def test_no_restart_while_another_check_of_the_unit_has_its_grace() -> None:
    """The site is up and fails again; the admin page still has its time after that start."""
    slow = replace(ADMIN_CHECK, rules=replace(READY_CHECK.rules, grace_us=300 * SECOND_US))
    made = well(LIVE_CHECK, READY_CHECK, slow)
    made.restart()
    made.look(READINESS)
    made.serves = lambda: FAIL
    made.run(100)
    assert made.play.face(READINESS)[0] == "red"
    assert made.play.face(ADMIN) == ("grey", "starting")
    assert made.calls == 0


def test_a_repair_that_takes_long_is_judged_from_its_end() -> None:
    """`repair: fix-web.service` may run for minutes: no second one before it has had its effect."""
    fix = replace(READY_CHECK, repair_unit="fix-web.service")
    policy = replace(LISTED, allow_restart=frozenset({UNIT, "fix-web.service"}))
    play = Play(policy=policy, checks=(fix,))
    for second in range(0, 200, 15):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    assert play.face() == ("red", "repairing")
    play.at(200, RepairFinished(play.repairs()[-1].attempt.id, AttemptResult.DONE))
    for second in range(210, 255, 15):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    assert (play.face(), len(play.repairs())) == (("red", "repairing"), 1)
    for second in range(255, 330, 15):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    assert len(play.repairs()) == 2


def test_while_a_person_restarts_it_nothing_counts() -> None:
    """A look in the middle of somebody's restart is no failure of the service."""
    play = Play()
    play.at(0, Looked(READINESS, OK, "a1"))
    play.at(1, RestartAsked("uid 1000"))
    for second in (2, 17, 32, 47):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    assert play.face() == ("grey", "starting")
    assert not play.story.incidents


def test_a_unit_taken_along_by_its_provider_keeps_its_readiness_waiting() -> None:
    """The provider was stopped: what does not answer because of it is not restarted."""
    made = well()
    last = End(made.facts.invocation, made.now_us, 1, How.TAKEN_ALONG, by=UnitName("db.service"))
    made.put(Ended(last))
    made.set(active_state=INACTIVE, sub_state="dead")
    made.put(UnitSeen(made.facts, fresh=True))
    made.run(20 * MINUTE)
    assert made.play.face(LIVENESS) == ("grey", "waiting")
    assert made.play.face(READINESS) == ("grey", "waiting")
    assert made.play.repairs() == []


def test_after_our_own_start_readiness_waits_until_its_unit_was_looked_at() -> None:
    """The unit died while healthd was away: the first look at its port is not the first word."""
    made = well()
    made.run(10)
    made.healthd_restarts(reads=False)
    made.set(active_state=INACTIVE, sub_state="dead")
    for _ in range(5):
        made.look(READINESS)
        made.run(15)
    assert made.play.face(READINESS) == ("grey", "waiting")
    assert made.play.story.incidents == ()


def test_a_stopped_unit_takes_the_incidents_of_its_checks_along() -> None:
    """Put away for good: after an hour nothing of it is left standing."""
    made = well(policy=Policy())
    made.serves = lambda: FAIL
    made.run(3 * MINUTE)
    assert made.play.told() == [Edition.ENGAGED]
    made.stop()
    made.run(50 * MINUTE)
    assert opened(made).idle is Idle.STOPPED
    made.run(20 * MINUTE)
    assert made.play.endings()[-1] is Closing.GONE
    assert made.play.told() == [Edition.ENGAGED]
    assert any(isinstance(e, Withdraw) for e in made.play.effects)


def test_a_masked_unit_takes_the_incidents_of_its_checks_along_at_once() -> None:
    """Nothing is left to judge, whichever check it was."""
    made = well(policy=Policy())
    made.serves = lambda: FAIL
    made.run(3 * MINUTE)
    made.stop()
    made.set(load_state=LoadState.MASKED)
    made.run(6 * MINUTE)
    assert made.play.endings()[-1] is Closing.GONE


def test_attempts_made_for_another_check_are_said_as_such() -> None:
    """ "Nothing was tried: 2 restarts did not help" would be nonsense."""
    made = well()
    made.serves = lambda: FAIL
    made.lives_s = 0.05
    made.kill()
    made.run(2 * MINUTE)
    made.lives_s = None
    made.start()
    made.run(10 * MINUTE)
    assert made.calls == 2
    assert opened(made).why_engaged == "the unit had 2 restarts for another check already"


def test_a_check_of_a_unit_that_is_slow_to_show_itself_is_not_repaired_blindly() -> None:
    """Without systemd's word on the unit there is no restart."""
    play = Play(checks=(READY_CHECK,))
    play.story = replace(play.story, facts=None)
    for second in range(0, 120, 15):
        play.at(second, Looked(READINESS, FAIL))
    assert play.face() == ("red", "unready")
    assert (play.repairs(), play.told()) == ([], [])
    play.at(121, UnitSeen(RUNNING, fresh=True))
    play.at(135, Looked(READINESS, FAIL, "a1"))
    play.at(150, Looked(READINESS, FAIL, "a1"))
    assert len(play.repairs()) == 1


def test_an_attempt_shows_in_every_red_check_of_the_unit() -> None:
    """One restart for both: neither page may say "red, and nothing is done"."""
    play = Play(checks=(READY_CHECK, ADMIN_CHECK), policy=replace(LISTED, max_attempts=2))
    play.put(UnitSeen(replace(RUNNING, job=7), fresh=True))
    for second in (0, 15, 30):
        play.at(second, Looked(ADMIN, FAIL, "a1"))
        play.at(second, Looked(READINESS, FAIL, "a1"))
    play.put(UnitSeen(RUNNING, fresh=True))
    effects = play.at(45, Looked(READINESS, FAIL, "a1"))
    shown = {e.watch.check.key: e.watch.verdict.reason for e in effects if isinstance(e, Publish)}
    assert shown == {READINESS: Reason.REPAIRING, ADMIN: Reason.REPAIRING}


def test_one_check_that_comes_and_goes_does_not_pile_up_beside_another() -> None:
    """A broken page for months, another that fails every half hour: the story stays small."""
    play = Play(checks=(READY_CHECK, ADMIN_CHECK), policy=Policy())
    for number in range(400):
        begin = 300 * number
        play.at(begin, Looked(ADMIN, FAIL, "a1"))
        for second in (15, 30, 45):
            play.at(begin + second, Looked(READINESS, FAIL if number % 6 == 1 else OK, "a1"))
    assert len(play.story.incidents) <= 3
