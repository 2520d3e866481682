"""What the journal says of each transition. Pure: model values in, fields of an entry out.

Only public words go in: no log line, no subject, nothing that a check itself said.
units/healthd.catalog explains every MESSAGE_ID.
"""

from __future__ import annotations

from enum import StrEnum

from healthd.channels.base import Entry
from healthd.model import (
    Attempt,
    AttemptResult,
    Change,
    CheckKey,
    Closing,
    Edition,
    Effect,
    Idle,
    Incident,
    IncidentId,
    IncidentStep,
    Notice,
    Phase,
    Publish,
    Reason,
    Removed,
    Repair,
    State,
    Story,
)


class Kind(StrEnum):
    """MESSAGE_ID of each kind of entry; never changed, never used for anything else."""

    CHECK_CHANGED = "6ef862e904764bbcb212df1479ad3af7"
    CHECK_REMOVED = "09c0875da8854b06abe7d36170641ece"
    INCIDENT_OPENED = "78fa8d4bd60d49d9871e2c85a101e185"
    INCIDENT_FOUND = "ebd5f343daae4506b6a6fbbc0d9994ad"
    INCIDENT_REOPENED = "c1594827ffa54643a521fbf8d70d0096"
    INCIDENT_CHANGED = "b642b7cb8dfa46e9b2a147b6f5396092"
    INCIDENT_CLOSED = "110e449ab82340c6b257ea62fdd874f4"
    ATTEMPT_MADE = "e8cb4d426a82456284c5ea12a51154f5"
    ATTEMPT_ENDED = "209d6c925ced407986b1fabbc8bd2a7f"
    NOTICE_ENGAGED = "679985e522d24affbb6088ee5728209b"
    NOTICE_AGAIN = "aa876daa6ac64764b6d04f49a3239e00"
    NOTICE_CLEARED = "38a339bda6654db3994270053b89169d"
    NOTICE_FOUND = "9d4815526bea449c808c4a6cee8f9c77"
    NOTICE_DIGEST = "a26e4050c9f34dd8a7edb5f4027bc242"
    DAEMON_STARTED = "a4fe6779e46d465ba82e53ba96c1ee8f"
    DAEMON_STOPPED = "b9276fdb46f64aa195a4e8ff1343b1a0"
    SETTINGS_READ = "5ab575e79a574ccc82efc0a9f1193bfb"
    SETTINGS_REFUSED = "6452c8affe2f4b7581d058d4373532a3"
    NOT_WATCHED = "4e8d1d7538de42e89bdaf9857a7dda33"
    STORE_SET_ASIDE = "750b5c7d397047a887adc5dc7472035a"
    HOLD_BEGAN = "ecd60775585a4050a69ff209776518e5"
    HOLD_ENDED = "db88f583b2c84ac48099966e766ea1ee"


class Priority(StrEnum):
    """syslog(3)'s levels, as the journal writes them."""

    ERROR = "3"
    WARNING = "4"
    NOTICE = "5"
    INFO = "6"


_STATE_PRIORITY = {
    State.RED: Priority.WARNING,
    State.YELLOW: Priority.NOTICE,
    State.GREEN: Priority.INFO,
    State.GREY: Priority.INFO,
}
_EDITIONS = {
    Edition.ENGAGED: (Kind.NOTICE_ENGAGED, Priority.ERROR),
    Edition.AGAIN: (Kind.NOTICE_AGAIN, Priority.ERROR),
    Edition.CLEARED: (Kind.NOTICE_CLEARED, Priority.NOTICE),
    Edition.FOUND: (Kind.NOTICE_FOUND, Priority.WARNING),
    Edition.DIGEST: (Kind.NOTICE_DIGEST, Priority.WARNING),
}
_ENDINGS = {
    Closing.SELF_HEALED: "well again before the owner was told",
    Closing.USER_FIXED: "well again after the owner was told",
    Closing.GONE: "there is nothing left to judge",
}
_RESULTS = {
    AttemptResult.DONE: "the call went through; looks decide whether it helped",
    AttemptResult.FAILED: "the call failed",
    AttemptResult.FINAL: "it failed and no retry can help",
    AttemptResult.OVERTAKEN: "something else came first; not counted",
    AttemptResult.UNKNOWN: "healthd stopped meanwhile, so it may or may not have been made",
}
#: A line names no more of them; the fields name all.
#: What an incident rests for, in words that follow "incident 7 of KEY".
_RESTS = {
    Idle.WAITING: "rests: a provider is to be well first",
    Idle.HELD: "rests: a hold is on the unit",
    Idle.FROZEN: "rests: the machine is stopping or asleep",
    Idle.STOPPED: "rests: the unit was stopped on purpose",
    Idle.DEGRADED: "rests: it works, but not well",
}


def entries(before: Story, after: Story, effects: tuple[Effect, ...]) -> tuple[Entry, ...]:
    """What the journal is told of one judged event, in order.

    *before* and *after* are the story around that event. Notices are not among them: the journal
    is a channel, and its notices come from the outbox so that a crash loses none.
    """
    # One event may move an incident on twice: each step is held against the one before it.
    known = {incident.id: incident for incident in before.incidents}
    said = []
    for effect in effects:
        if isinstance(effect, IncidentStep):
            incident = effect.incident
            said.append(_incident_step(effect.change, incident, known.get(incident.id), after))
            known[incident.id] = incident
        else:
            said.append(_entry(effect, before, after))
    return tuple(entry for entry in said if entry is not None)


def notice_entry(notice: Notice) -> Entry:
    """A notice in full, on one line: what broke, since when, what was tried, the remedy."""
    kind, priority = _EDITIONS[notice.edition]
    lines = notice.body.splitlines()
    # A body begins with the title's own fact in a whole sentence.
    said = " ".join(lines) or notice.title
    return (
        *head(kind, priority, said),
        ("HEALTHD_EDITION", notice.edition),
        ("HEALTHD_TITLE", notice.title),
        ("HEALTHD_REMEDY", notice.remedy or f"healthctl show {notice.incident}"),
        *_about(notice.key, notice.unit, (notice.incident,)),
    )


def _entry(effect: Effect, before: Story, after: Story) -> Entry | None:
    match effect:
        case Publish() if _is_no_news(effect):
            return None
        case Publish():
            return _check_changed(effect)
        case Removed(key=key):
            said = f"{key} is no longer watched"
            watch = next((w for w in before.watches if w.check.key == key), None)
            if watch is not None and watch.verdict.state is State.GREY:
                return None
            unit = watch.check.unit if watch else ""
            return (
                *head(Kind.CHECK_REMOVED, Priority.INFO, said),
                *_about(key, unit, ()),
            )
        case Repair(attempt=attempt, key=key):
            return _attempt_made(attempt, key, after)
        case _:
            return None


def _is_no_news(effect: Publish) -> bool:
    """Whether nobody who reads the journal misses this: a boot, or a first start, is a hundred
    times a check that was not judged and now is well, or is not judged for another reason.
    """
    old, new = effect.old, effect.watch.verdict
    if effect.incident or new.state not in (State.GREEN, State.GREY):
        return False
    if old is None:
        return True
    unjudged = old.state is State.GREY
    return unjudged and (new.state is State.GREY or old.reason is Reason.STARTING)


def _check_changed(effect: Publish) -> Entry:
    watch, old, new = effect.watch, effect.old, effect.watch.verdict
    said = f"{watch.check.key} is {_why(new.state, new.reason, new.summary)}"
    if old is not None:
        said = f"{said}; was {old.state} ({old.reason})"
    return (
        *head(Kind.CHECK_CHANGED, _STATE_PRIORITY[new.state], said),
        ("HEALTHD_STATE", new.state),
        ("HEALTHD_OLD_STATE", old.state if old else ""),
        ("HEALTHD_REASON", new.reason),
        ("HEALTHD_SUMMARY", new.summary),
        *_about(watch.check.key, watch.check.unit, (effect.incident,)),
    )


def _incident_step(
    change: Change, incident: Incident, old: Incident | None, after: Story
) -> Entry | None:
    match change:
        case Change.OPENED if incident.found:
            said = f"incident {incident.id} found at first start: {_broken(incident)}"
            return _of_incident(Kind.INCIDENT_FOUND, Priority.WARNING, said, incident)
        case Change.OPENED:
            said = f"incident {incident.id} opened: {_broken(incident)}"
            return _of_incident(Kind.INCIDENT_OPENED, Priority.WARNING, said, incident)
        case Change.CLOSED:
            why = _ENDINGS.get(incident.closing, incident.closing)
            said = f"incident {incident.id} of {incident.key} closed: {why}"
            return (
                *_of_incident(Kind.INCIDENT_CLOSED, Priority.NOTICE, said, incident),
                ("HEALTHD_ENDING", incident.closing),
            )
        case Change.CHANGED:
            return _incident_changed(old, incident, after) if old else None


def _incident_changed(old: Incident, new: Incident, after: Story) -> Entry | None:
    """What is worth a line of its own; attempts made and notices have theirs."""
    if new.reopened > old.reopened:
        said = f"incident {new.id} reopened: {_broken(new)}"
        return _of_incident(Kind.INCIDENT_REOPENED, Priority.WARNING, said, new)
    for attempt in new.attempts:
        known = next((a for a in old.attempts if a.id == attempt.id), None)
        if known is not None and known.result is not attempt.result:
            return _attempt_ended(attempt, new, after)
    if len(new.tellings) > len(old.tellings):
        return None
    said = _standing(new)
    if said in ("", _standing(old)):
        return None
    return _of_incident(
        Kind.INCIDENT_CHANGED, Priority.INFO, f"incident {new.id} of {new.key} {said}", new
    )


def _standing(incident: Incident) -> str:
    if incident.held_under:
        return f"rests under incident {incident.held_under}"
    if incident.idle is not Idle.NO:
        return _RESTS[incident.idle]
    match incident.phase:
        case Phase.SETTLING:
            return "settles: the last look was well"
        case Phase.ENGAGED:
            return f"is the owner's turn: {incident.why_engaged}"
        case Phase.REPAIRING | Phase.CLOSED:
            return ""


def _attempt_made(attempt: Attempt, key: CheckKey, after: Story) -> Entry:
    what = f"{attempt.repairer} of {attempt.unit} by {attempt.by}"
    if attempt.along:
        what = f"{what}, which takes along {', '.join(attempt.along)}"
    said = f"attempt {_number(attempt, after)} for {key}: {what}"
    return (
        *head(Kind.ATTEMPT_MADE, Priority.NOTICE, said),
        *_of_attempt(attempt),
        *_about(key, attempt.unit, _holding(attempt, after)),
    )


def _attempt_ended(attempt: Attempt, incident: Incident, after: Story) -> Entry | None:
    """One entry for all incidents that hold the attempt: that of the first of them."""
    holding = _holding(attempt, after)
    if holding and incident.id != min(holding):
        return None
    failed = attempt.result not in (AttemptResult.DONE, AttemptResult.OVERTAKEN)
    became = _RESULTS.get(attempt.result, attempt.result)
    said = f"attempt {_number(attempt, after)} of {attempt.unit}: {became}"
    if attempt.detail:
        said = f"{said} ({attempt.detail})"
    return (
        *head(Kind.ATTEMPT_ENDED, Priority.WARNING if failed else Priority.INFO, said),
        ("HEALTHD_RESULT", attempt.result),
        *_of_attempt(attempt),
        *_about(incident.key, attempt.unit, holding),
    )


def _number(attempt: Attempt, story: Story) -> int:
    """Which attempt of the present stretch it is, as people count; HEALTHD_ATTEMPT is its id."""
    return 1 + sum(other.id < attempt.id for other in story.attempts)


def _holding(attempt: Attempt, story: Story) -> tuple[IncidentId, ...]:
    return tuple(
        sorted(i.id for i in story.incidents if any(a.id == attempt.id for a in i.attempts))
    )


def _broken(incident: Incident) -> str:
    return f"{incident.key} is {_why(State.RED, incident.reason, incident.summary)}"


def _why(state: State, reason: Reason, summary: str) -> str:
    """State and summary, and the reason between them unless the summary begins with it."""
    if summary.startswith(reason.replace("-", " ")):
        return f"{state}: {summary}"
    return f"{state} ({reason}): {summary}"


def _of_incident(kind: Kind, priority: Priority, said: str, incident: Incident) -> Entry:
    return (
        *head(kind, priority, said),
        ("HEALTHD_PHASE", incident.phase),
        ("HEALTHD_REASON", incident.reason),
        ("HEALTHD_SUMMARY", incident.summary),
        ("HEALTHD_REMEDY", incident.remedy or f"healthctl show {incident.id}"),
        *_about(incident.key, incident.unit, (incident.id,)),
    )


def _of_attempt(attempt: Attempt) -> Entry:
    return (("HEALTHD_ATTEMPT", str(attempt.id)), ("HEALTHD_REPAIRER", attempt.repairer))


def head(kind: Kind, priority: Priority, said: str) -> Entry:
    """What every entry begins with; *said* as one line."""
    return (("MESSAGE_ID", kind), ("PRIORITY", priority), ("MESSAGE", " ".join(said.split())))


def _about(key: CheckKey, unit: str, incidents: tuple[IncidentId, ...]) -> Entry:
    """Whom it is about. UNIT puts it beside systemd's own lines: `journalctl UNIT=…`."""
    units = (("HEALTHD_UNIT", unit), ("UNIT", unit)) if unit else ()
    numbers = tuple(("HEALTHD_INCIDENT", str(number)) for number in incidents if number)
    return (("HEALTHD_KEY", key), *units, *numbers)
