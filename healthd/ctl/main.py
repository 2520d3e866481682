"""healthctl: read the command line, do one thing, and say by the exit code how it is.

Loads only what the command needs: start to output is what people wait for.
"""

from __future__ import annotations

import gc
import sys
from enum import IntEnum
from importlib import import_module

from healthd.ctl.arguments import VERBS, Arguments, parse
from healthd.errors import HealthdError


class Exit(IntEnum):
    """How healthctl ends; healthctl(1), "Exit status"."""

    WELL = 0
    NOT_WELL = 1
    USAGE = 2
    UNREACHABLE = 3
    REFUSED = 4
    #: 128 + SIGINT, as a shell says it.
    INTERRUPTED = 130


#: What the code of a HealthdError means for the exit; what is not listed is NOT_WELL.
_EXITS = {
    "usage": Exit.USAGE,
    "missing": Exit.USAGE,
    "not-running": Exit.UNREACHABLE,
    "unreachable": Exit.UNREACHABLE,
    "refused": Exit.REFUSED,
    "needs-password": Exit.REFUSED,
}


def main() -> int:
    """Run healthctl with the process's own arguments; the exit code."""
    # Looking for garbage, and once more at the end, is an eighth of a short life.
    gc.disable()
    try:
        return run(sys.argv[1:])
    finally:
        gc.freeze()


def run(words: list[str]) -> int:
    """Do what *words* ask for and return the exit code. Everything is printed here or below."""
    # Only what has to be said needs the printing part loaded.
    from healthd.ctl import output

    try:
        return _do(parse(words))
    except HealthdError as err:
        output.complain(str(err))
        return _EXITS.get(err.code, Exit.NOT_WELL)
    except BrokenPipeError:
        # The reader has seen enough.
        output.silence(sys.stdout)
        return Exit.WELL
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


def _do(arguments: Arguments) -> int:
    if arguments.verb == "help":
        return _help(arguments.names)
    from healthd.ctl.output import output

    command = import_module(f"healthd.ctl.{VERBS[arguments.verb].module}")
    ended: bool | int = command.run(arguments, output(arguments))
    if isinstance(ended, bool):
        return Exit.WELL if ended else Exit.NOT_WELL
    return ended


def _help(names: tuple[str, ...]) -> int:
    from healthd.ctl.output import write
    from healthd.ctl.usage import help_page

    write(help_page(names[0] if names else ""))
    return Exit.WELL


if __name__ == "__main__":
    sys.exit(main())
