"""What is kept of a unit's life: which ends count, for how long, and what a gap hid."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge import run as runs
from healthd.model import (
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    ActiveState,
    Began,
    End,
    How,
    JobStop,
    Now,
    Run,
    UnitFacts,
    UnitName,
)

T0_US = 100 * HOUR_US
WEB = UnitName("web.service")


def at(after_us: int = 0) -> Now:
    """An instant of the history."""
    return Now(T0_US + after_us, 10 * T0_US + after_us)


def end(run: str, after_us: int = 0, how: How = How.BY_ITSELF, *, clean: bool = False) -> End:
    """How an invocation ended."""
    now = at(after_us)
    return End(run, now.steady_us, now.wall_at, how, clean=clean)


def began(run: str, after_us: int = 0, *, asked: bool = False) -> Began:
    """How one began; not asked for is an automatic restart."""
    return Began(run, T0_US + after_us, automatic=not asked, asked=asked)


def played(*events: End | Began) -> Run:
    """The run after these."""
    run = Run()
    for event in events:
        if isinstance(event, End):
            run = runs.ended(run, event, Now(event.at_us, event.at))
        else:
            run = runs.began(run, event, Now(event.at_us, event.at_us))
    return run


def counted(run: Run, after_us: int, within_us: int = 10 * MINUTE_US) -> int:
    """How many ends count at that instant."""
    return len(runs.counted_ends(run, at(after_us), within_us))


def test_each_invocation_counts_once() -> None:
    """That its restart was called off later is no second crash."""
    run = played(end("a"), end("a", SECOND_US, How.ASKED))
    assert len(run.ends) == 1
    assert run.last is not None
    assert run.last.how is How.ASKED
    assert runs.ended(run, end("a", SECOND_US, How.ASKED), at(2 * SECOND_US)) == run


def test_only_ends_that_nobody_asked_for_are_kept() -> None:
    """A deploy that restarts a unit five times is no crash loop."""
    deploy = [end(f"{i}", i, How.ASKED) for i in range(5)]
    along = [end(f"p{i}", i, How.TAKEN_ALONG) for i in range(5)]
    assert played(*deploy, *along).ends == ()


def test_a_start_that_never_became_an_invocation_is_no_crash() -> None:
    """It is why the unit is down, and nothing had run."""
    run = played(end("a", 0, How.ASKED), end("", 1))
    assert run.ends == ()
    assert run.last is not None
    assert run.last.how is How.BY_ITSELF


def test_ends_are_kept_for_a_day_and_never_without_bound() -> None:
    """The store holds this for every unit."""
    run = played(*(end(f"{i}", i * SECOND_US) for i in range(500)))
    assert len(run.ends) == 64
    later = runs.began(run, began("x", 25 * HOUR_US), at(25 * HOUR_US))
    assert later.ends == ()
    many = played(*(began(f"{i}", i * SECOND_US) for i in range(500)))
    assert len(many.starts_us) == 64


def test_clean_ends_and_those_of_a_gap_are_in_no_window() -> None:
    """Restart=always used as a pause is no crash; when a gap's ends were is not known."""
    gap = replace(end("g", 2), after_gap=True)
    run = played(end("a"), end("b", 1, clean=True), gap)
    assert len(run.ends) == 3
    assert counted(run, SECOND_US) == 1


def test_what_was_before_a_person_came_is_for_the_record() -> None:
    """A start, a restart or a stop by a person: the count of a failing look begins anew."""
    crashes = (end("a"), began("b", 1), end("b", 2))
    assert counted(played(*crashes), 10) == 2
    assert counted(played(*crashes, began("c", 3, asked=True)), 10) == 0
    assert counted(played(*crashes, began("c", 3)), 10) == 2
    assert counted(played(*crashes, began("c", 3), end("c", 4, How.ASKED)), 10) == 0
    assert counted(played(*crashes, began("c", 3, asked=True), end("c", 4)), 10) == 1


def test_a_beginning_that_is_found_after_its_end_undoes_nothing() -> None:
    """At the first start both are read at once: the unit is down, and how it ended is known."""
    run = played(end("a"), began("a", -MINUTE_US))
    assert run.last is not None
    assert run.last.invocation == "a"
    assert len(run.starts_us) == 1


def test_a_unit_is_restarted_as_often_as_it_came_back() -> None:
    """The number that people read: an end after which nothing came is no restart."""
    run = played(end("a"), began("b", 1), end("b", 2))
    assert runs.restarts_seen(run, at(3)) == 1
    assert runs.restarts_seen(played(end("a"), began("b", 1)), at(3)) == 1
    assert runs.restarts_seen(run, at(25 * HOUR_US)) == 0


def test_a_reading_keeps_the_invocation_that_systemd_forgot() -> None:
    """The journal answers by it after the unit is unloaded."""
    run = runs.seen(Run(invocation="a"), UnitFacts(WEB))
    assert run.invocation == "a"
    assert run.active_state is ActiveState.INACTIVE


def test_the_longest_start_is_remembered() -> None:
    """A start without a limit is measured against what the unit took before."""
    facts = UnitFacts(
        WEB,
        active_state=ActiveState.ACTIVE,
        inactive_exit_us=T0_US,
        active_enter_us=T0_US + 90 * SECOND_US,
    )
    run = runs.seen(replace(Run(), started_us=T0_US), facts)
    assert run.longest_start_for_us == 90 * SECOND_US
    quick = replace(facts, active_enter_us=T0_US + SECOND_US)
    assert runs.seen(run, quick).longest_start_for_us == 90 * SECOND_US


def gone(**more: object) -> UnitFacts:
    """A unit at rest that had run as "a"."""
    facts = UnitFacts(WEB, invocation="a", inactive_enter_us=T0_US - MINUTE_US)
    return replace(facts, **more)


LIVED = Run(invocation="a", active_state=ActiveState.ACTIVE)


def how(facts: UnitFacts, said: JobStop | None = None, run: Run = LIVED) -> How | None:
    """How a gap's end is decided."""
    found = runs.gap_end(run, facts, said, at())
    assert found is None or found.after_gap
    return found.how if found else None


def test_after_a_gap_the_journal_decides() -> None:
    """PID 1 wrote it down at the time, by the invocation's id."""
    by_job = JobStop("a", by_job=True, job_type="stop", job_result="done")
    assert how(gone(), by_job) is How.ASKED
    assert how(gone(), JobStop("a", by_itself=True)) is How.BY_ITSELF
    assert how(gone(active_state=ActiveState.FAILED), by_job) is How.ASKED
    # Of another invocation, it says nothing.
    assert how(gone(), JobStop("b", by_job=True)) is How.UNDECIDED


def test_without_the_journal_little_is_certain() -> None:
    """`active` left before the process ended is a stop, or a program that says STOPPING=1."""
    died = gone(main_exit_us=T0_US - 3, active_exit_us=T0_US - 2)
    stopped = gone(main_exit_us=T0_US - 2, active_exit_us=T0_US - 3)
    assert how(died) is How.BY_ITSELF
    assert how(stopped) is How.UNDECIDED
    assert how(gone(active_state=ActiveState.FAILED, result="signal")) is How.BY_ITSELF
    waits = gone(active_state=ActiveState.ACTIVATING, sub_state="auto-restart", result="signal")
    assert how(waits) is How.BY_ITSELF


def test_inactive_with_a_failed_result_was_stopped_while_it_waited_to_restart() -> None:
    """systemd shows nothing else so (r4-s4): a person called the restart off."""
    assert how(gone(result="signal")) is How.ASKED


def test_a_restart_called_off_in_a_gap_was_a_person() -> None:
    """The crash was told before the gap; only the stop that followed it is news."""
    crashed = played(began("a"), end("a", 1))
    stopped = gone(result="exit-code", inactive_enter_us=T0_US + 2 * SECOND_US)
    found = runs.called_off(crashed, stopped, at(MINUTE_US))
    assert found is not None
    assert (found.how, found.at_us) == (How.ASKED, T0_US + 2 * SECOND_US)
    assert counted(runs.ended(crashed, found, at(MINUTE_US)), MINUTE_US) == 0
    for other in (
        gone(result="success"),
        replace(stopped, active_state=ActiveState.FAILED),
        replace(stopped, invocation="b"),
        replace(stopped, job=7),
        replace(stopped, active_state=ActiveState.ACTIVATING, sub_state="auto-restart"),
    ):
        assert runs.called_off(crashed, other, at(MINUTE_US)) is None
    assert runs.called_off(LIVED, stopped, at(MINUTE_US)) is None


def test_what_has_a_successor_ended_unseen() -> None:
    """NRestarts tells an automatic restart; nothing tells a person's."""
    again = UnitFacts(WEB, invocation="b", active_state=ActiveState.ACTIVE, n_restarts=1)
    assert how(again) is How.BY_ITSELF
    assert how(replace(again, n_restarts=0)) is How.UNDECIDED
    assert how(UnitFacts(WEB)) is How.UNDECIDED


def test_no_end_is_made_up() -> None:
    """What still runs, and what is known already, has not ended again."""
    assert how(UnitFacts(WEB, invocation="a", active_state=ActiveState.ACTIVE)) is None
    known = runs.ended(LIVED, end("a", 0, How.ASKED), at())
    assert how(gone(), run=known) is None
    assert how(UnitFacts(WEB), run=Run()) is None


def test_the_present_invocation_is_the_one_to_ask_about() -> None:
    """Two ends in one gap: the look stands on the last."""
    assert runs.unseen_end(LIVED, gone(invocation="b")) == "b"
    assert runs.unseen_end(LIVED, UnitFacts(WEB)) == "a"


def test_the_end_of_a_gap_stands_where_systemd_says() -> None:
    """Wall clock and steady clock of the same instant."""
    found = runs.gap_end(LIVED, gone(), None, at())
    assert found is not None
    assert found.at_us == T0_US - MINUTE_US
    assert found.at == at().wall_at - MINUTE_US
    said = JobStop("a", by_itself=True, at=12345)
    told = runs.gap_end(LIVED, gone(), said, at())
    assert told is not None
    assert told.at == 12345


def test_after_a_gap_a_stop_that_came_with_a_providers_is_none_of_its_own() -> None:
    """`systemctl stop db` while healthd was away: who needs it waits, and was not put away."""
    along = JobStop("a", by_job=True, job=17, along=UnitName("db.service"))
    found = runs.gap_end(LIVED, gone(), along, at())
    assert found is not None
    assert (found.how, found.by) == (How.TAKEN_ALONG, "db.service")


def test_after_a_gap_a_crash_before_the_stop_counts_and_the_stop_is_asked() -> None:
    """Somebody called off the automatic restart of what had crashed: both happened."""
    said = JobStop("a", by_job=True, ended_before=True, at=9, ended_at=at().wall_at - MINUTE_US)
    crash = runs.crash_before_stop(LIVED, gone(), said, at())
    assert crash is not None
    assert (crash.how, crash.at_us) == (How.BY_ITSELF, T0_US - MINUTE_US)
    run = runs.ended(LIVED, crash, at())
    stop = runs.gap_end(LIVED, gone(), said, at())
    assert stop is not None
    run = runs.ended(run, stop, at())
    assert run.last == stop
    assert stop.how is How.ASKED
    assert run.ends == (crash,)
    plain = JobStop("a", by_job=True)
    assert runs.crash_before_stop(LIVED, gone(), plain, at()) is None
