"""Write attempts into a story: before they are made, and when their call has ended. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge.incident import is_open, was_engaged
from healthd.judge.providers import liveness_of, taken_along
from healthd.judge.repairing import HEALTHD, NO_RETRY, RERUN, RESTART, counted, pending
from healthd.judge.telling import engage
from healthd.judge.turn import Turn
from healthd.model import (
    HOUR_US,
    NO_GRACE,
    Aspect,
    Attempt,
    AttemptResult,
    Change,
    CheckKey,
    Idle,
    LookAt,
    Reason,
    Repair,
    RepairFinished,
    RestartAsked,
    State,
    UnitName,
    Watch,
)


def make_attempt(turn: Turn, unit: UnitName, watch: Watch) -> None:
    """healthd's own attempt: counted in the budget, one grace for all checks of the unit."""
    attempt = _begin(turn, unit, HEALTHD, watch.check.key)
    now_us = attempt.at_us
    policy = turn.scene.policy
    counted_us = max(HOUR_US, policy.unit_budget.per_us, policy.machine_budget.per_us)
    recent = tuple(t for t in turn.story.restarts_us if t > now_us - counted_us)
    run = replace(turn.story.run, excused_us=now_us)
    turn.story = replace(turn.story, restarts_us=(*recent, now_us), run=run)
    for other in turn.story.watches:
        _await_effect(turn, other, now_us)
        if other.check.key != watch.check.key:
            turn.publish(other.check.key, other.verdict)


def _await_effect(turn: Turn, watch: Watch, now_us: int) -> None:
    if turn.open_incident(watch.check.key) is None or watch.verdict.state is not State.RED:
        return
    verdict = replace(watch.verdict, reason=Reason.REPAIRING, since_at=turn.scene.now.wall_at)
    grace_until_us = watch.grace_until_us
    if watch.check.aspect not in NO_GRACE:
        grace_until_us = now_us + watch.check.rules.grace_us
    turn.put_watch(replace(watch, verdict=verdict, grace_until_us=grace_until_us))


def restart_asked(turn: Turn, event: RestartAsked) -> None:
    """A person's restart: an attempt by that caller, in every open incident of the unit."""
    if pending(turn.story):
        return
    watch = liveness_of(turn.story)
    key = watch.check.key if watch else CheckKey("")
    _begin(turn, UnitName(turn.story.name), event.by, key)


def _begin(turn: Turn, unit: UnitName, by: str, key: CheckKey) -> Attempt:
    now = turn.scene.now
    reruns = key.startswith(f"{Aspect.HEARTBEAT}:")
    attempt = Attempt(
        id=turn.scene.next_attempt,
        at=now.wall_at,
        at_us=now.steady_us,
        repairer=RERUN if reruns else RESTART,
        by=by,
        unit=unit,
        along=taken_along(unit, turn.scene.stories),
    )
    _record(turn, attempt)
    facts = turn.story.job if reruns else turn.story.facts
    own = by == HEALTHD and facts is not None and facts.id == unit
    turn.effects.append(Repair(attempt, key, facts if own else None))
    return attempt


def repair_finished(turn: Turn, event: RepairFinished) -> None:
    """The call ended.

    Whether it helped, looks say: the unit's at once, the others after `retry`.
    """
    attempt = next((a for a in turn.story.attempts if a.id == event.attempt), None)
    if attempt is None or attempt.result is not AttemptResult.PENDING:
        return
    now_us, result = turn.scene.now.steady_us, event.result
    if turn.scene.frozen and result in (AttemptResult.FAILED, AttemptResult.FINAL):
        # polkit may be gone already: that is the end of the machine, not the unit's fault.
        result = AttemptResult.OVERTAKEN
    # What systemd answered, where it was asked at all.
    along = event.along or attempt.along
    ended = replace(attempt, result=result, detail=event.detail, along=along, ended_us=now_us)
    _record(turn, ended)
    match result:
        case AttemptResult.OVERTAKEN:
            kept = tuple(t for t in turn.story.restarts_us if t != attempt.at_us)
            turn.story = replace(turn.story, restarts_us=kept)
        case AttemptResult.FINAL if counted(ended):
            _no_retry_can_help(turn, ended)
        case _:
            _give_time(turn)
    live = liveness_of(turn.story)
    for watch in turn.story.watches:
        pause_us = 0 if watch is live else watch.check.rules.retry_us
        turn.effects.append(LookAt(watch.check.key, now_us + pause_us))


def _give_time(turn: Turn) -> None:
    """The grace after an attempt runs from its end, however long the call took."""
    now_us = turn.scene.now.steady_us
    for watch in turn.story.watches:
        judging = watch.verdict.reason is Reason.REPAIRING
        if judging and watch.check.aspect not in NO_GRACE:
            until_us = max(watch.grace_until_us, now_us + watch.check.rules.grace_us)
            turn.put_watch(replace(watch, grace_until_us=until_us))


def _no_retry_can_help(turn: Turn, attempt: Attempt) -> None:
    """Nothing was restarted and nothing will be: no grace, and the owner's turn at once."""
    if not turn.scene.policy.watch_enabled:
        return
    for watch in turn.story.watches:
        key, verdict = watch.check.key, watch.verdict
        incident = turn.open_incident(key)
        if incident is None or verdict.state is not State.RED or incident.idle is not Idle.NO:
            continue
        if was_engaged(incident):
            continue
        if verdict.reason is Reason.REPAIRING:
            now_red = replace(verdict, reason=incident.reason, since_at=turn.scene.now.wall_at)
            watch = replace(watch, verdict=now_red, grace_until_us=0)
            turn.put_watch(watch)
        engage(turn, incident, watch, attempt.detail or NO_RETRY)
        turn.publish(key, verdict)


def give_up_on_pending(turn: Turn) -> None:
    """healthd was away: a call that may or may not have been sent is counted, never sent again."""
    attempt = pending(turn.story)
    if attempt is not None:
        _record(
            turn,
            replace(
                attempt,
                result=AttemptResult.UNKNOWN,
                detail="a restart may have been tried",
                ended_us=turn.scene.now.steady_us,
            ),
        )


def _record(turn: Turn, attempt: Attempt) -> None:
    turn.story = replace(turn.story, attempts=_with(turn.story.attempts, attempt))
    for incident in turn.story.incidents:
        # One that closed while the call was under way still hears how the call ended.
        if is_open(incident) or any(a.id == attempt.id for a in incident.attempts):
            attempts = _with(incident.attempts, attempt)
            turn.put_incident(replace(incident, attempts=attempts), Change.CHANGED)


def _with(attempts: tuple[Attempt, ...], attempt: Attempt) -> tuple[Attempt, ...]:
    return (*(a for a in attempts if a.id != attempt.id), attempt)
