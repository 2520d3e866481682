"""The journal channel: a notice is written, and entries arrive in order, whatever journald does."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from healthd.channels.base import Entry
from healthd.channels.entries import notice_entry
from healthd.channels.journal import Journal, datagram, deliver
from healthd.channels.kinds import CHANNELS
from healthd.errors import HealthdError
from healthd.model import (
    CheckKey,
    Edition,
    IncidentId,
    Notice,
    UnitName,
    Urgency,
)

ROOT = Path(__file__).parents[2]
NGINX = UnitName("nginx.service")
KEY = CheckKey("liveness:nginx.service")
NOTICE = Notice(
    id="incident-42",
    incident=IncidentId(42),
    key=KEY,
    unit=NGINX,
    edition=Edition.ENGAGED,
    urgency=Urgency.CRITICAL,
    title="nginx.service failed: killed by SIGKILL",
    body="nginx.service failed: killed by SIGKILL, since 14:03 UTC.\nTo fix it: systemctl restart "
    "nginx.service",
    remedy="systemctl restart nginx.service",
    at=4,
)


class Journald:
    """The receiving end of journald's socket."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(10)

    def take(self) -> bytes:
        """The next entry."""
        return self.socket.recv(65536)

    def close(self) -> None:
        """As when journald's socket is made anew."""
        self.socket.close()
        self.path.unlink()


@pytest.fixture
def journald(tmp_path: Path) -> Iterator[Journald]:
    """A journald that the test reads by hand."""
    server = Journald(tmp_path / "socket")
    yield server
    server.socket.close()


class FakeTools:
    """Keeps what a channel wrote."""

    def __init__(self) -> None:
        self.written: list[Entry] = []

    @property
    def journal(self) -> FakeTools:
        return self

    async def send(self, entry: Entry) -> None:
        self.written.append(entry)


async def test_delivering_a_notice_writes_its_entry() -> None:
    """Returning means that the owner can read it."""
    tools = FakeTools()
    await deliver(NOTICE, tools)
    assert tools.written == [notice_entry(NOTICE)]


def test_a_value_with_a_line_break_is_sent_with_its_length() -> None:
    """Otherwise its second line would be read as a field of its own: a forged one."""
    sent = datagram((("A", "one"), ("B", "x\nUNIT=ssh.service")))
    assert sent == b"A=one\nB\n" + (18).to_bytes(8, "little") + b"x\nUNIT=ssh.service\n"


async def test_entries_arrive_in_order_and_survive_a_new_socket(journald: Journald) -> None:
    """A restarted journald must not silence healthd until its own restart."""
    journal = Journal(str(journald.path))
    await journal.send((("N", "1"),))
    await journal.send((("N", "2"),))
    first, second = journald.take(), journald.take()
    assert (first, second) == (
        b"N=1\nSYSLOG_IDENTIFIER=healthd\n",
        b"N=2\nSYSLOG_IDENTIFIER=healthd\n",
    )
    journald.close()
    anew = Journald(journald.path)
    await journal.send((("N", "3"),))
    assert anew.take().startswith(b"N=3\n")
    anew.socket.close()
    journal.close()


async def test_a_journald_that_is_away_is_an_error_and_not_a_loss(tmp_path: Path) -> None:
    """The notice stays in the outbox then."""
    with pytest.raises(HealthdError) as caught:
        await Journal(str(tmp_path / "nobody")).send((("N", "1"),))
    assert caught.value.code == "journal-unreachable"


async def test_a_journald_that_does_not_read_never_blocks_the_loop(journald: Journald) -> None:
    """A stopped journald fills its queue; the watch goes on and the entry is an error."""
    journal = Journal(str(journald.path), limit_s=0.2)
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0)

    async def fill() -> None:
        while True:
            await journal.send((("N", "1"),))

    beating = asyncio.ensure_future(beat())
    with pytest.raises(HealthdError) as caught:
        await fill()
    beating.cancel()
    assert caught.value.code == "journal-unreachable"
    # One turn for each entry that fitted, and then on and on while the queue was full.
    assert beats > 1
    journal.close()


def test_the_table_names_every_channel_of_the_folder() -> None:
    """A channel that is in no table is never called."""
    folder = ROOT / "healthd" / "channels"
    files = {path.stem for path in folder.glob("*.py")}
    assert set(CHANNELS) == files - {"__init__", "base", "entries", "kinds", "own_entries"}
