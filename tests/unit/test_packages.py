"""What the package managers did lately, read from records that may be absent, huge or garbled."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from healthd.host.packages import MOST_PACKAGES, TAIL_BYTES, changes_since
from healthd.model import SECOND_US

BEGIN = time.mktime((2026, 12, 1, 12, 0, 0, 0, 0, -1))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A /var/log of its own."""
    (tmp_path / "apt").mkdir()
    return tmp_path


def stamp(second: int) -> str:
    """An instant as dpkg writes it, so many seconds after the beginning."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(BEGIN + second))


def at(second: int) -> int:
    """The same in wall µs."""
    return int(BEGIN + second) * SECOND_US


def write(log: Path, *lines: str) -> None:
    """A record that was last written ten minutes after the beginning."""
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.utime(log, (BEGIN + 600, BEGIN + 600))


def test_packages_and_the_command_that_changed_them_are_told_in_order(logs: Path) -> None:
    """What changed and who asked for it are the first two questions after a failure."""
    write(
        logs / "dpkg.log",
        f"{stamp(-60)} upgrade old:all 1 2",
        f"{stamp(11)} startup archives unpack",
        f"{stamp(12)} upgrade nginx:amd64 1.26.2-1 1.26.3-1",
        f"{stamp(12)} status half-configured nginx:amd64 1.26.2-1",
        f"{stamp(13)} install libx:all <none> 3",
        f"{stamp(14)} remove gone:all 4 <none>",
        f"{stamp(15)} configure nginx:amd64 1.26.3-1 <none>",
    )
    write(
        logs / "apt/history.log",
        "",
        f"Start-Date: {stamp(-90).replace(' ', '  ')}",
        "Commandline: apt-get install old",
        "",
        f"Start-Date: {stamp(10).replace(' ', '  ')}",
        "Commandline: apt upgrade",
        "Requested-By: ada (1000)",
        "Upgrade: nginx:amd64 (1.26.2-1, 1.26.3-1)",
        f"End-Date: {stamp(16).replace(' ', '  ')}",
    )
    assert [(one.at, one.what) for one in changes_since(at(0), logs)] == [
        (at(10), "apt: apt upgrade, by ada (1000)"),
        (at(12), "dpkg: upgraded nginx:amd64 1.26.2-1 to 1.26.3-1"),
        (at(13), "dpkg: installed libx:all 3"),
        (at(14), "dpkg: removed gone:all 4"),
    ]


def test_records_that_are_absent_are_no_error(logs: Path) -> None:
    """Not every machine has dpkg."""
    assert changes_since(at(0), logs) == ()
    assert changes_since(at(0), logs / "nowhere") == ()


def test_a_log_that_was_rotated_lately_is_read_on_in_the_one_before(logs: Path) -> None:
    """At midnight of the first, half of an upgrade lies in each."""
    write(logs / "dpkg.log.1", f"{stamp(10)} upgrade early:all 1 2")
    write(logs / "dpkg.log", f"{stamp(20)} upgrade late:all 1 2")
    told = [one.what for one in changes_since(at(0), logs)]
    assert told == ["dpkg: upgraded early:all 1 to 2", "dpkg: upgraded late:all 1 to 2"]


def test_a_huge_log_is_read_at_its_end_only(logs: Path) -> None:
    """A log of years must not cost memory: what counts is at its end."""
    filler = f"{stamp(1)} status installed filler:all 1 <none>"
    many = (f"{stamp(2)} install never:all <none> 1", *[filler] * (4 * TAIL_BYTES // len(filler)))
    write(logs / "dpkg.log", *many, f"{stamp(30)} install last:all <none> 1")
    write(logs / "dpkg.log.1", f"{stamp(1)} install before:all <none> 1")
    assert [one.what for one in changes_since(at(0), logs)] == ["dpkg: installed last:all 1"]


def test_of_very_many_packages_the_last_are_told_and_how_many_more_there_were(logs: Path) -> None:
    """An upgrade of the whole machine must leave room for everything else."""
    names = [f"{stamp(n)} upgrade p{n}:all 1 2" for n in range(100)]
    write(logs / "dpkg.log", *names)
    told = [one.what for one in changes_since(at(0), logs)]
    assert told[0] == f"dpkg: {100 - MOST_PACKAGES} more packages before these"
    assert told[-1] == "dpkg: upgraded p99:all 1 to 2"
    assert len(told) == MOST_PACKAGES + 1


def test_garbage_in_a_record_hides_nothing_else(logs: Path) -> None:
    """A crash in the middle of a write leaves NULs and halves of lines."""
    (logs / "dpkg.log").write_bytes(
        b"\0" * 4096
        + b"\xff\xfe half a line\n9999-99-99 99:99:99 upgrade x:all 1 2\n"
        + f"{stamp(5)} upgrade whole:all 1 2\n{stamp(6)} upgrade cut".encode()
    )
    os.utime(logs / "dpkg.log", (BEGIN + 600, BEGIN + 600))
    write(logs / "apt/history.log", "Start-Date: never", "Commandline:", "x" * 100_000)
    assert [one.what for one in changes_since(at(0), logs)] == ["dpkg: upgraded whole:all 1 to 2"]


def test_a_folder_in_the_place_of_a_record_is_no_error(logs: Path) -> None:
    """Whatever lies there, an incident is written down."""
    (logs / "dpkg.log").mkdir()
    (logs / "apt/history.log").symlink_to(logs / "apt/history.log")
    assert changes_since(at(0), logs) == ()
