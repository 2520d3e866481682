"""The running daemon on a machine that sleeps and stops, and on clocks that jump.

None of it can be made where tests run: logind is stood in for, and clocks are moved.
"""

from __future__ import annotations

import asyncio

import pytest
from msgspec import convert

from healthd.bus.connection import BusError, Connection
from healthd.bus.library import Library
from healthd.channels.entries import Kind
from healthd.host.logind import MANAGER, PATH, Preparing
from healthd.model import Reason, State
from tests.bus.client import Changed, Client
from tests.bus.daemon import Healthd
from tests.bus.login1 import FakeLogind
from tests.bus.moved_clocks import MovedClocks
from tests.bus.polkit import MockPolkit

WEB, DB, MARK = "web.service", "db.service", "mark.service"
GREEN, FROZEN = (State.GREEN, Reason.OK), (State.GREY, Reason.FROZEN)
HOUR, DAY = 3600, 86400
SHUTDOWN = "shutdown.target"
WHY = {
    Preparing.SLEEP: "the machine is going to sleep",
    Preparing.SHUTDOWN: "the machine is shutting down",
}


@pytest.fixture(name="client")
async def _client(healthd: Healthd) -> Client:
    """A reader of a healthd that is about to watch three services."""
    for unit in (WEB, DB, MARK):
        healthd.systemd.unit(unit)
    return await healthd.client()


async def until_watching(client: Client, watching: bool) -> str:
    """Wait until the daemon says so; why it does not watch."""
    changes = await client.properties_changed()
    if await client.property("Watching") is not watching:
        await changes.until(lambda values: values.get("Watching") is watching)
    return str(await client.property("WatchingReason"))


async def gaps(client: Client) -> list[tuple[int, str]]:
    """Each gap: how many minutes it was long, and why."""
    rows = convert(await client.property("Gaps"), list[tuple[int, int, str, dict[str, object]]])
    return [(round((ended - started) / 60e6), why) for started, ended, why, _ in rows]


async def hear_of(healthd: Healthd, client: Client) -> None:
    """The daemon wakes up, and has judged all that came before now."""
    healthd.systemd.kill(MARK)
    await client.until_face(f"liveness:{MARK}", State.GREY, Reason.FROZEN)


@pytest.mark.parametrize("what", list(Preparing))
async def test_what_dies_while_logind_prepares_changes_nothing(
    healthd: Healthd, client: Client, logind: FakeLogind, polkit: MockPolkit, what: Preparing
) -> None:
    """A shutdown ends every service: none of it is judged, told or repaired, and one signal shows
    that all are frozen.
    """
    await polkit.allow("org.healthd1.look")
    await healthd.start()
    logind.say(what, begins=True)
    why = await until_watching(client, False)
    assert why == WHY[what]
    rows = await client.checks()
    said = len(client.said.items)
    assert {row.face for row in rows.values()} == {FROZEN}
    assert rows[f"liveness:{WEB}"].summary == f"{why}; before that green: running"
    healthd.systemd.kill(WEB)
    await healthd.hears_all(client)
    assert client.said.items[said:] == []
    with pytest.raises(BusError, match="watches nothing now"):
        await client.look()
    # It is over: each check has its grace anew, and then is judged as any other.
    logind.say(what, begins=False)
    assert await until_watching(client, True) == ""
    changed = await client.until_face(f"liveness:{WEB}", State.GREY, Reason.FROZEN)
    assert changed.row.summary.startswith("not watched until lately: killed by SIGKILL")
    assert (await client.checks())[f"liveness:{DB}"].face == GREEN
    assert client.faces(f"liveness:{DB}") == [GREEN]


async def test_only_the_owner_of_loginds_name_is_believed(
    healthd: Healthd, client: Client, logind: FakeLogind, library: Library
) -> None:
    """Any local user could keep healthd from watching with one message."""
    await healthd.start()
    forger = await Connection.open(healthd.bus.address, library=library)
    target = await client.owner()
    forger.emit(PATH, MANAGER, "PrepareForSleep", "b", (True,), destination=target)
    await forger.owner_of("org.freedesktop.login1")
    await forger.close()
    await healthd.hears_all(client)
    assert await client.property("Watching") is True
    logind.say(Preparing.SLEEP, begins=True)
    assert await until_watching(client, False)


async def test_a_logind_that_goes_takes_its_word_along(
    healthd: Healthd, client: Client, logind: FakeLogind
) -> None:
    """It crashed: nobody will ever say that it is over."""
    logind.prepares = {Preparing.SLEEP}
    await healthd.start()
    assert await until_watching(client, False)
    await logind.stop()
    await until_watching(client, True)


async def test_the_job_of_a_stop_freezes_until_it_is_called_off(
    healthd: Healthd, client: Client
) -> None:
    """A forced reboot has no other sign, and a machine without logind none at all."""
    await healthd.start()
    healthd.systemd.emit("JobNew", "uos", 77, "/org/freedesktop/systemd1/job/77", SHUTDOWN)
    assert await until_watching(client, False) == "systemd stops the machine"
    healthd.systemd.kill(WEB)
    job = (77, "/org/freedesktop/systemd1/job/77", SHUTDOWN, "canceled")
    healthd.systemd.emit("JobRemoved", "uoss", *job)
    await until_watching(client, True)
    await client.until_face(f"liveness:{WEB}", State.GREY, Reason.FROZEN)


async def test_started_in_rescue_mode_it_waits_until_the_machine_runs(
    healthd: Healthd, client: Client
) -> None:
    """What rests in rescue mode was stopped for it."""
    healthd.systemd.system_state = "maintenance"
    await healthd.start()
    assert "rescue mode" in await until_watching(client, False)
    assert healthd.systemd.read == []
    healthd.systemd.system_state = "running"
    healthd.systemd.emit("JobRemoved", "uoss", 5, "/job/5", "multi-user.target", "done")
    await until_watching(client, True)
    await client.until_face(f"liveness:{WEB}", State.GREEN, Reason.OK)


async def test_a_sleep_that_nobody_announced_is_a_gap_and_no_outage(
    healthd: Healthd, client: Client, clocks: MovedClocks
) -> None:
    """BOOTTIME runs away from MONOTONIC: that is sleep, logind or not."""
    await healthd.start()
    clocks.sleep(8 * HOUR)
    await hear_of(healthd, client)
    assert await gaps(client) == [(8 * 60, "the machine slept")]
    assert (await client.checks())[f"liveness:{WEB}"].face == GREEN


@pytest.mark.parametrize("runs_on", [False, True])
async def test_br_39_a_look_in_whose_middle_the_machine_slept_says_nothing(
    healthd: Healthd, client: Client, clocks: MovedClocks, runs_on: bool
) -> None:
    """With s2idle CLOCK_MONOTONIC may run on, and what had a limit looks as if it had hung."""
    asked, left = asyncio.Queue[None](), asyncio.Queue[None]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.put_nowait(None)
        await reader.read()
        left.put_nowait(None)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        healthd.settings(declared(server.sockets[0].getsockname()[1]))
        await healthd.start()
        await client.until_face(f"readiness:{WEB}", State.YELLOW, Reason.SUSPECT)
        for queue in (asked, left, asked):
            await queue.get()
        clocks.sleep(HOUR, monotonic=runs_on)
        await hear_of(healthd, client)
        await left.get()
        await healthd.hears_all(client)
        row = (await client.checks())[f"readiness:{WEB}"]
    assert (row.face, row.streak) == ((State.YELLOW, Reason.SUSPECT), 1)
    why = "healthd did not run" if runs_on else "the machine slept"
    ((minutes, said),) = await gaps(client)
    # Where no clock shows the sleep it counts from when healthd next meant to wake up.
    assert (said, minutes in (59, 60)) == (why, True)


@pytest.mark.parametrize("seconds", [DAY, -DAY])
async def test_a_step_of_the_wall_clock_is_nothing(
    healthd: Healthd, client: Client, clocks: MovedClocks, seconds: int
) -> None:
    """NTP corrects a clock that was a day off: no look failed for it, and no time was lost."""
    await healthd.start()
    clocks.step(seconds)
    await hear_of(healthd, client)
    assert await gaps(client) == []
    assert (await client.checks())[f"liveness:{WEB}"].face == GREEN
    assert {said.key for said in client.said.items if isinstance(said, Changed)} <= {
        f"liveness:{unit}" for unit in (WEB, DB, MARK)
    } | {key for key in await client.checks() if key.startswith("host:")}


@pytest.mark.parametrize("killed", [False, True])
async def test_br_61_a_night_without_healthd_is_shown_as_not_watched(
    healthd: Healthd, client: Client, clocks: MovedClocks, killed: bool
) -> None:
    """The watcher's own night off must not count as a night in which all was well."""
    await healthd.start()
    await (healthd.kill() if killed else healthd.stop())
    clocks.sleep(5 * HOUR)
    await healthd.start()
    why = "healthd had died" if killed else "healthd was stopped"
    assert await gaps(client) == [(5 * 60, why)]
    (entry,) = healthd.journal.of_kind(Kind.NOT_WATCHED)
    assert entry["MESSAGE"] == (f"not watched for 5 h until now: {why}",)


async def test_a_soft_reboot_is_another_boot(healthd: Healthd, client: Client) -> None:
    """boot_id and all clocks run on over it; what systemd said of units before it is void."""
    healthd.systemd.soft_reboots = 0
    await healthd.start()
    healthd.systemd.kill(WEB)
    await client.until_face(f"liveness:{WEB}", State.RED, Reason.FAILED)
    await healthd.stop()
    healthd.systemd.soft_reboots = 1
    healthd.systemd.unit(WEB)
    await healthd.start()
    await client.until_face(f"liveness:{WEB}", State.GREEN, Reason.OK)


def declared(port: int) -> str:
    """A readiness of *WEB* that nobody answers."""
    return (
        f'listens: {{web: {{address: "127.0.0.1:{port}"}}}}\n'
        f"checks:\n  {WEB}:\n    - tcp: {{endpoint: web, expect: hello}}\n"
        "      every: 10s\n      timeout: 3s\n      grace: 0s\n      after: 2\n"
    )
