"""Units that come and go for as long as healthd lives, and are nobody's to watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import cast

from msgspec.structs import replace

from healthd.daemon.clock import Clock
from healthd.daemon.inbox import Inbox
from healthd.daemon.naming import Naming
from healthd.daemon.units import Units
from healthd.daemon.vigil import Vigil
from healthd.host.systemd import Systemd
from healthd.model import (
    Check,
    JobNew,
    JobRemoved,
    SystemdSignal,
    UnitChanged,
    UnitName,
    UnitRemoved,
)
from tests.unit.clockwork import CHECK
from tests.unit.histories import LIVE_CHECK


def _liveness(unit: UnitName, *, declared: bool) -> Check:
    return replace(LIVE_CHECK, unit=unit, declared=declared)


def _heartbeat(unit: UnitName) -> Check:
    return replace(CHECK, unit=unit)


NAMING = Naming({}, frozenset(), frozenset(), _liveness, _heartbeat, lambda unit: "")


class Quiet:
    """A systemd that has no unit that lasts."""

    def __init__(self) -> None:
        self.tell: Callable[[SystemdSignal], None] = lambda signal: None

    def on_signal(self, heard: Callable[[SystemdSignal], None]) -> None:
        self.tell = heard

    async def subscribe(self) -> None:
        """Signals come anyway."""

    async def watch(self, units: set[str]) -> None:
        """So they do."""

    async def system_state(self) -> str:
        return "running"

    async def list_units(self) -> tuple[object, ...]:
        return ()

    async def list_failed(self) -> tuple[object, ...]:
        return ()

    async def list_by_names(self, names: tuple[str, ...]) -> tuple[object, ...]:
        return ()


class Awake:
    """A machine that is watched."""

    why = ""

    def set(self, cause: object, on: bool) -> None:
        """Nothing stops it."""


def gathered(part: object) -> int:
    """How many things *part*, and what it is made of, has in its tables."""
    tables = (Mapping, set, frozenset)
    inside = vars(part).values()
    own = sum(len(v) for v in inside if isinstance(v, tables))
    rooms = ("healthd.daemon", "healthd.judge.endings")
    parts = (v for v in inside if type(v).__module__.startswith(rooms) and hasattr(v, "__dict__"))
    return own + sum(gathered(v) for v in parts)


def test_sessions_and_made_up_units_leave_nothing_behind() -> None:
    """A machine whose cron opens a session each minute must not make healthd grow for ever."""

    async def live() -> list[int]:
        systemd, inbox = Quiet(), Inbox()
        units = Units(
            *(cast(Systemd, systemd), inbox, {}, Clock(0), lambda: NAMING),
            spawn=lambda work: work.close(),
            vigil=cast(Vigil, Awake()),
        )
        await units.begin()
        sizes = []
        for number in range(100):
            for name in (f"session-{number}.scope", f"web-{number}.mount", f"u{number}.timer"):
                come_and_go(systemd.tell, UnitName(name), 3 * number)
            inbox.take(100)
            sizes.append(gathered(units))
        return sizes

    sizes = asyncio.run(live())
    assert sizes[-1] == sizes[0]


def come_and_go(tell: Callable[[SystemdSignal], None], unit: UnitName, job: int) -> None:
    """One unit's whole life, as systemd tells it."""
    tell(JobNew(job, unit))
    tell(UnitChanged(unit, "Unit", {"ActiveState": "active", "SubState": "running", "Job": 0}))
    tell(JobRemoved(job, unit, "done"))
    tell(UnitChanged(unit, "Unit", {"ActiveState": "inactive", "SubState": "dead", "Job": 0}))
    tell(UnitRemoved(unit))
