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
    """Red again soon after its close: the same incident, its attempts go on counting."""
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
        why_engaged="",
        good_looks=0,
        good_since_us=0,
        degraded_since_us=0,
        stopped_since_us=0,
    )


def is_open(incident: Incident) -> bool:
    return incident.phase is not Phase.CLOSED


def may_reopen(incident: Incident, now: Now) -> bool:
    """Whether red now would still be the same story."""
    return not is_open(incident) and now.steady_us - incident.closed_us < REOPEN_WITHIN_US


def was_engaged(incident: Incident) -> bool:
    """Whether repairing is over for this incident: its notice was written, or it was found so."""
    return incident.found or bool(incident.why_engaged)


def step(incident: Incident, verdict: Verdict, rules: Rules, now: Now, *, counts: bool) -> Incident:
    """The open incident after a look gave *verdict*. *counts*: `retry` has passed since the last
    look that counted, so this one may bring the close nearer.
    """
    match verdict.state:
        case State.RED:
            return _still_red(incident, verdict)
        case State.GREEN:
            return _well(incident, rules, now, counts=counts)
        case State.YELLOW:
            return _degraded(incident, now)
        case State.GREY:
            return _not_judged(incident, verdict, now)


def _still_red(incident: Incident, verdict: Verdict) -> Incident:
    told = verdict.reason is not Reason.REPAIRING
    return replace(
        incident,
        phase=Phase.ENGAGED if was_engaged(incident) else Phase.REPAIRING,
        idle=Idle.NO,
        reason=verdict.reason if told else incident.reason,
        summary=verdict.summary if told else incident.summary,
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
    return close(settling, Closing.USER_FIXED if settling.told else Closing.SELF_HEALED, now)


def _degraded(incident: Incident, now: Now) -> Incident:
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
    return close(resting, Closing.USER_FIXED if resting.told else Closing.SELF_HEALED, now)


def _not_judged(incident: Incident, verdict: Verdict, now: Now) -> Incident:
    match verdict.reason:
        case Reason.NOT_CONFIGURED:
            return close(incident, Closing.GONE, now)
        case Reason.STOPPED:
            since_us = incident.stopped_since_us or now.steady_us
            stopped = replace(incident, idle=Idle.STOPPED, stopped_since_us=since_us)
            if now.steady_us - since_us >= STOPPED_IS_GONE_US:
                return close(stopped, Closing.GONE, now)
            return stopped
        case Reason.WAITING:
            return replace(incident, idle=Idle.WAITING)
        case Reason.HELD:
            return replace(incident, idle=Idle.HELD)
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
