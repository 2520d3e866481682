"""Turn rows into lists that a person reads. Pure: the screen says width, colours and the time."""

from __future__ import annotations

from healthd.ctl import times
from healthd.ctl.layout import Cell, Column, Screen, spans, table
from healthd.ctl.rows import Check, Gap, Incident
from healthd.ctl.text import clean, cut

#: The order in which states matter to a reader.
STATES = ("red", "yellow", "green", "grey")
#: Why a gap was, in cells.
_WHY_MOST_CELLS = 60


def page(*blocks: list[str]) -> str:
    """Blocks of lines, an empty line between them; empty blocks are left out."""
    return "\n".join("".join(f"{line}\n" for line in block) for block in blocks if block)


def checks_page(checks: list[Check], screen: Screen) -> str:
    """All checks, one a line."""
    columns = [
        *(Column(""), Column("CHECK", 26, middle=True), Column("STATE")),
        *(Column("SINCE" if screen.wide else "FOR"), Column("SUMMARY", 24)),
    ]
    body = [
        [
            Cell(screen.glyph(row["state"]), row["state"]),
            Cell(clean(row["key"])),
            Cell(state_words(row) if screen.wide else _reason(row), row["state"]),
            Cell(_age(row["since"], screen)),
            Cell(clean(row["summary"])),
        ]
        for row in checks
    ]
    counts: dict[str, int] = {}
    for row in checks:
        counts[row["state"]] = counts.get(row["state"], 0) + 1
    total = f"{count_of(len(checks), 'check')}: {counted(counts, screen)}."
    return page(table(columns, body, screen), [total] if screen.legend else [])


def incidents_page(incidents: list[Incident], screen: Screen) -> str:
    """Incidents, one a line."""
    total = f"{count_of(len(incidents), 'incident')}."
    missed = {gap["started"]: gap_words(gap) for row in incidents for gap in row["gaps"]}
    lines = [missed[started] for started in sorted(missed, reverse=True)]
    told = [screen.paint("Not watched in them:", "bold"), *(f"  {line}" for line in lines)]
    return page(
        incident_lines(incidents, screen),
        told if missed else [],
        [total] if screen.legend else [],
    )


def incident_lines(
    incidents: list[Incident], screen: Screen, *, with_check: bool = True
) -> list[str]:
    """A table of incidents; without the column of checks where all are of one."""
    check = [Column("CHECK", 24, middle=True)] if with_check else []
    told = [Column("TRIED", right=True), Column("TOLD", right=True)] if screen.wide else []
    columns = [
        *(Column("ID", right=True), *check, Column("STANDS")),
        *(Column("OPENED" if screen.wide else "AGE"), *told, Column("SUMMARY", 20)),
    ]
    body = [
        [
            Cell(str(row["id"])),
            *([Cell(clean(row["key"]))] if with_check else []),
            Cell(stands(row, short=not screen.wide), incident_style(row)),
            Cell(_age(row["opened"], screen)),
            *([Cell(str(row["attempts"])), Cell(str(row["notices"]))] if screen.wide else []),
            Cell(clean(row["summary"])),
        ]
        for row in incidents
    ]
    return table(columns, body, screen)


def by_weight(checks: list[Check]) -> list[Check]:
    """The worst first, then by key."""
    rank = {state: index for index, state in enumerate(STATES)}
    return sorted(checks, key=lambda row: (rank.get(row["state"], len(STATES)), row["key"]))


def counted(counts: dict[str, int], screen: Screen) -> str:
    """ "1 red, 2 yellow, 40 green", painted; "none" when there is nothing."""
    order = [*STATES, *(name for name in counts if name not in STATES)]
    parts = [Cell(f"{counts[name]} {clean(name)}", name) for name in order if counts.get(name)]
    return spans(parts, screen) or "none"


def state_words(row: Check) -> str:
    """ "red failed", "green": the reason is left out where it says no more than the state."""
    state, reason = clean(row["state"]), clean(row["reason"])
    return state if reason in ("", "ok") else f"{state} {reason}"


def _reason(row: Check) -> str:
    """The reason alone: no two states share one, and the mark beside it tells the state."""
    return clean(row["state"] if row["reason"] in ("", "ok") else row["reason"])


def stands(row: Incident, *, short: bool = False) -> str:
    """An incident's phase and why it rests (*short*: only that), or how it ended."""
    if row["phase"] == "closed":
        return clean(row["ending"] or "closed")
    if not row["idle"]:
        return clean(row["phase"])
    return clean(row["idle"] if short else f"{row['phase']}, {row['idle']}")


def incident_style(row: Incident) -> str:
    """An open incident is red, one that rests or settles yellow, a closed one has no colour."""
    if row["phase"] == "closed":
        return ""
    return "yellow" if row["idle"] or row["phase"] == "settling" else "red"


def gap_words(gap: Gap) -> str:
    """ "2026-11-30 02:00:00 to 07:12:00 (5 h 12 min): healthd was stopped"."""
    started, ended = times.clock(gap["started"]), times.clock(gap["ended"])
    day, _, instant = ended.partition(" ")
    until = instant if started.startswith(day) and instant else ended
    took = times.span(gap["ended"] - gap["started"])
    return f"{started} to {until} ({took}): {cut(clean(gap['why']), _WHY_MOST_CELLS)}"


def title(name: str, stand: str, style: str, screen: Screen) -> str:
    """The first line of a block: a mark, a name, and where it stands, in the style of a state."""
    glyph = screen.paint(screen.glyph(style), style)
    return f"{glyph} {screen.paint(clean(name), 'bold')} - {screen.paint(stand, style)}"


def waiters(key: str, checks: list[Check]) -> list[str]:
    """The checks that wait on *key*."""
    return sorted(row["key"] for row in checks if row["waiting_on"] == key)


def count_of(count: int, word: str) -> str:
    """ "1 look", "2 looks"."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _age(at: int | None, screen: Screen) -> str:
    """Since when, exactly and how long ago; where it is narrow only how long."""
    if at is None:
        return "-"
    if screen.wide:
        return f"{times.clock(at)} ({times.relative(at, screen.now)})"
    return times.coarse(screen.now - at)
