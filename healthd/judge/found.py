"""What was failing before healthd came: told once, in one digest of the whole machine. Pure.

It spans all stories, so the loop asks here once the first pass over all units is over.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from healthd.judge.incident import is_open
from healthd.judge.turn import Turn
from healthd.judge.wording import phrase, subject
from healthd.model import (
    Change,
    CheckKey,
    Edition,
    Incident,
    IncidentId,
    Notice,
    Now,
    Reason,
    State,
    Story,
    Telling,
    UnitName,
    Urgency,
    Watch,
)

KEY = CheckKey("host:healthd/found")
REMEDY = "healthctl incidents"

_NAMES_MOST = 8
_NAME_CHARS = 80


def unconfirmed(stories: Iterable[Story]) -> bool:
    """Whether looks have yet to confirm that something fails which failed from the first."""
    return any(_unconfirmed(story, watch) for story in stories for watch in story.watches)


def _unconfirmed(story: Story, watch: Watch) -> bool:
    if not watch.found or any(i.key == watch.check.key and is_open(i) for i in story.incidents):
        return False
    return watch.verdict.reason is Reason.SUSPECT or watch.verdict.state is State.RED


def concerned(stories: Iterable[Story]) -> tuple[str, ...]:
    """The stories with something that failed from the first."""
    return tuple(s.name for s in stories if any(w.found for w in s.watches) or _untold(s))


def digest(stories: Iterable[Story], now: Now) -> Notice | None:
    """The one notice of all that was found; None where nothing was."""
    found = sorted((i for s in stories for i in _untold(s)), key=lambda incident: incident.id)
    if not found:
        return None
    by_subject: dict[str, Incident] = {}
    for incident in found:
        by_subject.setdefault(incident.unit or subject(incident.key), incident)
    what = "unit" if all(i.unit for i in found) else "check"
    count = f"{len(by_subject)} {what}{'' if len(by_subject) == 1 else 's'}"
    named = [_in_words(name, i) for name, i in list(by_subject.items())[:_NAMES_MOST]]
    more = len(by_subject) - len(named)
    rest = f" and {more} more" if more else ""
    return Notice(
        id="found",
        incident=IncidentId(0),
        key=KEY,
        unit=UnitName(""),
        edition=Edition.FOUND,
        urgency=Urgency.NORMAL,
        title=f"Found at first start: {count}",
        body=f"Failing already when healthd first looked, and left alone: {count}.\n"
        f"{', '.join(named)}{rest}.\n"
        f"To see them: {REMEDY}",
        remedy=REMEDY,
        at=now.wall_at,
    )


def tell(turn: Turn) -> None:
    """The digest tells of what this story has; what fails from now on is an ordinary incident."""
    now = turn.scene.now
    for watch in turn.story.watches:
        turn.put_watch(replace(watch, found=False))
    for incident in _untold(turn.story):
        tellings = (Telling(now.wall_at, now.steady_us, Edition.FOUND),)
        turn.put_incident(replace(incident, tellings=tellings), Change.CHANGED)


def awaits_delivery(story: Story) -> bool:
    """Whether the digest told of this story, and no channel had delivered it."""
    return any(_undelivered(incident) for incident in story.incidents)


def delivered(turn: Turn, channel: str) -> None:
    """A channel delivered the digest: the owner knows."""
    for incident in turn.story.incidents:
        if _undelivered(incident):
            tellings = tuple(
                replace(t, channel=channel) if t.edition is Edition.FOUND else t
                for t in incident.tellings
            )
            turn.put_incident(replace(incident, tellings=tellings, told=True), Change.CHANGED)


def _untold(story: Story) -> tuple[Incident, ...]:
    return tuple(i for i in story.incidents if is_open(i) and i.found and not i.tellings)


def _undelivered(incident: Incident) -> bool:
    return any(t.edition is Edition.FOUND and not t.channel for t in incident.tellings)


def _in_words(name: str, incident: Incident) -> str:
    words = f"{name} {phrase(incident.key, incident.reason)}"
    return words if len(words) <= _NAME_CHARS else f"{words[: _NAME_CHARS - 1]}…"
