"""Somebody holds a unit of the running daemon: in force at once, over with the holder, bounded."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from jeepney import DBusAddress, Message, MessageType, new_method_call
from jeepney.io.blocking import open_dbus_connection
from msgspec import Struct, convert

from healthd.bus.api import MANAGER, NAME, PATH
from healthd.bus.connection import BusError
from healthd.channels.entries import Kind
from healthd.daemon.holds import CEILING_US, MOST_EACH, WHY_MOST
from healthd.host.systemd import UNIT
from healthd.model import AttemptResult, Reason, State
from tests.bus.client import Client
from tests.bus.daemon import Healthd, on_both_libraries
from tests.bus.heard import LIMIT_S
from tests.bus.polkit import MockPolkit
from tests.bus.timer1 import FakeTimer

WEB, DB, ALIAS = "web.service", "db.service", "www.service"
LIVE = f"liveness:{WEB}"
BEAT = "heartbeat:backup.timer"
HELD = (State.GREY, Reason.HELD)
ACTION = "org.healthd1.hold"
#: Takes a hold over the library of healthctl, says so, and stays.
HOLDER = f"""
import sys
from jeepney import DBusAddress, new_method_call
from jeepney.io.blocking import open_dbus_connection
bus = open_dbus_connection(sys.argv[1], enable_fds=True)
manager = DBusAddress("{PATH}", "{NAME}", "{MANAGER}")
call = new_method_call(manager, "Hold", "asst", (["{WEB}"], "pg_upgrade", 0))
kept = bus.send_and_get_reply(call, timeout=30).body[0]
bus.close()
print(kept.fileno(), flush=True)
sys.stdin.read()
"""


class Row(Struct, frozen=True, array_like=True):
    """One row of Holds."""

    id: int
    units: list[str]
    why: str
    pid: int
    until: int
    more: dict[str, int]


async def holds(client: Client) -> list[Row]:
    """The holds that are in force."""
    return convert(await client.property("Holds"), list[Row])


async def take(healthd: Healthd, *units: str, why: str = "work", max_us: int = 0) -> int:
    """Take a hold; closing what is returned ends it."""

    def ask() -> Message:
        with open_dbus_connection(healthd.bus.address, enable_fds=True) as bus:
            manager = DBusAddress(PATH, NAME, MANAGER)
            call = new_method_call(manager, "Hold", "asst", (list(units), why, max_us))
            return bus.send_and_get_reply(call, timeout=LIMIT_S)

    answer = await asyncio.to_thread(ask)
    assert answer.header.message_type is MessageType.method_return, answer.body
    number: int = answer.body[0].to_raw_fd()
    return number


@asynccontextmanager
async def allowed(healthd: Healthd, *actions: str) -> AsyncIterator[None]:
    """polkit lets everybody hold, and do these *actions*."""
    polkit = MockPolkit(healthd.bus.address)
    await polkit.start()
    await polkit.allow(ACTION, *actions)
    try:
        yield
    finally:
        await polkit.stop()


@on_both_libraries
async def test_a_held_unit_is_grey_until_its_holder_lets_go(healthd: Healthd) -> None:
    """In force when the answer comes, whatever the unit does; over when the descriptor closes."""
    healthd.systemd.unit(WEB, Names=[WEB, ALIAS])
    healthd.systemd.aliases[ALIAS] = WEB
    await healthd.start()
    client = await healthd.client()
    async with allowed(healthd):
        changed = await client.properties_changed()
        end = await take(healthd, ALIAS, WEB, why="pg\x1b[31m_upgrade\n" + "x" * WHY_MOST)
        row = (await client.checks())[LIVE]
        assert row.face == HELD
        assert row.summary.startswith(f"held by pid {os.getpid()}: pg [31m_upgrade xxx")
        (hold,) = await holds(client)
        assert (hold.units, hold.pid, hold.more["uid"]) == ([WEB], os.getpid(), os.getuid())
        assert len(hold.why) == WHY_MOST
        assert hold.until - hold.more["since"] == CEILING_US
        assert changed.items
        healthd.systemd.kill(WEB)
        await healthd.hears_all(client)
        os.write(end, b"what a holder writes says nothing")
        assert len(await holds(client)) == 1
        os.close(end)
        said = await healthd.journal.until_kind(Kind.HOLD_ENDED, HEALTHD_UNIT=WEB)
        assert said["HEALTHD_ENDING"] == ("its holder ended it",)
        assert await holds(client) == []
        # Failing still, in its grace.
        assert (await client.checks())[LIVE].face == HELD
        assert await client.incidents() == []


async def test_a_hold_on_a_job_holds_the_heartbeat_of_its_timer(healthd: Healthd) -> None:
    """In force when the answer comes, for the job has no check of its own."""
    timer = FakeTimer(healthd.systemd, "backup")
    await healthd.start()
    client = await healthd.client()
    async with allowed(healthd):
        end = await take(healthd, "backup.service", why="restore")
        assert (await client.checks())[BEAT].face == HELD
        timer.fire(status=1)
        await healthd.hears_all(client)
        assert (await client.checks())[BEAT].face == HELD
        os.close(end)
        await healthd.journal.until_kind(Kind.HOLD_ENDED)
        timer.fire()
        await client.until_face(BEAT, State.GREEN, Reason.OK)
        assert await client.incidents() == []


@on_both_libraries
async def test_a_hold_ends_at_its_time(healthd: Healthd) -> None:
    """Whoever forgets a hold in an open terminal must not blind healthd for ever."""
    healthd.systemd.unit(WEB)
    await healthd.start()
    client = await healthd.client()
    async with allowed(healthd):
        end = await take(healthd, WEB, max_us=300_000)
        said = await healthd.journal.until_kind(Kind.HOLD_ENDED)
        assert said["HEALTHD_ENDING"] == ("its time is up",)
        await client.until_face(LIVE, State.GREEN, Reason.OK)
        os.close(end)


@on_both_libraries
async def test_a_holder_that_is_killed_holds_no_longer(healthd: Healthd) -> None:
    """The kernel closes what it had: nothing has to be tidied up."""
    healthd.systemd.unit(WEB)
    await healthd.start()
    client = await healthd.client()
    async with allowed(healthd):
        holder = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", HOLDER, healthd.bus.address),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert holder.stdout is not None
        assert await holder.stdout.readline()
        assert (await client.checks())[LIVE].summary == f"held by pid {holder.pid}: pg_upgrade"
        holder.kill()
        await holder.wait()
        await client.until_face(LIVE, State.GREEN, Reason.OK)


@on_both_libraries
async def test_what_cannot_be_held_is_said_and_nothing_begins(healthd: Healthd) -> None:
    """A pattern or a typing error that held nothing would be found out by an alarm at night."""
    healthd.systemd.unit(WEB)
    await healthd.start()
    client = await healthd.client()
    async with allowed(healthd):
        for units, max_us, name in (
            ([], 0, "InvalidArgs"),
            (["web"], 0, "InvalidArgs"),
            ([WEB, "db@*.service"], 0, "InvalidArgs"),
            (["db@.service"], 0, "InvalidArgs"),
            ([WEB, "ghost.service"], 0, "NoSuchUnit"),
            ([WEB], CEILING_US + 1, "InvalidArgs"),
        ):
            with pytest.raises(BusError) as caught:
                await client.call("Hold", "asst", units, "", max_us)
            assert caught.value.name.endswith(f".Error.{name}"), units
    with pytest.raises(BusError) as caught:
        await client.call("Hold", "asst", [WEB], "", 0)
    assert caught.value.name.endswith(".NotAuthorized")
    assert await holds(client) == []
    assert healthd.journal.of_kind(Kind.HOLD_BEGAN) == []


@on_both_libraries
async def test_a_user_has_eight_holds_at_most(healthd: Healthd) -> None:
    """One user's script gone wild must leave room for others."""
    healthd.systemd.unit(WEB)
    await healthd.start()
    client = await healthd.client()
    async with allowed(healthd):
        ends = [await take(healthd, WEB) for _ in range(MOST_EACH)]
        assert (await client.checks())[LIVE].summary.endswith(", and 7 more")
        with pytest.raises(BusError) as caught:
            await client.call("Hold", "asst", [WEB], "", 0)
        assert caught.value.name.endswith(".LimitsExceeded")
        os.close(ends.pop())
        await healthd.journal.until_kind(Kind.HOLD_ENDED)
        assert len(await holds(client)) == MOST_EACH - 1
        ends.append(await take(healthd, WEB))
        for end in ends:
            os.close(end)
        await client.until_face(LIVE, State.GREEN, Reason.OK)


@on_both_libraries
async def test_a_hold_that_could_not_be_carried_over_is_ended_and_said(healthd: Healthd) -> None:
    """Nobody keeps descriptors for this daemon: the record alone is no hold."""
    for unit in (WEB, DB):
        healthd.systemd.unit(unit)
    await healthd.start()
    client = await healthd.client()
    async with allowed(healthd):
        end = await take(healthd, WEB, DB)
        assert "FDSTORE=1" in healthd.notify.said()
        assert "FDNAME=hold-1" in healthd.notify.said()
        await healthd.kill()
        await healthd.start()
        said = await healthd.journal.until_kind(Kind.HOLD_ENDED)
        assert said["HEALTHD_HOLD"] == ("1",)
        assert said["UNIT"] == (WEB, DB)
        assert "while healthd was away" in said["HEALTHD_ENDING"][0]
        assert await holds(client) == []
        assert (await client.checks())[LIVE].face == (State.GREEN, Reason.OK)
        # The next one has a number of its own, and nothing is said twice.
        os.close(end)
        end = await take(healthd, WEB)
        assert [hold.id for hold in await holds(client)] == [2]
        os.close(end)


@on_both_libraries
async def test_a_hold_overtakes_a_restart_that_is_about_to_be_made(healthd: Healthd) -> None:
    """Whoever begins to work on a unit must not have it restarted under their hands."""
    healthd.settings(f"repair: {{allow_restart: [{WEB}]}}\n")
    healthd.systemd.unit(WEB, StartLimitIntervalUSec=0)
    healthd.systemd.hold(f"{WEB} {UNIT}")
    await healthd.start()
    client = await healthd.client()
    async with allowed(healthd):
        healthd.systemd.kill(WEB)
        await healthd.systemd.until_held(f"{WEB} {UNIT}")
        end = await take(healthd, WEB)
        healthd.systemd.release(f"{WEB} {UNIT}")
        await client.until_attempt(LIVE, AttemptResult.OVERTAKEN)
        ((_, _, words),) = (await client.incident_of(LIVE)).tried
        assert words == f"{WEB} is held by pid {os.getpid()}: work"
        assert healthd.systemd.times_called("RestartUnit", WEB, "fail") == 0
        assert (await client.incident_of(LIVE)).more["idle"] == "held"
        os.close(end)
