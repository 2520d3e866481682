"""Run healthctl in this process, and read what it said."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from healthd.ctl.main import run

#: Start it as a process of its own.
PROGRAM = [sys.executable, "-m", "healthd.ctl.main"]
#: Flags of a message: nobody is started, and a person may be asked.
NO_AUTO_START, MAY_ASK = 2, 4


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """The exit code of healthctl with *words*, its output and its complaints."""
    code = run(list(words))
    seen = capsys.readouterr()
    return code, seen.out, seen.err


def said_json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """What `--json` printed, decoded."""
    return json.loads(said(capsys, *words, "--json")[1])
