"""healthctl on a terminal: colours, width, pager, passwords."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import pytest

from healthd.ctl.main import Exit
from tests.bus.healthctl import stand_in
from tests.bus.healthctl.running import MAY_ASK, PROGRAM, said
from tests.bus.healthctl.stand_in import StandIn


def _on_terminal(words: list[str], **environment: str) -> tuple[int, str]:
    """Run healthctl on a terminal of its own; its exit code and what was shown."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [*PROGRAM, *words], {**os.environ, **environment})
    shown = b""
    # Linux answers EIO when the last program has left the terminal.
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
    except OSError:
        pass
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_its_own_width(healthd: StandIn) -> None:
    """systemctl's manners: colours and cutting for people only."""
    healthd.checks.append(stand_in.check("liveness:x.service", "grey", "stopped", "long " * 50))
    _, shown = _on_terminal(["checks", "--no-pager"], COLUMNS="60")
    assert "\x1b[1;31m× \x1b[0m" in shown or "\x1b[1;31m×\x1b[0m" in shown
    assert "…" in shown
    _, plain = _on_terminal(["checks", "--no-pager"], NO_COLOR="1")
    assert "\x1b" not in plain


def test_a_pipe_gets_neither_colours_nor_cuts(
    healthd: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    """grep must find the whole line."""
    healthd.checks.append(stand_in.check("liveness:x.service", "grey", "stopped", "long " * 50))
    out = said(capsys, "checks")[1]
    assert "\x1b" not in out
    assert "long " * 49 in out


def test_a_terminal_gets_the_pager_that_systemd_would_take(
    healthd: StandIn, tmp_path: Path
) -> None:
    """$SYSTEMD_PAGER before $PAGER, less's options as systemctl sets them, and no shell in it."""
    del healthd
    pager = tmp_path / "pager"
    pager.write_text('#!/bin/sh\necho "paged with $1 $LESS $LESSSECURE"\ncat\n')
    pager.chmod(0o755)
    code, shown = _on_terminal(["checks"], SYSTEMD_PAGER=f"{pager} --own", PAGER="/bin/false")
    assert shown.startswith("paged with --own FRSXMK 1\n")
    assert code == Exit.WELL
    for words, environment in (
        (["checks", "--no-pager"], {"PAGER": str(pager)}),
        (["checks"], {"SYSTEMD_PAGER": "cat"}),
        (["checks"], {"SYSTEMD_PAGER": ""}),
        (["checks", "--json"], {"PAGER": str(pager)}),
    ):
        assert "paged" not in _on_terminal(words, **environment)[1]


def test_a_pager_that_ends_early_is_no_error(healthd: StandIn) -> None:
    """`q` in less."""
    healthd.checks *= 2000
    assert _on_terminal(["checks"], SYSTEMD_PAGER="/bin/true") == (Exit.WELL, "")


def test_without_any_pager_the_output_comes_plainly(healthd: StandIn, tmp_path: Path) -> None:
    """A minimal system has no less."""
    del healthd
    code, shown = _on_terminal(["checks"], PAGER="no-such-pager", PATH=str(tmp_path))
    assert code == Exit.WELL
    assert "liveness:nginx.service" in shown


PASSWORD = ("org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", "password needed")


def test_a_password_is_asked_for_on_a_terminal_only_when_needed(
    healthd: StandIn, tmp_path: Path
) -> None:
    """The agent is started for who must ask, after polkit said that asking would help."""
    agent = tmp_path / "pkttyagent"
    agent.write_text('#!/bin/sh\necho "agent $1 $3"\neval "exec $2>&-"\nexec sleep 60\n')
    agent.chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert "agent" not in _on_terminal(["look", "--no-pager"], **path)[1]
    healthd.refuse["Look"] = PASSWORD
    healthd.calls.clear()
    code, shown = _on_terminal(["look", "--no-pager"], **path)
    assert shown.startswith("agent --notify-fd --fallback\n")
    assert code == Exit.NOT_WELL
    assert [flags & MAY_ASK for member, _, flags in healthd.calls if member == "Look"] == [0, 4]
    code, shown = _on_terminal(["look", "--no-ask-password"], **path)
    assert (code, "agent" in shown) == (Exit.REFUSED, False)


def test_a_password_is_never_asked_for_without_a_terminal(
    healthd: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    """A script would wait for ever for somebody who is not there."""
    healthd.refuse["RestartUnit"] = PASSWORD
    code, out, err = said(capsys, "restart", "cron")
    assert (code, out) == (Exit.REFUSED, "")
    assert err.endswith("run it in a terminal, or as root\n")
    assert healthd.calls[-1][2] & MAY_ASK == 0
