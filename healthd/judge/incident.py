"""Judge one check's incident: open, idle, settle, close. Pure: no clock, no I/O, no logging.

Repairs belong to the unit, not to one check: see repairing.py.
"""

from __future__ import annotations

from msgspec.structs import replace

from healthd.model import (
    HOUR_US,
    MINUTE_US,
    Closing,
    Edition,
    Idle,
    Incident,
    IncidentId,
    Now,
    PastIncident,
    Phase,
    Reason,
    Rules,
    State,
    Verdict,
    Watch,
)

REOPEN_WITHIN_US = 15 * MINUTE_US
DEGRADED_CLOSES_US = 10 * MINUTE_US
STOPPED_IS_GONE_US = HOUR_US
RECENT_US = 7 * 24 * HOUR_US


def open_incident(
    number: IncidentId, watch: Watch, past: tuple[PastIncident, ...], remedy: str, now: Now
) -> Incident:
    """The incident of a check that has just turned red. *past*: the closed ones of this story."""
    mine = [p for p in past if p.key == watch.check.key and p.closed_at > now.wall_at - RECENT_US]
    return Incident(
        id=number,
        key=watch.check.key,
        unit=watch.check.unit,
        phase=Phase.ENGAGED if watch.found else Phase.REPAIRING,
        reason=watch.verdict.reason,
        summary=watch.verdict.summary,
        opened_at=now.wall_at,
        opened_us=now.steady_us,
        found=watch.found,
        recent=len(mine),
        recent_healed=sum(p.closing is Closing.SELF_HEALED for p in mine),
        remedy=remedy,
        why_engaged="found at first start" if watch.found else "",
    )


def reopen(incident: Incident, watch: Watch) -> Incident:
    """Red again soon after its close: the same incident, its attempts go on counting.

    One that was found at the first start and was well since is as ordinary as any other now.
    """
    return replace(
        incident,
        phase=Phase.REPAIRING,
        idle=Idle.NO,
        reason=watch.verdict.reason,
        summary=watch.verdict.summary,
        closed_at=0,
        closed_us=0,
        closing=Closing.NOT_YET,
        reopened=incident.reopened + 1,
        found=False,
        why_engaged="",
        good_looks=0,
        good_since_us=0,
        degraded_since_us=0,
        stopped_since_us=0,
        idle_since_us=0,
    )


def is_open(incident: Incident) -> bool:
    return incident.phase is not Phase.CLOSED


def may_reopen(incident: Incident, now: Now) -> bool:
    """Whether red now would still be the same story."""
    return not is_open(incident) and now.steady_us - incident.closed_us < REOPEN_WITHIN_US


def was_engaged(incident: Incident) -> bool:
    """Whether repairing is over for this incident: its notice was written, or it was found so."""
    return incident.found or bool(incident.why_engaged)


def notice_stands(incident: Incident) -> bool:
    """Whether what the owner heard of it last says that it is broken."""
    broken = last_edition(incident) in (Edition.ENGAGED, Edition.AGAIN)
    return broken and not incident.withdrawn


def step(incident: Incident, verdict: Verdict, rules: Rules, now: Now, *, counts: bool) -> Incident:
    """The open incident after a look gave *verdict*. *counts*: `retry` has passed since the last
    look that counted, so this one may bring the close nearer.
    """
    after = _after(incident, verdict, rules, now, counts=counts)
    rests, rested = after.idle is not Idle.NO, incident.idle is not Idle.NO
    if rests == rested:
        return after
    if rests:
        return replace(after, idle_since_us=now.steady_us)
    moved_us = incident.again_from_us + now.steady_us - incident.idle_since_us
    return replace(after, idle_since_us=0, again_from_us=moved_us)


def _after(
    incident: Incident, verdict: Verdict, rules: Rules, now: Now, *, counts: bool
) -> Incident:
    match verdict.state:
        case State.RED:
            return _still_red(incident, verdict)
        case State.GREEN:
            return _well(incident, rules, now, counts=counts)
        case State.YELLOW:
            return _degraded(incident, verdict, now)
        case State.GREY:
            return _not_judged(incident, verdict, now)


def _still_red(incident: Incident, verdict: Verdict) -> Incident:
    # A loop may go on for days: what is written changes with the reason, not with each crash.
    other = verdict.reason not in (Reason.REPAIRING, incident.reason)
    return replace(
        incident,
        phase=Phase.ENGAGED if was_engaged(incident) else Phase.REPAIRING,
        idle=Idle.NO,
        reason=verdict.reason if other else incident.reason,
        summary=verdict.summary if other else incident.summary,
        good_looks=0,
        good_since_us=0,
        degraded_since_us=0,
        stopped_since_us=0,
        held_under=IncidentId(0),
    )


def _well(incident: Incident, rules: Rules, now: Now, *, counts: bool) -> Incident:
    counts = counts or not incident.good_looks
    settling = replace(
        incident,
        phase=Phase.SETTLING,
        idle=Idle.NO,
        good_looks=incident.good_looks + (1 if counts else 0),
        good_since_us=incident.good_since_us or now.steady_us,
        degraded_since_us=0,
        stopped_since_us=0,
        held_under=IncidentId(0),
    )
    calm_us = now.steady_us - settling.good_since_us
    if settling.good_looks < rules.settle or (settling.reopened and calm_us < REOPEN_WITHIN_US):
        return settling
    return close(settling, _ended_well(settling), now)


def _degraded(incident: Incident, verdict: Verdict, now: Now) -> Incident:
    since_us = incident.degraded_since_us or now.steady_us
    resting = replace(
        incident,
        phase=Phase.SETTLING,
        idle=Idle.DEGRADED,
        degraded_since_us=since_us,
        good_since_us=incident.good_since_us or now.steady_us,
        stopped_since_us=0,
        held_under=IncidentId(0),
    )
    enough_us = REOPEN_WITHIN_US if incident.reopened else DEGRADED_CLOSES_US
    if now.steady_us - since_us < enough_us:
        return resting
    # A unit whose file is gone or broken is not well: nothing is left to judge.
    gone = verdict.reason is Reason.CONFIGURATION
    return close(resting, Closing.GONE if gone else _ended_well(resting), now)


def _ended_well(incident: Incident) -> Closing:
    return Closing.USER_FIXED if incident.told else Closing.SELF_HEALED


def _not_judged(incident: Incident, verdict: Verdict, now: Now) -> Incident:
    # Ten minutes of degraded *alone* close it.
    incident = replace(incident, degraded_since_us=0)
    match verdict.reason:
        case Reason.NOT_CONFIGURED:
            return close(incident, Closing.GONE, now)
        case Reason.STOPPED:
            since_us = incident.stopped_since_us or now.steady_us
            # Started again, it has to settle anew.
            stopped = replace(
                incident,
                idle=Idle.STOPPED,
                stopped_since_us=since_us,
                good_looks=0,
                good_since_us=0,
            )
            if now.steady_us - since_us >= STOPPED_IS_GONE_US:
                return close(stopped, Closing.GONE, now)
            return stopped
        case Reason.WAITING:
            return replace(incident, idle=Idle.WAITING)
        case Reason.HELD:
            # Whatever was counted before, the work that the hold is for has made it void.
            return replace(
                incident, idle=Idle.HELD, stopped_since_us=0, good_looks=0, good_since_us=0
            )
        case Reason.FROZEN:
            return replace(incident, idle=Idle.FROZEN)
        case _:
            return replace(incident, idle=Idle.NO, stopped_since_us=0)


def close(incident: Incident, closing: Closing, now: Now) -> Incident:
    return replace(
        incident,
        phase=Phase.CLOSED,
        idle=Idle.NO,
        closing=closing,
        closed_at=now.wall_at,
        closed_us=now.steady_us,
        held_under=IncidentId(0),
    )


def last_edition(incident: Incident) -> Edition | None:
    """What the owner heard of it last."""
    return incident.tellings[-1].edition if incident.tellings else None
