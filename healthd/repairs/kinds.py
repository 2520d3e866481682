"""The repairers by the name that an attempt bears."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from healthd.model import Policy, UnitFacts, UnitName
from healthd.repairs import rerun, restart_unit
from healthd.repairs.restart_unit import RepairResult, Tools

Held = Callable[[tuple[str, ...]], str]
Repairer = Callable[[UnitName, Policy, Tools, UnitFacts | None, Held], Awaitable[RepairResult]]

REPAIRERS: dict[str, Repairer] = {
    "restart-unit": restart_unit.repair,
    "rerun": rerun.repair,
}
