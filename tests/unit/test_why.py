"""Histories and what is said of them to whoever asks why: rule, looks, and who was told."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from msgspec.structs import replace

from healthd.daemon.own import STORE, own_check
from healthd.judge import heartbeat, liveness
from healthd.judge.trail import KEPT
from healthd.judge.why import why
from healthd.model import (
    Aspect,
    Check,
    CheckKey,
    FailureClass,
    Look,
    Looked,
    Outcome,
    Policy,
    Reason,
    Rules,
    Scene,
    State,
    Story,
    UnitName,
    Verdict,
    Watch,
    WhyRow,
)
from tests.unit.clockwork import KEY, LISTED_JOB, Clockwork
from tests.unit.histories import FAIL, LISTED, LIVENESS, OK, READINESS, READY_CHECK, SLOW, Play
from tests.unit.scenes import MINUTE, opened, well
from tests.unit.stage import Stage

SECRET = "correct horse battery staple"


def asked(play: Play, key: CheckKey = READINESS) -> WhyRow:
    """What healthd answers now."""
    scene = Scene(now=play.now, policy=play.policy, stories=play.stories, frozen=play.frozen)
    return why(play.story, play.watch(key), scene)


def looked(play: Play, *looks: tuple[float, Look]) -> None:
    """Looks at the readiness of a unit, at so many seconds."""
    for at, look in looks:
        play.at(at, Looked(READINESS, look, "a1"))


def live(made: Stage) -> WhyRow:
    """What healthd answers of a unit's liveness."""
    return asked(made.play, LIVENESS)


def test_a_suspect_names_the_looks_and_how_many_more_it_takes() -> None:
    """One failure is no outage, and whoever asks sees how far it is from one."""
    play = Play()
    looked(play, (0, OK), (30, OK), (60, FAIL), (75, FAIL))
    told = asked(play)
    assert told.judged == "2 failing looks in a row, red from 3 on"
    assert told.notice.startswith("not confirmed")
    assert [(look.outcome, look.times, look.state) for look in told.looks] == [
        (Outcome.OK, 2, State.GREEN),
        (Outcome.FAILING, 2, State.YELLOW),
    ]
    assert told.looks[0].last_at - told.looks[0].first_at == 30_000_000
    assert told.rule.startswith("a look of kind http every 30 s, which may take 5 s; red after 3")


def test_red_says_what_is_tried_and_that_it_is_not_the_owners_turn_yet() -> None:
    """Silence while healthd repairs is meant, and says so."""
    play = Play()
    looked(play, (0, FAIL), (15, FAIL), (30, FAIL))
    told = asked(play)
    assert (told.state, told.reason) == ("red", "repairing")
    assert told.judged.startswith("a restart of it is under way")
    assert [look.reason for look in told.looks] == [Reason.SUSPECT, Reason.UNREADY]
    assert told.incident == 1
    assert told.tried == "a repair waits: an attempt is being made"
    assert told.notice == "it is not the owner's turn before repairs have failed"
    assert told.told == told.again == 0


def test_told_says_when_and_when_again_at_the_earliest() -> None:
    """The first question after a notice is whether there will be another."""
    play = Play(policy=Policy())
    looked(play, (0, FAIL), (15, FAIL), (30, FAIL))
    told = asked(play)
    assert told.tried == f"nothing more: {play.watch().check.unit} is not listed in " + (
        "repair.allow_restart"
    )
    assert told.notice == "told (engaged); again only while it stays red"
    assert told.again - told.told == play.policy.renotify_us


def test_a_notice_that_no_channel_took_is_not_called_told() -> None:
    """Written is not delivered."""
    play = Play(policy=Policy(), delivers=False)
    looked(play, (0, FAIL), (15, FAIL), (30, FAIL))
    assert "no channel has delivered it yet" in asked(play).notice


def test_what_healed_before_the_owners_turn_says_so_afterwards() -> None:
    """A service that was down for a minute at night, and nobody was called."""
    made = well(policy=LISTED)
    made.kill()
    made.run(20 * MINUTE)
    assert live(made).state == "green"
    assert live(made).notice == (
        "its last incident healed by itself before it was the owner's turn"
    )


def test_settling_says_how_many_looks_are_missing() -> None:
    """Green with an open incident is a riddle without this."""
    play = Play(policy=Policy())
    looked(play, (0, FAIL), (15, FAIL), (30, FAIL), (60, OK))
    told = asked(play)
    assert told.tried == "it is settling: 1 of 2 looks without failure, then the incident closes"
    assert "told when the incident closes" in told.notice


def test_who_waits_names_whose_notice_speaks() -> None:
    """Thirty consumers of one database: one notice, and each of them says whose."""
    made = well(policy=Policy())
    made.serves = lambda: FAIL
    made.kill()
    made.run(3 * MINUTE)
    told = asked(made.play)
    assert told.waiting_on == LIVENESS
    assert told.notice == f"it waits on {LIVENESS}, whose notice speaks for it"
    assert told.judged == f"it waits on {LIVENESS}, and says nothing of its own"


def test_who_waits_on_what_somebody_stopped_promises_no_notice() -> None:
    """Nobody is told of a stop that a person meant, so no notice speaks for who waits on it."""
    made = well(policy=Policy())
    made.serves = lambda: FAIL
    made.stop()
    made.run(3 * MINUTE)
    told = asked(made.play)
    assert told.waiting_on == LIVENESS
    assert told.notice == (
        f"it waits on {LIVENESS}, which somebody stopped: so far there is nothing to tell"
    )


def test_siblings_name_the_incident_that_told_of_both() -> None:
    """One notice for one unit; the other check says with which."""
    play = Play(policy=Policy(), checks=(READY_CHECK, replace(READY_CHECK, key=OTHER)))
    for at in (0, 15, 30):
        looked(play, (at, FAIL))
        play.put(Looked(OTHER, FAIL, "a1"))
    notices = {asked(play, key).notice for key in (READINESS, OTHER)}
    assert "told with incident 1 of the same unit: one notice for one unit" in notices


OTHER = CheckKey(f"{READINESS}/other")


def test_switched_off_is_the_reason_for_every_silence() -> None:
    """Nobody should look for another one."""
    play = Play(policy=Policy(watch_enabled=False))
    looked(play, (0, FAIL), (15, FAIL), (30, FAIL))
    assert "watching is off" in asked(play).notice


def test_what_is_held_stopped_or_found_says_that() -> None:
    """The three ways in which red, or grey, is nobody's fault."""
    made = well(policy=Policy())
    made.hold()
    assert live(made).notice.startswith("it is held")
    made.release()
    made.stop()
    made.run(MINUTE)
    told = live(made)
    assert (told.state, told.reason) == ("grey", "stopped")
    assert told.notice == "somebody stopped it, and who stops a unit knows"
    assert told.rule.startswith("ended asked or pushed out")
    found = Play(policy=Policy(), first_start=True)
    looked(found, (0, FAIL), (15, FAIL), (30, FAIL))
    assert "first start" in asked(found).notice
    assert asked(found).tried.startswith("nothing: it was failing when healthd first saw")


def test_a_dead_unit_names_its_row_of_the_table() -> None:
    """`systemctl status` says what; this says by which rule it is red."""
    made = well(policy=Policy())
    made.kill()
    made.run(3 * MINUTE)
    assert opened(made, LIVENESS).tellings
    told = live(made)
    assert (
        told.rule
        == "`failed`, no job and no automatic restart pending → failing `failed`, in words"
    )
    assert (told.looks[-1].found, told.looks[-1].state) == (Reason.FAILED, State.RED)


def test_what_nobody_looks_at_says_so() -> None:
    """A frozen machine keeps its last verdicts, and is not called well by them."""
    play = Play()
    looked(play, (0, OK))
    play.frozen = "the machine goes to sleep"
    told = asked(play)
    assert (told.state, told.reason) == ("grey", "frozen")
    assert told.judged.startswith("the last verdict is kept, and nobody looks")


def test_a_timer_names_its_row_and_what_is_next_for_its_job() -> None:
    """Its rule is no interval, and what is repaired is the job that is on the list."""
    clock = Clockwork(policy=LISTED_JOB)
    assert asked(clock.play, KEY).rule.startswith("never run → grey")
    clock.status = 1
    clock.run(3600 + 60 + 1)
    told = asked(clock.play, KEY)
    assert told.rule.startswith("the last end failed → failing `failed`")
    assert told.judged == "1 failing look in a row, red from 2 on"
    clock.run(6)
    assert asked(clock.play, KEY).tried == "a repair waits: the job's own start limit"
    clock.run(120)
    told = asked(clock.play, KEY)
    assert told.tried == "nothing more: it was run again, and that did not help"
    clock = Clockwork(policy=LISTED_JOB)
    clock.run(2 * 3600)
    assert "→ green" in asked(clock.play, KEY).rule


def test_what_no_clock_calls_for_names_no_interval() -> None:
    """`every 30 s` would be a lie of what is looked at when something happens."""
    check = own_check(STORE)
    play = Play(checks=(check,), story=Story(check.key))
    play.put(Looked(check.key, OK))
    assert asked(play, check.key).rule == "a look of kind healthd, whenever something calls for it"


@pytest.mark.parametrize("rules", [liveness.RULES, heartbeat.RULES])
def test_every_row_of_the_tables_has_words_of_its_own(rules: Sequence[tuple[object, str]]) -> None:
    """A new row is shown to whoever asks; it must say what it is."""
    words = [rule for _, rule in rules]
    assert len(set(words)) == len(words)
    assert all(" " in rule and len(rule) < 400 for rule in words)


def test_the_trail_is_bounded_and_the_newest_is_kept() -> None:
    """A check that flaps for a year remembers its last eight turns."""
    play = Play()
    for turn in range(30):
        looked(play, (turn * 40, SLOW if turn % 2 else OK))
    trail = asked(play).looks
    assert len(trail) == KEPT
    assert trail[-1].found is Reason.DEGRADED
    assert all(a.last_at <= b.first_at for a, b in pairwise(trail))


def test_nothing_that_a_check_said_is_in_the_answer() -> None:
    """Everybody may ask why; what a program printed is for those who may read evidence."""
    play = Play(policy=Policy())
    loud = replace(FAIL, private=SECRET, failure_class=FailureClass.EXIT)
    looked(play, (0, loud), (15, loud), (30, loud), (60, replace(OK, private=SECRET)))
    assert SECRET not in repr(asked(play))


def test_the_answer_is_total() -> None:
    """Whatever a store of a newer or older healthd left, asking never fails."""
    check = Check(CheckKey("readiness:x.service"), Aspect.READINESS, "tcp", UnitName("x"), Rules())
    for state in State:
        for reason in Reason:
            watch = Watch(check, Verdict(state, reason, "", 0), present=True)
            story = Story("x.service", (watch,))
            assert why(story, watch, Scene(now=Play().now)).judged
