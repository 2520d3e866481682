"""What a notice says: its title and the sentences below it. Pure; anybody may read all of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import assert_never

from healthd.judge.wording import duration, instant, phrase, subject
from healthd.model import (
    SECOND_US,
    Attempt,
    AttemptResult,
    Closing,
    Edition,
    Incident,
    Now,
    PastIncident,
)

_ENDINGS = {
    Closing.SELF_HEALED: "self-healed",
    Closing.USER_FIXED: "fixed by hand",
    Closing.GONE: "gone",
}

_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_TITLE_CHARS = 60
# Who waits on a provider, by name.
_NAMED = 40


def notice(
    incident: Incident,
    edition: Edition,
    now: Now,
    *,
    past: tuple[PastIncident, ...] = (),
    waiting: tuple[str, ...] = (),
) -> tuple[str, str]:
    """Title (at most 60 characters) and body (a sentence a line) of one edition.

    *past*: closed incidents of the same story, oldest first; *waiting*: subjects of the checks
    that wait on this one. All of it may be read by anybody.
    """
    match edition:
        case Edition.CLEARED:
            return _cleared(incident, now)
        case Edition.ENGAGED | Edition.AGAIN | Edition.FOUND | Edition.DIGEST:
            lines = (
                _broken(incident),
                _tried(incident),
                _recurrence(incident, past),
                _waiting(waiting),
                f"To fix it: {incident.remedy}" if incident.remedy else "",
            )
            return _title(incident, edition), "\n".join(line for line in lines if line)
        case _:
            assert_never(edition)


def _title(incident: Incident, edition: Edition) -> str:
    said = phrase(incident.key, incident.reason)
    before = ""
    if edition is Edition.AGAIN:
        # Once told to be well, a further edition says that it is not over, not that it is new.
        flaps = any(t.edition is Edition.CLEARED for t in incident.tellings)
        said, before = ("fails on and off", "") if flaps else (said, "Still: ")
    name = subject(incident.key)
    longer = f"{before}{name} {said}{_details(incident)}"
    if len(longer) <= _TITLE_CHARS:
        return longer
    return before + _fitted(name, said, _TITLE_CHARS - len(before))


def _fitted(name: str, said: str, chars: int) -> str:
    """Name and phrase in *chars*; a long name keeps its beginning and its end."""
    room = chars - len(said) - 1
    if len(name) > room:
        tail = room // 2
        name = f"{name[: room - tail - 1]}…{name[-tail:]}"
    return f"{name} {said}"


def _broken(incident: Incident) -> str:
    what = f"{subject(incident.key)} {phrase(incident.key, incident.reason)}"
    return f"{what}{_details(incident)}, since {instant(incident.opened_at)}."


def _details(incident: Incident) -> str:
    """The summary, to follow the phrase."""
    return f": {incident.summary}" if incident.summary else ""


def _tried(incident: Incident) -> str:
    made = [_attempt(a, incident) for a in incident.attempts]
    why = incident.why_engaged
    if not made:
        return f"Nothing was tried: {why}." if why else "Nothing was tried."
    tried = f"Tried: {', '.join(made)} UTC."
    return f"{tried} Given up: {why}." if why else tried


def _attempt(attempt: Attempt, incident: Incident) -> str:
    clock = datetime.fromtimestamp(attempt.at / SECOND_US, UTC).strftime("%H:%M")
    what = "restart" if attempt.repairer == "restart-unit" else attempt.repairer
    if attempt.unit not in ("", incident.unit):
        what = f"{what} of {attempt.unit}"
    by = "" if attempt.by == "healthd" else f" by {attempt.by}"
    match attempt.result:
        case AttemptResult.UNKNOWN:
            result = "perhaps a "
        case AttemptResult.OVERTAKEN:
            return f"{what}{by} (overtaken) at {clock}"
        case AttemptResult.FAILED | AttemptResult.FINAL:
            # What the owner does next, not what systemd called it: that is in the journal.
            return f"{what}{by} (failed) at {clock}"
        case AttemptResult.PENDING | AttemptResult.DONE:
            result = ""
        case _:
            assert_never(attempt.result)
    return f"{result}{what}{by} at {clock}"


def _recurrence(incident: Incident, past: tuple[PastIncident, ...]) -> str:
    if not incident.recent:
        return ""
    times = f"{_ordinal(incident.recent + 1)} time in 7 days"
    last = next((p.closing for p in reversed(past) if p.key == incident.key), None)
    if last is None and incident.recent_healed == incident.recent:
        last = Closing.SELF_HEALED
    return f"{times}, last ended {_ENDINGS[last]}." if last in _ENDINGS else f"{times}."


def _waiting(waiting: tuple[str, ...]) -> str:
    if not waiting:
        return ""
    count = f"{len(waiting)} others wait" if len(waiting) > 1 else "1 other waits"
    left = len(waiting) - _NAMED
    more = f" and {left} more" if left > 0 else ""
    return f"{count} on it: {', '.join(waiting[:_NAMED])}{more}."


def _cleared(incident: Incident, now: Now) -> tuple[str, str]:
    name, ended_at = subject(incident.key), incident.closed_at or now.wall_at
    title = _fitted(name, "is working again", _TITLE_CHARS)
    lasted = duration(ended_at - incident.opened_at)
    body = f"{name} is working again since {instant(ended_at)}, after {lasted}."
    if incident.degraded_since_us:
        body = f"{name} works again, though not yet well, after {lasted}."
    said = f"{phrase(incident.key, incident.reason)}{_details(incident)}"
    return title, f"{body}\nBefore: {name} {said}."


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{_ORDINALS.get(number % 10, 'th')}"
