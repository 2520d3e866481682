"""Whether a scheduled job ran and succeeded, from what systemd says and what healthd has kept.

Pure: no clock, no I/O, no logging. The paragraph "Heartbeats" of semantics.md as a table: the first
row that matches answers. When the timer fired last (LastTriggerUSec) proves no run.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from healthd.judge import liveness, resting
from healthd.judge.ledger import late_from_us, runs
from healthd.judge.life import DOWN, UP, restarts_by_itself
from healthd.judge.sight import Sight, degraded, failing, grey, keep, ok, words_of
from healthd.judge.wording import duration, end_in_words, instant, start
from healthd.model import (
    HOUR_US,
    How,
    JobRun,
    Ledger,
    LoadState,
    Look,
    Outcome,
    Reason,
    RunResult,
    Story,
    TimerFacts,
    UnitFacts,
)

# Three times the longest of its last runs is long, but never what took less than this.
_LONG_US = HOUR_US

_NO_JOB = (LoadState.NOT_FOUND, LoadState.BAD_SETTING, LoadState.ERROR)


class Beat(Struct, frozen=True):
    """One timer at one instant. *sight*: the timer as a unit; *within_us*: what is declared.
    *overdue*: it has an open incident for that.
    """

    sight: Sight
    timer: TimerFacts
    job: UnitFacts | None
    ledger: Ledger
    within_us: int = 0
    overdue: bool = False

    @property
    def now_us(self) -> int:
        return self.sight.now.steady_us

    @property
    def runs(self) -> bool:
        return runs(self.job)

    def wall_at(self, steady_us: int) -> int:
        """The wall's instant of a steady one."""
        return self.sight.now.wall_at + steady_us - self.now_us

    def when(self, run: JobRun) -> str:
        """When *run* ended. The summary stands for minutes, where "1 s ago" would grow false."""
        return instant(self.wall_at(run.at_us))


Row = Callable[[Beat], Look | None]


def heartbeat(beat: Beat) -> Look:
    """What one look at the timer and its job finds."""
    for row, rule in RULES:
        look = row(beat)
        if look is not None:
            return replace(look, rule=rule, until_us=look.until_us or _next_change(beat))
    return replace(_well(beat), rule=_WELL, until_us=_next_change(beat))


def dead(beat: Beat) -> Look | None:
    """inactive though wanted → failing `overdue`, "the timer does not run" """
    facts = beat.sight.facts
    if facts.active_state not in DOWN:
        return None
    if facts.job:
        # What lives has its stop queued: that is not over yet.
        starts = grey(Reason.STARTING, "its start is queued")
        return keep("a job takes it down") if beat.sight.lives else starts
    if not beat.sight.meant_to_run:
        return grey(Reason.NOT_CONFIGURED, "nothing wants it")
    if not facts.booted:
        return grey(Reason.STARTING, "the boot is not finished")
    why = "" if beat.timer.result == "success" else f": {end_in_words(facts)}"
    return failing(Reason.OVERDUE, f"the timer does not run{why}")


def taken_along(beat: Beat) -> Look | None:
    """A timer that went with another unit is stopped for as long as that is down."""
    last, facts = beat.sight.last, beat.sight.facts
    if last is None or last.how is not How.TAKEN_ALONG or facts.active_state not in DOWN:
        return None
    provider = beat.sight.stories.get(last.by)
    back = provider is None or provider.facts is None or provider.facts.active_state in UP
    return None if back else grey(Reason.STOPPED, f"stopped along with {last.by}")


def masked_job(beat: Beat) -> Look | None:
    """its job masked → grey `not-configured`: somebody took it out of service, also where the timer
    fails because of that
    """
    job = beat.job
    if job is None or job.load_state is not LoadState.MASKED:
        return None
    return grey(Reason.NOT_CONFIGURED, f"its job {job.id} is masked")


def jobless(beat: Beat) -> Look | None:
    """A timer whose job systemd cannot load starts nothing → yellow `configuration`"""
    job = beat.job
    if job is None or job.load_state not in _NO_JOB:
        return None
    return degraded(Reason.CONFIGURATION, f"its job {job.id} is {job.load_state.value}")


def tried_again(beat: Beat) -> Look | None:
    """the last end failed, and systemd restarts the job by itself: that run is not over; restarted
    as often as makes a crash loop, and waiting for the next try → failing `crash-loop`
    """
    job, last = beat.job, beat.ledger.last
    if job is None or last is None or last.result is not RunResult.FAILED:
        return None
    waits = restarts_by_itself(job.sub_state)
    # NRestarts counts from the last start that was no automatic one.
    if waits and job.n_restarts >= beat.sight.policy.crash_loop.restarts:
        words = f"systemd restarted {job.id} {job.n_restarts} times, last: {last.words}"
        return failing(Reason.CRASH_LOOP, words)
    again = waits or (beat.runs and job.n_restarts > 0)
    return keep("systemd restarts the job by itself") if again else None


def failed(beat: Beat) -> Look | None:
    """the last end failed → failing `failed`, until a later run *ends*"""
    last = beat.ledger.last
    if last is None or last.result is not RunResult.FAILED:
        return None
    again = "; runs again" if beat.runs else ""
    return failing(Reason.FAILED, f"{last.words}, last run {beat.when(last)}{again}")


def skipped(beat: Beat) -> Look | None:
    """the job skipped by its condition → grey `not-configured`, naming it"""
    job = beat.job
    if job is None or job.active_state not in DOWN:
        return None
    if job.result == "exec-condition":
        return grey(Reason.NOT_CONFIGURED, "its job was skipped: ExecCondition")
    if not job.condition_checked or job.condition_met:
        return None
    which = ", ".join(job.conditions_failed) or "a condition"
    return grey(Reason.NOT_CONFIGURED, f"its job was skipped: {which} not met")


def never_ran(beat: Beat) -> Look | None:
    """never run → grey, unless a run is known to be missing: announced, or asked for by `within`;
    a timer that did not run and does so again is well
    """
    late = beat.ledger.missed or _is_old(beat)
    if beat.ledger.last is not None or beat.runs or late or _is_over(beat):
        return None
    if _ends(beat):
        return keep("its first run is over, and how it ended is heard next")
    if beat.overdue and beat.timer.has_next:
        # Its first run may be a month away, and what was wrong is put right today.
        return ok(f"the timer runs again{_next_in_words(beat)}")
    return grey(Reason.STARTING, f"has not run yet{_next_in_words(beat)}")


def _ends(beat: Beat) -> bool:
    """Whether the job has just gone down: its state comes before the word of how that was."""
    job = beat.job
    if job is None or job.active_state not in DOWN or not job.invocation:
        return False
    return job.invocation != beat.ledger.ended


def running(beat: Beat) -> Look | None:
    """running: ok; longer than max(3 × the longest of the last 10, 1 h): yellow `degraded`"""
    if not beat.runs:
        return None
    longest_us = max(beat.ledger.took_us, default=0)
    limit_us = max(3 * longest_us, _LONG_US)
    begun_us = beat.ledger.running_us or beat.now_us
    so_far_us = beat.now_us - begun_us
    since = instant(beat.wall_at(begun_us))
    if so_far_us < limit_us:
        return Look(
            Outcome.OK,
            Reason.OK,
            f"running since {since}",
            until_us=begun_us + limit_us,
        )
    before = f", its longest lately took {duration(longest_us)}" if longest_us else ""
    return degraded(Reason.DEGRADED, f"still running, since {since}{before}")


def one_shot(beat: Beat) -> Look | None:
    """`elapsed` with only one-shot lines → green"""
    return ok(f"had its one shot{_last_in_words(beat)}") if _is_over(beat) else None


def no_next(beat: Beat) -> Look | None:
    """no next run otherwise, while not running → yellow `missed`"""
    if beat.timer.has_next or beat.sight.facts.sub_state not in ("waiting", "elapsed"):
        return None
    return degraded(Reason.MISSED, f"no next run is planned{_last_in_words(beat)}")


def missed(beat: Beat) -> Look | None:
    """an announced run did not come → yellow `missed`; after a second one failing `overdue`"""
    count, last = beat.ledger.missed, _last_in_words(beat)
    if count >= 2:
        return failing(Reason.OVERDUE, f"{count} planned runs did not come{last}")
    return degraded(Reason.MISSED, f"a planned run did not come{last}") if count else None


def old(beat: Beat) -> Look | None:
    """`within` declared and the last success older than that → failing `overdue`"""
    if not _is_old(beat):
        return None
    within = duration(beat.within_us)
    success = beat.ledger.success
    if success is None:
        return failing(Reason.OVERDUE, f"no success yet, and one is due within {within}")
    return failing(Reason.OVERDUE, f"last success {beat.when(success)}, one is due within {within}")


# The rows of any unit, which see of a timer what they see of that.
_OF_ANY_UNIT = (liveness.configuration, liveness.masked, resting.condition, resting.stopped)


def _of_the_timer(row: Callable[[Sight], Look | None]) -> Row:
    return lambda beat: row(beat.sight)


ROWS: tuple[Row, ...] = (
    masked_job,
    taken_along,
    dead,
    jobless,
    tried_again,
    failed,
    skipped,
    never_ran,
    running,
    one_shot,
    no_next,
    missed,
    old,
)

#: Each row with its own words, for whoever asks by which rule a timer was judged.
RULES: tuple[tuple[Row, str], ...] = (
    *((_of_the_timer(row), words_of(row)) for row in _OF_ANY_UNIT),
    *((row, words_of(row)) for row in ROWS),
)
_WELL = "the last run succeeded, or the first is still to come → green"


def _well(beat: Beat) -> Look:
    last = beat.ledger.last
    did = f"ran {beat.when(last)}" if last else "fires now"
    return ok(f"{did}{_next_in_words(beat)}")


def _is_over(beat: Beat) -> bool:
    return beat.sight.facts.sub_state == "elapsed" and beat.timer.one_shot


def _old_from_us(beat: Beat) -> int:
    """The steady instant from which the last success is too old, 0 = never."""
    if not beat.within_us:
        return 0
    ledger = beat.ledger
    # Nothing is said of the time before healthd first saw the job.
    since_us = max(ledger.success.at_us if ledger.success else 0, ledger.seen_us)
    due_us = since_us + beat.within_us
    return max(due_us, ledger.catch_up_us) if beat.timer.persistent else due_us


def _is_old(beat: Beat) -> bool:
    return 0 < _old_from_us(beat) <= beat.now_us


def _next_change(beat: Beat) -> int:
    """When time alone changes what is said, 0 = never."""
    late_us = late_from_us(beat.ledger, beat.timer, beat.sight.now)
    coming = [t for t in (late_us, _old_from_us(beat)) if t > beat.now_us]
    return min(coming, default=0)


def _last_in_words(beat: Beat) -> str:
    last = beat.ledger.last
    return f", last run {beat.when(last)}" if last else ""


def _next_in_words(beat: Beat) -> str:
    timer, now = beat.timer, beat.sight.now
    if beat.runs or not timer.has_next:
        return ""
    coming = [timer.next_at] if timer.next_at else []
    coming += [beat.wall_at(timer.next_us)] if timer.next_us else []
    next_at = min(coming)
    return f", next run {instant(next_at)}" if next_at > now.wall_at else ", next run is due"


def remedy(story: Story) -> str:
    """The command that puts a timer right: the timer first if that does not run, else its job."""
    facts, timer = story.facts, story.timer
    if facts is None or facts.active_state in DOWN:
        return start(story.name)
    return start(timer.unit if timer and timer.unit else story.name)
