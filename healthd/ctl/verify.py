"""`healthctl verify`: judge settings, installed or named, without the daemon and without effect."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import to_builtins

from healthd.ctl.arguments import Arguments
from healthd.ctl.layout import Cell, wrapped
from healthd.ctl.output import Output
from healthd.ctl.render import page
from healthd.ctl.text import clean
from healthd.settings.verify import Report, verify

_STYLES = {"fault": "red", "warning": "yellow", "note": ""}


def run(arguments: Arguments, output: Output) -> bool:
    """Print what is wrong and what is worth knowing; whether the settings would be taken."""
    report = verify(os.environ, tuple(map(Path, arguments.names)))
    if output.json:
        output.value({"well": report.is_well, **to_builtins(report)})
    else:
        output.text(_page(report, output))
    return report.is_well


def _page(report: Report, output: Output) -> str:
    screen = output.screen
    lines = []
    for words in report.lines():
        style = _STYLES.get(words.partition(":")[0], "")
        lines += wrapped(Cell(clean(words), style), "", screen)
    if report.is_well and screen.legend:
        lines.append("These settings hold.")
    return page(lines)
