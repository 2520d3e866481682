"""Turn one check or one incident into all that is known of it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from healthd.ctl import times
from healthd.ctl.layout import Cell, Field, Screen, fields
from healthd.ctl.render import count_of, gap_words, incident_style, stands, state_words, title
from healthd.ctl.rows import Check, Incident
from healthd.ctl.text import clean


def check_block(row: Check, screen: Screen, waiting: Sequence[str] = ()) -> list[str]:
    """All of one check; *waiting* are the keys of those that wait on it."""
    kind = f"{row['kind']} ({row['aspect']})" if row["kind"] else row["aspect"]
    restarts = f"{row['restarts']} in the last day, not asked for" if row["restarts"] else None
    streak = f"{count_of(row['streak'], 'look')} in a row" if row["streak"] else None
    return [
        title(row["key"], state_words(row), row["state"], screen),
        *fields(
            [
                ("Summary", _words(clean(row["summary"]) or None)),
                ("Class", _words(row["class"])),
                ("Unit", _words(row["unit"])),
                ("Kind", _words(kind)),
                ("Since", _instant(row["since"], screen)),
                ("Failing", _words(streak)),
                ("Restarts", _words(restarts)),
                ("Waiting on", _words(row["waiting_on"])),
                ("Wait on it", _names(waiting)),
                ("A restart takes", _words(", ".join(row["takes_along"] or ()) or None)),
                ("Next look", _instant(row["next_look"], screen)),
                ("Incident", _words(row["incident"])),
                ("Remedy", _words(row["remedy"], "bold")),
            ],
            screen,
        ),
    ]


def incident_block(
    row: Incident, seen: list[Field], screen: Screen, waiting: Sequence[str] = ()
) -> list[str]:
    """All of one incident; *seen* says whether there is evidence, *waiting* the keys of the checks
    that wait on its own.
    """
    reason = f"{row['reason']}: {clean(row['summary'])}" if row["reason"] else row["summary"]
    under = f"incident {row['held_under']}" if row["held_under"] else None
    return [
        title(
            f"incident {row['id']}: {row['key']}",
            stands(row),
            incident_style(row) or "grey",
            screen,
        ),
        *fields(
            [
                ("Reason", _words(reason)),
                ("Unit", _words(row["unit"])),
                ("Opened", _instant(row["opened"], screen)),
                ("Closed", _instant(row["closed"], screen)),
                ("Lasted", _lasted(row)),
                ("Not watched", [Cell(gap_words(gap)) for gap in row["gaps"]]),
                ("Tried", _tried(row)),
                ("Told", _told(row)),
                ("Recurrence", _words(_recurrence(row))),
                ("Held under", _words(under)),
                ("Wait on it", _names(waiting)),
                ("Remedy", _words(row["remedy"], "bold")),
                *seen,
            ],
            screen,
        ),
    ]


def _words(value: object, style: str = "") -> list[Cell]:
    return [] if value is None else [Cell(clean(str(value)), style)]


def _names(names: Sequence[str]) -> list[Cell]:
    return _words(", ".join(names) or None)


def _instant(at: int | None, screen: Screen) -> list[Cell]:
    return [] if at is None else [Cell(times.both(at, screen.now))]


def _lasted(row: Incident) -> list[Cell]:
    if row["opened"] is None or row["closed"] is None:
        return []
    return [Cell(times.span(row["closed"] - row["opened"]))]


def _tried(row: Incident) -> list[Cell]:
    cells = []
    for attempt in row["tried"]:
        words = f"{times.exact(attempt['at'])}  {attempt['repairer']} by {attempt['by']}: "
        words += attempt["result"] or "under way"
        if attempt["detail"]:
            words += f" ({attempt['detail']})"
        if attempt["along"]:
            words += f", with {', '.join(attempt['along'])}"
        cells.append(Cell(clean(words)))
    return cells or [Cell("nothing")]


def _told(row: Incident) -> list[Cell]:
    cells = []
    for telling in row["told"]:
        by = f"by {telling['channel']}" if telling["channel"] else "not delivered yet"
        cells.append(Cell(clean(f"{times.exact(telling['at'])}  {telling['edition']}, {by}")))
    return cells or [Cell("nobody")]


def _recurrence(row: Incident) -> str | None:
    words = []
    if row["found"]:
        words.append("failing already when healthd first saw this machine")
    if row["recent"]:
        words.append(f"{count_of(row['recent'], 'other incident')} of it in the last 7 days")
    if row["reopened"]:
        words.append(f"opened again {count_of(row['reopened'], 'time')}")
    return ", ".join(words) or None
