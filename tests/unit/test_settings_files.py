"""Which files are read, in what order, what hides what, and whose files are believed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from healthd.settings.faults import Fault
from healthd.settings.files import LARGEST_BYTES, read_installed, read_named

MAIN = "etc/healthd/healthd.yaml"
OURS = "etc/healthd/healthd.d"
VENDOR = "usr/lib/healthd/healthd.d"

Lay = Callable[[str, str], Path]


@pytest.fixture
def lay(tmp_path: Path) -> Iterator[Lay]:
    """Lays a file below the root of a machine of our own, as a package would."""
    old = os.umask(0o022)
    tmp_path.chmod(0o755)

    def _lay(place: str, text: str) -> Path:
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    yield _lay
    os.umask(old)


def _texts(root: Path) -> list[str]:
    sources, faults = read_installed(root)
    assert [str(fault) for fault in faults] == []
    return [source.text for source in sources]


def _fault(root: Path) -> Fault:
    _, faults = read_installed(root)
    assert len(faults) == 1, [str(fault) for fault in faults]
    return faults[0]


def test_nothing_there_is_nothing_to_read(tmp_path: Path) -> None:
    """healthd needs no file at all."""
    assert read_installed(tmp_path) == ((), ())


def test_drop_ins_come_after_the_main_file_by_name(lay: Lay, tmp_path: Path) -> None:
    """The order of systemd: sorted by file name, wherever the file lies."""
    lay(f"{OURS}/20-b.yaml", "20 ours")
    lay(f"{VENDOR}/10-a.yaml", "10 vendor")
    lay(f"{VENDOR}/30-c.yaml", "30 vendor")
    lay(MAIN, "main")
    assert _texts(tmp_path) == ["main", "10 vendor", "20 ours", "30 vendor"]


def test_only_yaml_files_are_read(lay: Lay, tmp_path: Path) -> None:
    """Editors and packages leave files of other names behind."""
    for name in ("a.yaml~", "a.yaml.dpkg-old", ".a.yaml", "README", "a.yml"):
        lay(f"{OURS}/{name}", "not this")
    lay(f"{OURS}/a.yaml", "this")
    assert _texts(tmp_path) == ["this"]


def test_a_file_in_etc_hides_the_vendors(lay: Lay, tmp_path: Path) -> None:
    """The same name means: mine instead of yours."""
    lay(f"{VENDOR}/10-a.yaml", "vendor")
    lay(f"{OURS}/10-a.yaml", "ours")
    assert _texts(tmp_path) == ["ours"]


def test_a_link_to_null_or_an_empty_file_masks(lay: Lay, tmp_path: Path) -> None:
    """How systemd's own drop-ins are masked."""
    lay(f"{VENDOR}/10-a.yaml", "vendor a")
    lay(f"{VENDOR}/20-b.yaml", "vendor b")
    lay(f"{VENDOR}/30-c.yaml", "vendor c")
    lay(f"{OURS}/10-a.yaml", "")
    (tmp_path / OURS / "20-b.yaml").symlink_to("/dev/null")
    assert _texts(tmp_path) == ["vendor c"]


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666, 0o777])
def test_a_file_that_others_can_write_is_refused(lay: Lay, tmp_path: Path, mode: int) -> None:
    """Whoever writes it decides what root restarts."""
    path = lay(MAIN, "main")
    path.chmod(mode)
    fault = _fault(tmp_path)
    assert fault.file == str(path)
    assert fault.found == f"a file that others than root may write to (mode {mode:04o})"
    assert fault.hint == f"chmod go-w {path}"


@pytest.mark.parametrize("place", ["etc", "etc/healthd", OURS])
def test_a_folder_that_others_can_write_is_refused(lay: Lay, tmp_path: Path, place: str) -> None:
    """They need not write the file: they can put another in its place."""
    lay(f"{OURS}/a.yaml", "a")
    (tmp_path / place).chmod(0o777)
    fault = _fault(tmp_path)
    assert fault.file == str(tmp_path / place)
    assert fault.found == "a folder that others than root may write to (mode 0777)"


def test_an_empty_folder_that_others_can_write_is_refused(lay: Lay, tmp_path: Path) -> None:
    """What is not in it yet can be tomorrow."""
    lay(f"{OURS}/a.yaml", "a").unlink()
    (tmp_path / OURS).chmod(0o775)
    assert _fault(tmp_path).file == str(tmp_path / OURS)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_somebody_else_is_refused(lay: Lay, tmp_path: Path) -> None:
    """Its owner can write it whatever its mode says."""
    path = lay(MAIN, "main")
    os.chown(path, 65534, 0)
    fault = _fault(tmp_path)
    assert (fault.found, fault.allowed) == ("a file of uid 65534", "a file of root")


def test_a_link_is_judged_where_it_leads(lay: Lay, tmp_path: Path) -> None:
    """A link of root's into a folder of everybody's is everybody's file."""
    lay(f"{OURS}/b.yaml", "b")
    target = lay("srv/shared/a.yaml", "a")
    (tmp_path / OURS / "a.yaml").symlink_to(target)
    assert _texts(tmp_path) == ["a", "b"]
    target.parent.chmod(0o777)
    assert _fault(tmp_path).file == str(target.parent)


def test_one_bad_folder_is_one_fault(lay: Lay, tmp_path: Path) -> None:
    """However many files lie in it."""
    for name in "abc":
        lay(f"{OURS}/{name}.yaml", name)
    (tmp_path / "etc").chmod(0o777)
    assert _fault(tmp_path).file == str(tmp_path / "etc")


def test_a_file_that_is_none(lay: Lay, tmp_path: Path) -> None:
    """A folder or a pipe of that name must neither crash nor hang the reader."""
    lay(f"{OURS}/x/y", "")
    (tmp_path / OURS / "a.yaml").mkdir()
    assert _fault(tmp_path).found == "no file"
    (tmp_path / OURS / "a.yaml").rmdir()
    os.mkfifo(tmp_path / OURS / "a.yaml")
    assert _fault(tmp_path).found == "no file"


def test_a_link_that_leads_nowhere_is_a_fault(lay: Lay, tmp_path: Path) -> None:
    """Somebody meant something by it."""
    lay(MAIN, "main")
    (tmp_path / OURS).mkdir()
    (tmp_path / OURS / "a.yaml").symlink_to("/no/such")
    assert _fault(tmp_path).found == "what cannot be read (no such file or directory)"


def test_a_file_in_a_folders_place_is_a_fault(lay: Lay, tmp_path: Path) -> None:
    """It is not the same as no settings at all."""
    lay("etc/healthd", "what is this?")
    _, faults = read_installed(tmp_path)
    assert {fault.found for fault in faults} == {"what cannot be read (not a directory)"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_what_may_not_be_read_is_a_fault(
    lay: Lay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ordinary user's `healthctl verify` must not call unseen settings well."""
    path = lay(MAIN, "enabled: nonsense")
    (tmp_path / "etc/healthd").chmod(0o750)
    # pytest's own folders above are closed to everybody else.
    monkeypatch.chdir(tmp_path)
    os.setegid(65534)
    os.seteuid(65534)
    try:
        _, faults = read_installed(Path("."))
    finally:
        os.seteuid(0)
        os.setegid(0)
    assert {(fault.file, fault.found) for fault in faults} == {
        (str(path.relative_to(tmp_path)), "what cannot be read (permission denied)"),
        (OURS, "what cannot be read (permission denied)"),
    }


def test_a_file_that_is_too_large(lay: Lay, tmp_path: Path) -> None:
    """Nobody writes a megabyte of settings; somebody copied a log over it."""
    lay(MAIN, "#" * (LARGEST_BYTES + 1))
    assert _fault(tmp_path).allowed == "at most 1 MiB"


def test_bytes_that_are_no_text_have_a_place(tmp_path: Path) -> None:
    """An old file in Latin-1 is mended at that byte."""
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\nb: \xe4\n")
    (fault,) = read_named((path,))[1]
    assert (fault.line, fault.column, fault.found) == (2, 4, "a byte that is not UTF-8")


def test_a_byte_order_mark_is_no_letter(tmp_path: Path) -> None:
    """Editors of other systems put one first."""
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfenabled: true\n")
    (source,) = read_named((path,))[0]
    assert source.text == "enabled: true\n"
