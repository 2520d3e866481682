"""Run a timer's job once more, as a job of PID 1. How that ends is for the looks to say."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from healthd.model import AttemptResult, Policy, UnitFacts, UnitName
from healthd.repairs import restart_unit
from healthd.repairs.restart_unit import RepairResult, Tools

# A job may run for hours: whether it was begun is known long before.
_BEGUN_WITHIN_S = 10.0


class _Begins:
    """*tools*, but a restart is over once it is under way."""

    def __init__(self, tools: Tools) -> None:
        self.read = tools.read
        self.along = tools.along
        self.pushed_out = tools.pushed_out
        self._restart = tools.restart

    async def restart(self, unit: str, *, limit_s: float) -> str:
        return await self._restart(unit, limit_s=min(limit_s, _BEGUN_WITHIN_S))


async def repair(
    unit: UnitName,
    policy: Policy,
    tools: Tools,
    judged: UnitFacts | None = None,
    held: Callable[[tuple[str, ...]], str] = restart_unit.nobody,
) -> RepairResult:
    """As `restart_unit.repair`; but a job that is still running is no restart that failed."""
    result = await restart_unit.repair(unit, policy, _Begins(tools), judged, held)
    if result.slow:
        return replace(result, result=AttemptResult.DONE, detail="it runs")
    return result
