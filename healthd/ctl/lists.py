"""`healthctl checks` and `healthctl incidents`: one line each."""

from __future__ import annotations

from healthd.ctl import client
from healthd.ctl.arguments import Arguments
from healthd.ctl.output import Output
from healthd.ctl.render import by_weight, checks_page, incidents_page

#: How many incidents are listed when nobody says.
INCIDENTS = 50


def run(arguments: Arguments, output: Output) -> bool:
    """Print the list. A list says nothing of health, so it always ends well."""
    if arguments.verb == "checks":
        return _checks(output)
    return _incidents(arguments, output)


def _checks(output: Output) -> bool:
    daemon = client.connect()
    if output.json:
        output.value(by_weight(daemon.checks()))
    else:
        # Without the next look, which the list has no room for, it is read in less time.
        _, checks = daemon.snapshot()
        output.text(checks_page(by_weight(checks), output.screen))
    return True


def _incidents(arguments: Arguments, output: Output) -> bool:
    limit = arguments.number("--limit", INCIDENTS)
    found = client.connect().incidents(open_only="--open" in arguments.flags, limit=limit)
    if output.json:
        output.value(found)
    else:
        output.text(incidents_page(found, output.screen))
    return True
