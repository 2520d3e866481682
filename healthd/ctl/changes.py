"""What `healthctl monitor` prints of one change, as a line and as a record. Pure."""

from __future__ import annotations

from typing import Any

from healthd.ctl import rows, times
from healthd.ctl.layout import Screen
from healthd.ctl.render import incident_style, stands, state_words
from healthd.ctl.text import clean

#: Members of a record that say how a check or an incident is; a line is made of them.
Record = dict[str, Any]

_INCIDENT_EVENTS = {
    "IncidentOpened": "incident_opened",
    "IncidentChanged": "incident_changed",
    "IncidentClosed": "incident_closed",
}


def record(member: str, arguments: tuple[Any, ...]) -> Record:
    """The record of one signal; *arguments* have the shape that dbus-api gives to *member*."""
    match member, arguments:
        case "CheckChanged", (key, old_state, _, sequence, row):
            return changed(key, old_state or None, rows.check(row), sequence)
        case "CheckRemoved", (key, sequence):
            return removed(key, sequence)
        case "Notice", (key, incident, sequence, edition, urgency, title, body, unit, _):
            return {
                "event": "notice",
                "sequence": sequence,
                "key": key,
                "incident": incident,
                "edition": edition,
                "urgency": urgency,
                "title": title,
                "body": body,
                "unit": unit or None,
            }
        case _, (key, _, sequence, row):
            event = _INCIDENT_EVENTS[member]
            incident = rows.incident(row)
            return {"event": event, "sequence": sequence, "key": key, "incident": incident}
    raise AssertionError(member)


def changed(key: str, old_state: str | None, check: rows.Check, sequence: int) -> Record:
    """A check that has another state or reason, or is new (*old_state* None)."""
    event = "check_changed"
    return {
        "event": event,
        "sequence": sequence,
        "key": key,
        "old_state": old_state,
        "new_state": check["state"],
        "check": check,
    }


def removed(key: str, sequence: int) -> Record:
    """A check that is gone."""
    return {"event": "check_removed", "sequence": sequence, "key": key}


def differences(
    before: dict[str, rows.Check], after: dict[str, rows.Check], sequence: int
) -> list[Record]:
    """What changed between two snapshots, as the signals would have said it."""
    records = [removed(key, sequence) for key in before if key not in after]
    for key, check in after.items():
        old = before.get(key)
        if old is None or (old["state"], old["reason"]) != (check["state"], check["reason"]):
            records.append(changed(key, old["state"] if old else None, check, sequence))
    return records


def line(change: Record, at: int, screen: Screen) -> str:
    """One line for *change*, which came at *at*."""
    return f"{times.clock(at)}  {_words(change, screen)}"


def _words(change: Record, screen: Screen) -> str:
    match change["event"]:
        case "check_changed":
            return _check_words(change, screen)
        case "check_removed":
            return f"{clean(change['key'])}  {screen.paint('no longer watched', 'grey')}"
        case "notice":
            what = f"notice ({clean(change['edition'])})"
            return f"{screen.paint(what, 'bold')}  {clean(change['title'])}"
        case "healthd_gone":
            return screen.paint("healthd went away", "yellow")
        case "healthd_here":
            counts = ", ".join(f"{n} {clean(state)}" for state, n in change["counts"].items() if n)
            return f"healthd is here: {counts or 'nothing is watched'}"
        case _:
            return _incident_words(change, screen)


def _check_words(change: Record, screen: Screen) -> str:
    check: rows.Check = change["check"]
    arrow = "→" if screen.unicode else "->"
    old = f"{clean(change['old_state'])} {arrow} " if change["old_state"] else ""
    state = screen.paint(state_words(check), check["state"])
    return f"{clean(check['key'])}  {old}{state}: {clean(check['summary'])}"


def _incident_words(change: Record, screen: Screen) -> str:
    incident: rows.Incident = change["incident"]
    verb = change["event"].removeprefix("incident_")
    name = screen.paint(f"incident {incident['id']} {verb}", "bold")
    where = screen.paint(stands(incident), incident_style(incident))
    return f"{name}  {clean(incident['key'])}  {where}{_last_try(incident)}"


def _last_try(incident: rows.Incident) -> str:
    if not incident["tried"]:
        return ""
    last = incident["tried"][-1]
    return clean(f"; {last['repairer']} by {last['by']}: {last['result'] or 'under way'}")
