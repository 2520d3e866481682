"""`healthctl status`: the machine in one page, in one call; with names, the same as `show`."""

from __future__ import annotations

import os

from healthd.ctl import client, rows
from healthd.ctl.arguments import Arguments
from healthd.ctl.names import healthy
from healthd.ctl.output import Output
from healthd.ctl.overview import not_looked_at, overview, worrying


def run(arguments: Arguments, output: Output) -> bool:
    """Print it; whether nothing is red."""
    if arguments.names:
        from healthd.ctl import show

        return show.run(arguments, output)
    manager = client.connect().manager()
    host = os.uname().nodename
    if output.json:
        output.value(_json(host, manager))
    else:
        output.text(overview(host, manager, output.screen))
    return healthy(manager.checks)


def _json(host: str, manager: rows.Manager) -> dict[str, object]:
    """`checks` holds those that the page shows: red, yellow, and not looked at."""
    return {
        "host": host,
        "version": manager.version,
        "state": manager.state,
        "watching": manager.watching,
        "watching_reason": manager.watching_reason or None,
        "sequence": manager.sequence,
        "counts": manager.counts,
        "not_looked_at": sum(map(not_looked_at, manager.checks)),
        **rows.setup(manager.checks),
        "checks": worrying(manager.checks),
        "incidents": manager.incidents,
        "holds": manager.holds,
        "gaps": manager.gaps,
    }
