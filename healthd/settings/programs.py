"""Whether the programs and files that checks name are there and can be used by whoever asks."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from healthd.settings.faults import shown
from healthd.settings.ground import Ground, Steps


def judge_program(program: str, steps: Steps, ground: Ground) -> None:
    """Fault a command's first word that is no program, or none that we may run."""
    trouble = _program_trouble(program, ground.top)
    if trouble:
        ground.fault(
            steps,
            f"command: {shown(program) or 'an empty text'} ({trouble})",
            "the absolute path of a program that healthd may run",
        )


def _program_trouble(program: str, top: Path) -> str:
    if not program.startswith("/") or "\0" in program:
        return "not an absolute path"
    place = top / program.lstrip("/")
    try:
        is_file = stat.S_ISREG(place.stat().st_mode)
        may_run = is_file and os.access(place, os.X_OK, effective_ids=True)
    except OSError as err:
        return _why(err)
    if not is_file:
        return "not a file"
    return "" if may_run else "not executable"


def judge_file(file: str, steps: Steps, ground: Ground) -> None:
    """Fault a named file that is not there or that we may not read; "" names none."""
    trouble = _file_trouble(ground.top / file.lstrip("/")) if file else ""
    if trouble:
        found = f"{steps[-1]}: {shown(file)} ({trouble})"
        ground.fault(steps, found, "a file that healthd may read")


def _file_trouble(place: Path) -> str:
    try:
        is_file = stat.S_ISREG(place.stat().st_mode)
        may_read = is_file and os.access(place, os.R_OK, effective_ids=True)
    except OSError as err:
        return _why(err)
    if not is_file:
        return "not a file"
    return "" if may_read else "not readable"


def _why(err: OSError) -> str:
    return (err.strerror or "no reason given").lower()
