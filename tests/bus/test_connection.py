"""The adapter, on both libraries, against a real dbus-daemon."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest
from jeepney import (
    DBusAddress,
    HeaderFields,
    Message,
    MessageFlag,
    MessageType,
    new_method_call,
    new_signal,
)
from jeepney.io.blocking import open_dbus_connection
from msgspec import Struct

from healthd.bus import library as libraries
from healthd.bus.connection import BusError, Call, Connection, Signal, Variant
from healthd.bus.library import MESSAGES_PER_TURN, Library
from healthd.bus.message import UNKNOWN_METHOD, UNKNOWN_OBJECT, Descriptor
from healthd.errors import HealthdError
from healthd.model import State
from tests.bus.private_bus import PrivateBus

NAME = "org.example.Test"
PATH = "/org/example"
LIMIT_S = 30.0


class Pair(Struct):
    """Two connections to one bus: who serves, and who calls."""

    server: Connection
    caller: Connection

    async def ask(self, member: str, signature: str = "", *body: object) -> tuple[object, ...]:
        return await self.caller.call(
            self.server.unique_name, PATH, NAME, member, signature, body, limit_s=LIMIT_S
        )


@pytest.fixture(name="pair")
async def _pair(private_bus: str, library: Library) -> AsyncIterator[Pair]:
    server = await Connection.open(private_bus, library=library)
    caller = await Connection.open(private_bus, library=library)
    yield Pair(server, caller)
    await caller.close()
    await server.close()


async def test_values_survive_the_way_there_and_back(pair: Pair) -> None:
    """Both libraries must take and give the same plain values, whatever they make of structs."""
    came: list[Call] = []

    def echo(call: Call) -> None:
        came.append(call)
        more = {"a": Variant("a(su)", [("x", 1)]), "state": Variant("s", State.RED)}
        call.reply("a{sv}(si)ayas", (more, ("ü", -3), b"\0\1", ["one", "two"]))

    pair.server.serve(echo)
    answer = await pair.ask("Echo", "sv", "q", Variant("ax", [-1]))
    assert came[0].body == ("q", [-1])
    assert came[0].sender == pair.caller.unique_name
    more, struct, data, words = answer
    assert isinstance(more, dict)
    assert more["state"] == "red"
    assert list(more["a"][0]) == ["x", 1]
    assert isinstance(struct, (list, tuple))
    assert [struct[0], struct[1]] == ["ü", -3]
    assert bytes(data) == b"\0\1"  # type: ignore[call-overload]
    assert words == ["one", "two"]


async def test_text_that_the_bus_would_punish_is_made_harmless(pair: Pair) -> None:
    """A NUL in a check's output would get healthd thrown off the bus."""
    pair.server.serve(lambda call: call.reply("s", ("a\0b\udc80",)))
    assert await pair.ask("Text") == ("a\N{REPLACEMENT CHARACTER}b?",)
    assert await pair.ask("Text")


async def test_an_error_reply_keeps_its_name(pair: Pair) -> None:
    """polkit's refusal and a missing unit lead to different words and different repairs."""
    pair.server.serve(lambda call: call.error("org.example.Error.Sad", "it is sad"))
    with pytest.raises(BusError) as caught:
        await pair.ask("Sad")
    assert (caught.value.name, caught.value.message) == ("org.example.Error.Sad", "it is sad")


async def test_no_traceback_reaches_a_caller(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    """dbus-next sends tracebacks with paths to whoever called."""

    def fail(_: Call) -> None:
        raise RuntimeError("a secret")

    pair.server.serve(fail)
    with pytest.raises(BusError) as caught:
        await pair.ask("Fail")
    assert caught.value.name == "org.freedesktop.DBus.Error.Failed"
    assert "secret" not in caught.value.message
    assert "Traceback" not in caught.value.message
    assert "a secret" in caplog.text


async def test_an_answer_that_does_not_fit_is_still_an_answer(pair: Pair) -> None:
    """A mistake of ours must not leave a caller waiting for his whole limit."""
    pair.server.serve(lambda call: call.reply("s", (5,)))
    with pytest.raises(BusError):
        await pair.ask("Wrong")
    with pytest.raises(HealthdError) as caught:
        await pair.ask("Wrong", "s", 5)
    assert caught.value.code == "bus-value"


async def test_a_call_is_answered_once(pair: Pair) -> None:
    """A handler that answers and then fails must not send a second reply."""

    def twice(call: Call) -> None:
        call.reply("s", ("first",))
        call.error("org.example.Error.Late", "second")

    pair.server.serve(twice)
    assert await pair.ask("Twice") == ("first",)


async def test_flags_of_a_call_reach_us_and_both_may_be_set(pair: Pair) -> None:
    """Old libraries die of two flags in one message, which any local user can send."""
    interactive: list[bool] = []

    def note(call: Call) -> None:
        interactive.append(call.interactive)
        call.reply()

    pair.server.serve(note)
    for asks in (True, False):
        await pair.caller.call(
            pair.server.unique_name, PATH, NAME, "Do", limit_s=LIMIT_S, interactive=asks
        )
    assert interactive == [True, False]


async def test_every_object_answers_peer(pair: Pair) -> None:
    """`busctl` and monitors ping; the libraries' own answer to GetMachineId is broken."""
    peer = "org.freedesktop.DBus.Peer"
    server = pair.server.unique_name
    for _ in range(2):
        (machine,) = await pair.caller.call(server, "/", peer, "GetMachineId", limit_s=LIMIT_S)
        assert len(str(machine)) == 32
    assert await pair.caller.call(server, "/", peer, "Ping", limit_s=LIMIT_S) == ()
    with pytest.raises(BusError) as caught:
        await pair.caller.call(server, "/", peer, "Pong", limit_s=LIMIT_S)
    assert caught.value.name == UNKNOWN_METHOD


async def test_who_serves_nothing_says_so(pair: Pair) -> None:
    """A call to a connection without objects must fail at once, not after a limit."""
    with pytest.raises(BusError) as caught:
        await pair.ask("Anything")
    assert caught.value.name == UNKNOWN_OBJECT


async def test_a_call_without_an_answer_ends_at_its_limit(pair: Pair) -> None:
    """Nothing outside may keep healthd waiting for ever."""
    calls: list[Call] = []
    pair.server.serve(calls.append)
    with pytest.raises(HealthdError) as caught:
        await pair.caller.call(pair.server.unique_name, PATH, NAME, "Never", limit_s=0.05)
    assert caught.value.code == "bus-slow"
    # The late answer belongs to nobody.
    calls[0].reply("s", ("late",))
    pair.server.serve(lambda call: call.reply("s", ("next",)))
    assert await pair.ask("Next") == ("next",)


async def test_a_told_call_wants_no_answer(pair: Pair) -> None:
    """Taking a question back must not wait for who may not be there."""
    told: asyncio.Future[Call] = asyncio.get_running_loop().create_future()
    pair.server.serve(told.set_result)
    pair.caller.tell(pair.server.unique_name, PATH, NAME, "Note", "s", ("x",))
    async with asyncio.timeout(LIMIT_S):
        call = await told
    call.reply("s", ("unwanted",))
    assert (call.member, call.body) == ("Note", ("x",))


async def test_signals_arrive_in_order_and_by_match(pair: Pair) -> None:
    """Who subscribes to one interface is not woken for the rest of the bus."""
    heard: list[Signal] = []
    last = asyncio.Event()

    def listen(signal: Signal) -> None:
        if signal.interface == NAME or signal.member == "Other":
            heard.append(signal)
        if signal.body == ("last",):
            last.set()

    pair.caller.on_signal(listen)
    rule = f"type='signal',interface='{NAME}'"
    await pair.caller.add_match(rule)
    pair.server.emit(PATH, "org.example.Other", "Other")
    pair.server.emit(PATH, NAME, "Said", "s", ("first",))
    pair.server.emit(PATH, NAME, "Said", "s", ("last",))
    async with asyncio.timeout(LIMIT_S):
        await last.wait()
    assert [signal.body for signal in heard] == [("first",), ("last",)]
    assert {signal.sender for signal in heard} == {pair.server.unique_name}
    await pair.caller.remove_match(rule)
    with pytest.raises(BusError):
        await pair.caller.remove_match(rule)


async def test_a_flood_does_not_starve_timers(pair: Pair) -> None:
    """With 20,000 signals in the socket, limits and the watchdog's ping must still run."""
    count = 20_000
    heard = 0
    seen_by_timer: list[int] = []
    last = asyncio.Event()
    loop = asyncio.get_running_loop()

    def listen(signal: Signal) -> None:
        nonlocal heard
        if signal.interface == NAME:
            heard += 1
            if heard == count:
                last.set()

    def tick() -> None:
        seen_by_timer.append(heard)
        if not last.is_set():
            loop.call_later(0, tick)

    pair.caller.on_signal(listen)
    for number in range(count):
        pair.server.emit(PATH, NAME, "Said", "u", (number,), destination=pair.caller.unique_name)
    loop.call_later(0, tick)
    async with asyncio.timeout(100):
        await last.wait()
    # dbus-fast reads what one recv() brings, dbus-next what a turn allows: never all.
    steps = [after - before for before, after in pairwise([*seen_by_timer, count])]
    assert max(steps) <= count // 4
    assert heard == count


async def test_a_burst_that_the_bus_does_not_take_at_once_is_sent(
    bus: PrivateBus, library: Library
) -> None:
    """Both libraries take a full socket for a lost one: a boot's signals would cut us off."""
    sender = await Connection.open(bus.address, library=library)
    receiver = await Connection.open(bus.address, library=library)
    heard: list[object] = []
    last = asyncio.Event()

    def listen(signal: Signal) -> None:
        if signal.interface == NAME:
            heard.append(signal.body[0])
            if len(heard) == 3000:
                last.set()

    receiver.on_signal(listen)
    bus.freeze()
    for number in range(3000):
        sender.emit(PATH, NAME, "Said", "u", (number,), destination=receiver.unique_name)
        # Every turn of the loop tries to send.
        await asyncio.sleep(0)
    assert not sender.lost.is_set()
    bus.thaw()
    async with asyncio.timeout(LIMIT_S):
        await last.wait()
    assert heard == list(range(3000))
    await sender.close()
    await receiver.close()


async def test_next_reads_a_bounded_number_of_messages_in_a_turn(private_bus: str) -> None:
    """The bound is what keeps dbus-next's reader from going on until the socket is empty."""
    library = libraries.load("next")
    sender = await Connection.open(private_bus, library=library)
    receiver = await Connection.open(private_bus, library=library)
    turns: list[int] = []
    heard = 0
    done = asyncio.Event()

    def listen(signal: Signal) -> None:
        nonlocal heard
        if signal.interface == NAME:
            if not turns or turns[-1] == 0:
                asyncio.get_running_loop().call_soon(turns.append, 0)
                turns.append(0)
            turns[-1] += 1
            heard += 1
            if heard == 500:
                done.set()

    receiver.on_signal(listen)
    for number in range(500):
        sender.emit(PATH, NAME, "Said", "u", (number,), destination=receiver.unique_name)
    async with asyncio.timeout(LIMIT_S):
        await done.wait()
    assert max(turns) <= MESSAGES_PER_TURN
    await sender.close()
    await receiver.close()


async def test_losing_the_bus_ends_calls_and_is_told(bus: PrivateBus, library: Library) -> None:
    """A call on a dead connection hangs for ever in both libraries."""
    server = await Connection.open(bus.address, library=library)
    caller = await Connection.open(bus.address, library=library)
    arrived = asyncio.Event()
    told: list[bool] = []
    server.serve(lambda _: arrived.set())
    caller.on_lost(lambda: told.append(caller.lost.is_set()))
    waiting = asyncio.create_task(
        caller.call(server.unique_name, PATH, NAME, "Never", limit_s=LIMIT_S)
    )
    async with asyncio.timeout(LIMIT_S):
        await arrived.wait()
        bus.stop()
        await caller.lost.wait()
        with pytest.raises(HealthdError) as caught:
            await waiting
    assert caught.value.code == "bus-lost"
    assert told == [True]
    with pytest.raises(HealthdError) as caught:
        await caller.owner_of(NAME)
    assert caught.value.code == "bus-lost"
    # Signals and late answers go nowhere, without an exception.
    caller.emit(PATH, NAME, "Said")
    await caller.close()
    await server.close()


async def test_a_new_connection_works_after_a_loss(bus: PrivateBus, library: Library) -> None:
    """The bus is restarted by upgrades; healthd must find its way back."""
    first = await Connection.open(bus.address, library=library)
    bus.stop()
    async with asyncio.timeout(LIMIT_S):
        await first.lost.wait()
    with pytest.raises(HealthdError) as caught:
        await Connection.open(bus.address, library=library)
    assert caught.value.code == "bus-unreachable"
    bus.start()
    second = await Connection.open(bus.address, library=library)
    await second.own(NAME)
    assert await second.owner_of(NAME) == second.unique_name
    await second.close()


async def test_a_frozen_bus_is_given_up(bus: PrivateBus, library: Library) -> None:
    """A stopped dbus-daemon takes connections and answers nothing."""
    connection = await Connection.open(bus.address, library=library)
    bus.freeze()
    with pytest.raises(HealthdError) as caught:
        await connection.call(NAME, PATH, NAME, "Do", limit_s=0.05)
    assert caught.value.code == "bus-slow"
    before = open_descriptors()
    with pytest.raises(HealthdError) as caught:
        await Connection.open(bus.address, library=library, limit_s=0.2)
    assert caught.value.code == "bus-unreachable"
    assert open_descriptors() == before
    bus.stop()
    await connection.close()


async def test_a_bus_that_hangs_up_in_the_handshake_is_given_up(
    tmp_path: Path, library: Library
) -> None:
    """Both libraries read an empty socket for ever, without once yielding to the loop."""
    path = tmp_path / "bus"

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n")
        writer.close()

    async with await asyncio.start_unix_server(hang_up, path):
        with pytest.raises(HealthdError) as caught:
            await Connection.open(f"unix:path={path}", library=library)
    assert caught.value.code == "bus-unreachable"


async def test_closing_frees_the_descriptor_and_the_name(bus: PrivateBus, library: Library) -> None:
    """An open socket of a lost connection keeps our name, with nobody to answer."""
    watcher = await Connection.open(bus.address, library=library)
    before = open_descriptors()
    for _ in range(5):
        connection = await Connection.open(bus.address, library=library)
        await connection.own(NAME)
        connection.emit(PATH, NAME, "Bye")
        await connection.close()
        assert connection.lost.is_set()
        assert open_descriptors() == before
    # The bus sees the end of the last one at its leisure.
    async with asyncio.timeout(LIMIT_S):
        while await watcher.owner_of(NAME):
            pass
    await watcher.close()


async def test_messages_with_descriptors_leave_none_open(pair: Pair, private_bus: str) -> None:
    """Both libraries leave the descriptors of incoming messages open: any user could exhaust us."""
    pair.server.serve(lambda call: call.reply("s", ("here",)))
    server = DBusAddress(PATH, bus_name=pair.server.unique_name, interface=NAME)
    with open_dbus_connection(private_bus, enable_fds=True) as sender:
        assert await pair.ask("Before") == ("here",)
        before = open_descriptors()
        question = new_method_call(server, "Take", "h", (sender.sock.fileno(),))
        message = new_method_call(server, "Take", "h", (sender.sock.fileno(),))
        # The bus lets one connection wait for so many answers only.
        message.header.flags = MessageFlag.no_reply_expected
        signal = new_signal(server, "Take", "h", (sender.sock.fileno(),))
        signal.header.fields[HeaderFields.destination] = pair.server.unique_name

        def send_many() -> Message:
            for _ in range(1000):
                sender.send(message)
                sender.send(signal)
            return sender.send_and_get_reply(question, timeout=LIMIT_S)

        answer = await asyncio.to_thread(send_many)
        assert await pair.ask("After") == ("here",)
        assert open_descriptors() == before
    assert answer.header.message_type is MessageType.method_return


async def test_an_answer_carries_a_descriptor_and_leaves_none_here(
    pair: Pair, private_bus: str
) -> None:
    """Whoever gets our end of a pipe ends what we do for them by closing it: no copy may stay."""
    mine, theirs = os.pipe()
    sent = Descriptor(theirs)
    pair.server.serve(lambda call: call.reply("h", (sent,)))
    server = DBusAddress(PATH, bus_name=pair.server.unique_name, interface=NAME)

    def take() -> int:
        with open_dbus_connection(private_bus, enable_fds=True) as caller:
            answer = caller.send_and_get_reply(new_method_call(server, "Give"), timeout=LIMIT_S)
            number: int = answer.body[0].to_raw_fd()
            return number

    taken = await asyncio.to_thread(take)
    os.write(taken, b"here")
    assert os.read(mine, 64) == b"here"
    os.close(taken)
    # Blocks for ever while a copy is open somewhere.
    assert await asyncio.wait_for(asyncio.to_thread(os.read, mine, 64), LIMIT_S) == b""
    os.close(mine)
    assert sent.number == -1


async def test_a_descriptor_that_nobody_takes_is_closed(pair: Pair) -> None:
    """The caller may have gone, or want no answer: what it would have ended must end."""
    mine, theirs = os.pipe()
    pair.server.serve(lambda call: call.reply("h", (Descriptor(theirs),)))
    pair.caller.tell(pair.server.unique_name, PATH, NAME, "Give")
    assert await asyncio.wait_for(asyncio.to_thread(os.read, mine, 64), LIMIT_S) == b""
    os.close(mine)


async def test_a_refused_name_is_tried_again(bus: PrivateBus, library: Library) -> None:
    """On a first installation the bus reads our policy after we have started."""
    bus.allow(f'<deny own="{NAME}"/>')
    root = await Connection.open(bus.address, library=library)
    await bus.reload(root)
    connection = await Connection.open(bus.address, library=library)
    owning = asyncio.create_task(connection.own(NAME, retry_s=LIMIT_S))
    with pytest.raises(HealthdError) as caught:
        await root.own(NAME, retry_s=0)
    assert caught.value.code == "name-refused"
    assert not owning.done()
    bus.allow()
    await bus.reload(root)
    async with asyncio.timeout(LIMIT_S):
        await owning
    with pytest.raises(HealthdError) as caught:
        await root.own(NAME)
    assert caught.value.code == "name-taken"
    await connection.close()
    await root.close()


def test_a_library_is_chosen_by_name_or_by_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """dbus-fast is preferred, and a tester can force either."""
    monkeypatch.delenv("HEALTHD_DBUS", raising=False)
    assert libraries.choose().name == "fast"
    monkeypatch.setenv("HEALTHD_DBUS", "next")
    assert libraries.choose().name == "next"
    monkeypatch.setenv("HEALTHD_DBUS", "slow")
    with pytest.raises(HealthdError, match="HEALTHD_DBUS=slow names no library: fast or next"):
        libraries.choose()


def test_a_forced_library_that_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Falling back in silence would test the wrong one."""
    monkeypatch.setitem(libraries.MODULES, "fast", "no_such_dbus")
    libraries.load.cache_clear()
    with pytest.raises(HealthdError, match="no_such_dbus is not installed"):
        libraries.choose("fast")
    assert libraries.choose("").name == "next"
    libraries.load.cache_clear()


def open_descriptors() -> int:
    """How many descriptors this process has; those that wait for the collector are not counted."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))
