"""Take what was seen of a timer and its job into the timer's story. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge import ledger as ledgers
from healthd.judge import run as runs
from healthd.judge.heartbeat import Beat, heartbeat
from healthd.judge.looking import take
from healthd.judge.sight import Sight
from healthd.judge.turn import Turn
from healthd.model import (
    Aspect,
    JobRan,
    Look,
    Outcome,
    ReadUnit,
    Reason,
    State,
    Story,
    Thawed,
    TimerSeen,
    UnitFacts,
    UnitName,
    Watch,
    Woken,
)

_OF_TIMER = ("load_state", "active_state", "sub_state", "result", "condition_met", "wanted")
_OF_JOB = ("load_state", "active_state", "sub_state", "result", "invocation", "condition_met")


def timer_seen(turn: Turn, event: TimerSeen) -> None:
    """systemd's present word of the timer; a look at it where that says something new."""
    before, now = turn.story, turn.scene.now
    turn.story = replace(before, ledger=ledgers.seen(before.ledger, event, now))
    watch = heartbeat_of(before)
    if watch is None:
        _keep_facts(turn, event)
        return
    look = _look(turn, watch, event)
    worse = look.outcome in (Outcome.FAILING, Outcome.DEGRADED)
    if worse and not event.fresh and watch.verdict.state is not State.RED:
        # What lasts only a moment is nothing to judge: what counts is what a read still finds.
        turn.effects.append(ReadUnit(UnitName(event.facts.id)))
        return
    _keep_facts(turn, event)
    other = (look.outcome, look.reason) != (watch.last_outcome, watch.last_reason)
    if event.due or other or _deciding(before) != _deciding(turn.story):
        take(turn, watch, look)
    elif event.asked:
        take(turn, watch, look, asked=True)


def job_ran(turn: Turn, event: JobRan) -> None:
    """A run ended; what follows from it is seen with the next reading."""
    turn.story = replace(turn.story, ledger=ledgers.ran(turn.story.ledger, event.run))


def paused(turn: Turn, event: Woken | Thawed) -> None:
    """healthd, or the machine, was away."""
    story, now = turn.story, turn.scene.now
    if not story.ledger.seen_us:
        return
    rebooted = isinstance(event, Woken) and not event.same_boot
    slept = rebooted or isinstance(event, Thawed)
    turn.story = replace(story, ledger=ledgers.after_gap(story.ledger, now, slept=slept))
    if rebooted:
        turn.story = replace(turn.story, timer=None, job=None)


def heartbeat_of(story: Story) -> Watch | None:
    """The story's heartbeat watch, if it is that of a timer."""
    return next((w for w in story.watches if w.check.aspect is Aspect.HEARTBEAT), None)


def _look(turn: Turn, watch: Watch, event: TimerSeen) -> Look:
    check = watch.check
    sight = Sight(
        event.facts,
        turn.story.run,
        turn.scene.now,
        turn.scene.policy,
        check.declared,
        check.rules.grace_us,
        turn.scene.stories,
    )
    incident = turn.open_incident(check.key)
    overdue = incident is not None and incident.reason is Reason.OVERDUE
    ledger = turn.story.ledger
    return heartbeat(Beat(sight, event.timer, event.job, ledger, check.within_us, overdue))


def _keep_facts(turn: Turn, event: TimerSeen) -> None:
    story = turn.story
    # What the job cannot be without may be why it failed.
    requires = event.job.requires if event.job else ()
    facts = replace(event.facts, requires=tuple({*event.facts.requires, *requires}))
    run = runs.seen(story.run, event.facts)
    turn.story = replace(story, facts=facts, timer=event.timer, job=event.job, run=run)


def _deciding(story: Story) -> tuple[object, ...]:
    """What a look stands on; not the words, in which time goes on."""
    ledger, timer = story.ledger, story.timer
    return (
        _values(story.facts, _OF_TIMER),
        _values(story.job, _OF_JOB),
        (timer.next_at, timer.next_stamp_us) if timer else (),
        (ledger.last, ledger.missed, ledger.ended),
    )


def _values(facts: UnitFacts | None, names: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(getattr(facts, name) for name in names) if facts else ()
