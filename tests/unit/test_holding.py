"""Histories of a unit under a hold: grey while it lasts, a grace after it, and nothing twice."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from healthd.model import CheckKey, Edition, HoldsChanged, Idle, Phase, Policy, Reason, State
from tests.unit.histories import FAIL, LIVE_CHECK, LIVENESS, OK, READINESS, READY_CHECK, UNIT
from tests.unit.scenes import HOUR, MINUTE, dying, opened, well
from tests.unit.stage import Stage
from tests.unit.town import Town

HELD = (State.GREY, Reason.HELD)
UNLISTED = Policy()


def face(stage: Stage, key: CheckKey = LIVENESS) -> tuple[str, str]:
    """State and reason of one check."""
    return stage.play.face(key)


def test_all_checks_of_a_held_unit_are_grey_whatever_the_looks_say() -> None:
    """Whoever works on a service breaks it for a while, and knows it."""
    stage = well()
    stage.hold()
    assert (face(stage), face(stage, READINESS)) == (HELD, HELD)
    assert stage.play.watch(LIVENESS).verdict.summary == "held by pid 812: pg_upgrade"
    stage.kill()
    stage.run(10 * MINUTE)
    assert (face(stage), face(stage, READINESS)) == (HELD, HELD)
    assert (stage.play.repairs(), stage.play.told(), stage.play.story.incidents) == ([], [], ())


def test_a_unit_that_is_well_when_the_hold_ends_is_green_at_once() -> None:
    """The first look after it counts; nobody waits for a grace to be over."""
    stage = well()
    stage.hold()
    stage.stop()
    stage.run(MINUTE)
    stage.start()
    stage.release()
    stage.run(1)
    assert (face(stage), face(stage, READINESS)) == ((State.GREEN, Reason.OK),) * 2


def test_what_was_stopped_under_a_hold_and_left_so_is_stopped() -> None:
    """A hold says nothing of what its holder means afterwards: the system does."""
    stage = well()
    stage.hold()
    stage.stop()
    stage.release()
    stage.run(10 * MINUTE)
    assert face(stage) == (State.GREY, Reason.STOPPED)
    assert stage.play.told() == []


def test_what_still_fails_after_its_grace_is_told_as_any_other() -> None:
    """A hold that ends over a broken service must not hide it."""
    stage = well(policy=UNLISTED)
    stage.hold()
    stage.kill()
    stage.run(5 * MINUTE)
    stage.release()
    stage.run(MINUTE - 1)
    assert face(stage) == HELD
    assert stage.play.watch(LIVENESS).verdict.summary.startswith("was held until lately: ")
    stage.run(MINUTE)
    assert face(stage) == (State.RED, Reason.FAILED)
    assert stage.play.told() == [Edition.ENGAGED]


def test_a_listed_unit_that_still_fails_is_repaired_after_its_grace_only() -> None:
    """The holder may need these seconds to put things back; a restart would come between."""
    stage = well()
    stage.hold()
    stage.kill()
    stage.run(MINUTE)
    stage.release()
    stage.run(MINUTE - 1)
    assert stage.calls == 0
    stage.run(MINUTE)
    assert stage.calls == 1
    assert stage.play.told() == []


def test_a_declared_check_that_still_fails_has_its_grace_too() -> None:
    """A service that runs again need not serve yet."""
    stage = well(LIVE_CHECK, READY_CHECK, policy=UNLISTED)
    stage.hold()
    stage.serves = lambda: FAIL
    stage.run(3 * MINUTE)
    stage.release()
    stage.run(MINUTE - 1)
    assert face(stage, READINESS) == HELD
    stage.run(5 * MINUTE)
    assert face(stage, READINESS) == (State.RED, Reason.UNREADY)


def test_an_incident_that_was_open_before_is_the_same_after() -> None:
    """Kept and idle: nothing is repaired, nobody hears of it, and nobody hears of it twice."""
    stage = dying(policy=UNLISTED)
    stage.run(MINUTE)
    before = opened(stage, LIVENESS)
    assert stage.play.told() == [Edition.ENGAGED]
    stage.hold()
    assert opened(stage, LIVENESS).idle is Idle.HELD
    stage.run(3 * HOUR)
    stage.release()
    stage.run(10 * MINUTE)
    after = opened(stage, LIVENESS)
    assert (after.id, after.idle, after.phase) == (before.id, Idle.NO, Phase.ENGAGED)
    assert stage.play.told() == [Edition.ENGAGED]


def test_the_clock_of_again_stands_still_under_a_hold() -> None:
    """Who works on it has been told; reminding them of it is noise."""
    stage = dying(policy=UNLISTED)
    stage.run(11 * HOUR)
    stage.hold()
    stage.run(3 * HOUR)
    stage.release()
    stage.run(30 * MINUTE)
    assert stage.play.told() == [Edition.ENGAGED]
    stage.run(HOUR)
    assert stage.play.told() == [Edition.ENGAGED, Edition.AGAIN]


def test_an_incident_is_over_when_its_unit_is_well_after_the_hold() -> None:
    """That is what most holds are for; the owner, who was told, hears that it works again."""
    stage = dying(policy=UNLISTED)
    stage.run(MINUTE)
    stage.hold()
    stage.lives_s = None
    stage.start()
    stage.run(MINUTE)
    assert opened(stage, LIVENESS).idle is Idle.HELD
    stage.release()
    stage.run(5 * MINUTE)
    assert stage.play.told() == [Edition.ENGAGED, Edition.CLEARED]


def test_crashes_under_a_hold_are_no_crash_loop_after_it() -> None:
    """An upgrade may start a server ten times over until it lets it."""
    stage = well()
    stage.hold()
    for _ in range(5):
        stage.kill()
        stage.run(1)
        stage.start()
        stage.run(1)
    stage.release()
    stage.run(10 * MINUTE)
    assert face(stage) == (State.GREEN, Reason.OK)
    assert (stage.play.story.incidents, stage.play.told(), stage.calls) == ((), [], 0)


def test_a_failing_look_before_the_hold_is_not_added_to_one_after_it() -> None:
    """Between the two somebody had the unit in hand."""
    stage = well(policy=UNLISTED)
    stage.kill()
    stage.run(0.1)
    assert face(stage) == (State.YELLOW, Reason.SUSPECT)
    stage.hold()
    stage.run(1)
    stage.release()
    stage.run(MINUTE + 1)
    assert face(stage) == (State.YELLOW, Reason.SUSPECT)


@pytest.mark.parametrize("ends", [False, True])
def test_a_restart_of_healthd_under_a_hold_changes_nothing(ends: bool) -> None:
    """Whether the hold goes on or ended meanwhile: its unit has its grace all the same."""
    stage = well(policy=UNLISTED)
    stage.hold()
    stage.kill()
    stage.run(MINUTE)
    if ends:
        del stage.play.held[UNIT]
    stage.healthd_restarts()
    stage.run(MINUTE / 2)
    assert face(stage) == HELD
    if not ends:
        stage.run(HOUR)
        assert face(stage) == HELD
        stage.release()
    stage.run(5 * MINUTE)
    assert stage.play.told() == [Edition.ENGAGED]


def test_a_unit_that_was_never_looked_at_is_grey_held_from_its_first_look() -> None:
    """A unit may be installed under the hold that is to keep it quiet."""
    stage = Stage(checks=(LIVE_CHECK,))
    stage.play.held[UNIT] = "held by pid 1"
    stage.kill()
    stage.run(MINUTE)
    assert face(stage) == HELD


def test_nothing_is_restarted_that_would_take_a_held_unit_along() -> None:
    """The application is worked on; a restart of its database would take it down. The owner, who
    may know of the one, is told of the other.
    """
    db, app = "db.service", "app.service"
    town = Town({db: (), app: (db,)}, policy=Policy(allow_restart=frozenset({db})))
    town.facts[db] = replace(town.facts[db], taken_along=(app,))
    town.plays[app].held[app] = "held by pid 812: schema change"
    town.plays[db].held[app] = "held by pid 812: schema change"
    town.put(app, HoldsChanged())
    town.kill(db)
    town.run(5 * MINUTE)
    assert town.repairs() == []
    (notice,) = town.notices()
    assert notice.unit == db
    assert "app.service, which a restart would take along, is held by pid 812" in notice.body


def test_who_needs_a_held_unit_waits_on_it() -> None:
    """Whoever works on the database has told of it; the application that misses it is no news."""
    db, app = "db.service", "app.service"
    town = Town({db: (), app: (db,)})
    town.plays[db].held[db] = "held by pid 812: pg_upgrade"
    town.put(db, HoldsChanged())
    for unit in (db, app):
        town.kill(unit)
    town.run(2 * HOUR)
    assert town.watch(f"liveness:{app}").verdict.waiting_on == f"liveness:{db}"
    for unit in (db, app):
        town.start(unit)
    town.plays[db].held.clear()
    town.put(db, HoldsChanged())
    town.run(10 * MINUTE)
    assert {town.face(f"liveness:{unit}") for unit in (db, app)} == {("green", "ok")}
    assert (town.notices(), town.stories[app].incidents) == ([], ())


def test_br_30_ten_services_stopped_and_started_under_a_hold_say_nothing() -> None:
    """BR-30: a planned reload, and an un-muting right after it, raised alarms. Each service is a
    story of its own; one that starts slowly still has its grace when the hold has ended.
    """
    for number in range(10):
        stage = well(policy=UNLISTED)
        stage.starts_in_s = 2.0 * number
        stage.hold()
        stage.run(6 * number)
        stage.stop()
        stage.serves = lambda: FAIL
        stage.run(12)
        stage.start()
        stage.run(1)
        stage.release()
        stage.run(40)
        stage.serves = lambda: OK
        stage.run(10 * MINUTE)
        assert (stage.play.told(), stage.play.story.incidents) == ([], ())
        assert (face(stage), face(stage, READINESS)) == ((State.GREEN, Reason.OK),) * 2


def test_br_29_a_backup_that_stops_its_service_raises_nothing() -> None:
    """BR-29: a watchdog revived what a backup had stopped. A stop is no fault; what a script breaks
    besides is covered by its hold, which ends with it.
    """
    stage = well()
    stage.hold("held by pid 900: backup")
    stage.stop()
    stage.run(5 * MINUTE)
    assert stage.calls == 0
    stage.start()
    stage.release()
    stage.run(5 * MINUTE)
    assert (stage.calls, stage.play.told(), stage.play.story.incidents) == (0, [], ())
