"""Take one look of one check into its story: verdict, incident, repair, notice. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge.due import next_due
from healthd.judge.freezing import after_freeze
from healthd.judge.holding import under_hold
from healthd.judge.incident import (
    is_open,
    open_incident,
    reopen,
    step,
    was_engaged,
)
from healthd.judge.network import way_of
from healthd.judge.providers import open_incident_of
from healthd.judge.recording import make_attempt
from healthd.judge.repairing import Engage, Try, Wait, pending
from healthd.judge.rerunning import next_repair
from healthd.judge.telling import again_if_due, closed, engage
from healthd.judge.trail import noted
from healthd.judge.turn import Turn
from healthd.judge.verdict import LOOKS_KEPT, Standing, remember, verdict, waits_on
from healthd.judge.waiting import Waiting, as_its_unit, named, waiting
from healthd.model import (
    NO_GRACE,
    Aspect,
    Change,
    Idle,
    Incident,
    IncidentId,
    Look,
    LookAt,
    Outcome,
    Reason,
    Removed,
    State,
    TakeEvidence,
    Watch,
)

# A look that is early by a tick of the scheduler still counts.
_ALMOST = 0.9


def take(turn: Turn, watch: Watch, look: Look, *, asked: bool = False) -> None:
    """One look of *watch*'s check, made just now. *asked*: only because a person asked for it."""
    look = under_hold(turn.story, watch, look, turn.scene.now)
    is_red = turn.open_incident(watch.check.key) is not None
    look = after_freeze(watch, look, turn.scene.now, open_incident=is_red)
    if watch.unwatched:
        watch = replace(watch, unwatched=False)
        turn.put_watch(watch)
    if look.outcome is Outcome.KEEP:
        turn.put_watch(replace(watch, until_us=look.until_us))
        _schedule(turn, watch, (look.until_us,))
        return
    look = named(turn.story, watch, look, turn.scene)
    counts = _counts(turn, watch, look, asked=asked)
    judged = _judged(turn, watch, look, counts=counts)
    turn.put_watch(judged)
    until_us = 0
    if turn.scene.policy.watch_enabled:
        until_us = _incident(turn, judged, look, counts=_is_apart(turn, watch))
    _schedule(turn, judged, (judged.until_us, until_us))
    turn.publish(judged.check.key, watch.verdict if watch.present else None)


def at_rest(turn: Turn, watch: Watch) -> None:
    """There is nothing to judge now: a oneshot that ended well.

    Its open incident is over by that.
    """
    ended = Look(Outcome.OK, Reason.OK, "ended well")
    if turn.open_incident(watch.check.key) is not None:
        take(turn, watch, ended)
        return
    rested = _judged(turn, watch, ended, counts=_counts(turn, watch, ended))
    turn.put_watch(replace(rested, present=False, due_us=0))
    if watch.present:
        turn.effects.append(Removed(watch.check.key))


def _counts(turn: Turn, watch: Watch, look: Look, *, asked: bool = False) -> bool:
    """Whether *look* may add to a streak: `retry` after the last that did, or with other news."""
    if _is_apart(turn, watch):
        return True
    return not asked and look.outcome is not watch.last_outcome


def _is_apart(turn: Turn, watch: Watch) -> bool:
    """Whether `retry` has passed since the last look that counted; only so does one settle."""
    since_us = turn.scene.now.steady_us - watch.counted_us
    return since_us >= watch.check.rules.retry_us * _ALMOST


def _in_grace(turn: Turn, watch: Watch) -> bool:
    """Whether a failing look says only that the unit is coming up, or is being restarted."""
    if watch.check.aspect in NO_GRACE:
        return False
    return turn.scene.now.steady_us < watch.grace_until_us or pending(turn.story) is not None


def _judged(turn: Turn, watch: Watch, look: Look, *, counts: bool) -> Watch:
    """The watch with its new verdict."""
    now, rules = turn.scene.now, watch.check.rules
    in_grace = _in_grace(turn, watch)
    waits = waiting(turn.story, watch, look, turn.scene)
    kept = counts and not waits and not (in_grace and look.outcome is Outcome.FAILING)
    recent, looks = watch.recent, watch.looks
    if kept:
        recent, looks = remember(recent, looks, look.outcome)
    if waits:
        said = waits_on(watch.verdict, waits.key, now, waits.summary)
    else:
        standing = Standing(
            open=turn.open_incident(watch.check.key) is not None,
            in_grace=in_grace,
            counts=counts,
            failing_of_last=recent.bit_count() if looks == LOOKS_KEPT else 0,
        )
        said = verdict(watch.verdict, look, now, rules, standing)
    return replace(
        watch,
        verdict=said,
        recent=recent,
        looks=looks,
        looked_us=now.steady_us,
        counted_us=now.steady_us if counts else watch.counted_us,
        grace_until_us=0 if look.outcome is Outcome.OK else watch.grace_until_us,
        released_until_us=0 if look.outcome is Outcome.OK else watch.released_until_us,
        found=watch.found and _still_found(look, waits),
        present=True,
        last_outcome=look.outcome,
        last_reason=look.reason,
        way=way_of(look) if watch.check.remote else watch.way,
        trail=noted(watch.trail, look, said, now, counts=counts),
        until_us=min((t for t in (look.until_us, waits.until_us if waits else 0) if t), default=0),
        wait_until_us=waits.grace_until_us if waits else 0,
    )


def _still_found(look: Look, waits: Waiting | None) -> bool:
    """Whether a check that was failing when the store was new still counts as found so.

    One that waits on a provider is told when that is well again, if at all.
    """
    if waits is not None:
        return waits.unseen
    return look.outcome is Outcome.FAILING or look.reason is Reason.HELD


def _incident(turn: Turn, watch: Watch, look: Look, *, counts: bool) -> int:
    """Bring the check's incident up to date. Returns when a wait ends by itself, 0 = none."""
    incident = turn.open_incident(watch.check.key)
    if incident is None:
        if watch.verdict.state is not State.RED:
            return 0
        incident = _opened(turn, watch, look)
    else:
        incident = _stepped(turn, incident, watch, counts=counts)
        if not is_open(incident):
            closed(turn, incident)
            # The looks of an outage that is over do not make the next blip a flapping.
            turn.put_watch(replace(watch, recent=0, looks=0))
            return 0
        turn.put_incident(incident, Change.CHANGED)
    if watch.verdict.state is not State.RED or incident.idle is not Idle.NO:
        return 0
    if was_engaged(incident):
        again_if_due(turn, incident, watch)
        return 0
    return _act(turn, incident, watch)


def _opened(turn: Turn, watch: Watch, look: Look) -> Incident:
    past = turn.reopenable(watch.check.key)
    if past is not None:
        incident = reopen(past, watch)
        turn.take_back_past(past)
        turn.put_incident(incident, Change.CHANGED)
        return incident
    scene = turn.scene
    remedy = turn.remedy(watch)
    incident = open_incident(scene.next_incident, watch, turn.story.closed, remedy, scene.now)
    turn.put_incident(incident, Change.OPENED)
    unit, invocation = watch.check.unit, _spoken_of(turn, look)
    if watch.check.aspect is Aspect.HEARTBEAT and turn.story.job is not None:
        # What failed is the job; the timer only started it.
        unit, run = turn.story.job.id, turn.story.ledger.last
        invocation = run.invocation if run else turn.story.job.invocation
    turn.effects.append(TakeEvidence(incident.id, unit, invocation, look.private))
    return incident


def _spoken_of(turn: Turn, look: Look) -> str:
    """The invocation of the unit that *look* speaks of; of a loop, the last that ended."""
    run, facts = turn.story.run, turn.story.facts
    last = run.last
    if last is None and look.reason is Reason.CRASH_LOOP and run.ends:
        last = run.ends[-1]
    return last.invocation if last else facts.invocation if facts else ""


def _stepped(turn: Turn, incident: Incident, watch: Watch, *, counts: bool) -> Incident:
    verdict = as_its_unit(turn.story, watch.verdict, turn.scene.stories)
    stepped = step(incident, verdict, watch.check.rules, turn.scene.now, counts=counts)
    if watch.verdict.reason is Reason.WAITING:
        key = watch.verdict.waiting_on
        over = turn.open_incident(key) or open_incident_of(turn.scene.stories, key)
        stepped = replace(stepped, held_under=over.id if over else IncidentId(0))
    return stepped


def _act(turn: Turn, incident: Incident, watch: Watch) -> int:
    match next_repair(turn.story, incident, watch, turn.scene):
        case Wait(until_us=until_us):
            return until_us
        case Engage(why=why):
            engage(turn, incident, watch, why)
        case Try(unit=unit):
            make_attempt(turn, unit, watch)
    return 0


def _schedule(turn: Turn, watch: Watch, until: tuple[int, ...]) -> None:
    """The next look; *until*: instants at which time alone changes something."""
    now = turn.scene.now
    instants = [t for t in until if t > now.steady_us]
    due_us = next_due(watch, turn.open_incident(watch.check.key), now, min(instants, default=0))
    current = turn.watch(watch.check.key) or watch
    turn.put_watch(replace(current, due_us=due_us, looked_us=now.steady_us))
    turn.effects.append(LookAt(watch.check.key, due_us))
