"""Print: to the terminal, the pager or a pipe, as text or as JSON. Nothing else here prints.

What others wrote has gone through `text.clean` before it comes here; JSON escapes it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from typing import NamedTuple, TextIO

from healthd.ctl.arguments import Arguments
from healthd.ctl.layout import Screen
from healthd.ctl.text import clean
from healthd.errors import HealthdError

_NO = ("0", "no", "n", "false", "f", "off")


class Output(NamedTuple):
    """How this run prints."""

    json: bool
    pages: bool
    quiet: bool
    screen: Screen

    def text(self, page: str) -> None:
        """Print a page that was rendered for this screen; no text prints nothing."""
        if self.quiet or not page:
            return
        if not (self.pages and _paged(page)):
            write(page)

    def line(self, line: str) -> None:
        """Print one line at once, without a pager."""
        if not self.quiet:
            write(line + "\n")

    def value(self, value: object) -> None:
        """Print *value* as JSON: over many lines for a person, on one for a program."""
        if self.quiet:
            return
        # Loaded only for who asks for it. What is not ASCII is escaped, and so harmless.
        from json import dumps

        write(dumps(value, indent=2 if _on_terminal() else None) + "\n")

    def record(self, value: object) -> None:
        """Print *value* as JSON on one line, one of many."""
        from json import dumps

        self.line(dumps(value))


def output(arguments: Arguments) -> Output:
    """How to print for these arguments and this standard output."""
    terminal = _on_terminal()
    flags = arguments.flags
    json = "--json" in flags
    screen = Screen(
        width=_width() if terminal else None,
        colour=not json and _colour(os.environ, terminal=terminal),
        unicode="utf" in (getattr(sys.stdout, "encoding", "") or "").lower(),
        legend="--no-legend" not in flags,
        now=time.time_ns() // 1000,
    )
    pages = terminal and not json and "--no-pager" not in flags
    return Output(json, pages, "--quiet" in flags, screen)


def _paged(page: str) -> bool:
    # Only a terminal needs it.
    from healthd.ctl import pager

    return pager.wanted() and pager.page(page)


def write(text: str) -> None:
    """Write to standard output.

    Raises HealthdError "unwritable" when it is closed or full; a reader that went away stays a
    BrokenPipeError.
    """
    out = _standard("stdout")
    if out is None:
        raise HealthdError("unwritable", "standard output is closed")
    try:
        # The locale may not know a character, and an argument may hold bytes that are no text.
        out.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]
        out.write(text)
        out.flush()
    except BrokenPipeError:
        raise
    except OSError as err:
        silence(out)
        raise HealthdError("unwritable", f"standard output: {err.strerror}") from err


def silence(stream: TextIO) -> None:
    """Let what is left in *stream* go nowhere: Python would complain of it once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())


def _standard(name: str) -> TextIO | None:
    """None where the stream was closed before we began; typeshed does not know of that."""
    stream: TextIO | None = getattr(sys, name)
    return stream


def _on_terminal() -> bool:
    out = _standard("stdout")
    return out is not None and out.isatty()


def complain(words: str) -> None:
    """Say on standard error why it could not be done."""
    err = _standard("stderr")
    if err is None:
        return
    try:
        err.write(f"healthctl: {clean(words)}\n")
        err.flush()
    except OSError:
        # There is nobody left to say it to; the exit code says it.
        silence(err)


def _colour(environment: Mapping[str, str], *, terminal: bool) -> bool:
    """systemd's own switch first, then https://no-color.org, then whether anybody would see it."""
    if switch := environment.get("SYSTEMD_COLORS"):
        return switch.lower() not in _NO
    return terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def _width() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except OSError:
        return 80
