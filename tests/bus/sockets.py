"""journald's and systemd's datagram sockets, as far as healthd writes to them: what was written."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.bus.heard import Heard

#: Field → its values, in order: a name may stand twice.
Entry = Mapping[str, tuple[str, ...]]


class Datagrams:
    """A socket that hands each datagram to *take* in the turn of the loop in which it is read."""

    def __init__(self, path: Path, take: Callable[[bytes], None]) -> None:
        self.path = path
        self._take = take
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Make the socket; until then nobody is there."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(self.path))
        asyncio.get_running_loop().add_reader(self._socket, self.drain)

    def drain(self) -> None:
        """Read what is there: all that was sent before now."""
        while self._socket is not None:
            try:
                self._take(self._socket.recv(1 << 20))
            except BlockingIOError:
                return

    def close(self) -> None:
        """Nobody is there any more."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None
            self.path.unlink()


class FakeJournal:
    """journald: the entries that it was sent."""

    def __init__(self, path: Path) -> None:
        self.entries: Heard[Entry] = Heard()
        self.socket = Datagrams(path, lambda data: self.entries.add(entry_of(data)))

    def of_kind(self, kind: str) -> list[Entry]:
        """The entries with this MESSAGE_ID."""
        self.socket.drain()
        return [entry for entry in self.entries.items if entry.get("MESSAGE_ID") == (kind,)]

    async def until_kind(self, kind: str, **fields: str) -> Entry:
        """The first entry of this MESSAGE_ID that has these fields."""

        def fits(entry: Entry) -> bool:
            return entry.get("MESSAGE_ID") == (kind,) and all(
                value in entry.get(name, ()) for name, value in fields.items()
            )

        return await self.entries.until(fits)


class FakeNotify:
    """systemd's notify socket: the assignments that it was sent, "READY=1" and such."""

    def __init__(self, path: Path) -> None:
        self.words: Heard[str] = Heard()
        self.socket = Datagrams(path, self._take)

    def said(self) -> list[str]:
        """All that was sent before now."""
        self.socket.drain()
        return list(self.words.items)

    async def until(self, word: str, *, count: int = 1, after: int = 0) -> str:
        """The assignment that begins with *word*."""
        return await self.words.until(lambda said: said.startswith(word), count=count, after=after)

    def _take(self, data: bytes) -> None:
        for word in data.decode().splitlines():
            self.words.add(word)


def entry_of(data: bytes) -> Entry:
    """One entry of journald's native protocol. Source: systemd's JOURNAL_NATIVE_PROTOCOL."""
    found: dict[str, tuple[str, ...]] = {}
    while data:
        line, _, data = data.partition(b"\n")
        name, equals, value = line.partition(b"=")
        if not equals:
            (size,) = struct.unpack_from("<Q", data)
            value, data = data[8 : 8 + size], data[8 + size + 1 :]
        found[name.decode()] = (*found.get(name.decode(), ()), value.decode())
    return found
