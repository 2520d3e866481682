"""What a hold says to everybody, where it is kept, and what comes back of it after a restart."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from healthd.daemon import fdstore
from healthd.daemon.holds import WHY_MOST, harmless, in_words
from healthd.model import Hold, HoldId, UnitName
from healthd.store.records import Batch
from healthd.store.store import Store

WEB, DB = UnitName("web.service"), UnitName("db.service")


def hold(number: int, *units: UnitName, why: str = "pg_upgrade") -> Hold:
    """A hold on these units."""
    return Hold(HoldId(number), units, why, 800 + number, 0, at=3, at_us=1, until_us=2)


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("pg_upgrade", "pg_upgrade"),
        ("", ""),
        ("a\n\tb  c", "a b c"),
        ("red\x1b[31m\x07\x9b1m", "red [31m 1m"),
        ("right\u202eto left\u200b", "right to left"),
        ("\udc80", ""),
        ("Köln", "Köln"),
        ("x" * 9000, "x" * (WHY_MOST - 1) + "…"),
    ],
)
def test_a_caller_s_words_are_one_short_harmless_line(why: str, said: str) -> None:
    """Everybody reads them, on terminals too, and the store keeps them."""
    assert harmless(why) == said


def test_of_several_holds_on_a_unit_the_first_is_named() -> None:
    """A summary is one line; who else holds it stands in `healthctl status`."""
    assert in_words([hold(1, WEB, DB), hold(2, DB, why=""), hold(3, DB)]) == {
        WEB: "held by pid 801: pg_upgrade",
        DB: "held by pid 801: pg_upgrade, and 2 more",
    }
    assert in_words([hold(2, DB, why="")]) == {DB: "held by pid 802"}


async def test_a_hold_is_kept_until_it_is_dropped(tmp_path: Path) -> None:
    """What it is must be known to the next start, whose descriptor alone says nothing."""
    now_at = time.time_ns() // 1000
    store = await Store.open(tmp_path, now_at=now_at)
    await store.commit(Batch(holds_add=(hold(1, WEB), hold(2, WEB, DB))))
    await store.commit(Batch(holds_drop=(HoldId(1),)))
    await store.close()
    store = await Store.open(tmp_path, now_at=now_at)
    assert (await store.load()).holds == (hold(2, WEB, DB),)
    await store.close()


def test_what_systemd_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One datagram carries the words and the descriptor; another has it let go."""
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(address)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        end, other = os.pipe()
        fdstore.keep("hold-1", end)
        words, (kept,), _, _ = socket.recv_fds(systemd, 4096, 4)
        assert words == b"FDSTORE=1\nFDNAME=hold-1"
        os.write(other, b"it")
        assert os.read(kept, 2) == b"it"
        fdstore.forget("hold-1")
        assert systemd.recv(4096) == b"FDSTOREREMOVE=1\nFDNAME=hold-1"
        for number in (end, other, kept):
            os.close(number)


def test_without_systemd_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Started by hand it holds as well, until it ends."""
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    fdstore.keep("hold-1", 0)
    monkeypatch.setenv("NOTIFY_SOCKET", "/nonexistent")
    fdstore.keep("hold-1", 0)


TAKES = """
import os
from healthd.daemon import fdstore
found = fdstore.taken_back()
print(sorted(found.items()), [os.get_inheritable(n) for n in found.values()],
      [n for n in os.environ if n.startswith("LISTEN_")], fdstore.taken_back())
"""


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        (
            "LISTEN_PID=$$ LISTEN_FDS=3 LISTEN_FDNAMES=hold-2:hold-7:hold-2",
            "[('hold-2', 3), ('hold-7', 4)] [False, False] [] {}\n",
        ),
        ("LISTEN_PID=1 LISTEN_FDS=3 LISTEN_FDNAMES=a:b:c", "[] [] [] {}\n"),
        ("LISTEN_PID=$$ LISTEN_FDS=x", "[] [] [] {}\n"),
        ("LISTEN_PID=$$ LISTEN_FDS=1", "[('', 3)] [False] [] {}\n"),
        ("", "[] [] [] {}\n"),
    ],
)
def test_what_comes_back_has_its_name_and_goes_to_no_child(environment: str, found: str) -> None:
    """Order is not kept, names are; a program of a check must not hold what it knows nothing of."""
    script = f'exec 3</dev/null 4</dev/null 5</dev/null; {environment} exec "$0" -c "$1"'
    argv = ["sh", "-c", script, sys.executable, TAKES]
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        argv, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": root}
    )
    assert done.stdout == found
