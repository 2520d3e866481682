"""Turn an incident's evidence into sections that a person reads from the top, and into JSON. Pure.

What it holds was written by anybody: a program, a package, a server. Nothing of it is trusted to be
short, printable, or of the type that it should be.
"""

from __future__ import annotations

from typing import Any

from healthd.ctl import times
from healthd.ctl.layout import Cell, Column, Field, Screen, fields, table
from healthd.ctl.text import clean, cut, wrap

#: The name of a fact, in cells.
LABEL_MOST_CELLS = 24

#: The sections in their order: what holds it, what stands above it.
SECTIONS = {
    "facts": "How it was:",
    "changes": "What changed in the 30 min before:",
    "files": "Its files:",
    "providers": "What it needs:",
    "look": "What the check said:",
    "log": "Its last log lines:",
}
#: The members of the structs that are lists on the bus, for JSON.
MEMBERS = {
    "changes": ("at", "what"),
    "files": ("at", "what"),
    "providers": ("unit", "state", "reason", "summary"),
}


def named(evidence: dict[str, Any] | None) -> dict[str, Any] | None:
    """*evidence* with its structs as objects."""
    if evidence is None:
        return None
    return {
        name: [dict(zip(MEMBERS[name], row, strict=False)) for row in value]
        if name in MEMBERS
        else value
        for name, value in evidence.items()
    }


def evidence_fields(evidence: dict[str, Any] | None, refused: str) -> list[Field]:
    """Whether there is evidence: one line, which says why it is not shown."""
    if not evidence:
        return [("Evidence", [Cell(clean(refused or "none was kept"))])]
    taken = evidence.get("taken")
    words = f"taken {times.exact(taken)}" if isinstance(taken, int) else "taken"
    return [("Evidence", [Cell(words)])]


def evidence_sections(evidence: dict[str, Any], screen: Screen) -> list[list[str]]:
    """What was seen, a block a section; what this healthctl does not know comes last."""
    others = [name for name in evidence if name not in SECTIONS and name != "taken"]
    blocks = []
    for name in (*SECTIONS, *others):
        if lines := _section(name, evidence.get(name), screen):
            head = SECTIONS.get(name) or f"{_label(name)}:"
            blocks.append([screen.paint(head, "bold"), *lines])
    return blocks


def _section(name: str, value: object, screen: Screen) -> list[str]:
    if isinstance(value, dict):
        pairs = [(_label(fact), [Cell(clean(str(word)))]) for fact, word in value.items() if word]
        return fields(pairs, screen)
    if name in ("changes", "files") and isinstance(value, list):
        return _dated(value, screen)
    if name == "providers" and isinstance(value, list):
        return _providers(value, screen)
    said = value if isinstance(value, list) else str(value or "").splitlines()
    return [line for words in said for line in _wrapped(clean(str(words)), screen)]


def _wrapped(words: str, screen: Screen) -> list[str]:
    """One line of somebody's; what does not fit goes below, further in."""
    room = None if screen.width is None else max(20, screen.width - 4)
    first, *rest = wrap(words, room)
    return [f"  {first}", *(f"    {line}" for line in rest)]


def _dated(rows: list[Any], screen: Screen) -> list[str]:
    """Instants under each other, and what came about at each."""
    columns = [Column("AT"), Column("WHAT")]
    body = [
        [Cell(f"  {times.clock(row[0])}"), Cell(clean(str(row[1])))] for row in rows if len(row) > 1
    ]
    return table(columns, body, screen._replace(legend=False, width=None))


def _providers(rows: list[Any], screen: Screen) -> list[str]:
    columns = [Column("UNIT"), Column("STATE"), Column("SUMMARY")]
    body = []
    for row in rows:
        unit, state, reason, summary = (clean(str(word)) for word in (*row, "", "", "", "")[:4])
        words = state if reason == "ok" else f"{state} ({reason})"
        body.append([Cell(f"  {unit}"), Cell(words, state), Cell(summary)])
    return table(columns, body, screen._replace(legend=False, width=None))


def _label(name: object) -> str:
    words = cut(clean(str(name)).replace("_", " "), LABEL_MOST_CELLS)
    return words[:1].upper() + words[1:]
