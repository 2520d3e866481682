"""Whatever is not polkit's clear yes is no."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from healthd.bus.connection import Call, Connection
from healthd.bus.library import Library
from healthd.host.polkit import POLKIT, authorize
from healthd.model import Permission
from tests.bus.polkit import MockPolkit

ACTION = "org.healthd1.restart-unit"
LIMIT_S = 30.0


@pytest.fixture(name="connection")
async def _connection(private_bus: str, library: Library) -> AsyncIterator[Connection]:
    connection = await Connection.open(private_bus, library=library)
    yield connection
    await connection.close()


async def test_polkit_says_yes_to_what_it_allows(
    connection: Connection, polkit: MockPolkit
) -> None:
    """The answer belongs to one action."""
    sender = connection.unique_name
    assert (
        await authorize(connection, sender, ACTION, {"unit": "a.service"}, False)
        is Permission.REFUSED
    )
    await polkit.allow(ACTION)
    assert (
        await authorize(connection, sender, ACTION, {"unit": "a.service"}, False)
        is Permission.GRANTED
    )
    assert await authorize(connection, sender, "org.healthd1.look", {}, False) is Permission.REFUSED


async def test_absent_polkit_means_no(connection: Connection) -> None:
    """A minimal server has none."""
    assert (
        await authorize(connection, connection.unique_name, ACTION, {}, False) is Permission.REFUSED
    )


async def test_silent_polkit_means_no(connection: Connection, polkit: MockPolkit) -> None:
    """A hung polkit must not hang a caller."""
    await polkit.allow(ACTION)
    await polkit.hang()
    sender = connection.unique_name
    assert (
        await authorize(connection, sender, ACTION, {}, False, limit_s=0.05) is Permission.REFUSED
    )


class Authority:
    """A polkit that shows what it was asked, and answers when told."""

    def __init__(self, connection: Connection) -> None:
        self.asked: asyncio.Queue[Call] = asyncio.Queue()
        self.taken_back: asyncio.Queue[object] = asyncio.Queue()
        connection.serve(self._on_call)

    def _on_call(self, call: Call) -> None:
        if call.member == "CancelCheckAuthorization":
            self.taken_back.put_nowait(call.body[0])
            call.reply()
        else:
            self.asked.put_nowait(call)


@pytest.fixture(name="authority")
async def _authority(private_bus: str) -> AsyncIterator[Authority]:
    connection = await Connection.open(private_bus)
    await connection.own(POLKIT)
    yield Authority(connection)
    await connection.close()


@pytest.mark.parametrize("interactive", [True, False])
async def test_what_polkit_is_asked(
    connection: Connection, authority: Authority, interactive: bool
) -> None:
    """The subject is a unique name: a well-known one can change hands between asking and acting."""
    asking = asyncio.create_task(
        authorize(connection, ":1.77", ACTION, {"unit": "a.service"}, interactive)
    )
    async with asyncio.timeout(LIMIT_S):
        call = await authority.asked.get()
        subject, action, details, flags, question = call.body
        assert isinstance(subject, (list, tuple))
        assert (subject[0], subject[1]) == ("system-bus-name", {"name": ":1.77"})
        assert (action, details, flags) == (ACTION, {"unit": "a.service"}, int(interactive))
        assert question
        call.reply("(bba{ss})", ((False, True, {}),))
        assert await asking is Permission.PASSWORD


async def test_a_question_nobody_waits_for_is_taken_back(
    connection: Connection, authority: Authority
) -> None:
    """A password dialog must not stay on the screen of a caller who has left."""
    asking = asyncio.create_task(authorize(connection, ":1.77", ACTION, {}, True))
    async with asyncio.timeout(LIMIT_S):
        call = await authority.asked.get()
        asking.cancel()
        assert await authority.taken_back.get() == call.body[4]
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (
            await authorize(connection, ":1.77", ACTION, {}, True, limit_s=0.05)
            is Permission.REFUSED
        )
        await authority.taken_back.get()


@pytest.mark.parametrize(
    "answer",
    [("s", "yes"), ("b", True), ("(ss)", ("true", "x")), ("as", []), ("a{sv}", {})],
)
async def test_an_answer_that_makes_no_sense_means_no(
    connection: Connection, authority: Authority, answer: tuple[str, object]
) -> None:
    """Whoever owns polkit's name may answer anything."""
    asking = asyncio.create_task(authorize(connection, ":1.77", ACTION, {}, False))
    async with asyncio.timeout(LIMIT_S):
        call = await authority.asked.get()
        call.reply(answer[0], (answer[1],))
        assert await asking is Permission.REFUSED
