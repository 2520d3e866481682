"""What healthd keeps of a unit: which ends nobody asked for, its starts, and what a gap hid.

Pure folds over a frozen Run; the caller passes *now*.
"""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge.life import CLEAN_RESULTS, DOWN, restarts_by_itself
from healthd.model import (
    HOUR_US,
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

DAY_US = 24 * HOUR_US

# As many ends or starts as any window counts, and some to show.
_KEPT = 64


def ended(run: Run, end: End, now: Now) -> Run:
    """An invocation ended. Each counts once; its automatic restart may still be called off."""
    last = run.last
    if last is not None and end.invocation and last.invocation == end.invocation:
        if end.in_package_run and not last.in_package_run and last.how is end.how:
            return replace(run, last=replace(last, in_package_run=True))
        told_before = end.how in (last.how, How.UNDECIDED)
        if told_before:
            return run
    ends = run.ends
    if end.how is How.BY_ITSELF and end.invocation:
        ends = ends if _holds(ends, end.invocation) else (*ends, end)
    # Whoever stops a unit has taken it in hand: what it did before is for the record.
    in_hand = end.how in (How.ASKED, How.PUSHED_OUT)
    excused_us = max(run.excused_us, end.at_us) if in_hand else run.excused_us
    return replace(run, last=end, ends=_lately(ends, now), excused_us=excused_us)


def package_run_over(run: Run, now: Now) -> Run:
    """The package run is over under which it was stopped: from now on it may be missed."""
    last = run.last
    if last is None or not last.in_package_run or last.package_run_over_us:
        return run
    return replace(run, last=replace(last, package_run_over_us=now.steady_us))


def woken(run: Run, now: Now, *, same_boot: bool) -> Run:
    """healthd was away. What lived in an earlier boot has not ended unseen in this one, and what
    ended in it says nothing of this one; its crashes count on.
    """
    if same_boot:
        return replace(run, watched_since_us=now.steady_us)
    return Run(
        ends=_lately(run.ends, now),
        watched_since_us=now.steady_us,
        excused_us=run.excused_us,
        longest_start_for_us=run.longest_start_for_us,
        ran_before=run.ran_before or bool(run.invocation or run.last),
    )


def of_a_resource(end: End) -> End:
    """How a mount or a socket ended, which has no process: where it failed, by itself; else
    `umount` and `swapoff` order no job, so nobody can say who took it down.
    """
    if end.how is How.BY_ITSELF and end.clean:
        return replace(end, how=How.UNDECIDED)
    return end


def began(run: Run, event: Began, now: Now) -> Run:
    """An invocation began, however; one that a person asked for starts the count anew."""
    starts_us = tuple(t for t in run.starts_us if t > now.steady_us - DAY_US)
    starts_us = (*starts_us, event.at_us)[-_KEPT:]
    ends = _lately(_with_unheard(run.ends, event, now), now)
    last = run.last
    if last is not None and last.invocation and last.invocation == event.invocation:
        # After a gap its end is found first: it began all the same, and lives no more.
        return replace(run, starts_us=starts_us, ends=ends)
    asked = event.asked or (last is not None and last.how is How.ASKED)
    return replace(
        run,
        invocation=event.invocation or run.invocation,
        n_restarts=event.n_restarts,
        started_us=event.at_us,
        last=None,
        ends=ends,
        starts_us=starts_us,
        excused_us=max(run.excused_us, event.at_us) if asked else run.excused_us,
    )


def seen(run: Run, facts: UnitFacts) -> Run:
    """What a reading adds: where the unit stands, and how long its start took."""
    took_us = facts.active_enter_us - max(facts.inactive_exit_us, run.started_us)
    if facts.active_state is not ActiveState.ACTIVE or run.started_us == 0:
        took_us = 0
    return replace(
        run,
        # systemd forgets it when it unloads a unit; the journal answers by it afterwards.
        invocation=facts.invocation or run.invocation,
        active_state=facts.active_state,
        n_restarts=facts.n_restarts,
        longest_start_for_us=max(run.longest_start_for_us, took_us),
    )


def counted_ends(run: Run, now: Now, within_us: int) -> tuple[End, ...]:
    """The ends of the last *within_us* that count for a crash loop, oldest first.

    Not those that were clean or excused, came before a person's start or our attempt, or were found
    after a gap: when those were is not known.
    """
    since_us = max(now.steady_us - within_us, run.excused_us)
    return tuple(e for e in run.ends if e.at_us > since_us and _counts(e))


def _counts(end: End) -> bool:
    return not (end.clean or end.after_gap or end.excused)


def restarts_seen(run: Run, now: Now) -> int:
    """How often in the last 24 h the unit was started again after an end that nobody asked for."""
    ends = _lately(run.ends, now)
    rests = run.last is not None and _holds(ends[-1:], run.last.invocation)
    return len(ends) - 1 if rests else len(ends)


def unseen_end(run: Run, facts: UnitFacts) -> str:
    """The invocation whose end no signal told, by what was read; "" = there is none.

    It is the one to ask the journal about. The present one's, if that is over; else the one that
    lived when we last knew.
    """
    known = run.last.invocation if run.last else ""
    over = facts.active_state in DOWN or restarts_by_itself(facts.sub_state)
    if facts.invocation and over:
        return facts.invocation if facts.invocation != known else ""
    lived = run.invocation if run.last is None else ""
    return lived if lived != facts.invocation else ""


def gap_end(run: Run, facts: UnitFacts, said: JobStop | None, now: Now) -> End | None:
    """How the invocation ended whose end no signal told; None = there is no such end.

    *said*: what PID 1 wrote of it, None where nobody could ask.
    """
    invocation = unseen_end(run, facts)
    if not invocation:
        return None
    if said is not None and said.invocation != invocation:
        said = None
    present = invocation == facts.invocation
    at_us = (facts.inactive_enter_us or facts.active_exit_us) if present else 0
    at_us = at_us or now.steady_us
    return End(
        invocation=invocation,
        at_us=at_us,
        at=(said.at if said else 0) or now.wall_at - (now.steady_us - at_us),
        how=_how_written(said) or (_how_shown(facts) if present else _how_followed(run, facts)),
        clean=present and facts.result in CLEAN_RESULTS,
        by=said.along if said else UnitName(""),
        after_gap=True,
    )


def called_off(run: Run, facts: UnitFacts, now: Now) -> End | None:
    """The stop that no signal told, of a unit that waited for its automatic restart; None = none.

    Its invocation had ended before, and nothing but that stop leaves it `inactive` with such a
    Result.
    """
    last = run.last
    if last is None or last.how is not How.BY_ITSELF or last.invocation != facts.invocation:
        return None
    rests = facts.active_state is ActiveState.INACTIVE and not restarts_by_itself(facts.sub_state)
    # With a job it may be the automatic restart itself, on its way.
    if not facts.invocation or not rests or facts.job or facts.result in CLEAN_RESULTS:
        return None
    at_us = facts.inactive_enter_us if facts.inactive_enter_us > last.at_us else now.steady_us
    at = now.wall_at - (now.steady_us - at_us)
    return End(last.invocation, at_us, at, How.ASKED, clean=False, after_gap=True)


def crash_before_stop(run: Run, facts: UnitFacts, said: JobStop | None, now: Now) -> End | None:
    """The end by itself that a job found when it called off the automatic restart; None = none.

    It comes before the one of `gap_end`, and counts where that one does not.
    """
    if said is None or not said.ended_before or said.invocation != unseen_end(run, facts):
        return None
    ago_us = max(0, now.wall_at - said.ended_at)
    return End(
        invocation=said.invocation,
        at_us=now.steady_us - ago_us,
        at=said.ended_at,
        how=How.BY_ITSELF,
        clean=False,
        after_gap=True,
    )


def _how_written(said: JobStop | None) -> How | None:
    """The journal decides, where it has anything of the invocation."""
    if said is None:
        return None
    if said.by_job:
        return How.TAKEN_ALONG if said.along else How.ASKED
    return How.BY_ITSELF if said.by_itself else None


def _how_shown(facts: UnitFacts) -> How:
    """Without the journal. Timestamps alone decide in one case only: the process went first."""
    if restarts_by_itself(facts.sub_state) or facts.active_state is ActiveState.FAILED:
        return How.BY_ITSELF
    if facts.result not in CLEAN_RESULTS:
        # systemd shows `inactive` with such a Result only where a stop called off a pending
        # automatic restart.
        return How.ASKED
    if 0 < facts.main_exit_us < facts.active_exit_us:
        return How.BY_ITSELF
    return How.UNDECIDED


def _how_followed(run: Run, facts: UnitFacts) -> How:
    """Without the journal, of an invocation that has a successor or was unloaded."""
    return How.BY_ITSELF if facts.n_restarts > run.n_restarts else How.UNDECIDED


def unheard_ends(
    run: Run, facts: UnitFacts, written_at: tuple[int, ...], now: Now
) -> tuple[int, ...]:
    """When invocations ended by themselves that a gap hid altogether: one for each automatic
    restart but the one that followed the invocation which lived before the gap.

    *written_at*: wall instants of the restarts that PID 1 wrote of. Of NRestarts and the journal,
    the one that knows of more is right: the first is reset, the second may be gone.
    """
    if not run.invocation or facts.invocation in ("", run.invocation):
        return ()
    rise = facts.n_restarts - run.n_restarts
    count = max(rise if rise >= 0 else facts.n_restarts, len(written_at))
    heard_of = run.last is None or run.last.how is How.BY_ITSELF
    missed = count - 1 if heard_of else count
    known = sorted(now.steady_us - max(0, now.wall_at - at) for at in written_at)
    instants = [*([now.steady_us] * (count - len(known))), *known][-missed:] if missed > 0 else []
    return tuple(sorted(instants))


def _with_unheard(ends: tuple[End, ...], event: Began, now: Now) -> tuple[End, ...]:
    unheard = tuple(
        End(
            "",
            at_us,
            now.wall_at - (now.steady_us - at_us),
            How.BY_ITSELF,
            clean=False,
            after_gap=True,
        )
        for at_us in event.unheard_us
    )
    return tuple(sorted((*ends, *unheard), key=lambda end: end.at_us)) if unheard else ends


def _lately(ends: tuple[End, ...], now: Now) -> tuple[End, ...]:
    return tuple(e for e in ends if e.at_us > now.steady_us - DAY_US)[-_KEPT:]


def _holds(ends: tuple[End, ...], invocation: str) -> bool:
    return any(e.invocation == invocation for e in ends)
