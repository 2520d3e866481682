"""The rows of org.healthd1 in the names that `--json` prints; one shape for all commands. Pure.

The shape of a row was checked at the door; what its `a{sv}` holds is checked here. What does not
apply is None, times are µs since the epoch, and members that this healthctl does not know are kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypedDict, cast

#: One check, one incident and one hold on the bus.
CHECK_SIGNATURE = "(ssssstusa{sv})"
INCIDENT_SIGNATURE = "(tsssttsuua{sv})"
GAP_SIGNATURE = "(ttsa{sv})"
HOLD_SIGNATURE = "(tassuta{sv})"

#: The check by which the daemon says how it is set up.
SETTINGS_KEY = "host:healthd/settings"

CheckRow = tuple[str, str, str, str, str, int, int, str, dict[str, Any]]
GapRow = tuple[int, int, str, dict[str, Any]]
IncidentRow = tuple[int, str, str, str, int, int, str, int, int, dict[str, Any]]
HoldRow = tuple[int, list[str], str, int, int, dict[str, Any]]

Check = TypedDict(
    "Check",
    {
        "key": str,
        "aspect": str,
        "kind": str | None,
        "unit": str | None,
        "state": str,
        "reason": str,
        "class": str | None,
        "summary": str,
        "since": int | None,
        "streak": int,
        "restarts": int | None,
        "waiting_on": str | None,
        "incident": int | None,
        "remedy": str | None,
        "takes_along": list[str] | None,
        "next_look": int | None,
    },
)


class Tried(TypedDict):
    """One attempt."""

    at: int
    repairer: str
    by: str
    result: str | None
    detail: str | None
    along: list[str] | None


class Told(TypedDict):
    """One edition of the notice; *channel* is None until one has delivered it."""

    at: int
    edition: str
    channel: str | None


class Gap(TypedDict):
    """Time in which healthd did not watch, and why it did not."""

    started: int
    ended: int
    why: str


class Incident(TypedDict):
    """One incident; *attempts* and *notices* count what *tried* and *told* list."""

    id: int
    key: str
    unit: str | None
    phase: str
    idle: str | None
    reason: str | None
    summary: str
    opened: int | None
    closed: int | None
    ending: str | None
    attempts: int
    notices: int
    tried: list[Tried]
    told: list[Told]
    recent: int | None
    reopened: int | None
    found: bool | None
    held_under: int | None
    remedy: str | None
    gaps: list[Gap]


class Hold(TypedDict):
    """One hold that is in force, until *until* at the latest; *why* is the holder's own word."""

    id: int
    units: list[str]
    why: str | None
    pid: int
    uid: int | None
    since: int | None
    until: int


class Looks(TypedDict):
    """Looks one after the other that came to the same."""

    first: int
    last: int
    times: int
    outcome: str
    found: str
    state: str
    reason: str
    summary: str
    rule: str


class Why(TypedDict):
    """Why a check stands as it does, oldest look first."""

    key: str
    unit: str | None
    state: str | None
    reason: str | None
    summary: str | None
    since: int | None
    judged: str | None
    rule: str | None
    waiting_on: str | None
    incident: int | None
    tried: str | None
    notice: str | None
    told: int | None
    again: int | None
    looked: int | None
    next_look: int | None
    looks: list[Looks]


class Setup(TypedDict):
    """How the daemon says it is set up: names of units and channels; None where it does not say.

    *ignored*: the owner's patterns, *ignored_units*: what they and the shipped list ignore now.
    """

    may_restart: list[str] | None
    channels: list[str] | None
    ignored: list[str] | None
    ignored_units: list[str] | None
    faults: list[str] | None


class Manager(NamedTuple):
    """The manager's properties, read in one call, so that they belong together."""

    version: str
    state: str
    counts: dict[str, int]
    checks: list[Check]
    incidents: list[Incident]
    watching: bool
    watching_reason: str
    sequence: int
    holds: list[Hold]
    gaps: list[Gap]


def check(row: CheckRow) -> Check:
    """One Snapshot row."""
    key, unit, state, reason, summary, since, streak, waiting_on, more = row
    known: Check = {
        "key": key,
        "aspect": _text(more, "aspect") or key.partition(":")[0],
        "kind": _text(more, "kind"),
        "unit": unit or None,
        "state": state,
        "reason": reason,
        "class": _text(more, "class"),
        "summary": summary,
        "since": since or None,
        "streak": streak,
        "restarts": _number(more, "restarts", none=-1),
        "waiting_on": waiting_on or None,
        "incident": _number(more, "incident"),
        "remedy": _text(more, "remedy"),
        "takes_along": _names(more, "takes_along"),
        "next_look": _number(more, "next_look"),
    }
    return cast(Check, {**known, **_unknown(more, known)})


def incident(row: IncidentRow) -> Incident:
    """One Incidents row."""
    number, key, phase, summary, opened, closed, ending, attempts, notices, more = row
    known: Incident = {
        "id": number,
        "key": key,
        "unit": _text(more, "unit"),
        "phase": phase,
        "idle": _text(more, "idle"),
        "reason": _text(more, "reason"),
        "summary": summary,
        "opened": opened or None,
        "closed": closed or None,
        "ending": ending or None,
        "attempts": attempts,
        "notices": notices,
        "tried": [_tried(*entry) for entry in _entries(more, "tried", (int, str, str, str, dict))],
        "told": [_told(*entry) for entry in _entries(more, "told", (int, str, str, dict))],
        "recent": _number(more, "recent", none=-1),
        "reopened": _number(more, "reopened", none=-1),
        "found": more["found"] if isinstance(more.get("found"), bool) else None,
        "held_under": _number(more, "held_under"),
        "remedy": _text(more, "remedy"),
        "gaps": [gap(entry) for entry in _entries(more, "gaps", (int, int, str, dict))],
    }
    return cast(Incident, {**known, **_unknown(more, known)})


def hold(row: HoldRow) -> Hold:
    """One Holds row."""
    number, units, why, pid, until, more = row
    known: Hold = {
        "id": number,
        "units": list(units),
        "why": why or None,
        "pid": pid,
        "uid": _number(more, "uid", none=-1),
        "since": _number(more, "since"),
        "until": until,
    }
    return cast(Hold, {**known, **_unknown(more, known)})


def gap(row: GapRow) -> Gap:
    """One Gaps row."""
    started, ended, why, _ = row
    return {"started": started, "ended": ended, "why": why}


def why(key: str, more: dict[str, Any]) -> Why:
    """The answer of Why about *key*."""
    types = (*(int,) * 3, *(str,) * 6)
    looks = _entries(more, "looks", types)
    names = tuple(Looks.__annotations__)
    known: Why = {
        "key": key,
        "unit": _text(more, "unit"),
        "state": _text(more, "state"),
        "reason": _text(more, "reason"),
        "summary": _text(more, "summary"),
        "since": _number(more, "since"),
        "judged": _text(more, "judged"),
        "rule": _text(more, "rule"),
        "waiting_on": _text(more, "waiting_on"),
        "incident": _number(more, "incident"),
        "tried": _text(more, "tried"),
        "notice": _text(more, "notice"),
        "told": _number(more, "told"),
        "again": _number(more, "again"),
        "looked": _number(more, "looked"),
        "next_look": _number(more, "next_look"),
        "looks": [cast(Looks, dict(zip(names, look, strict=True))) for look in looks],
    }
    return cast(Why, {**known, **_unknown(more, known)})


def setup(checks: list[Check]) -> Setup:
    """What the settings check among *checks* says; all None when it is not there."""
    more: dict[str, Any] = {}
    for row in checks:
        if row["key"] == SETTINGS_KEY:
            more = cast(dict[str, Any], row)
    return {
        "may_restart": _names(more, "may_restart"),
        "channels": _names(more, "channels"),
        "ignored": _names(more, "ignored"),
        "ignored_units": _names(more, "ignored_units"),
        "faults": _names(more, "faults"),
    }


def _tried(at: int, repairer: str, by: str, result: str, more: dict[str, Any]) -> Tried:
    return {
        "at": at,
        "repairer": repairer,
        "by": by,
        "result": result or None,
        "detail": _text(more, "detail"),
        "along": _names(more, "along"),
    }


def _told(at: int, edition: str, channel: str, _more: dict[str, Any]) -> Told:
    return {"at": at, "edition": edition, "channel": channel or None}


def _text(more: dict[str, Any], name: str) -> str | None:
    value = more.get(name)
    return value if isinstance(value, str) and value else None


def _number(more: dict[str, Any], name: str, *, none: int = 0) -> int | None:
    """A number; *none* is the one that means that it does not apply."""
    value = more.get(name)
    right = isinstance(value, int) and not isinstance(value, bool) and value != none
    return value if right else None


def _names(more: dict[str, Any], name: str) -> list[str] | None:
    value = more.get(name)
    if not isinstance(value, list):
        return None
    return [item for item in value if isinstance(item, str)]


def _entries(more: dict[str, Any], name: str, types: tuple[type, ...]) -> list[Any]:
    """The structs of a list whose members have *types*; others are left out."""
    value = more.get(name)
    if not isinstance(value, list):
        return []
    return [
        entry
        for entry in value
        if isinstance(entry, tuple)
        and len(entry) == len(types)
        and all(isinstance(member, kind) for member, kind in zip(entry, types, strict=True))
    ]


def _unknown(more: dict[str, Any], known: Check | Incident | Hold | Why) -> dict[str, Any]:
    return {name: value for name, value in more.items() if name not in known}
