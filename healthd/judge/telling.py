"""When the owner hears of a story: engaged, again, cleared, or nothing. Pure.

One unit, one story: incidents of one unit that are engaged together are told in one notice.
"""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge import wording
from healthd.judge.incident import is_open, last_edition, was_engaged
from healthd.judge.turn import Turn
from healthd.model import (
    Change,
    Closing,
    Delivered,
    Edition,
    Incident,
    Notice,
    Phase,
    Tell,
    Telling,
    Urgency,
    Withdraw,
)

_STANDING = (Edition.ENGAGED, Edition.AGAIN)


def engage(turn: Turn, incident: Incident, why: str) -> None:
    """The owner's turn. Told at once, unless the owner knows already."""
    engaged = replace(incident, phase=Phase.ENGAGED, why_engaged=why)
    sibling = _told_sibling(turn, incident)
    if sibling is not None:
        turn.put_incident(replace(engaged, told=sibling.told), Change.CHANGED)
        return
    match last_edition(incident):
        case None:
            tell(turn, engaged, Edition.ENGAGED)
        case Edition.CLEARED:
            # It was told to be well and is not: once, and never again as something new.
            tell(turn, engaged, Edition.AGAIN)
        case _:
            turn.put_incident(engaged, Change.CHANGED)


def tell(turn: Turn, incident: Incident, edition: Edition) -> None:
    """Write one edition into the incident and ask for its delivery."""
    now = turn.scene.now
    telling = Telling(now.wall_at, now.steady_us, edition)
    told = replace(incident, tellings=(*incident.tellings, telling))
    turn.put_incident(told, Change.CHANGED)
    title, body = wording.notice(told, edition, now, past=turn.story.closed)
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


def again_if_due(turn: Turn, incident: Incident) -> None:
    """Tell once more of what the owner was told long ago, by whichever incident of the unit."""
    if incident.phase is not Phase.ENGAGED or not incident.told:
        return
    told_us = [t.at_us for i in turn.story.incidents for t in i.tellings]
    if told_us and turn.scene.now.steady_us - max(told_us) >= turn.scene.policy.renotify_us:
        tell(turn, incident, Edition.AGAIN)


def after_close(turn: Turn, closing: Closing) -> None:
    """Say "working again" once the last engaged incident of the story is closed; one that is gone
    is withdrawn without a word.
    """
    if any(is_open(i) and was_engaged(i) for i in turn.story.incidents):
        return
    for incident in turn.story.incidents:
        if last_edition(incident) not in _STANDING:
            continue
        if closing is Closing.GONE:
            turn.effects.append(Withdraw(incident.id))
        else:
            tell(turn, incident, Edition.CLEARED)


def delivered(turn: Turn, event: Delivered) -> None:
    """A channel delivered: from now on the owner knows."""
    for incident in turn.story.incidents:
        mine = incident.id == event.incident
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
    """Another engaged incident of this unit whose notice stands."""
    return next(
        (
            i
            for i in turn.story.incidents
            if i.id != incident.id and is_open(i) and last_edition(i) in _STANDING
        ),
        None,
    )
