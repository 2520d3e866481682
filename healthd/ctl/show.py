"""`healthctl show`: all that is known of checks, of units' checks, and of incidents by number."""

from __future__ import annotations

from typing import Any, NamedTuple

from healthd.ctl import client
from healthd.ctl.arguments import Arguments
from healthd.ctl.detail import check_block, incident_block
from healthd.ctl.evidence import evidence_fields, evidence_sections, named
from healthd.ctl.names import all_named, healthy
from healthd.ctl.output import Output
from healthd.ctl.render import incident_lines, page, waiters
from healthd.ctl.rows import Check, Incident
from healthd.errors import HealthdError

#: How many incidents of a check are shown with it.
LATEST = 10


class Told(NamedTuple):
    """An incident with its evidence, or the reason why there is none."""

    incident: Incident
    evidence: dict[str, Any] | None
    refused: str = ""


def run(arguments: Arguments, output: Output) -> bool:
    """Print it; whether none of the checks shown is red."""
    daemon = client.connect()
    every = daemon.checks()
    numbers = [int(name) for name in arguments.names if _is_number(name)]
    names = tuple(name for name in arguments.names if not _is_number(name))
    checks = all_named(names, every)
    incidents = [_told(daemon, number) for number in numbers]
    history = {row["key"]: daemon.incidents(key=row["key"], limit=LATEST) for row in checks}
    about = {told.incident["key"] for told in incidents} | {row["key"] for row in checks}
    shown = [row for row in every if row["key"] in about]
    if output.json:
        output.value(_json(shown, incidents, history))
    else:
        output.text(_page(checks, incidents, history, every, output))
    return healthy(shown)


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit()


def _told(daemon: client.Client, number: int) -> Told:
    incident = daemon.incident(number)
    try:
        return Told(incident, daemon.evidence(number))
    except HealthdError as err:
        if err.code in ("refused", "needs-password"):
            hint = f"members of adm or systemd-journal may, or: sudo healthctl show {number}"
            return Told(incident, None, f"not permitted; {hint}")
        if err.code == "missing":
            return Told(incident, None)
        raise


def _json(
    checks: list[Check], incidents: list[Told], history: dict[str, list[Incident]]
) -> dict[str, object]:
    """Only an incident that was asked for by its number comes with evidence."""
    told = [Told(row, None) for found in history.values() for row in found]
    by_number = {
        row.incident["id"]: {
            **row.incident,
            "evidence": named(row.evidence),
            "evidence_refused": row.refused or None,
        }
        for row in [*told, *incidents]
    }
    return {"checks": checks, "incidents": list(by_number.values())}


def _page(
    checks: list[Check],
    incidents: list[Told],
    history: dict[str, list[Incident]],
    every: list[Check],
    output: Output,
) -> str:
    screen = output.screen
    blocks = []
    for row in checks:
        blocks.append(check_block(row, screen, waiters(row["key"], every)))
        if lines := incident_lines(history[row["key"]], screen, with_check=False):
            blocks.append([screen.paint("Its last incidents:", "bold"), *lines])
    for told in incidents:
        seen = evidence_fields(told.evidence, told.refused)
        incident = told.incident
        waiting = waiters(incident["key"], every) if incident["phase"] != "closed" else []
        blocks.append(incident_block(incident, seen, screen, waiting))
        blocks += evidence_sections(told.evidence or {}, screen)
    return page(*blocks)
