"""The core under tcp and http looks: addresses, TLS, bounds, the one limit, what is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from healthd.checks.base import HttpExchange, Place, Probe, Reply, Stage, TcpExchange, Tls
from healthd.checks.names import Candidate, Names
from healthd.checks.probe import BODY_BYTES, Prober
from healthd.checks.shared import THREADS, Shared
from healthd.checks.wire import Deadline, DeadlinePassed, _is_itself
from healthd.model import FailureClass, Way
from tests.unit.loopback import (
    AMPLE_S,
    Certificates,
    Handler,
    answering,
    drip,
    free_port,
    hang,
    make_certificates,
    open_descriptors,
    page,
    served,
    silent,
)

GET = HttpExchange("GET", "/", (("Host", "test"), ("Connection", "close")))
CONNECT = TcpExchange()
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
#: A limit that is meant to be reached.
SHORT_S = 0.15


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Made once: openssl takes its time."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def here(port: int, host: str = "127.0.0.1") -> tuple[Place, ...]:
    """One place."""
    return (Place(host, port),)


async def get(
    port: int, *, host: str = "127.0.0.1", limit_s: float = AMPLE_S, tls: Tls | None = None
) -> Reply:
    """One GET by a prober of its own."""
    return await Prober().probe(Probe(here(port, host), GET, tls), limit_s)


async def said(answer: bytes, exchange: HttpExchange = GET) -> Reply:
    """What a probe makes of a server that says *answer* and closes."""
    async with served(answering(answer)) as port:
        return await Prober().probe(Probe(here(port), exchange), AMPLE_S)


def why(reply: Reply) -> tuple[FailureClass, Stage, str]:
    """The trouble that the probe must have ended in."""
    assert reply.trouble is not None
    return reply.trouble.failure_class, reply.trouble.stage, reply.trouble.words


# ---- answers


async def test_a_whole_answer_is_a_reply() -> None:
    """Status, body and the stage times are what every http look is judged by."""
    reply = await said(page(b"fine"))
    assert reply.trouble is None
    assert (reply.status, reply.received, reply.whole) == (200, b"fine", True)
    assert list(reply.stamps) == [Stage.DNS, Stage.CONNECT, Stage.FIRST_BYTE, Stage.DONE]
    assert sorted(reply.stamps.values()) == list(reply.stamps.values())


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
        (CHUNKED + b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", 200, b"hello"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + page(b"x"), 200, b"x"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (page(b"", "503 Service Unavailable"), 503, b""),
    ],
)
async def test_http_frames_its_answers_in_many_ways(
    answer: bytes, status: int, body: bytes
) -> None:
    """A server is free to choose among them, and none is a failure."""
    reply = await said(answer)
    assert (reply.trouble, reply.status, reply.received) == (None, status, body)


async def test_a_head_request_has_no_body_to_wait_for() -> None:
    """The length in the answer's head is that of a body which never comes."""
    head = HttpExchange("HEAD", "/", GET.headers)
    reply = await said(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", head)
    assert (reply.trouble, reply.status) == (None, 200)


async def test_a_changed_protocol_is_an_answer() -> None:
    """An endpoint of web sockets says 101 when it is well, and nothing more in HTTP."""
    upgrade = HttpExchange(
        "GET", "/", (("Host", "test"), ("Connection", "upgrade"), ("Upgrade", "websocket"))
    )
    answer = b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    assert (await said(answer, upgrade)).status == 101


async def test_a_redirect_is_an_answer_and_not_followed() -> None:
    """Whoever answers elsewhere is not the endpoint that was asked about."""
    asked = 0

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1

    async with served(count) as elsewhere:
        location = f"Location: http://127.0.0.1:{elsewhere}/\r\n".encode()
        reply = await said(b"HTTP/1.1 302 Found\r\n" + location + b"Content-Length: 0\r\n\r\n")
    assert (reply.status, asked) == (302, 0)


async def test_a_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that goes through somebody else's proxy says how that proxy is."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    assert (await said(page())).status == 200


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (b"", (FailureClass.CONNECT, Stage.FIRST_BYTE, "the connection was closed")),
        (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", (FailureClass.STATUS, Stage.DONE, "it is not HTTP")),
        (b"\x00\xff" * 200, (FailureClass.STATUS, Stage.DONE, "it is not HTTP")),
        (b"HTTP/1.1 200", (FailureClass.STATUS, Stage.DONE, "it is not HTTP")),
        (
            b"HTTP/1.1 200 OK\r\nX: " + b"x" * 40_000,
            (FailureClass.STATUS, Stage.DONE, "its head is longer than 32 KiB"),
        ),
        (
            b"HTTP/1.1 100 Continue\r\n\r\n" * 20_000,
            (FailureClass.STATUS, Stage.DONE, "its head has no end"),
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
            (FailureClass.BODY, Stage.DONE, "it broke off"),
        ),
        (CHUNKED + b"zz\r\n", (FailureClass.BODY, Stage.DONE, "it broke off")),
    ],
)
async def test_a_broken_answer_names_where_it_broke(
    answer: bytes, failure: tuple[FailureClass, Stage, str]
) -> None:
    """The class is what tells a person where to look; whatever comes, nothing is raised."""
    assert why(await said(answer)) == failure


async def test_a_request_that_http_forbids_is_our_own_trouble() -> None:
    """A header with a line end in it would be another request; the server has done nothing."""
    reply = await said(page(), HttpExchange("GET", "/", (("Host", "a\r\nX: y"),)))
    assert reply.trouble is not None
    assert (reply.trouble.ours, reply.trouble.words) == (True, "such a request cannot be made")


async def test_what_is_no_http_is_kept_for_evidence() -> None:
    """Another service on that port gives itself away by its first words."""
    reply = await said(b"220 mail.example ESMTP\r\n\r\n")
    assert reply.received.startswith(b"220 mail.example")


async def test_only_so_much_of_a_body_is_read() -> None:
    """A look must not hold what a server likes to send."""
    reply = await said(page(b"x" * (BODY_BYTES * 20)))
    assert (reply.trouble, reply.whole, len(reply.received)) == (None, False, BODY_BYTES)


async def test_framing_without_content_ends_too() -> None:
    """One byte in each chunk, with a long remark: the bound on the body alone would not hold."""
    chunk = b"1;" + b"remark" * 100 + b"\r\nx\r\n"
    reply = await said(CHUNKED + chunk * 2_000)
    assert (reply.trouble, reply.whole) == (None, False)


async def test_a_reset_before_an_answer_is_a_connection_that_failed() -> None:
    """A server that dies while it is asked is not one that answers wrongly."""

    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    async with served(reset) as port:
        reply = await get(port)
    words = "the connection was broken"
    assert why(reply) == (FailureClass.CONNECT, Stage.FIRST_BYTE, words)


# ---- the limit


async def test_a_silent_server_ends_at_the_limit() -> None:
    """It took the connection and the request, and then said nothing."""
    async with served(hang) as port:
        reply = await get(port, limit_s=SHORT_S)
    assert why(reply) == (FailureClass.TIMEOUT, Stage.FIRST_BYTE, "")


async def test_a_server_that_drips_ends_at_the_limit() -> None:
    """Each byte is a sign of life, and the answer still never comes."""
    async with served(drip) as port:
        reply = await get(port, limit_s=SHORT_S)
    assert why(reply) == (FailureClass.TIMEOUT, Stage.DONE, "")


async def test_a_port_that_swallows_connections_ends_at_the_limit() -> None:
    """A full queue, a firewall that drops: nobody says no."""
    with silent() as port:
        reply = await get(port, limit_s=SHORT_S)
    assert why(reply) == (FailureClass.TIMEOUT, Stage.CONNECT, "")


async def test_a_handshake_that_hangs_ends_at_the_limit() -> None:
    """A server that waits for plain words never says hello."""
    async with served(hang) as port:
        # The machine's authorities are read first, which takes a while on a busy one.
        reply = await get(port, limit_s=3.0, tls=Tls("localhost"))
    assert why(reply) == (FailureClass.TIMEOUT, Stage.TLS, "")


async def test_a_resolver_that_hangs_ends_at_the_limit_and_delays_nobody() -> None:
    """getaddrinfo cannot be given up; the look that waits for it can, and others do not wait."""
    answer = threading.Event()

    def resolver(place: Place) -> tuple[Candidate, ...]:
        answer.wait(AMPLE_S)
        return ()

    prober = Prober(Names(resolver))
    slow = Probe(here(80, "slow.example"), GET)
    async with served(answering(page())) as port:
        hanging = asyncio.ensure_future(prober.probe(slow, AMPLE_S))
        reply = await prober.probe(Probe(here(port, "localhost"), GET), AMPLE_S)
        assert not hanging.done()
    assert reply.status == 200
    ended = await prober.probe(slow, SHORT_S)
    assert why(ended) == (FailureClass.TIMEOUT, Stage.DNS, "")
    answer.set()
    assert why(await hanging)[0] == FailureClass.CONNECT


async def test_a_hanging_endpoint_delays_nobody() -> None:
    """Forty looks that hang began before: those that are answered end while all of them wait."""
    async with served(hang) as mute, served(answering(page())) as well:
        hanging = [asyncio.ensure_future(get(mute)) for _ in range(40)]
        replies = await asyncio.gather(*(get(well) for _ in range(20)))
        assert [each.done() for each in hanging] == [False] * 40
        for each in hanging:
            each.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
    assert {each.status for each in replies} == {200}


async def test_what_comes_in_the_deadlines_own_turn_came_in_time() -> None:
    """A loop that was busy must not turn an answer that lies there into a failure."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(b"x")
        deadline = Deadline(0.0)
        await deadline.readable(ours)
        with pytest.raises(DeadlinePassed):
            await deadline.readable(ours)


# ---- addresses


async def test_a_closed_port_is_refused() -> None:
    """The commonest failure of all has the plainest words."""
    assert why(await get(free_port())) == (FailureClass.CONNECT, Stage.CONNECT, "refused")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_localhost_is_found_in_either_family(host: str) -> None:
    """A server may listen in one family only, and a resolver may know only one."""
    async with served(answering(page()), host=host) as port:
        assert (await get(port, host="localhost")).status == 200
        assert (await get(port, host=host)).status == 200


async def test_a_silent_address_does_not_use_up_the_limit() -> None:
    """A family that is routed to nowhere is common; the other one still answers in time."""
    async with served(answering(page())) as port:
        with silent() as nowhere:
            found = tuple(
                Candidate(socket.AF_INET, ("127.0.0.1", each)) for each in (nowhere, port)
            )
            prober = Prober(Names(lambda place: found))
            reply = await prober.probe(Probe(here(80, "both.example"), GET), AMPLE_S)
    assert reply.status == 200


async def test_several_places_are_one_service() -> None:
    """A closed place is passed over at once for the next."""
    async with served(answering(page())) as port:
        places = (*here(free_port()), *here(port))
        reply = await Prober().probe(Probe(places, GET), AMPLE_S)
    assert reply.status == 200


@pytest.mark.parametrize(
    ("error", "words", "way"),
    [
        (socket.EAI_NONAME, "the name is not known", Way.UNKNOWN),
        (socket.EAI_AGAIN, "the resolver does not answer", Way.NO_RESOLVER),
        (socket.EAI_FAIL, "the name cannot be looked up", Way.UNKNOWN),
    ],
)
async def test_a_name_without_address_is_of_class_dns(error: int, words: str, way: Way) -> None:
    """It is the resolver's or the zone's trouble, not the service's."""

    def resolver(place: Place) -> tuple[Candidate, ...]:
        raise socket.gaierror(error, "words of libc")

    reply = await Prober(Names(resolver)).probe(Probe(here(80, "x.example"), GET), AMPLE_S)
    assert why(reply) == (FailureClass.DNS, Stage.DNS, words)
    assert reply.trouble is not None
    assert reply.trouble.way is way


def test_a_connection_to_itself_is_none() -> None:
    """A free port of the ephemeral range can connect to itself: a dead service would look well."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.connect(sock.getsockname())
        assert _is_itself(sock)


async def test_unix_sockets_are_places(tmp_path: Path) -> None:
    """Both kinds of path; one that is missing says so."""
    path = str(tmp_path / "web.sock")
    abstract = f"\0healthd-test-{os.getpid()}"
    for bound, named in ((path, path), (abstract, f"@{abstract[1:]}")):
        async with served(answering(page()), unix=bound):
            reply = await Prober().probe(Probe((Place(unix=named),), GET), AMPLE_S)
        assert reply.status == 200
    missing = Probe((Place(unix=str(tmp_path / "missing")),), GET)
    words = "there is no such socket"
    reply = await Prober().probe(missing, AMPLE_S)
    assert why(reply) == (FailureClass.CONNECT, Stage.CONNECT, words)


async def test_a_unix_server_that_accepts_nobody_ends_at_the_limit(tmp_path: Path) -> None:
    """There the kernel says "again" instead of letting one wait; that is no refusal."""
    path = str(tmp_path / "full.sock")
    with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as first:
        listener.bind(path)
        listener.listen(0)
        first.connect(path)
        reply = await Prober().probe(Probe((Place(unix=path),), CONNECT), SHORT_S)
    assert why(reply) == (FailureClass.TIMEOUT, Stage.CONNECT, "")


async def test_a_socket_that_we_may_not_use_is_our_own_trouble(tmp_path: Path) -> None:
    """healthd's rights say nothing of the service: no alarm."""
    path = str(tmp_path / "closed.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        os.chmod(path, 0)
        own = os.geteuid()
        if own == 0:
            os.seteuid(65534)
        try:
            reply = await Prober().probe(Probe((Place(unix=path),), CONNECT), AMPLE_S)
        finally:
            os.seteuid(own)
    assert reply.trouble is not None
    assert (reply.trouble.ours, reply.trouble.words) == (True, "no permission to connect")


async def test_what_many_ask_for_at_once_is_fetched_once() -> None:
    """A hundred checks of one host are one question to the resolver, and few threads in all."""
    asked: list[int] = []
    threads: list[int] = []
    go = threading.Event()

    def fetch(key: int) -> int:
        threads.append(threading.active_count())
        go.wait(AMPLE_S)
        asked.append(key)
        if key == 7:
            raise OSError("no")
        return key * 2

    before = threading.active_count()
    shared = Shared(fetch, keep_s=60)
    values = [shared.get(key % 50) for key in range(200)]
    go.set()
    found = await asyncio.gather(*values, return_exceptions=True)
    assert sorted(asked) == list(range(50))
    assert max(threads) - before <= THREADS
    assert [each for each in found if not isinstance(each, OSError)] == [
        key % 50 * 2 for key in range(200) if key % 50 != 7
    ]


# ---- TLS


async def test_a_trusted_certificate_and_its_end(certificates: Certificates) -> None:
    """Its last day is what `certificate: 14d` is judged by."""
    tls = Tls("localhost", str(certificates.authority))
    server = certificates.server(certificates.good)
    async with served(answering(page()), tls=server) as port:
        reply = await get(port, tls=tls)
        beside = await get(port, tls=Tls("127.0.0.1", str(certificates.authority)))
    assert (reply.trouble, reply.status, beside.status) == (None, 200, 200)
    assert reply.valid_until_at == _end_of(certificates.good)
    assert Stage.TLS in reply.stamps


def _end_of(certificate: Path) -> int:
    asked = ("openssl", "x509", "-noout", "-enddate", "-in", str(certificate))
    said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    return int(ssl.cert_time_to_seconds(said.removeprefix("notAfter="))) * 1_000_000


@pytest.mark.parametrize(
    ("which", "server_name", "own_authority", "words"),
    [
        ("good", "localhost", False, "its issuer is not known"),
        ("expired", "localhost", True, "the certificate has expired"),
        ("other_name", "localhost", True, "the certificate is for another name"),
        ("other_name", "127.0.0.1", True, "the certificate is for another address"),
    ],
)
async def test_a_certificate_that_is_not_believed_says_why(
    certificates: Certificates, which: str, server_name: str, own_authority: bool, words: str
) -> None:
    """Verification is on, and a person must not need openssl to learn what is wrong."""
    server = certificates.server(getattr(certificates, which))
    tls = Tls(server_name, str(certificates.authority) if own_authority else "")
    async with served(answering(page()), tls=server) as port:
        reply = await get(port, tls=tls)
    assert why(reply) == (FailureClass.TLS, Stage.TLS, words)


async def test_plain_http_on_a_tls_port_is_named() -> None:
    """And so is a server that hangs up on a greeting it does not understand."""

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(page(b"", "400 Bad Request"))

    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # All of it: what lies unread when a socket is closed turns the end into a reset.
        await reader.read(65536)

    async with served(plain) as port:
        words = "the other side does not speak TLS"
        assert why(await get(port, tls=Tls("x"))) == (FailureClass.TLS, Stage.TLS, words)
    async with served(closing) as port:
        words = "the connection was closed during the handshake"
        assert why(await get(port, tls=Tls("x"))) == (FailureClass.TLS, Stage.TLS, words)


async def test_authorities_that_cannot_be_read_are_our_own_trouble(tmp_path: Path) -> None:
    """A wrong path in the settings must not raise an alarm about the service."""
    no_certificate = tmp_path / "empty.pem"
    no_certificate.write_text("nothing")
    for path in (no_certificate, tmp_path / "missing.pem"):
        reply = await get(free_port(), tls=Tls("localhost", str(path)))
        assert reply.trouble is not None
        assert reply.trouble.ours


async def test_a_new_file_of_authorities_is_read(
    certificates: Certificates, tmp_path: Path
) -> None:
    """Who renews an authority must not have to restart healthd."""
    ca = tmp_path / "ca.pem"
    ca.write_text(certificates.other_name.read_text().partition("-----BEGIN PRIVATE")[0])
    prober = Prober()
    server = certificates.server(certificates.good)
    async with served(answering(page()), tls=server) as port:
        probe = Probe(here(port), GET, Tls("localhost", str(ca)))
        assert (await prober.probe(probe, AMPLE_S)).status == 0
        ca.write_text(certificates.authority.read_text())
        assert (await prober.probe(probe, AMPLE_S)).status == 200


# ---- what is left


async def test_a_cancelled_look_leaves_nothing() -> None:
    """Reload and stop cancel looks wherever they stand."""
    before = open_descriptors()
    connected = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        await hang(reader, writer)

    async with served(handle) as port:
        look = asyncio.ensure_future(get(port))
        await connected.wait()
        look.cancel()
        with pytest.raises(asyncio.CancelledError):
            await look
    with silent() as port:
        look = asyncio.ensure_future(get(port))
        await asyncio.sleep(0)
        look.cancel()
        with pytest.raises(asyncio.CancelledError):
            await look
    assert open_descriptors() == before
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def _half_close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write_eof()
    await hang(reader, writer)


async def test_two_thousand_looks_leave_nothing(certificates: Certificates) -> None:
    """Whatever the other side does, a month of looks must not use up descriptors or tasks."""
    plain: list[Handler] = [
        *(hang, drip, _half_close, answering(page()), answering(b"garbage\r\n\r\n")),
        answering(page(b"x" * 500_000)),
    ]
    refused = free_port()
    prober = Prober()
    ca = str(certificates.authority)
    # What is made once and kept (the loop's own, the contexts) is made before the count.
    await prober.probe(Probe(here(refused), GET, Tls("localhost", ca)), AMPLE_S)
    before = open_descriptors()
    async with contextlib.AsyncExitStack() as stack:
        ports = [await stack.enter_async_context(served(handler)) for handler in plain]
        probes = [Probe(here(port), GET) for port in (*ports, refused)]
        for certificate in (certificates.good, certificates.expired, certificates.other_name):
            server = certificates.server(certificate)
            port = await stack.enter_async_context(served(answering(page()), tls=server))
            probes.append(Probe(here(port), GET, Tls("localhost", ca)))
        outcomes = await _outcomes(prober, [probes[n % len(probes)] for n in range(2_000)])
    assert open_descriptors() == before
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert outcomes == {
        *(FailureClass.TIMEOUT, FailureClass.CONNECT, FailureClass.STATUS, FailureClass.TLS),
        None,
    }


async def _outcomes(prober: Prober, probes: list[Probe]) -> set[FailureClass | None]:
    """Make all *probes*, a few at a time; the classes that came of it."""
    few = asyncio.Semaphore(50)

    async def look(probe: Probe) -> FailureClass | None:
        async with few:
            reply = await prober.probe(probe, 0.5)
        return reply.trouble.failure_class if reply.trouble else None

    async with asyncio.TaskGroup() as group:
        looks = [group.create_task(look(probe)) for probe in probes]
    return {each.result() for each in looks}
