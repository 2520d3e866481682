"""The channel that is always there: each notice, and each transition, as one entry of the journal.

Speaks journald's own protocol on a socket that never blocks: a journald that is stopped must not
stop the watch. Decides nothing; what an entry says is in entries.py.
"""

from __future__ import annotations

import asyncio
import socket
import struct

from healthd.channels.base import Entry, Tools
from healthd.channels.entries import notice_entry
from healthd.errors import HealthdError
from healthd.model import Notice

SOCKET = "/run/systemd/journal/socket"


async def deliver(notice: Notice, tools: Tools) -> None:
    """Write *notice* with all its words and its remedy."""
    await tools.journal.send(notice_entry(notice))


def datagram(entry: Entry) -> bytes:
    """*entry* as journald reads it. Source: systemd's JOURNAL_NATIVE_PROTOCOL."""
    parts = []
    for name, value in entry:
        field, said = name.encode(), value.encode(errors="replace")
        if b"\n" in said:
            parts += [field, b"\n", struct.pack("<Q", len(said)), said, b"\n"]
        else:
            parts += [field, b"=", said, b"\n"]
    return b"".join(parts)


class Journal:
    """journald's socket. Entries arrive in the order in which they were sent."""

    def __init__(self, path: str = SOCKET, *, limit_s: float = 5.0) -> None:
        self._path = path
        self._limit_s = limit_s
        self._socket: socket.socket | None = None
        self._turn = asyncio.Lock()

    async def send(self, entry: Entry) -> None:
        """Raises HealthdError "journal-unreachable" when journald does not take it in time."""
        message = datagram((*entry, ("SYSLOG_IDENTIFIER", "healthd")))
        try:
            async with asyncio.timeout(self._limit_s), self._turn:
                await self._send(message)
        except OSError as error:
            why = error.strerror or "no answer"
            raise HealthdError(
                "journal-unreachable", f"the journal takes no entry: {why}"
            ) from error

    async def _send(self, message: bytes) -> None:
        loop = asyncio.get_running_loop()
        if self._socket is not None:
            try:
                await loop.sock_sendall(self._socket, message)
                return
            except TimeoutError:
                raise
            except OSError:
                # journald's socket was made anew: the old connection leads nowhere.
                self.close()
        self._socket = _connected(self._path)
        await loop.sock_sendall(self._socket, message)

    def close(self) -> None:
        """Everything that was sent has arrived; nothing is kept here."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _connected(path: str) -> socket.socket:
    """Connected, because an unconnected one polls as writable while journald's queue is full."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    try:
        made.connect(path)
    except OSError:
        made.close()
        raise
    return made
