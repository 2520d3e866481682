"""When the owner hears of a story: engaged, again, cleared, or nothing. Pure.

One unit, one story: incidents of one unit that are engaged together are told in one notice.
"""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge import found
from healthd.judge.incident import is_open, notice_stands, was_engaged
from healthd.judge.notices import notice
from healthd.judge.turn import Turn
from healthd.judge.waiting import waiters
from healthd.model import (
    Change,
    Closing,
    Delivered,
    Edition,
    Idle,
    Incident,
    Notice,
    Phase,
    Tell,
    Telling,
    Urgency,
    Watch,
    Withdraw,
)


def engage(turn: Turn, incident: Incident, watch: Watch, why: str) -> None:
    """The owner's turn. Told at once, unless the owner knows already."""
    engaged = replace(_as_it_is(turn, incident, watch), phase=Phase.ENGAGED, why_engaged=why)
    sibling = _told_sibling(turn, incident)
    if sibling is not None:
        under = replace(engaged, told=sibling.told, again_from_us=sibling.again_from_us)
        turn.put_incident(under, Change.CHANGED)
        return
    if all(t.edition is Edition.FOUND for t in incident.tellings):
        tell(turn, engaged, Edition.ENGAGED)
    elif notice_stands(incident):
        turn.put_incident(engaged, Change.CHANGED)
    else:
        # It was told to be well, or gone, and is not: once, and never again as something new.
        tell(turn, engaged, Edition.AGAIN)


def tell(turn: Turn, incident: Incident, edition: Edition) -> None:
    """Write one edition into the incident and ask for its delivery."""
    now = turn.scene.now
    telling = Telling(now.wall_at, now.steady_us, edition)
    told = replace(
        incident,
        tellings=(*incident.tellings, telling),
        again_from_us=now.steady_us,
        withdrawn=False,
    )
    turn.put_incident(told, Change.CHANGED)
    _start_clocks(turn, incident)
    waiting = waiters(turn.story, turn.scene.stories)
    title, body = notice(told, edition, now, past=turn.story.closed, waiting=waiting)
    turn.effects.append(
        Tell(
            Notice(
                # One id for all editions: each replaces the one before it.
                id=f"incident-{incident.id}",
                incident=incident.id,
                key=incident.key,
                unit=incident.unit,
                edition=edition,
                urgency=Urgency.LOW if edition is Edition.CLEARED else Urgency.CRITICAL,
                title=title,
                body=body,
                remedy="" if edition is Edition.CLEARED else incident.remedy,
                at=now.wall_at,
            )
        )
    )


def _start_clocks(turn: Turn, teller: Incident) -> None:
    """One notice tells of all incidents of the unit: the clock of `again` starts for each."""
    now_us = turn.scene.now.steady_us
    for incident in turn.open_incidents():
        if incident.id != teller.id:
            idle_since_us = now_us if incident.idle_since_us else 0
            started = replace(incident, again_from_us=now_us, idle_since_us=idle_since_us)
            turn.put_incident(started, Change.CHANGED)


def _as_it_is(turn: Turn, incident: Incident, watch: Watch) -> Incident:
    """*incident* with the words that are true when the owner reads them."""
    return replace(incident, summary=watch.verdict.summary, remedy=turn.remedy(watch))


def again_if_due(turn: Turn, incident: Incident, watch: Watch) -> None:
    """Tell once more of what the owner was told long ago, by whichever incident of the unit."""
    if incident.phase is not Phase.ENGAGED or not incident.told or incident.found:
        return
    if turn.scene.now.steady_us - incident.again_from_us < turn.scene.policy.renotify_us:
        return
    teller = next((i for i in turn.story.incidents if notice_stands(i)), None)
    if teller is not None and teller.id != incident.id:
        if teller.phase is Phase.ENGAGED and teller.idle is Idle.NO:
            return
        # What its notice says is no longer so: one notice a unit, and that about what is red.
        _withdraw(turn, teller)
    tell(turn, _as_it_is(turn, incident, watch), Edition.AGAIN)


def _withdraw(turn: Turn, incident: Incident) -> None:
    turn.put_incident(replace(incident, withdrawn=True), Change.CHANGED)
    turn.effects.append(Withdraw(incident.id))


def closed(turn: Turn, incident: Incident) -> None:
    """*incident* has just closed: remember it, say so, and see to the notices of its unit.

    "Working again" is said once the last engaged incident of the unit is closed; one that is gone
    is withdrawn without a word.
    """
    turn.put_past(incident)
    turn.put_incident(incident, Change.CLOSED)
    if any(is_open(i) and was_engaged(i) and not i.found for i in turn.story.incidents):
        return
    for other in turn.story.incidents:
        if not notice_stands(other):
            continue
        if incident.closing is Closing.GONE:
            _withdraw(turn, other)
        else:
            tell(turn, other, Edition.CLEARED)
    if incident.closing is Closing.SELF_HEALED and turn.scene.policy.self_healed:
        _announce_healed(turn, incident)


def _announce_healed(turn: Turn, incident: Incident) -> None:
    if not incident.found and not incident.tellings:
        tell(turn, incident, Edition.CLEARED)


def delivered(turn: Turn, event: Delivered) -> None:
    """A channel delivered: from now on the owner knows."""
    if not event.incident:
        found.delivered(turn, event.channel)
        return
    for incident in turn.story.incidents:
        mine = incident.id == event.incident and incident.tellings != ()
        follows = is_open(incident) and was_engaged(incident) and not incident.tellings
        if mine:
            tellings = tuple(
                replace(t, channel=event.channel)
                if t.edition is event.edition and not t.channel
                else t
                for t in incident.tellings
            )
            turn.put_incident(replace(incident, tellings=tellings, told=True), Change.CHANGED)
        elif follows and not incident.found:
            turn.put_incident(replace(incident, told=True), Change.CHANGED)


def _told_sibling(turn: Turn, incident: Incident) -> Incident | None:
    """Another incident of this unit whose notice stands; a closed one tells of those still open."""
    others = (i for i in turn.story.incidents if i.id != incident.id)
    return next((i for i in others if notice_stands(i)), None)
