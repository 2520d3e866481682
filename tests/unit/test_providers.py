"""Histories of units that need each other: one cause is one notice, and nobody is forgotten."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.model import CheckKey, Closing, Edition, How, Idle, Policy, State, Woken
from tests.unit.histories import FAIL
from tests.unit.town import FAILED, Town, live, ready

DB, APP, WEB = "db.service", "app.service", "web.service"
CHAIN = {DB: (), APP: (DB,), WEB: (APP,)}
LIVE_APP = CheckKey(f"liveness:{APP}")
MINUTE = 60
HOUR = 3600


def test_a_provider_and_thirty_consumers_that_die_at_once_are_one_notice() -> None:
    """One cause, one notice, and it names everybody who suffers from it."""
    consumers = tuple(f"c{number:02}.service" for number in range(30))
    town = Town({DB: (), **dict.fromkeys(consumers, (DB,))})
    for unit in (*consumers[:15], DB, *consumers[15:]):
        town.kill(unit)
    town.run(10 * MINUTE)
    (notice,) = town.notices()
    assert (notice.unit, notice.edition) == (DB, Edition.ENGAGED)
    assert all(name in notice.body for name in consumers)
    assert {town.face(f"liveness:{name}") for name in consumers} == {("grey", "waiting")}
    assert not any(town.stories[name].incidents for name in consumers)


def test_consumers_that_come_up_after_their_provider_are_never_told() -> None:
    """They have their grace once it is back, and use it."""
    town = Town(CHAIN)
    town.kill(DB)
    town.kill(APP)
    town.run(MINUTE)
    town.start(DB)
    town.run(40)
    assert town.face(f"liveness:{APP}") == ("grey", "waiting")
    town.start(APP)
    town.run(HOUR)
    assert town.face(f"liveness:{APP}") == ("green", "ok")
    assert [(n.unit, n.edition) for n in town.notices()] == [
        (DB, Edition.ENGAGED),
        (DB, Edition.CLEARED),
    ]


def test_a_consumer_that_stays_down_after_its_provider_stands_on_its_own() -> None:
    """Waiting is no way to be forgotten."""
    town = Town(CHAIN)
    town.kill(DB)
    town.kill(APP)
    town.run(MINUTE)
    town.start(DB)
    town.run(50)
    assert town.face(f"liveness:{APP}") == ("grey", "waiting")
    town.run(2 * MINUTE)
    assert town.face(f"liveness:{APP}") == ("red", "failed")
    assert [n.unit for n in town.notices(Edition.ENGAGED)] == [DB, APP]


def test_everybody_waits_on_the_root() -> None:
    """The owner repairs the database, not the three layers above it."""
    town = Town(CHAIN, checks=(ready(WEB),))
    town.serves[WEB] = lambda: FAIL
    for unit in (WEB, APP, DB):
        town.kill(unit)
    town.run(5 * MINUTE)
    for key in (f"liveness:{APP}", f"liveness:{WEB}", f"readiness:{WEB}"):
        assert town.watch(key).verdict.waiting_on == f"liveness:{DB}", key
    assert [n.unit for n in town.notices()] == [DB]


def test_a_red_root_far_down_holds_those_whose_next_provider_is_well() -> None:
    """The application runs and answers 500 because of what its provider's provider is."""
    town = Town(CHAIN, checks=(ready(WEB),))
    town.kill(DB)
    town.serves[WEB] = lambda: FAIL
    town.run(5 * MINUTE)
    assert town.watch(f"readiness:{WEB}").verdict.waiting_on == f"liveness:{DB}"
    assert [n.unit for n in town.notices()] == [DB]


def test_an_answer_that_is_well_is_no_claim_about_the_provider() -> None:
    """200 from the application says nothing of its database: the two are two verdicts."""
    town = Town(CHAIN, checks=(ready(APP),))
    town.kill(DB)
    town.run(5 * MINUTE)
    assert town.face(f"readiness:{APP}") == ("green", "ok")
    assert town.face(f"liveness:{DB}") == ("red", "failed")


def test_a_provider_that_does_not_serve_holds_like_one_that_is_down() -> None:
    """`needs` is about health, not about running."""
    town = Town({DB: (), APP: ()}, checks=(ready(DB), live(APP, (DB,)), ready(APP, (DB,))))
    town.serves[DB] = lambda: FAIL
    town.serves[APP] = lambda: FAIL
    town.run(10 * MINUTE)
    assert town.face(f"readiness:{DB}") == ("red", "unready")
    assert town.watch(f"readiness:{APP}").verdict.waiting_on == f"readiness:{DB}"
    assert [n.unit for n in town.notices()] == [DB]


def test_an_empty_needs_means_none_not_even_systemds() -> None:
    """The owner knows that it can do without."""
    town = Town({DB: (), APP: (DB,)}, checks=(live(APP, ()),))
    town.kill(DB)
    town.kill(APP)
    town.run(5 * MINUTE)
    assert [n.unit for n in town.notices()] == [DB, APP]


def test_a_cycle_is_cut_and_one_of_it_is_told() -> None:
    """Two that wait on each other would be silent for ever."""
    town = Town({DB: (APP,), APP: (DB,), WEB: (DB, APP)})
    for unit in (DB, APP, WEB):
        town.kill(unit)
    town.run(10 * MINUTE)
    assert len(town.notices()) == 1
    assert town.face(f"liveness:{WEB}") == ("grey", "waiting")


def test_in_a_cycle_nobody_waits_for_ever_on_one_that_is_well_again() -> None:
    """Each would go by what the other goes by, and nobody would look at whom they all wait on."""
    town = Town({DB: (APP,), APP: (WEB,), WEB: (DB,)})
    for unit in (DB, APP, WEB):
        town.kill(unit)
    town.run(MINUTE)
    assert town.face(f"liveness:{APP}") == ("grey", "waiting")
    town.start(DB)
    town.run(5 * MINUTE)
    waiting = [u for u in (APP, WEB) if town.face(f"liveness:{u}") == ("grey", "waiting")]
    assert len(waiting) == 1
    assert [n.unit for n in town.notices(Edition.ENGAGED)][1:] in ([APP], [WEB])


def test_whoever_needs_what_a_stop_took_along_waits_an_hour_for_it_and_no_longer() -> None:
    """The stop is one of the provider's provider; it holds no longer than any other."""
    town = Town(CHAIN | {WEB: ()}, checks=(ready(WEB, (APP,)),))
    town.serves[WEB] = lambda: FAIL
    town.stop(DB, APP)
    town.run(50 * MINUTE)
    assert town.face(f"readiness:{WEB}") == ("grey", "waiting")
    town.run(15 * MINUTE)
    assert town.face(f"readiness:{WEB}") == ("red", "unready")


def test_an_incident_that_was_open_before_is_held_under_the_providers() -> None:
    """It is kept, idle and linked, and goes on as what it was: no second notice."""
    town = Town(CHAIN)
    town.kill(APP)
    town.run(5 * MINUTE)
    town.kill(DB)
    town.run(5 * MINUTE)
    (held,), (over,) = town.stories[APP].incidents, town.stories[DB].incidents
    assert (held.idle, held.held_under) == (Idle.WAITING, over.id)
    town.start(DB)
    town.run(5 * MINUTE)
    (held,) = town.stories[APP].incidents
    assert (held.idle, held.held_under) == (Idle.NO, 0)
    assert [n.unit for n in town.notices(Edition.ENGAGED)] == [APP, DB]


def test_a_provider_that_a_person_stopped_holds_for_an_hour_and_is_the_remedy() -> None:
    """Whoever stopped it may have forgotten who needs it."""
    town = Town({DB: (), APP: ()}, checks=(ready(APP, (DB,)),))
    town.stop(DB)
    town.serves[APP] = lambda: FAIL
    town.run(50 * MINUTE)
    assert town.face(f"readiness:{APP}") == ("grey", "waiting")
    assert town.notices() == []
    town.run(15 * MINUTE)
    (notice,) = town.notices()
    assert notice.remedy == f"systemctl start {DB}"
    assert f"{DB}, which it needs, is stopped" in notice.body


def test_a_repair_never_starts_what_a_person_stopped() -> None:
    """A start of the consumer would pull its provider in."""
    town = Town({DB: (), APP: (DB,)}, policy=Policy(allow_restart=frozenset({APP})))
    town.stop(DB)
    town.run(2 * HOUR)
    town.kill(APP)
    town.run(10 * MINUTE)
    assert town.repairs() == []
    assert [n.remedy for n in town.notices()] == [f"systemctl start {DB}"]


def test_what_a_stop_took_along_rests_for_as_long_as_its_provider_does() -> None:
    """`systemctl stop db` meant the application too."""
    town = Town(CHAIN)
    town.stop(DB, APP)
    town.run(5 * HOUR)
    assert town.how(APP) is How.TAKEN_ALONG
    assert town.face(f"liveness:{APP}") == ("grey", "waiting")
    assert town.notices() == []


def test_what_fell_with_its_provider_and_is_not_brought_back_is_told() -> None:
    """PID 1 stops what is bound to a crashed unit, and starts only that unit again."""
    town = Town(CHAIN, bound=frozenset({APP}))
    town.kill(DB)
    town.stop(APP)
    town.run(MINUTE)
    assert town.how(APP) is How.TAKEN_ALONG
    town.start(DB)
    town.run(50)
    assert town.face(f"liveness:{APP}") == ("grey", "waiting")
    town.run(MINUTE)
    assert town.face(f"liveness:{APP}") == ("red", "exited")
    assert town.watch(f"liveness:{APP}").verdict.summary == (
        "stopped along with db.service, which is back, and not started again"
    )


def test_crashes_of_a_consumer_while_its_provider_was_down_are_no_loop_of_its_own() -> None:
    """It could not run; now it can."""
    town = Town(CHAIN)
    town.kill(DB)
    town.run(1)
    for _ in range(5):
        town.crash(APP)
        town.run(8)
    town.start(DB)
    town.run(10 * MINUTE)
    assert town.face(LIVE_APP) == ("green", "ok")
    assert [n.unit for n in town.notices(Edition.ENGAGED)] == [DB]


def test_a_loop_is_told_though_what_it_needs_comes_and_goes() -> None:
    """A provider that crashes now and then excuses what falls with it, and nothing else."""
    town = Town(CHAIN)
    for _ in range(3):
        town.run(95)
        town.crash(DB)
        for _ in range(2):
            town.run(105)
            town.crash(APP)
    town.run(6)
    assert town.face(LIVE_APP) == ("red", "crash-loop")
    assert APP in [n.unit for n in town.notices(Edition.ENGAGED)]


def test_what_was_not_started_because_its_provider_failed_waits_on_it() -> None:
    """It never ran in this boot, and systemd says only "inactive"."""
    town = Town(CHAIN)
    never = replace(
        town.facts[APP],
        active_state=FAILED.INACTIVE,
        sub_state="dead",
        invocation="",
        active_enter_us=0,
        inactive_exit_us=0,
    )
    town.kill(DB)
    town.run(MINUTE)
    town.facts[APP] = never
    story = town.plays[APP].story
    town.plays[APP].story = replace(story, run=replace(story.run, last=None, invocation=""))
    town.look(town.watch(f"liveness:{APP}").check.key)
    town.run(MINUTE)
    verdict = town.watch(f"liveness:{APP}").verdict
    assert (verdict.state, verdict.waiting_on) == (State.GREY, f"liveness:{DB}")
    assert f"not started because {DB} failed" in verdict.summary


def test_what_rests_is_looked_at_again_when_its_provider_turns_out_to_have_failed() -> None:
    """systemd fails both within a moment, and healthd may see the consumer first."""
    town = Town(CHAIN)
    town.facts[APP] = replace(
        town.facts[APP],
        active_state=FAILED.INACTIVE,
        sub_state="dead",
        invocation="",
        active_enter_us=0,
        inactive_exit_us=0,
    )
    story = town.plays[APP].story
    town.plays[APP].story = replace(story, run=replace(story.run, last=None, invocation=""))
    town.look(town.watch(f"liveness:{APP}").check.key)
    assert town.face(f"liveness:{APP}") == ("grey", "not-configured")
    town.kill(DB)
    town.run(30)
    assert town.watch(f"liveness:{APP}").verdict.waiting_on == f"liveness:{DB}"
    assert [n.unit for n in town.notices()] == [DB]


def test_an_incident_of_what_a_stop_took_along_is_gone_after_an_hour() -> None:
    """Stopped with its provider is stopped: no notice stands for ever."""
    town = Town(CHAIN)
    town.kill(APP)
    town.run(5 * MINUTE)
    town.start(APP)
    town.run(2)
    town.stop(DB, APP)
    town.run(2 * HOUR)
    (told,) = town.notices()
    assert told.edition is Edition.ENGAGED
    assert [i.closing for i in town.stories[APP].incidents] in ([], [Closing.GONE])


def test_a_provider_that_loops_does_not_have_its_consumers_looked_at_each_time() -> None:
    """Cost follows what may change for them, not each crash."""
    town = Town(CHAIN)
    town.kill(DB)
    town.kill(APP)
    town.run(MINUTE)
    before = len(town.plays[APP].effects)
    town.start(DB)
    for _ in range(100):
        town.crash(DB)
        town.run(1)
    assert town.face(f"liveness:{DB}") == ("red", "crash-loop")
    assert town.face(f"liveness:{APP}") == ("grey", "waiting")
    assert len(town.plays[APP].effects) - before < 30


def _healthd_starts_again(town: Town) -> None:
    for unit in town.plays:
        town.put(unit, Woken(same_boot=True))


def test_nothing_is_told_at_our_own_start_before_the_provider_was_looked_at() -> None:
    """Both fell while nobody watched: who is asked about first must not decide who is told."""
    town = Town(CHAIN)
    town.quiet = True
    town.kill(DB)
    town.kill(APP)
    _healthd_starts_again(town)
    for _ in range(4):
        town.look(LIVE_APP)
        town.run(6)
    assert town.watch(LIVE_APP).verdict.waiting_on == f"liveness:{DB}"
    town.quiet = False
    town.look(CheckKey(f"liveness:{DB}"))
    town.run(5 * MINUTE)
    assert [n.unit for n in town.notices()] == [DB]


def test_a_provider_that_is_found_well_at_our_start_delays_nobody() -> None:
    """It was only not looked at yet: its consumer needs no grace for its return."""
    town = Town(CHAIN)
    town.quiet = True
    town.kill(APP)
    _healthd_starts_again(town)
    town.look(LIVE_APP)
    town.quiet = False
    town.look(CheckKey(f"liveness:{DB}"))
    town.run(12)
    assert [n.unit for n in town.notices()] == [APP]


def test_what_a_restart_takes_along_is_recorded_before_it_is_made() -> None:
    """Whoever reads the journal knows beforehand what will restart with it."""
    requires = {DB: (), APP: (DB,), WEB: (APP,), "idle.service": (DB,)}
    town = Town(requires, policy=Policy(allow_restart=frozenset({DB})))
    town.facts[DB] = replace(town.facts[DB], taken_along=(APP, "idle.service"))
    town.facts[APP] = replace(town.facts[APP], taken_along=(WEB,))
    town.run(5 * MINUTE)
    town.stop("idle.service")
    town.kill(DB)
    town.run(MINUTE)
    (repair, *_) = town.repairs()
    assert repair.attempt.along == (APP, WEB)


def test_a_provider_that_came_up_while_healthd_was_away_gives_its_consumers_their_grace() -> None:
    """It was down a moment ago, though nobody saw it: who hangs on it may come up still."""
    town = Town(CHAIN)
    town.quiet = True
    town.kill(DB)
    town.kill(APP)
    town.run(MINUTE)
    town.start(DB)
    town.run(10)
    _healthd_starts_again(town)
    town.quiet = False
    town.look(LIVE_APP)
    town.look(CheckKey(f"liveness:{DB}"))
    town.run(30)
    assert town.face(LIVE_APP) == ("grey", "waiting")
    assert town.notices() == []
    town.run(MINUTE)
    assert [n.unit for n in town.notices()] == [APP]


def test_in_a_ring_nobody_waits_on_a_check_that_only_waits_on_its_own_unit() -> None:
    """Two of it were stopped, one fell with each, two were killed: one of those speaks, later."""
    ring = tuple(f"u{number}.service" for number in range(6))
    needs = {unit: (ring[(n + 1) % 6],) for n, unit in enumerate(ring)}
    town = Town(needs, checks=(ready(ring[1]), ready(ring[2])))
    town.serves[ring[2]] = lambda: FAIL
    for unit in (ring[5], ring[4]):
        town.kill(unit)
    town.stop(ring[1], ring[0])
    town.stop(ring[3], ring[2])
    town.run(3 * HOUR)
    assert len(town.notices(Edition.ENGAGED)) == 1


def test_a_socket_that_gave_up_on_its_service_waits_on_it() -> None:
    """systemd fails both when the service hits its start limit: that is one cause."""
    town = Town({"px.socket": (), "px.service": ()})
    town.facts["px.socket"] = replace(town.facts["px.socket"], triggers=("px.service",))
    town.kill("px.service")
    town.show("px.socket", FAILED, "failed", result="service-start-limit-hit")
    town.run(10 * MINUTE)
    assert [n.unit for n in town.notices()] == ["px.service"]
    town.start("px.service")
    town.run(3 * MINUTE)
    assert [n.unit for n in town.notices(Edition.ENGAGED)] == ["px.service", "px.socket"]
