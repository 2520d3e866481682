"""What `healthctl verify` has to say, without a daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthd.settings.verify import verify

LISTENS = """\
listens:
  ssh: {address: "127.0.0.1:22"}
  ssh-unit: {unit: ssh.socket}
  mail: {address: "localhost:25"}
  web: {address: "127.0.0.1:80"}
"""


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "some.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("tcp", "offended"),
    [
        ("{endpoint: ssh}", "sshd"),
        ("{endpoint: ssh-unit}", "sshd"),
        ("{endpoint: mail}", "a mail server"),
        ("{endpoint: ssh, expect: SSH-2.0}", ""),
        ("{endpoint: web}", ""),
    ],
)
def test_a_bare_tcp_check_where_it_hurts(tmp_path: Path, tcp: str, offended: str) -> None:
    """sshd and mail servers write a line about everybody who connects and says nothing."""
    path = _file(tmp_path, f"{LISTENS}checks: {{a.service: {{tcp: {tcp}}}}}\n")
    report = verify({}, (path,))
    assert report.is_well
    assert [offended in remark.words for remark in report.warnings] == [True] * bool(offended)


def test_units_that_do_not_exist_are_warned_of(tmp_path: Path) -> None:
    """Not a fault: the unit may come with the next package."""
    path = _file(tmp_path, "repair: {allow_restart: [a.service, b.service]}\n")
    report = verify({}, (path,), units=("a.service",))
    assert report.is_well
    assert report.lines() == (f"warning: {path}: b.service is named, but there is no such unit",)


def test_one_line_each_faults_first(tmp_path: Path) -> None:
    """What must be mended stands above what is worth knowing."""
    path = _file(tmp_path, f"host: {{raid: true}}\n{LISTENS}enabled: 7\n")
    report = verify({}, (path,))
    assert not report.is_well
    assert report.lines() == (
        f"fault: {path}:7:10: found enabled: 7; allowed: true or false",
        f"note: {path}:1:1: host: not built yet",
    )


def test_named_files_stand_for_all(tmp_path: Path) -> None:
    """Somebody's draft is judged as it is, whoever owns it, in the order given."""
    first = _file(tmp_path, "network: true\n")
    first.chmod(0o666)
    assert verify({}, (first,)).lines() == ()
    missing = tmp_path / "no.yaml"
    report = verify({}, (first, missing))
    assert [str(fault) for fault in report.faults] == [
        f"{missing}: found what cannot be read (no such file or directory)"
    ]


def test_installed_files_are_found(tmp_path: Path) -> None:
    """Without names it judges what the daemon would read."""
    (tmp_path / "etc/healthd").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "etc", tmp_path / "etc/healthd"):
        folder.chmod(0o755)
    path = tmp_path / "etc/healthd/healthd.yaml"
    path.write_text("netwrok: true\n")
    (fault,) = verify({}, root=tmp_path).faults
    assert (fault.file, fault.hint) == (str(path), "did you mean network?")
