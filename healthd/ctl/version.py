"""`healthctl version`: of this program, and of the daemon when it runs."""

from __future__ import annotations

from healthd import __version__
from healthd.ctl import client
from healthd.ctl.arguments import Arguments
from healthd.ctl.output import Output
from healthd.ctl.text import clean
from healthd.errors import HealthdError


def run(arguments: Arguments, output: Output) -> bool:
    """Print both; a daemon that does not answer is no fault here."""
    del arguments
    try:
        daemon: str | None = client.connect().version()
        words = clean(daemon or "")
    except HealthdError as err:
        daemon, words = None, clean(err.message)
    if output.json:
        output.value({"healthctl": __version__, "healthd": daemon})
    else:
        output.line(f"healthctl {__version__}")
        output.line(f"healthd {words}" if daemon else words)
    return True
