"""What healthd keeps of a timer's job: how its runs ended, and which announced ones never came.

Pure folds over a frozen Ledger; the caller passes *now*.
"""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge.life import CLEAN_RESULTS, DOWN, restarts_by_itself
from healthd.judge.wording import end_in_words
from healthd.model import (
    MINUTE_US,
    ActiveState,
    Announced,
    End,
    How,
    JobRun,
    Ledger,
    Now,
    RunResult,
    TimerFacts,
    TimerSeen,
    UnitFacts,
)

_KEPT = 10

# systemd may be that much later than AccuracySec= allows; more is a run that did not come.
_LATE_US = 2 * MINUTE_US

# What the machine slept or was off for, a persistent timer makes good within this.
_CATCH_UP_US = 15 * MINUTE_US

_COUNTED = (RunResult.SUCCESS, RunResult.FAILED)


def run_of(end: End, job: UnitFacts) -> JobRun:
    """The run whose invocation ended so; *job* shows it still."""
    mine = bool(end.invocation) and end.invocation == job.invocation
    begun_us = job.inactive_exit_us if mine else 0
    result, words = _result(end, job)
    for_us = max(1, end.at_us - begun_us) if 0 < begun_us <= end.at_us else 0
    return JobRun(end.invocation, result, end.at, end.at_us, words, for_us)


def _result(end: End, job: UnitFacts) -> tuple[RunResult, str]:
    if not end.invocation:
        return RunResult.FAILED, "systemd refused its start"
    if end.how in (How.ASKED, How.PUSHED_OUT, How.TAKEN_ALONG):
        return RunResult.STOPPED, ""
    if job.result == "exec-condition":
        return RunResult.SKIPPED, ""
    if end.clean:
        return RunResult.SUCCESS, ""
    return RunResult.FAILED, end_in_words(job)


def ran(ledger: Ledger, run: JobRun) -> Ledger:
    """A run ended. Each counts once, whoever tells of it; an older one changes nothing."""
    known = run.invocation and run.invocation == ledger.ended
    older = ledger.last is not None and run.at_us < ledger.last.at_us
    if known or older:
        return ledger
    counts = run.result in _COUNTED
    took_us = (*ledger.took_us, run.for_us)[-_KEPT:] if run.for_us and counts else ledger.took_us
    over = run.invocation == ledger.running
    return replace(
        ledger,
        last=run if counts else ledger.last,
        success=run if run.result is RunResult.SUCCESS else ledger.success,
        ended=run.invocation or ledger.ended,
        took_us=took_us,
        running="" if over else ledger.running,
        running_us=0 if over else ledger.running_us,
        missed=0,
    )


def unseen_runs(ledger: Ledger, job: UnitFacts, written: tuple[JobRun, ...]) -> tuple[JobRun, ...]:
    """The runs that ended while nobody looked, oldest first.

    *written*: what PID 1 wrote of them; of the last one systemd itself may still know more, and all
    where nothing was written.
    """
    since_at = ledger.last.at if ledger.last else 0
    runs = [r for r in written if r.at > since_at and r.invocation not in ("", ledger.ended)]
    shown = _shown_run(job)
    if shown is None or shown.invocation == ledger.ended:
        return tuple(runs)
    told = next((r for r in runs if r.invocation == shown.invocation), None)
    if told is None:
        return (*runs, shown)
    words = shown.words if told.result is RunResult.FAILED else ""
    full = replace(told, words=words or told.words, for_us=shown.for_us, at_us=shown.at_us)
    return tuple(full if r is told else r for r in runs)


def _shown_run(job: UnitFacts) -> JobRun | None:
    """The run that systemd shows, if it is over."""
    rests = job.active_state in DOWN and not restarts_by_itself(job.sub_state)
    if not rests or not job.invocation or not job.inactive_enter_us:
        return None
    clean = job.result in CLEAN_RESULTS
    end = End(job.invocation, job.inactive_enter_us, 0, How.BY_ITSELF, clean=clean)
    return run_of(end, job)


def dated(run: JobRun, now: Now) -> JobRun:
    """*run* with the clock that it lacks: the journal has the wall's, systemd the other."""
    if not run.at:
        return replace(run, at=now.wall_at - (now.steady_us - run.at_us))
    if not run.at_us:
        return replace(run, at_us=now.steady_us - max(0, now.wall_at - run.at))
    return run


def seen(ledger: Ledger, event: TimerSeen, now: Now) -> Ledger:
    """What a reading, or a signal, adds."""
    ledger = replace(ledger, seen_us=ledger.seen_us or now.steady_us)
    if event.job is not None:
        ledger = _job_seen(ledger, event.job, now)
    return _timer_seen(ledger, event, now)


def runs(job: UnitFacts | None) -> bool:
    """Whether the job runs. What is over may stay active: RemainAfterExit=yes."""
    if job is None or job.active_state in (*DOWN, ActiveState.UNKNOWN):
        return False
    return not restarts_by_itself(job.sub_state) and not _remains(job)


def _remains(job: UnitFacts) -> bool:
    return job.active_state is ActiveState.ACTIVE and job.sub_state == "exited"


def _job_seen(ledger: Ledger, job: UnitFacts, now: Now) -> Ledger:
    if runs(job) and job.invocation:
        begun_us = job.inactive_exit_us or now.steady_us
        same = job.invocation == ledger.running
        return replace(
            ledger,
            running=job.invocation,
            running_us=ledger.running_us if same and ledger.running_us else begun_us,
        )
    ledger = replace(ledger, running="", running_us=0)
    if not _remains(job) or not job.active_enter_us:
        return ledger
    end = End(job.invocation, job.active_enter_us, 0, How.BY_ITSELF)
    return ran(ledger, dated(run_of(end, job), now))


def _timer_seen(ledger: Ledger, event: TimerSeen, now: Now) -> Ledger:
    timer = event.timer
    if ledger.trigger_at and timer.trigger_at > ledger.trigger_at:
        ledger = replace(ledger, missed=0)
    ledger = replace(ledger, trigger_at=timer.trigger_at)
    if event.facts.sub_state != "waiting" or not timer.has_next:
        return replace(ledger, announced=None)
    known = None if event.anew else ledger.announced
    if known is None or (known.at, known.stamp_us) != (timer.next_at, timer.next_stamp_us):
        return _announced(ledger, timer, now)
    late_us = late_from_us(replace(ledger, announced=known), timer, now)
    if not event.fresh or not late_us or now.steady_us < late_us:
        return ledger
    again = replace(known, missed=known.missed + 1)
    return replace(ledger, announced=again, missed=ledger.missed + 1)


def _announced(ledger: Ledger, timer: TimerFacts, now: Now) -> Ledger:
    by_wall_us = now.steady_us + timer.next_at - now.wall_at if timer.next_at else 0
    first_us = min(t for t in (by_wall_us, timer.next_us) if t)
    # One that is past already was announced in a gap: nobody can say that it did not come.
    due_us = max(now.steady_us, first_us)
    before_us = ledger.last_due_us
    period_us = due_us - before_us if 0 < before_us < due_us else ledger.period_us
    announced = Announced(timer.next_at, timer.next_stamp_us, due_us)
    return replace(ledger, announced=announced, last_due_us=due_us, period_us=period_us)


def late_from_us(ledger: Ledger, timer: TimerFacts, now: Now) -> int:
    """The steady instant from which the announced run counts as missed (once more), 0 = never.

    One that goes on standing there is missed again each time that the next one would have come.
    """
    announced = ledger.announced
    if announced is None or (announced.missed and not ledger.period_us):
        return 0
    slack_us = timer.accuracy_for_us + _LATE_US + announced.missed * ledger.period_us
    late_us = announced.due_us + slack_us
    if announced.at and not announced.stamp_us:
        # Its own clock is the wall's, and that may have been set back.
        late_us = max(late_us, now.steady_us + announced.at + slack_us - now.wall_at)
    return late_us


def after_gap(ledger: Ledger, now: Now, *, slept: bool) -> Ledger:
    """Nobody watched for a while: what was announced before says nothing now.

    *slept*: neither did the machine run.
    """
    catch_up_us = now.steady_us + _CATCH_UP_US if slept else ledger.catch_up_us
    return replace(ledger, announced=None, last_due_us=0, catch_up_us=catch_up_us)
