"""One non-blocking connection under one deadline: wait, race addresses, TLS, send, receive.

Whatever it waits for ends at the deadline; whatever it opened is closed by `close`, also when the
look is cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import ssl
from collections.abc import Sequence
from typing import TypeVar

from healthd.checks.names import Candidate

#: How long an address may keep silent before the next one is tried beside it.
#: Source: RFC 8305, 5, Connection Attempt Delay.
STAGGER_S = 0.25
#: A unix socket whose queue is full says "again" and tells nobody when there is room.
_UNIX_RETRY_S = 0.05
#: Small enough that parsing one piece, however nasty, does not hold up the loop.
_PIECE_BYTES = 8192

_PENDING = (errno.EINPROGRESS, errno.EALREADY, errno.EINTR)
_CONNECTED = (0, errno.EISCONN)

Value = TypeVar("Value")


class DeadlinePassed(Exception):
    """The look's limit was reached while it waited."""


class NotConnected(Exception):
    """No address could be connected to; *error* is the errno that says most."""

    def __init__(self, error: int) -> None:
        super().__init__(os.strerror(error))
        self.error = error


class Deadline:
    """A look's one limit, and the one place where the look waits: one timer ends every wait."""

    def __init__(self, limit_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Future[None] | None = None
        self._passed = False
        self._cut_short = False
        self._timer = self._loop.call_later(limit_s, self._pass)

    def end(self) -> None:
        """The look is over."""
        self._timer.cancel()

    async def readable(self, sock: socket.socket) -> None:
        waiting = self._loop.create_future()
        # By number: the selector puts what it does not know yet into words first, and those of a
        # socket are two calls to the kernel.
        number = sock.fileno()
        self._loop.add_reader(number, _wake, waiting)
        try:
            await self._wait(waiting)
        finally:
            self._loop.remove_reader(number)

    async def writable(self, socks: Sequence[socket.socket], at_most_s: float = 0) -> None:
        """Wait until one of *socks* is writable, or for *at_most_s* (0 = until the deadline)."""
        waiting = self._loop.create_future()
        timer = self._loop.call_later(at_most_s, _wake, waiting) if at_most_s else None
        numbers = [sock.fileno() for sock in socks]
        for number in numbers:
            self._loop.add_writer(number, _wake, waiting)
        try:
            await self._wait(waiting)
        finally:
            for number in numbers:
                self._loop.remove_writer(number)
            if timer:
                timer.cancel()

    async def pause(self, pause_s: float) -> None:
        await self.writable((), pause_s)

    async def value(self, coming: asyncio.Future[Value]) -> Value:
        """What *coming* holds when it is done; it is left alone when the deadline passes."""
        if not coming.done():
            waiting = self._loop.create_future()

            def wake(_: object) -> None:
                _wake(waiting)

            coming.add_done_callback(wake)
            try:
                await self._wait(waiting)
            finally:
                coming.remove_done_callback(wake)
        return coming.result()

    async def _wait(self, waiting: asyncio.Future[None]) -> None:
        if self._passed:
            raise DeadlinePassed
        self._waiting = waiting
        await waiting
        self._waiting = None
        if self._cut_short:
            raise DeadlinePassed

    def _pass(self) -> None:
        self._passed = True
        # What arrived in this very turn of the loop came in time; the next wait did not.
        if self._waiting is not None and not self._waiting.done():
            self._cut_short = True
            self._waiting.set_result(None)


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


async def connect(candidates: Sequence[Candidate], deadline: Deadline) -> socket.socket:
    """A connected socket: the first of *candidates* that answers, tried one beside the other.

    Raises NotConnected, DeadlinePassed.
    """
    if candidates and candidates[0].family == socket.AF_UNIX:
        return await _connect_unix(candidates[0], deadline)
    race = _Race(deadline)
    try:
        return await race.winner(candidates)
    finally:
        race.close()


class _Race:
    """Sockets on their way to one service. Whoever does not win is closed."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._running: dict[socket.socket, Candidate] = {}
        self._errors: list[int] = []

    async def winner(self, candidates: Sequence[Candidate]) -> socket.socket:
        for number, candidate in enumerate(candidates, 1):
            if (sock := _opened(candidate, self._errors)) is None:
                continue
            self._running[sock] = candidate
            if won := await self._first(STAGGER_S if number < len(candidates) else 0):
                return won
        raise NotConnected(_most_telling(self._errors))

    async def _first(self, at_most_s: float) -> socket.socket | None:
        """The first that stands; None when all have failed or *at_most_s* is over (0 = never)."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + at_most_s if at_most_s else float("inf")
        # A loopback connection stands (or is refused) before the call returns, and only a second
        # call says so: that spares a turn of the loop.
        won = self._arrived() or self._arrived()
        while won is None and self._running and (left_s := ends_s - loop.time()) > 0:
            await self._deadline.writable(tuple(self._running), left_s if at_most_s else 0)
            won = self._arrived()
        return won

    def _arrived(self) -> socket.socket | None:
        for sock, candidate in tuple(self._running.items()):
            error = _connect_step(sock, candidate)
            if error in _PENDING:
                continue
            del self._running[sock]
            if error in _CONNECTED:
                if not _is_itself(sock):
                    return sock
                error = errno.ECONNREFUSED
            sock.close()
            self._errors.append(error)
        return None

    def close(self) -> None:
        for sock in self._running:
            sock.close()


async def _connect_unix(candidate: Candidate, deadline: Deadline) -> socket.socket:
    errors: list[int] = []
    if (sock := _opened(candidate, errors)) is None:
        raise NotConnected(errors[0])
    error = errno.EAGAIN
    try:
        while (error := _connect_step(sock, candidate)) == errno.EAGAIN:
            await deadline.pause(_UNIX_RETRY_S)
    finally:
        if error != 0:
            sock.close()
    if error != 0:
        raise NotConnected(error)
    return sock


def _opened(candidate: Candidate, errors: list[int]) -> socket.socket | None:
    try:
        sock = socket.socket(candidate.family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    except OSError as err:
        errors.append(err.errno or errno.EIO)
        return None
    return sock


def _connect_step(sock: socket.socket, candidate: Candidate) -> int:
    """The errno of one more step towards *candidate*; 0 = it stands."""
    try:
        return sock.connect_ex(candidate.address)
    except OSError as err:
        # Said by Python, before the kernel is asked: a unix path that is too long.
        return err.errno or errno.ENAMETOOLONG


def _is_itself(sock: socket.socket) -> bool:
    """Whether the socket met itself: Linux lets a connection to a free port of the ephemeral range
    come back to its own socket, and a service that is down would look well."""
    if sock.family == socket.AF_UNIX:
        return False
    try:
        return bool(sock.getsockname() == sock.getpeername())
    except OSError:
        return False


def _most_telling(errors: Sequence[int]) -> int:
    """Of several addresses' errors: a refusal says that somebody was there."""
    for telling in (errno.ECONNREFUSED, errno.ETIMEDOUT, errno.EHOSTUNREACH):
        if telling in errors:
            return telling
    return errors[0] if errors else errno.EADDRNOTAVAIL


class Wire:
    """A connection that stands. Every method raises DeadlinePassed, and OSError when it breaks."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    async def start_tls(self, context: ssl.SSLContext, server_name: str) -> ssl.SSLSocket:
        """Shake hands. Raises ssl.SSLError when the peer is not believed, ValueError for a name
        that no server can have."""
        self._sock = tls = context.wrap_socket(
            self._sock, server_hostname=server_name, do_handshake_on_connect=False
        )
        while True:
            try:
                tls.do_handshake()
                return tls
            except ssl.SSLWantReadError:
                await self._deadline.readable(tls)
            except ssl.SSLWantWriteError:
                await self._deadline.writable((tls,))

    async def send(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[self._sock.send(left) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                await self._deadline.writable((self._sock,))
            except ssl.SSLWantReadError:
                await self._deadline.readable(self._sock)

    async def receive(self) -> bytes:
        """The next piece, b"" at the end. Waits first: what comes in many pieces then takes as many
        turns of the loop, and a flood cannot keep others from theirs."""
        while True:
            if not (isinstance(self._sock, ssl.SSLSocket) and self._sock.pending()):
                await self._deadline.readable(self._sock)
            try:
                return self._sock.recv(_PIECE_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError):
                continue
            except ssl.SSLWantWriteError:
                await self._deadline.writable((self._sock,))

    def close(self) -> None:
        if isinstance(self._sock, ssl.SSLSocket):
            # Says goodbye and does not wait for the answer: a server that hears none logs it.
            with contextlib.suppress(OSError, ValueError):
                self._sock.unwrap()
        self._sock.close()
