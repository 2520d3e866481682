"""healthctl where nothing can be printed: an exit code and at most one line, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: Verbs that need no daemon before they print.
VERBS = ("--help", "verify", "version")


def healthctl(words: str) -> tuple[int, str]:
    """Run healthctl through a shell, for its redirections; exit code and standard error."""
    child = subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m healthd.ctl.main {words}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return child.returncode, child.stderr


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("where", "why"),
    [
        (">&-", "standard output is closed"),
        (">/dev/full", "standard output: No space left on device"),
    ],
)
def test_an_output_that_takes_nothing_is_one_line(verb: str, where: str, why: str) -> None:
    """A script that fills a disk must not get exit code 0, nor a person a traceback."""
    assert healthctl(f"{verb} {where}") == (1, f"healthctl: {why}\n")


@pytest.mark.parametrize("where", [">&- 2>&-", ">/dev/full 2>/dev/full", ">&- 2>/dev/full"])
def test_where_nobody_can_be_told_the_exit_code_is_left(where: str) -> None:
    """Python would end with 120 and lose which of our codes it was."""
    assert healthctl(f"--help {where}") == (1, "")


@pytest.mark.parametrize("where", ["2>&-", ">&-", ">&- 2>&-", "2>/dev/full"])
def test_a_usage_error_keeps_its_code(where: str) -> None:
    """2 is what a script looks for, whoever reads the words."""
    assert healthctl(f"no-such-verb {where}")[0] == 2


def test_a_status_without_an_output_ends_without_a_traceback() -> None:
    """`healthctl status >&-` in a cron job, with a daemon or without one."""
    code, said = healthctl("status >&-")
    assert code in (1, 3)
    assert said.count("\n") == 1
