"""Histories of notices: a unit has one that stands, whichever of its checks it tells of."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.model import (
    CheckKey,
    Delivered,
    Edition,
    LoadState,
    Looked,
    Policy,
    Tell,
    Withdraw,
)
from tests.unit.histories import (
    FAIL,
    LIVE_CHECK,
    OK,
    READINESS,
    READY_CHECK,
    Play,
)
from tests.unit.scenes import ADMIN, ADMIN_CHECK, HOUR, MINUTE, opened, well


def test_red_again_after_its_notice_was_withdrawn_is_said() -> None:
    """Unmasked, started, and still broken: the owner holds no notice of it, and gets one."""
    made = well(policy=Policy())
    made.serves = lambda: FAIL
    made.run(3 * MINUTE)
    made.stop()
    made.set(load_state=LoadState.MASKED)
    made.run(6 * MINUTE)
    made.set(load_state=LoadState.LOADED)
    made.start()
    made.run(5 * MINUTE)
    assert made.play.face(READINESS)[0] == "red"
    assert made.play.told() == [Edition.ENGAGED, Edition.AGAIN]
    assert opened(made).reopened == 1
    made.serves = lambda: OK
    made.run(HOUR)
    assert made.play.told() == [Edition.ENGAGED, Edition.AGAIN, Edition.CLEARED]


def test_what_was_withdrawn_is_not_cleared_by_another_check() -> None:
    """ "Working again" about a check that is gone would be a riddle."""
    made = well(LIVE_CHECK, READY_CHECK, ADMIN_CHECK, policy=Policy())
    made.serves = lambda: FAIL
    made.run(3 * MINUTE)
    assert made.play.told() == [Edition.ENGAGED]
    made.declare(LIVE_CHECK, ADMIN_CHECK)
    made.declare(LIVE_CHECK)
    told = len(made.play.told())
    made.kill()
    made.run(MINUTE)
    made.start()
    made.run(5 * MINUTE)
    assert made.play.told()[told:] == [Edition.ENGAGED, Edition.CLEARED]


def test_what_was_found_at_the_first_start_delays_nobodys_cleared() -> None:
    """An old trouble that nobody minds must not keep "working again" from being said."""
    play = Play(policy=Policy(), checks=(READY_CHECK, ADMIN_CHECK), first_start=True)
    play.at(0, Looked(READINESS, OK, "a1"))
    for second in (15, 30, 45):
        play.at(second, Looked(READINESS, FAIL, "a1"))
        play.at(second, Looked(ADMIN, FAIL, "a1"))
    for second in (60, 75):
        play.at(second, Looked(READINESS, OK, "a1"))
    assert play.told() == [Edition.ENGAGED, Edition.CLEARED]


def test_again_is_about_what_is_red_and_the_only_notice() -> None:
    """The check that was told is well, its sibling still red: the old notice goes."""
    play = Play(checks=(READY_CHECK, ADMIN_CHECK), policy=Policy())
    for second in (0, 15, 30):
        play.at(second, Looked(READINESS, FAIL, "a1"))
        play.at(second, Looked(ADMIN, FAIL, "a1"))
    for second in (60, 75):
        play.at(second, Looked(READINESS, OK, "a1"))
    for minute in range(2, 13 * 60):
        play.at(60 * minute, Looked(ADMIN, FAIL, "a1"))
    tells = [e.notice for e in play.effects if isinstance(e, Tell)]
    assert [(n.edition, n.key) for n in tells] == [
        (Edition.ENGAGED, READINESS),
        (Edition.AGAIN, ADMIN),
    ]
    assert [e.incident for e in play.effects if isinstance(e, Withdraw)] == [tells[0].incident]
    for second in (13 * HOUR, 13 * HOUR + 15):
        play.at(second, Looked(ADMIN, OK, "a1"))
    assert play.told()[2:] == [Edition.CLEARED]


def test_a_notice_that_stands_for_others_serves_the_next_one_too() -> None:
    """Its own check is closed, another is engaged under it: a third says nothing new."""
    third = replace(READY_CHECK, key=CheckKey(f"{READINESS}/api"))
    play = Play(checks=(READY_CHECK, ADMIN_CHECK, third), policy=Policy())
    for second in (0, 15, 30):
        play.at(second, Looked(READINESS, FAIL, "a1"))
        play.at(second, Looked(ADMIN, FAIL, "a1"))
    for second in (60, 75):
        play.at(second, Looked(READINESS, OK, "a1"))
    for second in (90, 105, 120):
        play.at(second, Looked(third.key, FAIL, "a1"))
    assert play.told() == [Edition.ENGAGED]
    for second in (150, 165):
        play.at(second, Looked(ADMIN, OK, "a1"))
        play.at(second, Looked(third.key, OK, "a1"))
    assert play.told() == [Edition.ENGAGED, Edition.CLEARED]


def test_a_delivery_that_nobody_asked_for_tells_nothing() -> None:
    """An answer out of an old outbox does not make a found incident one that was told."""
    play = Play(policy=Policy(), first_start=True)
    for second in (0, 15, 30):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    play.put(Delivered(play.story.incidents[0].id, Edition.DIGEST, "mail"))
    for hour in range(1, 30):
        play.at(3600 * hour, Looked(READINESS, FAIL, "a1"))
    assert play.told() == []


def test_siblings_say_again_together() -> None:
    """One clock for the unit: the second check does not say it an hour after the first."""
    play = Play(checks=(READY_CHECK, ADMIN_CHECK), policy=Policy())
    for minute in range(12 * 60 + 5):
        play.at(60 * minute, Looked(READINESS, FAIL, "a1"))
        play.at(60 * minute, Looked(ADMIN, FAIL, "a1"))
    assert play.told() == [Edition.ENGAGED, Edition.AGAIN]
    for minute in range(12 * 60 + 5, 20 * 60):
        play.at(60 * minute, Looked(READINESS, OK, "a1"))
        play.at(60 * minute, Looked(ADMIN, FAIL, "a1"))
    assert play.told() == [Edition.ENGAGED, Edition.AGAIN]


def test_red_again_under_a_notice_that_still_stands_is_nothing_new() -> None:
    """Its notice tells of its sibling meanwhile; the owner holds it already."""
    play = Play(checks=(READY_CHECK, ADMIN_CHECK), policy=Policy())
    for second in (0, 15, 30):
        play.at(second, Looked(READINESS, FAIL, "a1"))
        play.at(second, Looked(ADMIN, FAIL, "a1"))
    for second in (60, 75):
        play.at(second, Looked(READINESS, OK, "a1"))
    for second in (90, 105, 120):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    assert play.face() == ("red", "unready")
    assert play.told() == [Edition.ENGAGED]
