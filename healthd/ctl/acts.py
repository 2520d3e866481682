"""`healthctl look` and `healthctl restart`: what healthd is asked to do, with polkit's consent."""

from __future__ import annotations

from healthd.ctl import agent, client
from healthd.ctl.arguments import Arguments
from healthd.ctl.names import all_named, healthy, unit_name
from healthd.ctl.output import Output
from healthd.ctl.render import by_weight, checks_page


def run(arguments: Arguments, output: Output) -> bool:
    """Have it done and print what came of it; whether nothing that was looked at is red."""
    asking = agent.asking(arguments.flags)
    if arguments.verb == "look":
        return _look(arguments.names, output, asking)
    return _restart(arguments.names[0], output, asking)


def _look(names: tuple[str, ...], output: Output, asking: client.Asking) -> bool:
    daemon = client.connect()
    keys = [row["key"] for row in all_named(names, daemon.checks())] if names else []
    checks = by_weight(daemon.look(keys, asking))
    if output.json:
        output.value(checks)
    else:
        output.text(checks_page(checks, output.screen))
    return healthy(checks)


def _restart(name: str, output: Output, asking: client.Asking) -> bool:
    unit = unit_name(name)
    incident = client.connect().restart(unit, asking)
    if output.json:
        output.value({"unit": unit, "incident": incident or None})
    elif incident:
        output.line(f"{unit}: restart asked for, recorded in incident {incident}")
        output.line(f"see: healthctl show {incident}")
    else:
        output.line(f"{unit}: restart asked for")
        output.line(f"see: healthctl show {unit}")
    return True
