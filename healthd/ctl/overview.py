"""The page of `healthctl status`: how healthd is set up, the counts, what is wrong. Pure."""

from __future__ import annotations

from healthd.ctl import times
from healthd.ctl.layout import PAINTED, Cell, Field, Screen, fields, wrapped
from healthd.ctl.render import (
    by_weight,
    count_of,
    counted,
    gap_words,
    incident_lines,
    page,
    state_words,
    title,
    waiters,
)
from healthd.ctl.rows import SETTINGS_KEY, Check, Gap, Hold, Manager, Setup, setup
from healthd.ctl.text import clean, cut

SETTINGS_FILE = "/etc/healthd/healthd.yaml"
#: Longer lists of names end with "and N more"; `--json` has them all.
NAMES_MOST = 12
NAME_MOST_CELLS = 60
#: So far back, and so many, gaps are shown.
GAPS_FOR_US = 24 * 3600 * times.SECOND_US
GAPS_MOST = 3
#: Checks of healthd itself: watched, but not what a person asks about.
_OWN = "host:healthd/"
#: Grey because nobody could look: never to be taken for health.
_NOT_LOOKED_AT = ("unknown", "stale")


def worrying(checks: list[Check]) -> list[Check]:
    """What a person should see: red, yellow, and what could not be looked at; worst first."""
    return by_weight(
        [row for row in checks if row["state"] in ("red", "yellow") or not_looked_at(row)]
    )


def not_looked_at(row: Check) -> bool:
    """Whether this check is grey because nobody could look."""
    return row["state"] == "grey" and row["reason"] in _NOT_LOOKED_AT


def overview(host: str, manager: Manager, screen: Screen) -> str:
    """The page; *host* is the machine's name."""
    checks = manager.checks
    blind = sum(map(not_looked_at, checks))
    counts = counted(manager.counts, screen) + (f" ({blind} not looked at)" if blind else "")
    head = [
        title(host, clean(manager.state), manager.state, screen),
        *fields(
            [
                ("Watches", _watches(manager)),
                *_setup_fields(setup(checks), checks),
                ("Checks", [Cell(counts, PAINTED)]),
                ("Held", [_held(hold, screen) for hold in manager.holds]),
                ("Not watched", _missed(manager.gaps, screen)),
            ],
            screen,
        ),
    ]
    # What is wrong with the settings stands in the head already.
    shown = [row for row in worrying(checks) if row["key"] != SETTINGS_KEY]
    problems = [_problem(row, checks, screen) for row in shown]
    lines = incident_lines(manager.incidents, screen)
    incidents = [screen.paint("Open incidents:", "bold"), *lines] if lines else []
    return page(head, *problems, incidents)


def _watches(manager: Manager) -> list[Cell]:
    units = 0
    declared: dict[str, int] = {}
    for row in manager.checks:
        if row["aspect"] == "liveness":
            units += 1
        elif not row["key"].startswith(_OWN):
            kind = row["kind"] or row["aspect"]
            declared[kind] = declared.get(kind, 0) + 1
    kinds = ", ".join(f"{count} {clean(kind)}" for kind, count in sorted(declared.items()))
    more = f"; {count_of(sum(declared.values()), 'other check')} ({kinds})" if declared else ""
    cells = [Cell(f"{count_of(units, 'unit')} through systemd{more}")]
    if not manager.watching:
        why = clean(manager.watching_reason) or "switched off"
        words = f"not acting now ({why}): opens no incident, repairs nothing, tells nobody"
        cells.append(Cell(words, "yellow"))
    return cells


def _setup_fields(found: Setup, checks: list[Check]) -> list[Field]:
    """What it may repair, how it tells, what it ignores, and what is wrong with its settings."""
    repairs, channels = found["may_restart"], found["channels"]
    nothing = f"nothing until you list it in {SETTINGS_FILE}"
    unknown = "unknown: healthd does not say"
    may = unknown if repairs is None else _names(repairs) or nothing
    tells = unknown if channels is None else _names(channels) and f"by {_names(channels)}"
    faults = [Cell(clean(fault), "yellow") for fault in found["faults"] or []]
    for row in checks:
        # The summary names the first fault only.
        if not faults and row["key"] == SETTINGS_KEY and row["state"] in ("red", "yellow"):
            faults.append(Cell(clean(row["summary"]), row["state"]))
    return [
        ("May repair", [Cell(may)]),
        (
            "Tells you",
            [Cell(tells or "not at all: no channel is set up", "" if tells else "yellow")],
        ),
        ("Ignores", _ignores(found)),
        ("Settings", faults),
    ]


def _held(hold: Hold, screen: Screen) -> Cell:
    """What is left alone, by whom and for what, and until when at the latest."""
    why = f": {clean(hold['why'])}" if hold["why"] else ""
    until = times.both(hold["until"], screen.now)
    return Cell(f"{_names(hold['units'])} by pid {hold['pid']}{why}; until {until}")


def _missed(gaps: list[Gap], screen: Screen) -> list[Cell]:
    """The gaps of the last day, the newest of them; `--json` has all that are remembered."""
    lately = [gap for gap in gaps if screen.now - gap["ended"] < GAPS_FOR_US]
    older = len(lately) - GAPS_MOST
    cells = [Cell(gap_words(gap)) for gap in reversed(lately[-GAPS_MOST:])]
    return [*cells, Cell(f"and {older} more in the last day")] if older > 0 else cells


def _ignores(found: Setup) -> list[Cell]:
    """What is not judged is shown, not hidden: which units now, and by which entries of whom."""
    units, own = found["ignored_units"], found["ignored"]
    cells = [Cell(f"{count_of(len(units), 'unit')}: {_names(units)}")] if units else []
    return [*cells, Cell(f"by your watch.ignore: {_names(own)}")] if own else cells


def _names(names: list[str]) -> str:
    shown = [cut(clean(name), NAME_MOST_CELLS) for name in sorted(names)[:NAMES_MOST]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _problem(row: Check, checks: list[Check], screen: Screen) -> list[str]:
    """One check with what a person needs to act on it."""
    said = [Cell(clean(row["summary"]))] if row["summary"] else []
    if row["since"] is not None:
        said.append(Cell(f"since {times.both(row['since'], screen.now)}"))
    if waiting := waiters(row["key"], checks):
        wait = f"{count_of(len(waiting), 'check')} {'waits' if len(waiting) == 1 else 'wait'}"
        said.append(Cell(f"{wait} on it: {_names(waiting)}"))
    # The remedy of an incident that rests or settles is not what helps now.
    if row["remedy"] and (row["state"] == "red" or row["incident"] is None):
        said.append(Cell(f"remedy: {clean(row['remedy'])}", "bold"))
    return [
        title(row["key"], state_words(row), row["state"], screen),
        *(line for cell in said for line in wrapped(cell, "    ", screen)),
    ]
