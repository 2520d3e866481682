"""What the running daemon makes of systemd's signals: whom it believes, what it asks, and when."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from healthd.bus.connection import Connection, Variant
from healthd.bus.library import Library
from healthd.host.unit_path import unit_path
from healthd.model import Reason, State
from tests.bus.client import Changed, Client
from tests.bus.daemon import Healthd, one_host
from tests.bus.private_bus import PrivateBus
from tests.bus.systemd1 import NAME, PROPERTIES

WEB, DB, MARK, ODD = "web.service", "db.service", "mark.service", "odd.service"
STRANGER, ABSENT, TARGET = "stranger.service", "absent.service", "multi-user.target"


async def told_of(healthd: Healthd, client: Client) -> list[Changed]:
    """What was said of other checks until the end of *mark* was: all that came before is judged."""
    healthd.systemd.kill(MARK)
    last = await client.until_face(f"liveness:{MARK}", State.YELLOW, Reason.SUSPECT)
    changes = [said for said in client.said.items if isinstance(said, Changed)]
    return [said for said in changes[: changes.index(last)] if said.key != last.key]


async def test_only_the_owner_of_systemds_name_is_believed(
    healthd: Healthd, library: Library
) -> None:
    """Any local user can send us a signal that looks like systemd's."""
    for unit in (WEB, MARK):
        healthd.systemd.unit(unit)
    await healthd.start()
    client = await healthd.client()
    reads = len(healthd.systemd.read)
    forger = await Connection.open(healthd.bus.address, library=library)
    target = await client.owner()
    failed = {"ActiveState": Variant("s", "failed"), "SubState": Variant("s", "failed")}
    body: tuple[object, ...] = (f"{NAME}.Unit", failed, [])
    forger.emit(
        unit_path(WEB), PROPERTIES, "PropertiesChanged", "sa{sv}as", body, destination=target
    )
    owned = (NAME, "", forger.unique_name)
    bus = "org.freedesktop.DBus"
    forger.emit("/org/freedesktop/DBus", bus, "NameOwnerChanged", "sss", owned, destination=target)
    forger.emit(
        unit_path(WEB), PROPERTIES, "PropertiesChanged", "sa{sv}as", body, destination=target
    )
    await forger.owner_of(NAME)
    await forger.close()
    assert await told_of(healthd, client) == []
    assert WEB not in healthd.systemd.read[reads:]


async def test_a_new_owner_of_systemds_name_is_asked_for_everything(healthd: Healthd) -> None:
    """daemon-reexec: what happened while nobody had the name was signalled to nobody."""
    systemd = healthd.systemd
    for unit in (WEB, DB):
        systemd.unit(unit)
    client = await healthd.client()
    await healthd.start()
    await systemd.stop()
    systemd.kill(DB)
    await systemd.start()
    await client.until_face(f"liveness:{DB}", State.YELLOW, Reason.SUSPECT)
    # The new owner is believed.
    systemd.kill(WEB)
    await client.until_face(f"liveness:{WEB}", State.YELLOW, Reason.SUSPECT)


async def test_a_reload_of_all_units_changes_nothing(healthd: Healthd) -> None:
    """daemon-reload says UnitRemoved and UnitNew for every unit there is."""
    systemd = healthd.systemd
    for unit in (WEB, DB, MARK):
        systemd.unit(unit)
    await healthd.start()
    client = await healthd.client()
    known = (await client.checks()).keys()
    listed, reads = systemd.times_called("ListUnits"), len(systemd.read)
    systemd.reload()
    # It is reconciled, and finds everything as it was.
    await systemd.until_calls("ListUnits", listed + 1)
    assert await told_of(healthd, client) == []
    assert (await client.checks()).keys() == known
    assert set(systemd.read[reads:]) <= {MARK}


async def test_nothing_is_read_in_answer_to_units_and_jobs_that_come_and_go(
    healthd: Healthd,
) -> None:
    """Reading loads units, which says UnitNew: two who did that would never come to rest."""
    systemd = healthd.systemd
    for unit in (WEB, MARK):
        systemd.unit(unit)
    await healthd.start()
    client = await healthd.client()
    reads, listed = len(systemd.read), systemd.times_called("ListUnits")
    for unit in (WEB, STRANGER):
        for member in ("UnitNew", "UnitRemoved"):
            systemd.emit(member, "so", unit, unit_path(unit))
        systemd.emit("JobNew", "uos", 77, f"{unit_path(unit)}/job", unit)
    assert await told_of(healthd, client) == []
    assert set(systemd.read[reads:]) <= {MARK}
    assert systemd.times_called("ListUnits") == listed


@pytest.fixture(name="neighbour")
async def _neighbour(library: Library) -> AsyncIterator[Healthd]:
    """Another healthd, on a bus of its own."""
    with tempfile.TemporaryDirectory(prefix="bus-") as folder:
        bus = PrivateBus(Path(folder))
        bus.start()
        try:
            async with one_host(Path(folder), bus, library) as host:
                yield host
        finally:
            bus.stop()


async def test_two_watchers_of_one_systemd_come_to_rest(
    healthd: Healthd, neighbour: Healthd
) -> None:
    """Each reads a unit that is not loaded, so each makes the other hear UnitNew."""
    systemd = healthd.systemd
    systemd.share(neighbour.systemd)
    for unit in (WEB, MARK):
        systemd.unit(unit)
    for host in (healthd, neighbour):
        host.settings(f"repair: {{allow_restart: [{ABSENT}]}}\n")
        await host.start()
    client = await healthd.client()
    both = [healthd.systemd, neighbour.systemd]
    reads = [each.read.count(ABSENT) for each in both]
    assert all(reads)
    # Both are made to read it once more …
    systemd.reload()
    for each, before in zip(both, reads, strict=True):
        await each.until_read(ABSENT, before + 1)
    again = [each.read.count(ABSENT) for each in both]
    # … and then it is over.
    assert await told_of(healthd, client) == []
    await healthd.hears_all(client)
    await neighbour.hears_all(await neighbour.client())
    assert [each.read.count(ABSENT) for each in both] == again


async def test_states_of_a_newer_systemd_decide_nothing_and_are_logged_once(
    healthd: Healthd,
) -> None:
    """An upgrade of systemd must not take the watch down, nor fill the log."""
    systemd = healthd.systemd
    for unit in (WEB, MARK):
        systemd.unit(unit)
    systemd.unit(ODD, ActiveState="levitating", SubState="high")
    systemd.unit(DB, LoadState="quantum")
    client = await healthd.client()
    await healthd.start()
    for _ in range(3):
        systemd.change(WEB, ActiveState="hovering", SubState="low", Result="enlightened")
        systemd.change(ODD, ActiveState="levitating", SubState="higher")
    news = await told_of(healthd, client)
    assert all(said.new in (State.GREEN, State.GREY) for said in news)
    rows = await client.checks()
    # WEB was well when it was last understood.
    assert rows[f"liveness:{WEB}"].state == State.GREEN
    log = healthd.log()
    for word in ("levitating", "quantum", "hovering"):
        assert log.count(f"'{word}'") == 1, log


async def test_what_dies_while_the_first_pass_goes_on_is_not_missed(healthd: Healthd) -> None:
    """Signals are asked for before anything is read: between two of them nobody is deaf."""
    systemd = healthd.systemd
    for unit in (WEB, DB):
        systemd.unit(unit)
    systemd.hold(DB)
    client = await healthd.client()
    await healthd.launch()
    await systemd.until_held(DB)
    await systemd.until_read(WEB, 1)
    await healthd.hears_all(client)
    systemd.kill(WEB)
    await healthd.hears_all(client)
    systemd.release(DB)
    await client.until_face(f"liveness:{WEB}", State.YELLOW, Reason.SUSPECT)


async def test_what_dies_while_it_is_read_is_not_taken_for_alive(healthd: Healthd) -> None:
    """The answer was true when it was given, and a signal has said more since."""
    systemd = healthd.systemd
    systemd.unit(TARGET)
    systemd.unit(WEB, WantedBy=[TARGET])
    client = await healthd.client()
    await healthd.start()
    # Reading it again takes two questions; it dies between their answers.
    systemd.hold("ListUnitsByNames")
    systemd.change(WEB, ActiveState="reloading", SubState="reload")
    systemd.change(WEB, ActiveState="failed", SubState="failed")
    systemd.change(WEB, ActiveState="active", SubState="running")
    await systemd.until_held("ListUnitsByNames")
    systemd.kill(WEB)
    await healthd.hears_all(client)
    systemd.release("ListUnitsByNames")
    await client.until_face(f"liveness:{WEB}", State.YELLOW, Reason.SUSPECT)
