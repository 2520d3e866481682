"""A systemd on a private bus: units with properties, signals, jobs, reloads and new owners.

Sends what the real one was seen sending, in the same order. Decides nothing by itself: a test says
what happens to a unit.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable

from healthd.bus.connection import Call, Connection, Variant
from healthd.bus.message import ACCESS_DENIED, UNKNOWN_METHOD, UNKNOWN_PROPERTY
from healthd.host.unit_path import ROOT, unit_name, unit_path
from tests.bus.properties1 import NEVER as NEVER
from tests.bus.properties1 import NO_JOB, SIGNALLED, UNIT, kind_of

NAME = "org.freedesktop.systemd1"
MANAGER = f"{NAME}.Manager"
PROPERTIES = "org.freedesktop.DBus.Properties"


def monotonic_us() -> int:
    """systemd's own clock."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


class FakeSystemd:
    """Owns systemd's name on a private bus."""

    def __init__(self, address: str) -> None:
        self.system_state = "running"
        #: None: a systemd that does not know of them.
        self.soft_reboots: int | None = None
        #: Unit → properties of both interfaces.
        self.units: dict[str, dict[str, object]] = {}
        #: Alias → Id.
        self.aliases: dict[str, str] = {}
        #: Unit → D-Bus error name and words that its restart meets.
        self.refuse: dict[str, tuple[str, str]] = {}
        #: Unit → result of its restart jobs; "" leaves the job in the queue, "gone" never answers,
        #: "nonsense" answers with a job that cannot be.
        self.results: dict[str, str] = {}
        #: Every call that came in: member and arguments.
        self.calls: list[tuple[str, tuple[object, ...]]] = []
        #: Names of calls that get no answer but this error.
        self.errors: dict[str, tuple[str, str]] = {}
        #: How many calls allowed asking somebody for a password.
        self.interactive = 0
        self._address = address
        self._connection: Connection | None = None
        self._subscribers: set[str] = set()
        self._next_job = 1
        self._call_came = asyncio.Event()

    async def start(self) -> None:
        self._connection = await self._owner()

    async def stop(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def reexec(self) -> None:
        """daemon-reexec: the name gets a new owner, which keeps the subscriptions."""
        self.emit("Reloading", "b", True)
        await self.stop()
        self._connection = await self._owner()
        self.emit("Reloading", "b", False)

    async def _owner(self) -> Connection:
        connection = await Connection.open(self._address)
        connection.serve(self._on_call)
        await connection.own(NAME)
        return connection

    async def until_called(self, member: str, limit_s: float = 30.0) -> None:
        """Wait until *member* has been called."""
        async with asyncio.timeout(limit_s):
            while member not in [called for called, _ in self.calls]:
                self._call_came.clear()
                await self._call_came.wait()

    # ---- what a test says

    def unit(self, name: str, **properties: object) -> None:
        """A loaded unit, running unless *properties* (systemd's names) say otherwise."""
        defaults = {key: value for key, (_, value) in (UNIT | kind_of(name)[1]).items()}
        now = monotonic_us()
        started = {
            "InactiveExitTimestampMonotonic": now,
            "ActiveEnterTimestampMonotonic": now,
            "StateChangeTimestampMonotonic": now,
            "ExecMainStartTimestampMonotonic": now,
            "InvocationID": os.urandom(16),
            "MainPID": 4711,
        }
        if properties.get("ActiveState", "active") != "active":
            started = {}
        self.units[name] = defaults | {"Id": name, "Names": [name]} | started | properties

    def change(self, name: str, **properties: object) -> None:
        """Properties change; both interfaces are signalled, Unit last, as systemd does."""
        self.units[name] |= properties
        for interface, table in (kind_of(name), ("Unit", UNIT)):
            shown = {key: self._variant(name, key) for key in table if key in SIGNALLED}
            shown |= {key: self._variant(name, key) for key in properties if key in table}
            self._signal(
                unit_path(name),
                PROPERTIES,
                "PropertiesChanged",
                "sa{sv}as",
                (f"{NAME}.{interface}", shown, []),
            )

    def kill(self, name: str, number: int = 9) -> None:
        """The main process dies of a signal, and no automatic restart follows."""
        clean = number == 15
        now = monotonic_us()
        self.change(
            name,
            ActiveState="inactive" if clean else "failed",
            SubState="dead" if clean else "failed",
            Result="success" if clean else "signal",
            ExecMainCode=2,
            ExecMainStatus=number,
            ExecMainExitTimestampMonotonic=now,
            MainPID=0,
            ActiveExitTimestampMonotonic=now + 500,
            InactiveEnterTimestampMonotonic=now + 500,
            StateChangeTimestampMonotonic=now + 500,
        )

    def start_unit(self, name: str, job: int = 0) -> None:
        """The unit starts and runs, in a new invocation."""
        now = monotonic_us()
        self.change(
            name,
            ActiveState="active",
            SubState="running",
            Result="success",
            InvocationID=os.urandom(16),
            MainPID=4712,
            ExecMainCode=0,
            ExecMainStatus=0,
            ExecMainStartTimestampMonotonic=now,
            InactiveExitTimestampMonotonic=now,
            ActiveEnterTimestampMonotonic=now,
            StateChangeTimestampMonotonic=now,
            Job=self._pair(job),
        )

    def stop_unit(self, name: str) -> int:
        """`systemctl stop`: a job takes it down. The job's number."""
        job = self.queue(name)
        self.take_down(name, job)
        self.finish(name, job, "done")
        return job

    def restart_unit(self, name: str, result: str = "done") -> int:
        """`systemctl restart`, with this result; after "failed" the new process is dead."""
        job = self.queue(name)
        self.run_job(name, job, result)
        return job

    def run_job(self, name: str, job: int, result: str) -> None:
        """A queued restart job goes through, to this result."""
        if self.units[name]["ActiveState"] == "active":
            self.take_down(name, job)
        if result == "done":
            self.start_unit(name, job)
        elif result == "failed":
            self.start_unit(name, job)
            self.kill(name)
        self.finish(name, job, result)

    def queue(self, name: str) -> int:
        """A job is queued. Its number."""
        job, self._next_job = self._next_job, self._next_job + 1
        self.change(name, Job=self._pair(job))
        self.emit("JobNew", "uos", job, f"{ROOT}/job/{job}", name)
        return job

    def take_down(self, name: str, job: int) -> None:
        now = monotonic_us()
        pair = self._pair(job)
        self.change(
            name,
            ActiveState="deactivating",
            SubState="stop-sigterm",
            ActiveExitTimestampMonotonic=now,
            StateChangeTimestampMonotonic=now,
            Job=pair,
        )
        self.change(
            name,
            ActiveState="inactive",
            SubState="dead",
            MainPID=0,
            ExecMainCode=2,
            ExecMainStatus=15,
            ExecMainExitTimestampMonotonic=now + 400,
            InactiveEnterTimestampMonotonic=now + 500,
            StateChangeTimestampMonotonic=now + 500,
            Job=pair,
        )

    def finish(self, name: str, job: int, result: str) -> None:
        self.emit("JobRemoved", "uoss", job, f"{ROOT}/job/{job}", name, result)
        self.change(name, Job=NO_JOB)

    def remove(self, name: str) -> None:
        """The unit is unloaded."""
        del self.units[name]
        self.emit("UnitRemoved", "so", name, unit_path(name))

    def reload(self) -> None:
        """daemon-reload: every unit goes and comes, and no property changes."""
        self.emit("Reloading", "b", True)
        for member in ("UnitRemoved", "UnitNew"):
            for name in self.units:
                self.emit(member, "so", name, unit_path(name))
        self.emit("Reloading", "b", False)

    def emit(self, member: str, signature: str = "", *arguments: object) -> None:
        """A signal of the manager."""
        self._signal(ROOT, MANAGER, member, signature, arguments)

    # ---- what it does with calls

    def _signal(
        self, path: str, interface: str, member: str, signature: str, body: tuple[object, ...]
    ) -> None:
        # Without a subscriber the real one says nothing.
        if self._subscribers and self._connection is not None:
            self._connection.emit(path, interface, member, signature, body)

    def _on_call(self, call: Call) -> None:
        self.calls.append((call.member, call.body))
        self.interactive += call.interactive
        self._call_came.set()
        if call.member in self.errors:
            call.error(*self.errors[call.member])
            return
        match call.member, call.body:
            case "Subscribe", ():
                self._subscribe(call)
            case "ListUnits", ():
                call.reply("a(ssssssouso)", (self._rows(self.units),))
            case "ListUnitsFiltered", (list(states),):
                rows = [row for row in self._rows(self.units) if row[3] in states]
                call.reply("a(ssssssouso)", (rows,))
            case "ListUnitsByNames", (list(wanted),):
                call.reply("a(ssssssouso)", (self._rows(wanted),))
            case "RestartUnit", (str(unit), str()):
                self._restart(call, unit)
            case "GetAll", (str(interface),):
                call.reply("a{sv}", (self._all(call.path, interface),))
            case "Get", (_, "SystemState"):
                call.reply("v", (Variant("s", self.system_state),))
            case "Get", (_, "SoftRebootsCount") if self.soft_reboots is not None:
                call.reply("v", (Variant("u", self.soft_reboots),))
            case "Get", (_, str(name)):
                call.error(UNKNOWN_PROPERTY, f"no property {name}")
            case _:
                call.error(UNKNOWN_METHOD, f"no method {call.member}")

    def _subscribe(self, call: Call) -> None:
        if call.sender in self._subscribers:
            call.error(f"{NAME}.AlreadySubscribed", "Client is already subscribed.")
            return
        self._subscribers.add(call.sender)
        call.reply()

    def _rows(self, wanted: Iterable[str]) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = []
        for name in wanted:
            found = self.units.get(self.aliases.get(name, name), {})
            absent = {"LoadState": "not-found", "ActiveState": "inactive", "SubState": "dead"}
            states = [(found or absent).get(key, "") for key in absent]
            job = found.get("Job", NO_JOB)
            assert isinstance(job, tuple)
            number, path = job
            rows.append(
                (
                    *(found.get("Id", name), f"What {name} is"),
                    *(states if found else ("not-found", "inactive", "dead")),
                    *("", unit_path(name), number, "start" if number else "", path),
                )
            )
        return rows

    def _restart(self, call: Call, unit: str) -> None:
        unit = self.aliases.get(unit, unit)
        if unit in self.refuse:
            call.error(*self.refuse[unit])
            return
        if unit not in self.units:
            call.error(f"{NAME}.NoSuchUnit", f"Unit {unit} not found.")
            return
        result = self.results.get(unit, "done")
        if result == "gone":
            return
        if result == "nonsense":
            call.reply("o", ("/job/of/nobody",))
            return
        job = self.queue(unit)
        call.reply("o", (f"{ROOT}/job/{job}",))
        if result:
            self.run_job(unit, job, result)

    def _all(self, path: str, interface: str) -> dict[str, Variant]:
        asked = unit_name(path)
        name = self.aliases.get(asked, asked)
        if name not in self.units:
            absent = {"Id": name, "Names": [name], "LoadState": "not-found"}
            rest = {"ActiveState": "inactive", "SubState": "dead", "ConditionTimestampMonotonic": 0}
            table = UNIT | kind_of(name)[1]
            self.units[name] = {k: v for k, (_, v) in table.items()} | absent | rest
            shown = self._all(path, interface)
            del self.units[name]
            return shown
        kind, own = kind_of(name)
        tables = {"": UNIT | own, f"{NAME}.Unit": UNIT, f"{NAME}.{kind}": own}
        return {key: self._variant(name, key) for key in tables[interface]}

    def _variant(self, name: str, key: str) -> Variant:
        signature, _ = (UNIT | kind_of(name)[1])[key]
        return Variant(signature, self.units[name][key])

    def _pair(self, job: int) -> tuple[int, str]:
        return (job, f"{ROOT}/job/{job}") if job else NO_JOB


# What polkit's refusal looks like to a caller of systemd.
REFUSED = (ACCESS_DENIED, "Permission denied")
