"""How invocations end where the recordings do not reach: lost signals, races, what never is."""

from __future__ import annotations

import pytest

from healthd.judge.jobs import Jobs
from healthd.model import (
    SECOND_US,
    Began,
    Ended,
    How,
    OwnerChanged,
    Reloading,
    UnitFacts,
    UnitName,
)
from tests.unit.signals import (
    BOUND,
    CONSUMER,
    DB,
    DOWN,
    FAILED,
    GOING,
    RIVAL,
    UP,
    WEB,
    Bus,
    Pause,
    counts,
    over,
    queued,
    running,
    shows,
)


@pytest.mark.parametrize("result", ["done", "canceled", "a-result-of-2031"])
def test_a_stop_whose_signals_came_late_is_a_stop(result: str) -> None:
    """Under load the bus shows only the last state, with the job that brought it about."""
    bus = Bus(running())
    assert bus.play(shows(DOWN, 7), queued(7)) == []
    expected = "web asked" if result == "done" else "web by-itself"
    assert bus.play(over(7, result), shows(DOWN)) == [expected]


def test_an_upheld_unit_is_known_to_have_died_when_it_starts_again() -> None:
    """Its start job is queued in one breath with its end; the crash's Result must not be lost."""
    bus = Bus(running())
    died = (counts(0, "signal"), shows(FAILED, 7), queued(7))
    assert bus.play(*died) == []
    back = (counts(0), shows(FAILED, 7, "b"), shows(UP, 7, "b"), over(7))
    assert bus.play(*back) == ["web by-itself, unclean", "web started again"]


def test_a_stop_that_was_cancelled_halfway_is_still_a_stop() -> None:
    """`systemctl cancel` takes the job away; the unit goes on stopping, because it was asked to."""
    bus = Bus(running())
    halfway = (shows(UP, 7), queued(7), shows(GOING, 7), over(7, "canceled"), shows(GOING))
    assert bus.play(*halfway, shows(DOWN)) == ["web asked"]


def test_a_unit_that_was_asked_to_stop_while_it_went_by_itself_is_stopped() -> None:
    """The person's word counts: nothing may start it again."""
    bus = Bus(running())
    going = (shows(GOING), shows(GOING, 7), queued(7), shows(DOWN, 7))
    assert bus.play(*going, over(7)) == ["web asked"]


def test_a_unit_that_goes_by_itself_and_is_started_meanwhile_ended_by_itself() -> None:
    """The job that came in on the way down was no stop."""
    bus = Bus(running())
    going = (shows(GOING), shows(GOING, 7), queued(7), shows(DOWN, 7))
    assert bus.play(*going, shows(DOWN, 7, "b"), shows(UP, 7, "b"), over(7)) == [
        "web by-itself",
        "web started",
    ]


def test_a_service_that_dies_in_its_reload_died() -> None:
    """The reload's job was there before, and ends while the unit is down: it is no stop."""
    bus = Bus(running())
    reload = (shows(UP, 7), queued(7), shows("reloading", 7))
    died = (counts(0, "exit-code"), shows(FAILED, 7), over(7, "failed"), shows(FAILED))
    assert bus.play(*reload, *died) == ["web by-itself, unclean"]


def test_a_stop_during_a_reload_is_a_stop() -> None:
    """systemd cancels the reload for it; only the reload's own job is innocent."""
    bus = Bus(running())
    reload = (shows(UP, 7), queued(7), shows("reloading", 7), over(7, "canceled"))
    stop = (shows("reloading", 8), queued(8), shows(GOING, 8), shows(DOWN, 8), over(8))
    assert bus.play(*reload, *stop) == ["web asked"]


def test_a_restart_whose_start_is_refused_leaves_a_unit_that_is_down_for_that() -> None:
    """At the start limit systemd stops it and starts nothing: nobody asked for that."""
    bus = Bus(running())
    stop = (shows(UP, 7), queued(7), shows(GOING, 7), shows(DOWN, 7))
    news = bus.events(*stop, counts(0, "start-limit-hit"), shows(FAILED, 7), over(7, "failed"))
    ends = [event.end for _, event in news if isinstance(event, Ended)]
    assert [(end.invocation, end.how) for end in ends] == [("a", How.ASKED), ("", How.BY_ITSELF)]


def test_a_oneshot_that_ends_well_was_not_stopped() -> None:
    """Its start job ends with `done` while the unit is down, as a stop's would."""
    bus = Bus(UnitFacts(WEB, service_type="oneshot"))
    run = (shows(DOWN, 7, ""), queued(7), shows("activating", 7, "b", sub="start"))
    assert bus.play(*run, shows(DOWN, 7, "b"), over(7)) == ["web started", "web by-itself"]


def test_a_oneshot_of_which_only_the_end_was_shown_has_ended() -> None:
    """One so short that every signal shows it at rest."""
    bus = Bus(UnitFacts(WEB, service_type="oneshot"))
    assert bus.play(shows(DOWN, 7, "b"), queued(7), over(7), shows(DOWN, 0, "b")) == [
        "web started",
        "web by-itself",
    ]


def test_a_start_that_its_own_condition_called_off_is_no_failure() -> None:
    """ExecCondition= has a Result of its own, which systemd does not count as one."""
    bus = Bus(UnitFacts(WEB))
    start = (shows(DOWN, 7, "b"), shows("activating", 7, "b", sub="condition"))
    no = (counts(0, "exec-condition"), shows(DOWN, 7, "b"), over(7))
    assert bus.play(*start, *no) == ["web started", "web by-itself"]


def test_a_restart_of_which_nothing_in_between_was_shown() -> None:
    """The old invocation has ended, whether or not its end was shown."""
    assert Bus(running()).play(shows(UP, 7), queued(7), shows(UP, 7, "b"), over(7)) == [
        "web asked",
        "web started",
    ]
    assert Bus(running()).play(counts(0), counts(1), shows(UP, 0, "b")) == [
        "web by-itself",
        "web started automatically",
    ]


def test_an_end_that_nothing_explains_is_undecided() -> None:
    """Signals were lost: nobody may be blamed, and the end counts in no window."""
    (ended, began) = Bus(running()).events(shows(UP, 0, "b"))
    assert isinstance(ended[1], Ended)
    assert ended[1].end.how is How.UNDECIDED
    assert ended[1].end.after_gap
    assert isinstance(began[1], Began)


def test_the_same_values_again_are_no_news() -> None:
    """daemon-reexec sends everything and every job once more."""
    bus = Bus(running())
    stop = (shows(UP, 7), queued(7), shows(GOING, 7))
    again = (Reloading(True), OwnerChanged(), queued(7), shows(GOING, 7), counts())
    assert bus.play(*stop, *again, shows(DOWN, 7), over(7)) == ["web asked"]
    assert bus.play(Reloading(False), shows(DOWN, 7), shows(DOWN), counts(), shows(DOWN)) == []


def test_a_state_that_nobody_knows_decides_nothing() -> None:
    """A newer systemd's word is neither an end nor a beginning."""
    bus = Bus(running())
    assert bus.play(shows("hibernating"), shows(UP), shows("hibernating"), shows(DOWN)) == [
        "web by-itself"
    ]


def test_an_invocation_begins_once() -> None:
    """A state that flickers with the same InvocationID is no new run."""
    bus = Bus(running())
    assert bus.play(shows(DOWN), shows(UP), shows(DOWN), shows(UP)) == ["web by-itself"]


def test_a_unit_without_invocations_begins_and_ends_all_the_same() -> None:
    """Nothing hangs on the id being there."""
    bus = Bus(running(run=""))
    history = (shows(DOWN, run=""), shows(UP, run=""), shows(DOWN, run=""))
    assert bus.play(*history) == ["web by-itself", "web started", "web by-itself"]


def test_the_stop_of_a_unit_that_waits_to_restart_is_told_once() -> None:
    """The invocation has ended by itself; that its restart was called off is news, and no loop."""
    bus = Bus(running())
    died = (counts(0, "signal"), shows("activating", sub="auto-restart"))
    stop = (shows("activating", 7, sub="auto-restart"), queued(7), shows(DOWN, 7))
    expected = ["web by-itself, unclean", "web asked, unclean"]
    assert bus.play(*died, *stop, over(7), shows(DOWN)) == expected
    assert bus.play(shows(UP, 8, "b"), queued(8)) == ["web started"]


def test_an_automatic_restart_that_is_refused_is_no_second_end() -> None:
    """The start limit: the job of the restart itself fails, and the unit rests."""
    bus = Bus(running())
    died = (counts(0, "exit-code"), shows("activating", sub="auto-restart"))
    tried = (
        *(counts(1, "exit-code"), shows("activating", 7, sub="auto-restart")),
        *(queued(7), shows("activating", 7, sub="auto-restart-queued"), shows(FAILED, 7)),
    )
    assert bus.play(*died, *tried, over(7, "failed")) == ["web by-itself, unclean"]
    assert bus.play(counts(0), shows(FAILED, 8, "b"), queued(8)) == ["web started"]


def test_the_consumer_of_a_unit_that_fell_was_taken_along() -> None:
    """PID 1 stops it with a job of its own that looks like a person's."""
    bus = Bus(BOUND, running(DB))
    fall = shows(FAILED, unit=DB)
    stop = (shows(UP, 7), queued(7), shows(GOING, 7), shows(DOWN, 7), over(7))
    assert bus.play(fall, *stop) == ["db by-itself", "web taken-along db.service"]


def test_it_was_taken_along_though_the_provider_is_back_first() -> None:
    """A consumer that stops slowly must not look as if somebody had stopped it."""
    bus = Bus(BOUND, running(DB))
    stop = (shows(UP, 7), queued(7), shows(GOING, 7))
    back = (shows(FAILED, 8, "b", unit=DB), shows(UP, 8, "b", unit=DB))
    news = bus.play(shows(FAILED, unit=DB), *stop, Pause(30), *back, shows(DOWN, 7), over(7))
    assert news[-1] == "web taken-along db.service"


def test_a_stop_right_after_the_fall_of_what_is_only_required_is_a_persons() -> None:
    """PID 1 stops what is bound to a unit that fell, and nothing else of it."""
    bus = Bus(CONSUMER, running(DB))
    stop = (shows(UP, 7), queued(7), shows(GOING, 7), shows(DOWN, 7), over(7))
    assert bus.play(shows(FAILED, unit=DB), *stop)[-1] == "web asked"


def test_a_consumer_that_outlived_its_provider_is_stopped_by_whoever_stops_it() -> None:
    """Requires= alone lets it run on; a person's stop an hour later is a person's."""
    bus = Bus(CONSUMER, running(DB))
    stop = (shows(UP, 7), queued(7), shows(GOING, 7), shows(DOWN, 7), over(7))
    assert bus.play(shows(FAILED, unit=DB), Pause(3600), *stop)[-1] == "web asked"


def test_the_consumer_of_a_unit_that_is_stopped_is_taken_along() -> None:
    """One transaction: the provider's job has the lower id, and ends last."""
    bus = Bus(CONSUMER, running(DB))
    jobs = (queued(7, DB), shows(UP, 8), queued(8))
    stop = (shows(GOING, 8), shows(DOWN, 8), over(8), over(7, unit=DB))
    assert bus.play(*jobs, *stop) == ["web taken-along db.service"]


def test_a_job_of_the_provider_that_was_over_before_is_no_cause() -> None:
    """What matters is what was unfinished when the unit's own job was queued."""
    bus = Bus(CONSUMER, running(DB))
    stop = (shows(UP, 8), queued(8), shows(GOING, 8), shows(DOWN, 8), over(8))
    assert bus.play(queued(7, DB), over(7, unit=DB), *stop) == ["web asked"]


def test_what_is_restarted_along_was_not_asked_for() -> None:
    """A provider's restart starts its consumers again; nobody took the consumer in hand."""
    bus = Bus(CONSUMER, running(DB))
    restart = (queued(7, DB), shows(UP, 8), queued(8), shows(GOING, 8), shows(DOWN, 8))
    news = bus.play(*restart, shows(DOWN, 8, "b"), shows(UP, 8, "b"), over(8))
    assert news == ["web taken-along db.service", "web started again"]


def test_a_rival_that_starts_pushes_the_unit_out() -> None:
    """A repair would push the other out again."""
    bus = Bus(running(foes=(RIVAL,)), UnitFacts(RIVAL))
    stop = (queued(7, RIVAL), shows(UP, 8), queued(8), shows(GOING, 8), shows(DOWN, 8), over(8))
    assert bus.play(*stop) == ["web pushed-out rival.service"]


def test_a_rival_that_is_stopped_in_the_same_command_does_not() -> None:
    """`systemctl stop rival web`, the rival at rest: its job ends at once, and it stays down."""
    bus = Bus(running(foes=(RIVAL,)), UnitFacts(RIVAL))
    both = (queued(7, RIVAL), shows(UP, 8), queued(8), over(7, unit=RIVAL))
    assert bus.play(*both, shows(GOING, 8), shows(DOWN, 8), over(8)) == ["web asked"]


def test_what_starts_on_demand_was_not_asked_for() -> None:
    """A socket's or a bus name's start must not excuse the ends before it."""
    bus = Bus(UnitFacts(WEB, on_demand="web.socket"))
    (news,) = bus.events(shows(DOWN, 7, "b"), queued(7), shows(UP, 7, "b"))
    assert isinstance(news[1], Began)
    assert not news[1].asked


def test_a_unit_that_was_forgotten_ends_no_more() -> None:
    """systemd unloads it after `disable --now`; what comes later is another life."""
    bus = Bus(running())
    bus.endings.forget(WEB)
    assert bus.play(over(7), shows(DOWN)) == []


def test_a_reading_that_is_older_than_a_signal_undoes_nothing() -> None:
    """Answers to several questions are put together while signals go on."""
    bus = Bus(running())
    assert bus.play(shows(DOWN)) == ["web by-itself"]
    assert not bus.endings.prime(running())
    assert bus.play(shows(DOWN), shows(UP, 7, "b")) == ["web started"]


def test_a_reading_that_shows_what_no_signal_told_says_so() -> None:
    """The reconcile finds it; the journal, not a guess, then says how it ended."""
    bus = Bus(running())
    later = bus.steady_us + SECOND_US
    gone = UnitFacts(WEB, invocation="a", state_change_us=later)
    assert bus.endings.prime(gone)
    assert not bus.endings.prime(gone)
    assert bus.play(shows(UP, 7, "b")) == ["web started"]


def test_a_reading_shows_that_a_waiting_unit_was_stopped_while_nobody_heard() -> None:
    """systemd does not restart it any more: somebody called that off, and is not overruled."""
    bus = Bus(running(WEB))
    bus.play(
        shows(FAILED, sub="failed-before-auto-restart"), shows("activating", sub="auto-restart")
    )
    later = bus.steady_us + SECOND_US
    off = UnitFacts(WEB, invocation="a", result="signal", state_change_us=later)
    assert bus.endings.prime(off)
    assert not bus.endings.prime(off)


def test_what_is_remembered_of_jobs_is_bounded() -> None:
    """One job that waits for days must not keep all that came after it."""
    jobs = Jobs()
    jobs.begin(1, WEB, UnitName(""))
    for number in range(2, 5000):
        jobs.begin(number, DB, UnitName(""))
        jobs.end(number)
    assert len(jobs) <= 1025
    jobs.end(1)
    jobs.begin(9000, WEB, UnitName(""))
    jobs.end(9000)
    assert len(jobs) == 0
