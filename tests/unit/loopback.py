"""Real servers on the loopback for tests of looks, and a count of what a look must not leave.

Every server here ends with its `async with` block, however it treats those who connect.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

from msgspec import Struct

from healthd.checks.cgroup import Enclosures
from healthd.checks.probe import Prober
from healthd.checks.runner import Runner
from healthd.checks.tools import LookTools, Toolbox
from healthd.errors import HealthdError
from healthd.model import Endpoint, UnitName

#: More than any look here needs; a test that reaches it has failed.
AMPLE_S = 30.0
NOW_AT = 1_800_000_000_000_000

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def no_sockets(unit: UnitName) -> list[tuple[str, str]]:
    """A systemd that has no .socket units."""
    raise HealthdError("unit-missing", f"systemd knows no {unit}")


def tools(limit_s: float = AMPLE_S) -> LookTools:
    """The real tools of one look, without systemd."""
    runner = Runner(Enclosures(None).make)
    return Toolbox(Prober(), runner, no_sockets, lambda: NOW_AT).for_look(limit_s)


@contextlib.asynccontextmanager
async def served(
    handler: Handler,
    *,
    host: str = "127.0.0.1",
    unix: str = "",
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[int]:
    """A server whose connections *handler* treats; its port (0 for *unix*)."""
    tasks: set[asyncio.Task[None]] = set()

    async def treat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError, TimeoutError):
            try:
                await handler(reader, writer)
            finally:
                writer.close()
                await writer.wait_closed()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(treat(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    if unix:
        server = await asyncio.start_unix_server(connected, unix, ssl=tls)
    else:
        server = await asyncio.start_server(connected, host, 0, ssl=tls, backlog=500)
    try:
        yield 0 if unix else server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


def answering(answer: bytes) -> Handler:
    """Reads one request's head, says *answer*, closes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    return handle


def page(body: bytes = b"ok", status: str = "200 OK") -> bytes:
    """A whole HTTP answer."""
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes everything, says nothing, for as long as the other side stays."""
    while await reader.read(4096):
        pass


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends one byte after another and never comes to an end."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.005)


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """A port on which connecting gets no answer: its queue is full and nobody takes from it."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def endpoint(port: int, host: str = "127.0.0.1") -> Endpoint:
    """The endpoint `web`."""
    return Endpoint("web", host=host, port=port)


def open_descriptors() -> int:
    """How many this process has; the one that counts is among them each time."""
    return len(os.listdir("/proc/self/fd"))


class Certificates(Struct, frozen=True):
    """Files made by openssl: an authority, and certificates with their keys beside them."""

    authority: Path
    good: Path
    expired: Path
    other_name: Path

    def server(self, certificate: Path) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        return context


#: `openssl ca`, not `openssl x509`: it alone dates a certificate back in both 3.0 and 3.5.
_AUTHORITY = """\
[ca]
default_ca = own
[own]
database = {folder}/index
new_certs_dir = {folder}
rand_serial = yes
unique_subject = no
default_md = sha256
certificate = {folder}/authority.pem
private_key = {folder}/authority.key
policy = names
[names]
commonName = supplied
"""


def make_certificates(folder: Path) -> Certificates:
    """Make an authority and what it signed, for this machine's loopback names."""
    key, authority, settings = (folder / f"authority.{end}" for end in ("key", "pem", "cnf"))
    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    settings.write_text(_AUTHORITY.format(folder=folder))
    (folder / "index").touch()
    _openssl(
        *("req", "-x509", *new_key, "-keyout", key, "-out", authority, "-days", "3650"),
        *("-subj", "/CN=a test's authority"),
    )

    def signed(name: str, names: str, *validity: str) -> Path:
        own_key, request, signed = (folder / f"{name}.{end}" for end in ("key", "csr", "crt"))
        extensions = folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={names}\nextendedKeyUsage=serverAuth\n")
        _openssl("req", *new_key, "-keyout", own_key, "-out", request, "-subj", f"/CN={name}")
        _openssl(
            *("ca", "-batch", "-notext", "-config", settings, "-in", request, "-out", signed),
            *("-extfile", extensions, *validity),
        )
        whole = folder / f"{name}.pem"
        whole.write_text(signed.read_text() + own_key.read_text())
        return whole

    here = "DNS:localhost,IP:127.0.0.1,IP:::1"
    past = ("-startdate", "20200101000000Z", "-enddate", "20200201000000Z")
    return Certificates(
        authority=authority,
        good=signed("good", here, "-days", "30"),
        expired=signed("expired", here, *past),
        other_name=signed("other", "DNS:other.example", "-days", "30"),
    )


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
