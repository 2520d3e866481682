"""A desk that answers what it was told to, and polkit as it pleases: for tests of the API alone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from healthd.bus.desk import Authorize
from healthd.bus.filters import IncidentFilter
from healthd.bus.message import Descriptor
from healthd.errors import HealthdError
from healthd.model import (
    AttemptRow,
    CheckKey,
    CheckRow,
    Dated,
    Evidence,
    Gap,
    HoldRow,
    IncidentId,
    IncidentRow,
    Neighbour,
    Observed,
    Outcome,
    Permission,
    Reason,
    State,
    TellingRow,
    UnitName,
    WhyRow,
)

NGINX = "nginx.service"
LIVENESS = "liveness:nginx.service"


def check_row(key: str = LIVENESS, state: str = "red", **changes: object) -> CheckRow:
    """A row in which everything applies."""
    fields: dict[str, object] = {
        "key": key,
        "aspect": key.partition(":")[0],
        "kind": "unit",
        "unit": NGINX,
        "state": state,
        "reason": "failed",
        "failure_class": "exit",
        "summary": "killed by SIGKILL",
        "since": 1_796_000_000_000_000,
        "streak": 2,
        "restarts": 1,
        "waiting_on": "",
        "incident": 42,
        "remedy": "systemctl restart nginx.service",
        "next_look": 1_796_000_005_000_000,
    }
    return CheckRow(**(fields | changes))  # type: ignore[arg-type]


def incident_row(number: int = 42) -> IncidentRow:
    """An open incident in which everything applies."""
    return IncidentRow(
        id=number,
        key=LIVENESS,
        unit=NGINX,
        phase="engaged",
        idle="held",
        reason="failed",
        summary="killed by SIGKILL",
        opened=1_796_000_000_000_000,
        closed=0,
        ending="",
        attempts=1,
        notices=1,
        tried=(AttemptRow(1_796_000_001_000_000, "restart-unit", "uid 1000", "done", "job 7"),),
        told=(TellingRow(1_796_000_002_000_000, "engaged", "mail"),),
        recent=1,
        reopened=2,
        found=True,
        held_under=41,
        remedy="systemctl restart nginx.service",
        gaps=(gap_row(),),
    )


def why_row(key: str = LIVENESS) -> WhyRow:
    """An answer in which everything applies."""
    at = 1_796_000_000_000_000
    red = (Outcome.FAILING, Reason.FAILED, State.RED, Reason.FAILED)
    return WhyRow(
        key=key,
        unit=NGINX,
        state="red",
        reason="failed",
        summary="killed by SIGKILL",
        since=at,
        judged="2 failing looks in a row, red from 2 on",
        rule="`failed` → failing",
        waiting_on="liveness:db.service",
        incident=42,
        tried="nothing more: 2 restarts did not help",
        notice="told (engaged); again only while it stays red",
        told=at + 1,
        again=at + 2,
        looked=at + 3,
        next_look=at + 4,
        looks=(Observed(at, at + 5, 2, *red, "killed by SIGKILL", "`failed` → failing"),),
    )


def hold_row() -> HoldRow:
    """A hold in which everything applies."""
    since = 1_796_000_000_000_000
    return HoldRow(
        id=7, units=(NGINX,), why="backup", pid=812, uid=0, since=since, until=since + 1_000_000
    )


def gap_row() -> Gap:
    """A night in which nobody watched."""
    return Gap(1_795_990_000_000_000, 1_796_000_000_500_000, "healthd was stopped")


class FakeDesk:
    """Answers from its attributes and keeps what it was asked to do."""

    def __init__(self) -> None:
        self.rows: tuple[CheckRow, ...] = (check_row(),)
        self.opened: tuple[IncidentRow, ...] = (incident_row(),)
        self.held: tuple[HoldRow, ...] = (hold_row(),)
        self.missed: tuple[Gap, ...] = (gap_row(),)
        self.kept = -1
        self.state = State.RED
        self.tally = {"green": 3, "yellow": 0, "red": 1, "grey": 2}
        self.watch = (True, "")
        self.number = 100
        self.read = 0
        self.counted = 0
        self.asked: list[tuple[object, ...]] = []
        self.fault: Exception | None = None
        #: Set once a pass has begun; a pass ends when `go_on` is set.
        self.passing = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    def check_rows(self) -> tuple[CheckRow, ...]:
        self.read += 1
        return self.rows

    def open_incidents(self) -> tuple[IncidentRow, ...]:
        return self.opened

    def alerts(self) -> tuple[CheckRow, ...]:
        return tuple(row for row in self.rows if row.state == "red")

    def counts(self) -> dict[str, int]:
        self.counted += 1
        return self.tally

    def has_check(self, key: CheckKey) -> bool:
        return any(row.key == key for row in self.rows)

    def why(self, key: CheckKey) -> WhyRow:
        if not self.has_check(key):
            raise HealthdError("no-such-check", f"there is no check {key}")
        return why_row(key)

    def worst(self, counts: Mapping[str, int]) -> State:
        return self.state

    def watching(self) -> tuple[bool, str]:
        return self.watch

    def sequence(self) -> int:
        return self.number

    async def incidents(self, which: IncidentFilter) -> tuple[IncidentRow, ...]:
        self._note("incidents", which)
        return self.opened

    async def incident(self, number: IncidentId) -> IncidentRow:
        for row in self.opened:
            if row.id == number:
                return row
        raise HealthdError("no-such-incident", f"there is no incident {number}")

    async def look(self, keys: tuple[CheckKey, ...], by: str) -> tuple[CheckRow, ...]:
        self.passing.set()
        await self.go_on.wait()
        self._note("look", keys, by)
        return self.rows

    def restartable(self, unit: str) -> UnitName:
        if unit == NGINX:
            return UnitName(unit)
        code = "never-restart" if unit == "dbus.service" else "not-allowlisted"
        raise HealthdError(code, f"healthd may not restart {unit}")

    async def restart(self, unit: UnitName, by: str) -> IncidentId:
        self._note("restart", unit, by)
        return IncidentId(42)

    def gaps(self) -> tuple[Gap, ...]:
        return self.missed

    def holds(self) -> tuple[HoldRow, ...]:
        return self.held

    async def holdable(self, units: tuple[str, ...], for_us: int) -> tuple[UnitName, ...]:
        if units == (NGINX,):
            return (UnitName(NGINX),)
        raise HealthdError("no-such-unit", f"systemd knows no unit {units[0]}")

    async def hold(
        self, units: tuple[UnitName, ...], why: str, for_us: int, *, pid: int, uid: int
    ) -> Descriptor:
        self._note("hold", units, why, for_us, pid, uid)
        self.kept, given = os.pipe()
        return Descriptor(given)

    async def evidence(self, number: IncidentId) -> Evidence | None:
        self._note("evidence", number)
        return Evidence(
            number,
            1_796_000_000_000_000,
            {"exit": "9"},
            ("last words",),
            "refused",
            (Dated(1_795_000_000_000_000, "/etc/default/nginx"),),
            (Dated(1_795_999_000_000_000, "dpkg: upgraded nginx 1 to 2"),),
            (Neighbour(UnitName("db.service"), State.RED, Reason.FAILED, "exit code 3"),),
        )

    async def reload(self) -> tuple[str, ...]:
        self._note("reload")
        return ("the list grows with the next systemctl reload healthd",)

    def _note(self, *asked: object) -> None:
        self.asked.append(asked)
        if self.fault is not None:
            raise self.fault


class FakePolkit:
    """Says the same to everybody and keeps what it was asked; *instead* asks somebody else."""

    def __init__(self) -> None:
        self.answer = Permission.GRANTED
        self.asked: list[tuple[str, str, dict[str, str], bool]] = []
        self.instead: Authorize | None = None

    async def authorize(
        self, sender: str, action: str, details: Mapping[str, str], interactive: bool
    ) -> Permission:
        self.asked.append((sender, action, dict(details), interactive))
        if self.instead is not None:
            return await self.instead(sender, action, details, interactive)
        return self.answer
