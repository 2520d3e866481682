"""The program that root runs at healthd's start, reload and stop."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from healthd.daemon.render_rule import RULE_FILE, eyes_of, main, remove, write
from healthd.daemon.rendered import LIST_FILE, rendered
from healthd.repairs.allowlist import render_rule

SCRIPT = Path(__file__).parents[2] / "polkit/render-rule"
NOBODY = "nobody"


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """The root of a machine of our own, with polkit's folder and no settings."""
    old = os.umask(0o077)
    for place in (RULE_FILE, LIST_FILE, "etc/healthd/healthd.yaml"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    yield tmp_path
    os.umask(old)


def _settings(root: Path, text: str) -> None:
    (root / "etc/healthd/healthd.yaml").write_text(text)


def _rule(root: Path) -> str:
    return (root / RULE_FILE).read_text()


def test_the_list_becomes_the_rule(root: Path) -> None:
    """What the owner listed is what polkit lets healthd restart."""
    _settings(root, "repair: {allow_restart: [nginx.service]}\n")
    assert write(root, {}, is_reload=False) == 0
    assert _rule(root) == render_rule(["nginx.service"])
    assert rendered(root) == frozenset({"nginx.service"})


def test_polkit_and_the_daemon_can_read(root: Path) -> None:
    """Neither polkitd nor the daemon is root, and the unit's UMask would hide both files."""
    write(root, {}, is_reload=False)
    for file in (RULE_FILE, LIST_FILE):
        assert stat.S_IMODE((root / file).stat().st_mode) == 0o644
    assert os.listdir((root / RULE_FILE).parent) == ["49-healthd.rules"]


def test_no_settings_allow_nothing(root: Path) -> None:
    """Nothing is restarted until somebody lists it."""
    assert write(root, {}, is_reload=False) == 0
    assert _rule(root) == render_rule([])


def test_faulty_settings_at_start_allow_nothing(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The daemon starts all the same; the faults stand in the journal."""
    _settings(root, "repair: {allow_restart: [nginx.service, 'x*', y]}\n")
    assert write(root, {}, is_reload=False) == 0
    assert _rule(root) == render_rule([])
    assert rendered(root) == frozenset()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[2] for line in lines[:2]] == ["41", "47"]
    assert lines[2:] == ["the settings are faulty: nothing may be restarted"]


def test_faulty_settings_at_reload_change_nothing(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The running daemon keeps its old settings too; systemctl reload fails."""
    _settings(root, "repair: {allow_restart: [nginx.service]}\n")
    write(root, {}, is_reload=False)
    _settings(root, "repair: {allow_restart: ['*']}\n")
    assert write(root, {}, is_reload=True) == 1
    assert _rule(root) == render_rule(["nginx.service"])
    assert rendered(root) == frozenset({"nginx.service"})
    assert "the rule for polkit stays as it was" in capsys.readouterr().err


def test_settings_that_others_can_write_allow_nothing(root: Path) -> None:
    """Else a user of the machine would write root's allowlist."""
    _settings(root, "repair: {allow_restart: [nginx.service]}\n")
    (root / "etc/healthd/healthd.yaml").chmod(0o666)
    assert write(root, {}, is_reload=False) == 0
    assert _rule(root) == render_rule([])


def test_an_unchanged_rule_is_left_alone(root: Path) -> None:
    """polkitd reads all its rules anew for every file that changes."""
    write(root, {}, is_reload=False)
    before = (root / RULE_FILE).stat()
    write(root, {}, is_reload=True)
    assert (root / RULE_FILE).stat().st_ino == before.st_ino


def test_removed_means_gone(root: Path) -> None:
    """No daemon, no permission; a second removal is none either."""
    write(root, {}, is_reload=False)
    assert remove(root) == 0
    assert not (root / RULE_FILE).exists()
    assert rendered(root) is None
    assert remove(root) == 0


def test_without_polkit_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nobody to write the rule for."""
    assert write(tmp_path, {}, is_reload=False) == 1
    assert capsys.readouterr().err.startswith("cannot write the rule for polkit: ")


def test_an_unknown_word_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A slip in a unit file must not widen or narrow anything."""
    assert main(["--restart"]) == 2
    assert capsys.readouterr().err.startswith("usage: render-rule")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can see with another's eyes")
def test_files_are_seen_as_the_daemon_sees_them(tmp_path: Path) -> None:
    """A file that healthd cannot read must not be on root's list either."""
    path = tmp_path / "secret"
    path.touch(mode=0o600)
    with eyes_of(NOBODY):
        assert not os.access(path, os.R_OK, effective_ids=True)
    assert os.access(path, os.R_OK, effective_ids=True)
    assert (os.geteuid(), os.getegid()) == (0, 0)


def test_without_the_user_we_see_as_we_are() -> None:
    """Before sysusers ran there are no other eyes."""
    with eyes_of("no-such-user"):
        assert os.geteuid() == os.getuid()


def test_the_script_starts_lightly() -> None:
    """It stands in front of every start: no loop, no bus, no HTTP client."""
    probe = (
        "import runpy, sys\n"
        f"sys.argv = ['render-rule', '--what']\n"
        "try:\n"
        f"    runpy.run_path({str(SCRIPT)!r}, run_name='__main__')\n"
        "except SystemExit as ended:\n"
        "    print(ended.code, *sorted({name.split('.')[0] for name in sys.modules}))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", probe],
        cwd=SCRIPT.parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    code, *modules = run.stdout.split()
    assert code == "2"
    heavy = {"asyncio", "dbus_fast", "dbus_next", "h11", "httpx", "lmdb", "psutil", "ssl"}
    assert heavy.isdisjoint(modules)
    assert "yaml" in modules


def test_the_script_is_a_program_of_the_systems_own_python() -> None:
    """Root runs it: no interpreter, module or setting of a user may come in between."""
    assert SCRIPT.read_text().startswith("#!/usr/bin/python3 -I\n")
    assert os.access(SCRIPT, os.X_OK)
