"""`healthctl why`: by which rule and which looks a check stands as it does, and who was told."""

from __future__ import annotations

from typing import Any

from healthd.ctl import client, times
from healthd.ctl.arguments import Arguments
from healthd.ctl.layout import Cell, Column, Field, Screen, fields, table
from healthd.ctl.names import all_named, healthy
from healthd.ctl.output import Output
from healthd.ctl.render import page, state_words, title
from healthd.ctl.rows import Check, Why
from healthd.ctl.text import clean


def run(arguments: Arguments, output: Output) -> bool:
    """Print it for each check that the names mean; whether none of them is red."""
    daemon = client.connect()
    checks = all_named(arguments.names, daemon.checks())
    answers = [(row, daemon.why(row["key"])) for row in checks]
    if output.json:
        output.value([why for _, why in answers])
    else:
        blocks = [block for row, why in answers for block in why_blocks(row, why, output.screen)]
        output.text(page(*blocks))
    return healthy(checks)


def why_blocks(row: Check, why: Why, screen: Screen) -> list[list[str]]:
    """What is said and why, then the looks behind it."""
    said: list[Field] = [
        ("Says", _words(why["summary"])),
        ("Since", _instant(why["since"], screen)),
        ("Because", _words(why["judged"])),
        ("Rule", _words(why["rule"])),
        ("Waits on", _words(why["waiting_on"])),
        ("Incident", _words(why["incident"])),
        ("Next step", _words(why["tried"])),
        ("Owner", _words(why["notice"])),
        ("Told", _instant(why["told"], screen)),
        ("Again", _instant(why["again"], screen)),
        ("Last look", _instant(why["looked"], screen)),
        ("Next look", _instant(why["next_look"], screen) or _words(_without_a_time(row))),
    ]
    blocks = [[title(row["key"], state_words(row), row["state"], screen), *fields(said, screen)]]
    if lines := _looks(why, screen):
        blocks.append([screen.paint("The looks behind it:", "bold"), *lines])
    return blocks


def _without_a_time(row: Check) -> str:
    if row["kind"] in ("unit", "heartbeat"):
        return "when systemd says that something changed, at the latest within 5 min"
    return "when there is news"


def _looks(why: Why, screen: Screen) -> list[str]:
    """The newest last, as in a log."""
    # What was found is what was said of it, but for a suspect and for who waits.
    found = [Column("FOUND")] if screen.wide else []
    columns = [
        *(Column("  FROM"), Column("TO"), Column("LOOKS", right=True)),
        *(*found, Column("SO"), Column("SUMMARY", least=16)),
    ]
    body = [
        [
            Cell(f"  {times.clock(look['first'])}"),
            Cell(times.clock(look["last"]).partition(" ")[2]),
            Cell(str(look["times"])),
            *([Cell(clean(_both(look["outcome"], look["found"])))] if found else []),
            Cell(clean(_both(look["state"], look["reason"])), look["state"]),
            Cell(clean(look["summary"])),
        ]
        for look in why["looks"]
    ]
    return table(columns, body, screen)


def _both(word: str, reason: str) -> str:
    return word if reason in (word, "ok", "") else f"{word} ({reason})"


def _words(value: Any) -> list[Cell]:
    return [] if value is None else [Cell(clean(str(value)))]


def _instant(at: int | None, screen: Screen) -> list[Cell]:
    return [] if at is None else [Cell(times.both(at, screen.now))]
