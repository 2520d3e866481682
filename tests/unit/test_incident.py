"""Histories of one declared check: confirm, repair, engage, settle, close, reopen."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.model import (
    AttemptResult,
    Budget,
    Closing,
    Declared,
    Edition,
    Idle,
    Look,
    Looked,
    Outcome,
    Phase,
    Policy,
    Reason,
    RepairFinished,
    RestartAsked,
    TakeEvidence,
    Woken,
)
from tests.unit.histories import (
    FAIL,
    LISTED,
    OK,
    READINESS,
    READY_CHECK,
    RUNNING,
    SLOW,
    Play,
    finished,
)

NOT_RUN = Look(Outcome.NOT_JUDGED, Reason.UNKNOWN, "could not run")


def looked(play: Play, *looks: tuple[float, Look]) -> None:
    """Looks at the check, each at its second."""
    for second, look in looks:
        play.at(second, Looked(READINESS, look, RUNNING.invocation))


def until_red(play: Play, begin: float = 0.0) -> None:
    """Three failing looks, 15 s apart."""
    looked(play, (begin, FAIL), (begin + 15, FAIL), (begin + 30, FAIL))


def test_one_failing_look_is_only_suspect() -> None:
    """One lost packet must not open an incident."""
    play = Play()
    looked(play, (0, OK), (30, FAIL))
    assert play.face() == ("yellow", "suspect")
    looked(play, (45, OK))
    assert play.face() == ("green", "ok")
    assert play.open() is None


def test_three_failing_looks_open_an_incident_and_repair_at_once() -> None:
    """Confirmed means red, an incident, its evidence, and the first attempt, in this order."""
    play = Play()
    until_red(play)
    incident = play.open()
    assert incident is not None
    assert (incident.phase, len(incident.attempts)) == (Phase.REPAIRING, 1)
    assert play.face() == ("red", "repairing")
    kinds = [type(e).__name__ for e in play.effects]
    assert kinds.index("TakeEvidence") < kinds.index("Repair")
    assert [e.private for e in play.effects if isinstance(e, TakeEvidence)] == [""]


def test_looks_closer_than_retry_add_nothing_to_the_streak() -> None:
    """A person who asks for ten looks in a second must not make a check red."""
    play = Play()
    looked(play, *((n / 10, FAIL) for n in range(10)))
    assert play.face() == ("yellow", "suspect")
    assert play.watch().verdict.streak == 1


def test_a_repair_that_helped_closes_untold() -> None:
    """Self-healed is recorded, and nobody is woken for it."""
    play = Play()
    until_red(play)
    finished(play)
    looked(play, (40, FAIL), (55, OK), (70, OK))
    assert play.endings() == [Closing.SELF_HEALED]
    assert play.told() == []
    assert play.face() == ("green", "ok")


def test_failing_looks_in_the_grace_after_an_attempt_count_neither_way() -> None:
    """A slow starter is not shot again while it comes up."""
    play = Play()
    until_red(play)
    finished(play)
    looked(play, (45, FAIL), (60, FAIL), (75, FAIL))
    assert play.face() == ("red", "repairing")
    assert len(play.repairs()) == 1


def test_max_attempts_then_the_owner_and_not_one_more() -> None:
    """Two restarts, then the owner is told once, with the command."""
    play = Play()
    until_red(play)
    finished(play)
    looked(play, *((30 + 15 * n, FAIL) for n in range(1, 6)))
    assert len(play.repairs()) == 2
    finished(play)
    looked(play, *((120 + 15 * n, FAIL) for n in range(40)))
    assert len(play.repairs()) == 2
    assert play.told() == [Edition.ENGAGED]
    incident = play.open()
    assert incident is not None
    assert incident.phase is Phase.ENGAGED
    assert incident.told
    assert incident.why_engaged == "2 restarts did not help"
    assert incident.remedy == "systemctl restart web.service"


def test_a_unit_that_is_not_listed_is_told_and_never_touched() -> None:
    """Nothing is restarted until someone lists it."""
    play = Play(policy=Policy())
    until_red(play)
    assert play.repairs() == []
    assert play.told() == [Edition.ENGAGED]


def test_fixed_by_hand_after_the_notice_is_user_fixed_and_said() -> None:
    """Who was told that it is broken is told that it works."""
    play = Play(policy=Policy())
    until_red(play)
    looked(play, (45, OK), (60, OK))
    assert play.endings()[0] is Closing.USER_FIXED
    assert play.told() == [Edition.ENGAGED, Edition.CLEARED]


def test_one_good_look_does_not_close() -> None:
    """Settle: a service that answers once and dies again is the same incident."""
    play = Play(policy=Policy())
    until_red(play)
    looked(play, (45, OK), (60, FAIL), (75, OK))
    incident = play.open()
    assert incident is not None
    assert incident.phase is Phase.SETTLING
    assert play.told() == [Edition.ENGAGED]


def test_good_looks_that_are_not_apart_do_not_close() -> None:
    """A flicker between two looks of one second is one sign of life, not two."""
    play = Play(policy=Policy())
    until_red(play)
    looked(play, (45, OK), (45.5, SLOW), (46, OK))
    assert play.open() is not None
    looked(play, (61, OK))
    assert play.open() is None


def test_red_again_within_15_min_is_the_same_incident() -> None:
    """A flapping service is one story, with one `again` where "working again" was said."""
    play = Play(policy=Policy())
    until_red(play)
    looked(play, (45, OK), (60, OK))
    until_red(play, 300)
    incident = play.open()
    assert incident is not None
    assert (incident.id, incident.reopened) == (1, 1)
    assert play.told() == [Edition.ENGAGED, Edition.CLEARED, Edition.AGAIN]
    looked(play, (345, OK), (360, OK), (375, OK))
    assert play.open() is not None, "from the first reopening on it takes 15 min to close"
    looked(play, (345 + 901, OK))
    assert play.open() is None


def test_attempts_go_on_counting_over_a_reopening() -> None:
    """Repairs that only last minutes are not repairs."""
    play = Play()
    until_red(play)
    finished(play)
    looked(play, (40, OK), (55, OK))
    until_red(play, 300)
    finished(play)
    looked(play, (340, OK), (355, OK))
    assert len(play.repairs()) == 2
    until_red(play, 600)
    assert len(play.repairs()) == 2
    assert play.told() == [Edition.ENGAGED]


def test_red_after_15_min_is_another_incident_that_knows_the_first() -> None:
    """Recurrence is part of the next notice."""
    play = Play()
    until_red(play)
    finished(play)
    looked(play, (40, OK), (55, OK))
    until_red(play, 2000)
    incident = play.open()
    assert incident is not None
    assert (incident.id, incident.recent, incident.recent_healed) == (2, 1, 1)
    assert len(play.story.attempts) == 1


def test_a_final_result_engages_at_the_next_look() -> None:
    """Polkit's no is not asked a second time."""
    play = Play()
    until_red(play)
    finished(play, AttemptResult.FINAL)
    looked(play, *((45 + 15 * n, FAIL) for n in range(5)))
    assert len(play.repairs()) == 1
    assert play.told() == [Edition.ENGAGED]


def test_an_overtaken_attempt_is_not_counted() -> None:
    """What a person's own restart overtook leaves both attempts to us."""
    play = Play()
    until_red(play)
    finished(play, AttemptResult.OVERTAKEN)
    for round_ in range(2):
        looked(play, *((100 * round_ + 45 + 15 * n, FAIL) for n in range(6)))
        finished(play, AttemptResult.DONE)
    assert [r.attempt.result.value for r in play.repairs()] == ["", "", ""]
    assert len(play.repairs()) == 3


def test_a_spent_budget_engages_and_says_so() -> None:
    """Four restarts an hour are enough for any unit."""
    play = Play(policy=replace(LISTED, unit_budget=Budget(1, 3600 * 1_000_000)))
    until_red(play)
    finished(play)
    looked(play, (40, OK), (55, OK))
    until_red(play, 1500)
    incident = play.open()
    assert incident is not None
    assert incident.why_engaged.startswith("restarted 1 time")
    assert len(play.repairs()) == 1


def test_the_machines_budget_stops_a_storm() -> None:
    """31 units that fail at once are not 31 restarts."""
    play = Play()
    play.machine_restarts_us += [play.now_us + n for n in range(3)]
    until_red(play)
    assert play.repairs() == []
    assert play.told() == [Edition.ENGAGED]


def test_degraded_pauses_the_close_and_ten_minutes_of_it_close() -> None:
    """Works again, but slowly: the incident ends, the yellow stays."""
    play = Play(policy=Policy())
    until_red(play)
    looked(play, (45, OK), (60, SLOW))
    incident = play.open()
    assert incident is not None
    assert incident.idle is Idle.DEGRADED
    looked(play, (300, SLOW), (661, SLOW))
    assert play.open() is None
    assert play.face() == ("yellow", "degraded")


def test_a_pending_attempt_at_our_death_is_unknown_and_never_made_again() -> None:
    """kill -9 in the middle of a repair: the same incident, no second call for the same attempt."""
    play = Play()
    until_red(play)
    assert len(play.repairs()) == 1
    play.at(31, Woken())
    incident = play.open()
    assert incident is not None
    assert [a.result for a in incident.attempts] == [AttemptResult.UNKNOWN]
    assert len(play.repairs()) == 1
    looked(play, (46, OK), (61, OK))
    assert play.endings() == [Closing.SELF_HEALED]


def test_again_only_after_renotify() -> None:
    """Twelve hours of red are two notices, not one a look."""
    play = Play(policy=Policy())
    until_red(play)
    looked(play, *((60.0 * n, FAIL) for n in range(2, 13 * 60)))
    assert play.told() == [Edition.ENGAGED, Edition.AGAIN]


def test_what_fails_at_the_first_start_is_found_and_unrepaired() -> None:
    """Old troubles of a machine are not an alarm of today."""
    play = Play(first_start=True)
    until_red(play)
    incident = play.open()
    assert incident is not None
    assert incident.found
    assert (play.repairs(), play.told()) == ([], [])
    looked(play, (45, OK), (60, OK))
    assert play.told() == []


def test_what_fails_later_than_the_first_start_is_ordinary() -> None:
    """One good look, and the check is like any other."""
    play = Play(first_start=True)
    looked(play, (0, OK))
    until_red(play, 30)
    incident = play.open()
    assert incident is not None
    assert not incident.found
    assert len(play.repairs()) == 1


def test_watching_off_shows_and_does_nothing() -> None:
    """HEALTHD_WATCH_ENABLED=0 judges, and that is all."""
    play = Play(policy=replace(LISTED, watch_enabled=False))
    until_red(play)
    assert play.face() == ("red", "unready")
    assert (play.story.incidents, play.repairs(), play.told()) == ((), [], [])


def test_a_check_that_is_no_longer_declared_takes_its_incident_along() -> None:
    """`gone` withdraws without a word."""
    play = Play(policy=Policy())
    until_red(play)
    play.at(50, Declared(()))
    assert play.endings()[-1] is Closing.GONE
    assert play.told() == [Edition.ENGAGED]
    assert any(type(e).__name__ == "Withdraw" for e in play.effects)


def test_a_restart_that_a_person_asked_for_is_their_attempt() -> None:
    """Recorded under their name, and not counted against ours."""
    play = Play(policy=Policy())
    until_red(play)
    play.at(40, RestartAsked("uid 1000"))
    play.put(RepairFinished(play.repairs()[-1].attempt.id, AttemptResult.DONE))
    incident = play.open()
    assert incident is not None
    assert [(a.by, a.result) for a in incident.attempts] == [("uid 1000", AttemptResult.DONE)]


def test_two_checks_of_one_unit_are_told_in_one_notice() -> None:
    """One unit, one story: the second red says nothing new, the last green says it is over."""
    admin = replace(READY_CHECK, key="readiness:web.service/admin")
    play = Play(policy=Policy(), checks=(READY_CHECK, admin))
    for second in (0, 15, 30):
        play.at(second, Looked(READINESS, FAIL, "a1"))
        play.at(second + 1, Looked(admin.key, FAIL, "a1"))
    assert play.told() == [Edition.ENGAGED]
    for second in (60, 75):
        play.at(second, Looked(READINESS, OK, "a1"))
    assert play.told() == [Edition.ENGAGED]
    for second in (90, 105):
        play.at(second, Looked(admin.key, OK, "a1"))
    assert play.told() == [Edition.ENGAGED, Edition.CLEARED]


def test_two_checks_of_one_unit_share_their_attempts() -> None:
    """At most two restarts in all, and one at a time."""
    admin = replace(READY_CHECK, key="readiness:web.service/admin")
    play = Play(checks=(READY_CHECK, admin))
    for second in range(0, 600, 15):
        play.at(second, Looked(READINESS, FAIL, "a1"))
        play.at(second + 1, Looked(admin.key, FAIL, "a1"))
        if len([a for a in play.story.attempts if a.result is AttemptResult.PENDING]):
            finished(play)
    assert len(play.repairs()) == 2
    assert play.told() == [Edition.ENGAGED]


def test_what_was_found_and_well_is_ordinary_when_it_fails_anew() -> None:
    """A new failure is an alarm, however old the trouble before it was."""
    play = Play(policy=Policy(), first_start=True)
    until_red(play)
    looked(play, (45, OK), (60, OK))
    until_red(play, 90)
    incident = play.open()
    assert incident is not None
    assert (incident.reopened, incident.found) == (1, False)
    assert play.told() == [Edition.ENGAGED]


def test_ten_minutes_of_degraded_are_ten_in_a_row() -> None:
    """Six before a look that could not be made and six after it are not twelve."""
    play = Play(policy=Policy())
    until_red(play)
    looked(play, (60, SLOW), (400, SLOW), (420, NOT_RUN), (430, SLOW), (700, SLOW))
    assert play.open() is not None
    looked(play, (1031, SLOW))
    assert play.open() is None
