"""What we believe and read of a systemd on a private bus, on both libraries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from msgspec import Struct

from healthd.bus.connection import Connection, Variant
from healthd.bus.library import Library
from healthd.errors import HealthdError
from healthd.host.matches import MOST_PATHS, change_rules
from healthd.host.systemd import Systemd
from healthd.host.unit_facts import INTERFACES
from healthd.host.unit_path import unit_path
from healthd.model import (
    ActiveState,
    BootFinished,
    JobNew,
    JobRemoved,
    LoadState,
    OwnerChanged,
    Reloading,
    SystemdSignal,
    UnitChanged,
    UnitFilesChanged,
    UnitName,
    UnitNew,
    UnitRemoved,
)
from tests.bus.private_bus import PrivateBus
from tests.bus.systemd1 import NAME, PROPERTIES, REFUSED, FakeSystemd

LIMIT_S = 30.0
OFFSET_US = 5_000_000
WEB = "web.service"


class Ear(Struct):
    """Our side: systemd as healthd sees it, and all that it has said."""

    connection: Connection
    systemd: Systemd
    heard: list[SystemdSignal]
    news: asyncio.Event

    async def until(self, said: SystemdSignal) -> list[SystemdSignal]:
        """Wait until *said* is heard; all that was heard by then."""
        async with asyncio.timeout(LIMIT_S):
            while said not in self.heard:
                self.news.clear()
                await self.news.wait()
        return self.heard[: self.heard.index(said) + 1]

    async def until_all_is_heard(self, fake: FakeSystemd) -> list[SystemdSignal]:
        """Everything that was sent before now has come when this signal has."""
        fake.emit("UnitFilesChanged")
        return await self.until(UnitFilesChanged())


@pytest.fixture(name="ear")
async def _ear(private_bus: str, systemd1: FakeSystemd, library: Library) -> AsyncIterator[Ear]:
    connection = await Connection.open(private_bus, library=library)
    ear = Ear(connection, Systemd(connection, lambda: OFFSET_US), [], asyncio.Event())

    def hear(said: SystemdSignal) -> None:
        ear.heard.append(said)
        ear.news.set()

    ear.systemd.on_signal(hear)
    await ear.systemd.subscribe()
    yield ear
    await connection.close()


async def test_a_death_is_heard_on_both_interfaces(ear: Ear, systemd1: FakeSystemd) -> None:
    """Service says how it died, Unit what it is now; Service comes first."""
    systemd1.unit(WEB)
    systemd1.unit("other.service")
    await ear.systemd.watch([WEB])
    systemd1.kill("other.service")
    systemd1.kill(WEB)
    heard = await ear.until_all_is_heard(systemd1)
    service, unit, _ = heard
    assert isinstance(service, UnitChanged)
    assert isinstance(unit, UnitChanged)
    assert [(said.unit, said.interface) for said in (service, unit)] == [
        (WEB, "Service"),
        (WEB, "Unit"),
    ]
    assert service.properties["ExecMainStatus"] == 9
    assert unit.properties["ActiveState"] == "failed"
    assert unit.properties["Job"] == 0
    assert len(str(unit.properties["InvocationID"])) == 32


async def test_a_forged_signal_is_not_believed(
    ear: Ear, systemd1: FakeSystemd, private_bus: str
) -> None:
    """Any local user can send a unicast signal with systemd's path and interface."""
    systemd1.unit(WEB)
    await ear.systemd.watch([WEB])
    forger = await Connection.open(private_bus)
    failed = {"ActiveState": Variant("s", "failed")}
    body: tuple[object, ...] = (f"{NAME}.Unit", failed, [])
    target = ear.connection.unique_name
    forger.emit(
        unit_path(WEB), PROPERTIES, "PropertiesChanged", "sa{sv}as", body, destination=target
    )
    forger.emit(
        "/org/freedesktop/DBus",
        "org.freedesktop.DBus",
        "NameOwnerChanged",
        "sss",
        (NAME, "", forger.unique_name),
        destination=target,
    )
    # The bus has delivered both when it has answered this.
    await forger.owner_of(NAME)
    assert await ear.until_all_is_heard(systemd1) == [UnitFilesChanged()]
    await forger.close()


async def test_jobs_and_the_manager_are_heard(ear: Ear, systemd1: FakeSystemd) -> None:
    """How a unit ended is told by the jobs around it."""
    systemd1.unit(WEB)
    job = systemd1.stop_unit(WEB)
    systemd1.emit("StartupFinished", "tttttt", 0, 0, 0, 0, 0, 0)
    systemd1.emit("UnitNew", "so", "late.service", unit_path("late.service"))
    systemd1.remove(WEB)
    assert await ear.until_all_is_heard(systemd1) == [
        JobNew(job, UnitName(WEB)),
        JobRemoved(job, UnitName(WEB), "done"),
        BootFinished(),
        UnitNew(UnitName("late.service")),
        UnitRemoved(UnitName(WEB)),
        UnitFilesChanged(),
    ]


async def test_a_reload_takes_no_unit_away(ear: Ear, systemd1: FakeSystemd) -> None:
    """daemon-reload signals UnitRemoved for every unit there is."""
    systemd1.unit(WEB)
    systemd1.reload()
    heard = await ear.until_all_is_heard(systemd1)
    assert heard == [Reloading(True), Reloading(False), UnitFilesChanged()]


async def test_a_new_owner_is_believed_and_the_old_one_no_more(
    ear: Ear, systemd1: FakeSystemd
) -> None:
    """daemon-reexec gives systemd's name to a new connection."""
    systemd1.unit(WEB)
    await ear.systemd.watch([WEB])
    await systemd1.reexec()
    systemd1.kill(WEB)
    heard = await ear.until_all_is_heard(systemd1)
    assert heard[:4] == [
        Reloading(True),
        OwnerChanged(present=False),
        OwnerChanged(present=True),
        Reloading(False),
    ]
    assert [type(said) for said in heard[4:]] == [UnitChanged, UnitChanged, UnitFilesChanged]
    # A systemd that came anew to the bus knows no subscribers; a second Subscribe does no harm.
    subscribed = [member for member, _ in systemd1.calls].count("Subscribe")
    await ear.systemd.list_units()
    await ear.systemd.list_units()
    assert [member for member, _ in systemd1.calls].count("Subscribe") == subscribed + 1


async def test_reads_wait_for_a_reexec(ear: Ear, systemd1: FakeSystemd) -> None:
    """A call in flight gets NoReply; that is not a finding about any unit."""
    systemd1.unit(WEB)
    systemd1.errors["ListUnits"] = ("org.freedesktop.DBus.Error.NoReply", "gone")
    systemd1.emit("Reloading", "b", True)
    await ear.until(Reloading(True))
    listing = asyncio.create_task(ear.systemd.list_units())
    await systemd1.until_called("ListUnits")
    del systemd1.errors["ListUnits"]
    await systemd1.reexec()
    async with asyncio.timeout(LIMIT_S):
        assert [row.name for row in await listing] == [WEB]


async def test_a_listing_is_decoded(ear: Ear, systemd1: FakeSystemd) -> None:
    """Reconciling compares these lines with what we believe."""
    systemd1.unit(WEB, Job=(9, "/org/freedesktop/systemd1/job/9"))
    systemd1.unit("odd.service", ActiveState="levitating", SubState="high")
    web, odd = await ear.systemd.list_units()
    assert (web.name, web.load_state, web.active_state, web.sub_state, web.job) == (
        WEB,
        LoadState.LOADED,
        ActiveState.ACTIVE,
        "running",
        9,
    )
    assert odd.active_state is ActiveState.UNKNOWN
    (absent,) = await ear.systemd.list_by_names(["absent.service"])
    assert absent.load_state is LoadState.NOT_FOUND


async def test_a_unit_is_read_with_what_others_decide(ear: Ear, systemd1: FakeSystemd) -> None:
    """Whether a unit is meant to run is systemd's own word: an active unit wants it."""
    systemd1.unit("multi-user.target")
    systemd1.unit("apache2.service")
    systemd1.unit("idle.service", ActiveState="inactive")
    systemd1.unit(
        WEB,
        ActiveState="failed",
        SubState="failed",
        WantedBy=["multi-user.target"],
        Conflicts=["shutdown.target", "apache2.service"],
        ConflictedBy=["idle.service"],
        InactiveEnterTimestampMonotonic=1_000_000,
    )
    facts = await ear.systemd.read(WEB)
    assert facts.wanted
    assert facts.booted
    assert facts.active_foes == ("apache2.service",)
    assert facts.inactive_enter_us == 1_000_000 + OFFSET_US
    systemd1.units["multi-user.target"]["ActiveState"] = "inactive"
    assert not (await ear.systemd.read(WEB)).wanted
    # During the boot a target comes last: its job says that it is on its way.
    systemd1.units["multi-user.target"]["Job"] = (1, "/org/freedesktop/systemd1/job/1")
    assert (await ear.systemd.read(WEB)).wanted


async def test_scopes_and_devices_want_nothing(ear: Ear, systemd1: FakeSystemd) -> None:
    """A login session that binds a unit does not make it meant to run."""
    systemd1.unit("session-1.scope")
    systemd1.unit(WEB, ActiveState="inactive", BoundBy=["session-1.scope"])
    assert not (await ear.systemd.read(WEB)).wanted


async def test_on_demand_and_timers(ear: Ear, systemd1: FakeSystemd) -> None:
    """A service that a socket starts is well while it rests; a timer's service is its timer's."""
    systemd1.unit("cups.socket")
    systemd1.unit("cups.service", ActiveState="inactive", TriggeredBy=["cups.socket"])
    systemd1.unit("backup.timer", SubState="waiting")
    systemd1.unit("backup.service", ActiveState="inactive", TriggeredBy=["backup.timer"])
    systemd1.unit("idle.timer", ActiveState="inactive")
    systemd1.unit("idle.service", ActiveState="inactive", TriggeredBy=["idle.timer"])
    cups = await ear.systemd.read("cups.service")
    assert (cups.on_demand, cups.triggered_by_timer) == ("cups.socket", "")
    backup = await ear.systemd.read("backup.service")
    assert (backup.on_demand, backup.triggered_by_timer) == ("backup.timer", "backup.timer")
    idle = await ear.systemd.read("idle.service")
    assert (idle.on_demand, idle.triggered_by_timer) == ("", "idle.timer")


async def test_a_bus_name_that_starts_nothing_is_not_on_demand(
    ear: Ear, systemd1: FakeSystemd
) -> None:
    """BusName= alone starts nobody: the bus must know the name as activatable."""
    systemd1.unit("a.service", ActiveState="inactive", BusName="org.example.NotActivatable")
    systemd1.unit("b.service", ActiveState="inactive", BusName="org.freedesktop.DBus")
    assert (await ear.systemd.read("a.service")).on_demand == ""
    assert (await ear.systemd.read("b.service")).on_demand == "org.freedesktop.DBus"


async def test_a_running_service_is_known_to_start_on_demand(
    ear: Ear, systemd1: FakeSystemd
) -> None:
    """When it ends because nobody needs it, no signal tells that a caller would start it again."""
    systemd1.unit("hostnamed.service", BusName="org.freedesktop.DBus")
    assert (await ear.systemd.read("hostnamed.service")).on_demand == "org.freedesktop.DBus"


async def test_lines_taken_before_save_questions(ear: Ear, systemd1: FakeSystemd) -> None:
    """A first pass over 200 services must not ask 200 times for the same target."""
    systemd1.unit("multi-user.target")
    systemd1.unit(WEB, WantedBy=["multi-user.target"])
    known = {row.name: row for row in await ear.systemd.list_units()}
    assert (await ear.systemd.read(WEB, {str(name): row for name, row in known.items()})).wanted
    assert "ListUnitsByNames" not in [member for member, _ in systemd1.calls]


async def test_a_boot_is_finished_once(ear: Ear, systemd1: FakeSystemd) -> None:
    """Until then what was not started yet is starting, not resting."""
    systemd1.unit(WEB)
    systemd1.system_state = "starting"
    assert not (await ear.systemd.read(WEB)).booted
    systemd1.system_state = "degraded"
    assert (await ear.systemd.read(WEB)).booted
    asked = len(systemd1.calls)
    assert (await ear.systemd.read(WEB)).booted
    assert [member for member, _ in systemd1.calls[asked:]] == ["GetAll"]


async def test_an_alias_and_an_absent_unit(ear: Ear, systemd1: FakeSystemd) -> None:
    """Settings may name a unit by another name, or one that is not there."""
    systemd1.unit(WEB)
    systemd1.aliases["www.service"] = WEB
    assert (await ear.systemd.read("www.service")).id == WEB
    absent = await ear.systemd.read("absent.service")
    assert (absent.id, absent.load_state) == ("absent.service", LoadState.NOT_FOUND)


async def test_what_a_restart_takes_along(ear: Ear, systemd1: FakeSystemd) -> None:
    """The owner is told before; what would stay down forbids an automatic restart."""
    systemd1.unit("base.service", RequiredBy=["a.service", "down.service"])
    systemd1.unit("a.service", ConsistsOf=["b.service"], BoundBy=["base.service"])
    systemd1.unit("b.service", PropagatesStopTo=["log.service"])
    systemd1.unit("log.service", RequiredBy=["reader.service"])
    systemd1.unit("reader.service")
    systemd1.unit("down.service", ActiveState="inactive", RequiredBy=["beyond.service"])
    systemd1.unit("beyond.service")
    restarted, stays_down = await ear.systemd.along("base.service")
    assert restarted == ("a.service", "b.service")
    assert stays_down == ("log.service", "reader.service")
    assert await ear.systemd.along("reader.service") == ((), ())


async def test_what_a_start_would_push_out(ear: Ear, systemd1: FakeSystemd) -> None:
    """A start pulls others in, and each of them may stop what it conflicts with."""
    systemd1.unit(WEB, ActiveState="failed", Wants=["helper.service", "up.service"])
    systemd1.unit("helper.service", ActiveState="inactive", ConflictedBy=["rival.service"])
    systemd1.unit("up.service", Conflicts=["innocent.service"])
    systemd1.unit("rival.service")
    systemd1.unit("innocent.service")
    assert await ear.systemd.pushed_out(WEB) == ("rival.service",)


async def test_a_restart_waits_for_its_job(ear: Ear, systemd1: FakeSystemd) -> None:
    """The answer of RestartUnit says only "queued"; the job's result is what became of it."""
    systemd1.unit(WEB)
    assert await ear.systemd.restart(WEB, limit_s=LIMIT_S) == "done"
    systemd1.results[WEB] = "failed"
    assert await ear.systemd.restart(WEB, limit_s=LIMIT_S) == "failed"
    systemd1.results[WEB] = "levitated"
    assert await ear.systemd.restart(WEB, limit_s=LIMIT_S) == "levitated"
    restarts = [body for member, body in systemd1.calls if member == "RestartUnit"]
    assert restarts == [(WEB, "fail")] * 3
    # Nobody may be asked for a password on healthd's behalf.
    assert systemd1.interactive == 0


async def test_a_slow_job_is_awaited_among_others(ear: Ear, systemd1: FakeSystemd) -> None:
    """Other jobs end meanwhile, of the same unit too."""
    systemd1.unit(WEB)
    systemd1.unit("other.service")
    systemd1.results[WEB] = ""
    waiting = asyncio.create_task(ear.systemd.restart(WEB, limit_s=LIMIT_S))
    await systemd1.until_called("RestartUnit")
    pair = systemd1.units[WEB]["Job"]
    assert isinstance(pair, tuple)
    systemd1.restart_unit("other.service")
    systemd1.emit("JobRemoved", "uoss", pair[0] + 77, "/x", WEB, "canceled")
    await ear.until_all_is_heard(systemd1)
    assert not waiting.done()
    systemd1.run_job(WEB, pair[0], "done")
    async with asyncio.timeout(LIMIT_S):
        assert await waiting == "done"


@pytest.mark.parametrize(
    ("error", "words", "code"),
    [
        (*REFUSED, "refused"),
        ("org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", "", "refused"),
        (f"{NAME}.NoSuchUnit", "Unit web.service not found.", "unit-missing"),
        (f"{NAME}.UnitMasked", "Unit web.service is masked.", "unit-masked"),
        (f"{NAME}.UnitMasked", "Unit polkit.service is masked.", "refused"),
        (f"{NAME}.TransactionIsDestructive", "web.service has 'stop' job queued", "overtaken"),
        (f"{NAME}.ShuttingDown", "System is shutting down.", "restart-failed"),
        ("org.freedesktop.DBus.Error.NoReply", "", "restart-unknown"),
    ],
)
async def test_why_a_restart_was_not_made(
    ear: Ear, systemd1: FakeSystemd, error: str, words: str, code: str
) -> None:
    """Some of these no retry can change, and after one nobody knows whether it was made."""
    systemd1.unit(WEB)
    systemd1.refuse[WEB] = (error, words)
    with pytest.raises(HealthdError) as caught:
        await ear.systemd.restart(WEB, limit_s=LIMIT_S)
    assert caught.value.code == code
    # Whatever it was, it is asked once: one attempt is one restart.
    assert [member for member, _ in systemd1.calls].count("RestartUnit") == 1


async def test_a_restart_that_never_ends_is_given_up(ear: Ear, systemd1: FakeSystemd) -> None:
    """The job goes on in PID 1; looks will tell what became of it."""
    systemd1.unit(WEB)
    systemd1.results[WEB] = ""
    with pytest.raises(HealthdError) as caught:
        await ear.systemd.restart(WEB, limit_s=0.05)
    assert caught.value.code == "job-slow"


async def test_a_bus_lost_during_a_restart_is_told(
    ear: Ear, systemd1: FakeSystemd, bus: PrivateBus
) -> None:
    """The job may be done or not: the caller must hear that he will not be told."""
    systemd1.unit(WEB)
    systemd1.results[WEB] = ""
    waiting = asyncio.create_task(ear.systemd.restart(WEB, limit_s=LIMIT_S))
    async with asyncio.timeout(LIMIT_S):
        while not any(isinstance(said, JobNew) for said in ear.heard):
            ear.news.clear()
            await ear.news.wait()
        bus.stop()
        with pytest.raises(HealthdError) as caught:
            await waiting
    assert caught.value.code in ("bus-lost", "restart-unknown")


async def test_many_units_take_few_rules(ear: Ear, systemd1: FakeSystemd) -> None:
    """The bus allows 512 rules a connection and looks at each for every message."""
    units = [f"u{number}.service" for number in range(MOST_PATHS + 1)]
    assert len(change_rules(units[:-1])) == MOST_PATHS
    assert len(change_rules(units)) == len(INTERFACES)
    for unit in (*units, "stranger.service"):
        systemd1.unit(unit)
    await ear.systemd.watch(units[:-1])
    await ear.systemd.watch(units)
    systemd1.kill("stranger.service")
    systemd1.kill(units[-1])
    heard = await ear.until_all_is_heard(systemd1)
    changed = {said.unit for said in heard if isinstance(said, UnitChanged)}
    assert changed == {units[-1]}
    await ear.systemd.watch(units[:2])
    systemd1.kill(units[-2])
    systemd1.kill(units[0])
    ear.heard.clear()
    heard = await ear.until_all_is_heard(systemd1)
    assert {said.unit for said in heard if isinstance(said, UnitChanged)} == {units[0]}


async def test_stamps_of_a_start_are_on_our_clock(ear: Ear, systemd1: FakeSystemd) -> None:
    """systemd's stamps are CLOCK_MONOTONIC, ours are carried on over sleep and reboots."""
    before_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    systemd1.unit(WEB)
    facts = await ear.systemd.read(WEB)
    assert facts.active_enter_us >= before_us + OFFSET_US
