"""kind `tcp`: a connection that stands, and an answer that is expected over it."""

from __future__ import annotations

import asyncio

from healthd.checks import tcp
from healthd.model import Endpoint, FailureClass, Look, Outcome, Reason, TcpSpec, UnitName, Way
from tests.unit.loopback import AMPLE_S, endpoint, free_port, hang, served, tools

SHORT_S = 0.15


async def redis(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers PING in two pieces, as a network does."""
    if await reader.readuntil(b"\r\n") == b"PING\r\n":
        writer.write(b"+PO")
        await writer.drain()
        await asyncio.sleep(0)
        writer.write(b"NG\r\n")
    else:
        writer.write(b"-NOAUTH secret-account\r\n")
    await reader.read()


async def look(
    port: int, *, send: bytes = b"", expect: bytes = b"", limit_s: float = AMPLE_S
) -> Look:
    """One look at *port*."""
    return await tcp.look(TcpSpec(endpoint(port), send, expect), tools(limit_s))


def found(look: Look) -> tuple[Outcome, FailureClass | None, str]:
    """What a look comes to."""
    return look.outcome, look.failure_class, look.summary


async def test_a_connection_that_stands_is_ok() -> None:
    """Nothing is sent and nothing read: many protocols wait for the client."""
    async with served(hang) as port:
        seen = await look(port)
    assert found(seen) == (Outcome.OK, None, "web accepts connections")
    assert seen.reason == Reason.OK


async def test_an_expected_answer_is_ok_however_it_is_cut() -> None:
    """TCP knows no messages."""
    async with served(redis) as port:
        seen = await look(port, send=b"PING\r\n", expect=b"+PONG")
    assert found(seen) == (Outcome.OK, None, "web gives the expected answer")


async def test_a_greeting_may_be_expected_without_a_word() -> None:
    """sshd and mail servers speak first, and log a visitor who hangs up without listening."""

    async def sshd(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.9\r\n")
        await reader.read()

    async with served(sshd) as port:
        assert (await look(port, expect=b"SSH-2.0")).outcome == Outcome.OK


async def test_another_answer_ends_at_the_limit_and_is_kept_private() -> None:
    """More might have come; what came is for evidence only."""
    async with served(redis) as port:
        seen = await look(port, send=b"HELLO\r\n", expect=b"+PONG", limit_s=SHORT_S)
    words = "no whole answer from web within 150 ms"
    assert found(seen) == (Outcome.FAILING, FailureClass.TIMEOUT, words)
    assert seen.private == "-NOAUTH secret-account\r\n"


async def test_a_server_that_hangs_up_first_fails() -> None:
    """With and without a word before."""

    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pass

    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"+PO")

    async with served(nothing) as port:
        words = "no answer from web: the connection was closed"
        expected = (Outcome.FAILING, FailureClass.CONNECT, words)
        assert found(await look(port, expect=b"+PONG")) == expected
    async with served(half) as port:
        words = "no whole answer from web: the connection was closed"
        expected = (Outcome.FAILING, FailureClass.BODY, words)
        assert found(await look(port, expect=b"+PONG")) == expected


async def test_a_flood_without_the_expected_answer_is_bounded() -> None:
    """A chargen would otherwise be read until the limit."""

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    async with served(flood) as port:
        seen = await look(port, expect=b"+PONG")
    words = "no whole answer from web: the expected text is not in its first 64 KiB"
    assert found(seen) == (Outcome.FAILING, FailureClass.BODY, words)
    assert len(seen.private) == 4096


async def test_a_closed_port_is_refused() -> None:
    """The commonest failure."""
    port = free_port()
    words = f"no connection to web (127.0.0.1:{port}): refused"
    assert found(await look(port)) == (Outcome.FAILING, FailureClass.CONNECT, words)


async def test_an_endpoint_that_nobody_knows_is_not_judged() -> None:
    """A .socket unit that is gone is no outage of what it was for."""
    spec = TcpSpec(Endpoint("web", unit=UnitName("gone.socket")))
    assert (await tcp.look(spec, tools())).outcome == Outcome.NOT_JUDGED


async def test_a_look_says_how_far_it_came() -> None:
    """A refusal came over the network, and silence after the connection too."""
    refused = await look(free_port())
    async with served(hang) as port:
        silent = await look(port, expect=b"hello", limit_s=SHORT_S)
    assert refused.failure_class is FailureClass.CONNECT
    assert silent.failure_class is FailureClass.TIMEOUT
    assert (refused.way, silent.way) == (Way.OPEN, Way.OPEN)
