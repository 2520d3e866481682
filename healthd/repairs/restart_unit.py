"""Restart a unit as a job of PID 1. Whether it helped is never said here: looks decide."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from healthd.errors import HealthdError
from healthd.model import SECOND_US, AttemptResult, Policy, UnitFacts, UnitName
from healthd.repairs.allowlist import may_restart

# A unit without a start timeout may take long; its job goes on in PID 1 whatever we think of it.
_NO_TIMEOUT_LIMIT_S = 15 * 60.0
_MARGIN_S = 10.0

# What no retry can change.
_FINAL_CODES = frozenset({"refused", "unit-missing", "unit-masked"})
_RESULTS = {
    "done": AttemptResult.DONE,
    "canceled": AttemptResult.OVERTAKEN,
}


class RepairResult(Struct, frozen=True):
    """How the call ended. *along*: the units that the restart took along."""

    result: AttemptResult
    detail: str
    along: tuple[str, ...] = ()


class Tools(Protocol):
    """What a restart needs of the machine."""

    async def read(self, unit: str) -> UnitFacts | None: ...

    async def along(self, unit: str) -> tuple[tuple[str, ...], tuple[str, ...]]: ...

    async def restart(self, unit: str, *, limit_s: float) -> str: ...


async def repair(unit: UnitName, policy: Policy, tools: Tools) -> RepairResult:
    """Restart *unit* if everything still speaks for it, and wait for its job to end."""
    refusal = may_restart(unit, policy.allow_restart, policy.never_restart)
    if refusal is not None:
        return RepairResult(AttemptResult.FINAL, refusal.message)
    try:
        facts = await tools.read(unit)
        if facts is None:
            return RepairResult(AttemptResult.FINAL, f"{unit} does not exist")
        if facts.job:
            return RepairResult(AttemptResult.OVERTAKEN, "systemd has a job for it already")
        along, stays_down = await tools.along(unit)
        harm = _harm(along, stays_down, policy)
        if harm:
            return RepairResult(AttemptResult.FINAL, harm, along)
        result = await tools.restart(unit, limit_s=_limit_s(facts))
    except HealthdError as err:
        final = err.code in _FINAL_CODES
        return RepairResult(AttemptResult.FINAL if final else AttemptResult.FAILED, err.message)
    # Results are an open set (systemd 262 adds some): an unknown one is no success.
    outcome = _RESULTS.get(result, AttemptResult.FAILED)
    return RepairResult(outcome, f"systemd's job ended: {result}", along)


def _harm(along: tuple[str, ...], stays_down: tuple[str, ...], policy: Policy) -> str:
    if stays_down:
        return f"a restart would stop {stays_down[0]} and not start it again"
    for unit in along:
        refusal = may_restart(UnitName(unit), frozenset({unit}), policy.never_restart)
        if refusal is not None:
            return f"a restart would take {unit} along: {refusal.message}"
    return ""


def _limit_s(facts: UnitFacts) -> float:
    spans_us = (facts.timeout_start_for_us, facts.timeout_stop_for_us)
    if any(span_us < 0 for span_us in spans_us):
        return _NO_TIMEOUT_LIMIT_S
    return min(sum(spans_us) / SECOND_US + _MARGIN_S, _NO_TIMEOUT_LIMIT_S)
