"""The one core under tcp, http and TLS: connect, say something, read the answer, within one limit.

Never follows a redirect, never asks the environment for a proxy, never reads without bounds.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable
from functools import lru_cache
from typing import NoReturn

import h11

from healthd.checks.base import (
    HttpExchange,
    Place,
    Probe,
    Reply,
    Stage,
    TcpExchange,
    Trouble,
)
from healthd.checks.names import Candidate, Names
from healthd.checks.trust import Trust, refusal, valid_until_at
from healthd.checks.wire import Deadline, DeadlinePassed, NotConnected, Wire, connect
from healthd.model import FailureClass, Way

#: How much of an answer's body is read; what is looked for must be in it.
BODY_BYTES = 64 * 1024
#: How long the head of an answer may be.
HEAD_BYTES = 32 * 1024
#: How much is read in all, so that an answer of nothing but framing ends too.
ANSWER_BYTES = 256 * 1024
#: How many prepared requests are kept.
REQUESTS = 1024

_CONNECT_WORDS = {
    errno.ECONNREFUSED: "refused",
    errno.EHOSTUNREACH: "no route to the host",
    errno.ENETUNREACH: "the network is unreachable",
    errno.ETIMEDOUT: "the host does not answer",
    errno.EADDRNOTAVAIL: "this machine has no address of that family",
    errno.EAFNOSUPPORT: "this machine has no address of that family",
    errno.ECONNRESET: "reset",
    errno.ENOENT: "there is no such socket",
    errno.ENOTSOCK: "it is not a socket",
    errno.EPROTOTYPE: "it is not a stream socket",
}
#: What says something of healthd (its rights, its sandbox, its descriptors), not of the service.
_OURS_WORDS = {
    errno.EACCES: "no permission to connect",
    errno.EPERM: "not allowed to connect",
    errno.EMFILE: "too many open files",
    errno.ENFILE: "the machine has too many open files",
    errno.ENOMEM: "out of memory",
    errno.ENOBUFS: "out of memory",
    errno.ENAMETOOLONG: "the socket's path is too long",
}

#: How far a connection came that was not made; what is not here found nobody.
_WAYS = {
    errno.ECONNREFUSED: Way.OPEN,
    errno.ECONNRESET: Way.OPEN,
    errno.ENETUNREACH: Way.NO_ROUTE,
    errno.EADDRNOTAVAIL: Way.NO_ROUTE,
    errno.EAFNOSUPPORT: Way.NO_ROUTE,
}
#: The same of a look whose limit passed in this stage; later ones have a connection.
_WAYS_OF_THE_SILENT = {Stage.DNS: Way.NO_RESOLVER, Stage.CONNECT: Way.NO_ANSWER}

_NO_AUTHORITIES = Trouble(FailureClass.TLS, Stage.TLS, "its authorities cannot be read", ours=True)


class Prober:
    """Makes probes. One object serves all looks; it keeps names for a moment and TLS contexts."""

    def __init__(self, names: Names | None = None) -> None:
        self._names = names or Names()
        self._trust = Trust()
        # A check asks the same each time, and h11 validates what it is given.
        self._request = lru_cache(REQUESTS)(_request)

    async def probe(self, probe: Probe, limit_s: float) -> Reply:
        """Make *probe*. Whatever the other side does is in the reply, never raised."""
        context: ssl.SSLContext | None = None
        # Before the limit begins: it is the other side's time, and this is our own preparation.
        if probe.tls and not (context := await self._context(probe.tls.ca, limit_s)):
            return Reply(_NO_AUTHORITIES)
        course = _Course(limit_s)
        wire: Wire | None = None
        trouble: Trouble | None = None
        try:
            candidates = await self._candidates(probe.places, course)
            course.enter(Stage.CONNECT)
            wire = Wire(await connect(candidates, course.deadline), course.deadline)
            if probe.tls and context:
                course.enter(Stage.TLS)
                peer = await wire.start_tls(context, probe.tls.server_name)
                course.valid_until_at = valid_until_at(peer)
            course.enter(Stage.FIRST_BYTE)
            match probe.exchange:
                case HttpExchange():
                    await _ask(wire, self._request, probe.exchange, course)
                case TcpExchange():
                    await _talk(wire, probe.exchange, course)
        except (_Troubled, DeadlinePassed, NotConnected, OSError, ValueError) as err:
            trouble = _trouble(err, course)
        finally:
            course.deadline.end()
            if wire:
                wire.close()
        return course.reply(trouble)

    async def _context(self, ca: str, limit_s: float) -> ssl.SSLContext | None:
        try:
            loading = self._trust.context(ca)
        except OSError:
            return None
        await asyncio.wait((loading,), timeout=limit_s)
        return loading.result() if loading.done() and not loading.exception() else None

    async def _candidates(
        self, places: tuple[Place, ...], course: _Course
    ) -> tuple[Candidate, ...]:
        found: list[Candidate] = []
        for place in places:
            known = self._names.known(place)
            if not known:
                known = await course.deadline.value(self._names.resolve(place))
            found += known
        return tuple(found)


class _Troubled(Exception):
    """The probe ends here."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.words)
        self.trouble = trouble


class _Course:
    """One probe on its way: its deadline, the stage it is in, what it has learnt."""

    def __init__(self, limit_s: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._began_s = self._loop.time()
        self._stamps: dict[Stage, int] = {}
        self.deadline = Deadline(limit_s)
        self.stage = Stage.DNS
        self.status = 0
        self.received = bytearray()
        self.whole = True
        self.valid_until_at = 0

    def enter(self, stage: Stage) -> None:
        """The present stage is over."""
        self._stamps[self.stage] = self._took_us()
        self.stage = stage

    def give_up(self, failure_class: FailureClass, words: str, *, ours: bool = False) -> NoReturn:
        raise _Troubled(Trouble(failure_class, self.stage, words, ours, Way.OPEN))

    def reply(self, trouble: Trouble | None) -> Reply:
        took_us = self._took_us()
        if trouble is None:
            self._stamps[Stage.DONE] = took_us
        return Reply(
            trouble=trouble,
            status=self.status,
            received=bytes(self.received),
            whole=self.whole,
            valid_until_at=self.valid_until_at,
            took_us=took_us,
            stamps=self._stamps,
        )

    def _took_us(self) -> int:
        return int((self._loop.time() - self._began_s) * 1e6)


async def _ask(
    wire: Wire,
    prepared: Callable[[HttpExchange], h11.Request],
    exchange: HttpExchange,
    course: _Course,
) -> None:
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
    try:
        head = connection.send(prepared(exchange)) or b""
        end = connection.send(h11.EndOfMessage()) or b""
    except h11.LocalProtocolError:
        course.give_up(FailureClass.STATUS, "such a request cannot be made", ours=True)
    await wire.send(head + end)
    try:
        await _read_answer(wire, connection, course)
    except h11.RemoteProtocolError as err:
        if course.status:
            course.give_up(FailureClass.BODY, "it broke off")
        # 431, Request Header Fields Too Large, is h11's hint for a head that has no end.
        too_long = err.error_status_hint == 431
        words = (
            f"its head is longer than {HEAD_BYTES // 1024} KiB" if too_long else "it is not HTTP"
        )
        course.give_up(FailureClass.STATUS, words)


def _request(exchange: HttpExchange) -> h11.Request:
    return h11.Request(
        method=exchange.method, target=exchange.target, headers=list(exchange.headers)
    )


async def _read_answer(wire: Wire, connection: h11.Connection, course: _Course) -> None:
    read_bytes = 0
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            piece = await wire.receive()
            if read_bytes == 0:
                _begin_answer(piece, course)
            read_bytes += len(piece)
            if read_bytes > ANSWER_BYTES:
                return _cut_off(course)
            connection.receive_data(piece)
        elif isinstance(event, h11.Response):
            course.status = event.status_code
            # What was kept in case it would not be HTTP.
            course.received.clear()
        elif isinstance(event, h11.InformationalResponse):
            # A changed protocol is the last that can be said in this one.
            if event.status_code == 101:
                course.status = event.status_code
                return None
        elif isinstance(event, h11.Data):
            course.received += event.data
            if len(course.received) > BODY_BYTES:
                del course.received[BODY_BYTES:]
                course.whole = False
                return None
        else:
            return None


def _begin_answer(piece: bytes, course: _Course) -> None:
    if not piece:
        course.give_up(FailureClass.CONNECT, "the connection was closed")
    course.received += piece
    course.enter(Stage.DONE)


def _cut_off(course: _Course) -> None:
    if not course.status:
        course.give_up(FailureClass.STATUS, "its head has no end")
    course.whole = False


async def _talk(wire: Wire, exchange: TcpExchange, course: _Course) -> None:
    if exchange.send:
        await wire.send(exchange.send)
    while exchange.expect not in course.received:
        if len(course.received) >= BODY_BYTES:
            course.whole = False
            words = f"the expected text is not in its first {BODY_BYTES // 1024} KiB"
            course.give_up(FailureClass.BODY, words)
        piece = await wire.receive()
        if not course.received:
            _begin_answer(piece, course)
        elif piece:
            course.received += piece
        else:
            course.give_up(FailureClass.BODY, "the connection was closed")


def _trouble(err: Exception, course: _Course) -> Trouble:
    """Why a probe ended, in healthd's own words."""
    stage = course.stage
    match err:
        case _Troubled():
            return err.trouble
        case DeadlinePassed():
            way = _WAYS_OF_THE_SILENT.get(stage, Way.OPEN)
            return Trouble(FailureClass.TIMEOUT, stage, way=way)
        case NotConnected():
            return _no_connection(err.error)
        case socket.gaierror():
            way = Way.NO_RESOLVER if err.errno == socket.EAI_AGAIN else Way.UNKNOWN
            return Trouble(FailureClass.DNS, stage, _name_words(err.errno), way=way)
        case ssl.SSLError():
            return Trouble(FailureClass.TLS, stage, refusal(err))
        case OSError() if stage == Stage.TLS:
            return Trouble(FailureClass.TLS, stage, "the connection was closed")
        case OSError() if stage == Stage.DONE:
            return Trouble(FailureClass.BODY, stage, "the connection was broken")
        case OSError():
            return Trouble(FailureClass.CONNECT, stage, "the connection was broken", way=Way.OPEN)
    # A name that no server can have (empty label, too long) is refused by Python, not by a peer.
    return Trouble(FailureClass.DNS, stage, "there is no such name", ours=True)


def _no_connection(error: int) -> Trouble:
    if words := _OURS_WORDS.get(error):
        return Trouble(FailureClass.CONNECT, Stage.CONNECT, words, ours=True)
    words = _CONNECT_WORDS.get(error) or errno.errorcode.get(error, f"error {error}")
    way = _WAYS.get(error, Way.NO_ANSWER)
    return Trouble(FailureClass.CONNECT, Stage.CONNECT, words, way=way)


def _name_words(error: int | None) -> str:
    if error in (socket.EAI_NONAME, socket.EAI_NODATA):
        return "the name is not known"
    if error == socket.EAI_AGAIN:
        return "the resolver does not answer"
    return "the name cannot be looked up"
