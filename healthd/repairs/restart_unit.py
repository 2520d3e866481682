"""Restart a unit as a job of PID 1. Whether it helped is never said here: looks decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from healthd.errors import HealthdError
from healthd.model import SECOND_US, ActiveState, AttemptResult, Policy, UnitFacts, UnitName
from healthd.repairs.allowlist import may_restart

# A unit without a start timeout may take long; its job goes on in PID 1 whatever we think of it.
_NO_TIMEOUT_LIMIT_S = 15 * 60.0
_MARGIN_S = 10.0

# What no retry can change, who was faster, and what may or may not have been queued.
_RAISED = {
    "refused": AttemptResult.FINAL,
    "unit-missing": AttemptResult.FINAL,
    "unit-masked": AttemptResult.FINAL,
    "overtaken": AttemptResult.OVERTAKEN,
    "restart-unknown": AttemptResult.UNKNOWN,
    "bus-lost": AttemptResult.UNKNOWN,
}
_RESULTS = {
    "done": AttemptResult.DONE,
    "canceled": AttemptResult.OVERTAKEN,
}


class RepairResult(Struct, frozen=True):
    """How the call ended. *along*: the units that the restart took along. *slow*: the job goes on
    in PID 1.
    """

    result: AttemptResult
    detail: str
    along: tuple[str, ...] = ()
    slow: bool = False


class Tools(Protocol):
    """What a restart needs of the machine."""

    async def read(self, unit: str) -> UnitFacts: ...

    async def along(self, unit: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What a restart restarts too, and what it would stop and leave down."""

    async def pushed_out(self, unit: str) -> tuple[str, ...]:
        """Active units that its start would stop."""

    async def restart(self, unit: str, *, limit_s: float) -> str: ...


def nobody(_: tuple[str, ...]) -> str:
    """No hold is on any of these."""
    return ""


async def repair(
    unit: UnitName,
    policy: Policy,
    tools: Tools,
    judged: UnitFacts | None = None,
    held: Callable[[tuple[str, ...]], str] = nobody,
) -> RepairResult:
    """Restart *unit* if everything still speaks for it, and wait for its job to end.

    *judged*: what it was restarted for; if it is something else by now, somebody was faster.
    *held*: which of some units is held now, and by whom, or "".
    """
    refusal = may_restart(unit, policy.allow_restart, policy.never_restart)
    if refusal is not None:
        return RepairResult(AttemptResult.FINAL, refusal.message)
    try:
        return await _restart(unit, policy, tools, judged, held)
    except HealthdError as err:
        result = _RAISED.get(err.code, AttemptResult.FAILED)
        return RepairResult(result, err.message, slow=err.code == "job-slow")


async def _restart(
    unit: UnitName,
    policy: Policy,
    tools: Tools,
    judged: UnitFacts | None,
    held: Callable[[tuple[str, ...]], str],
) -> RepairResult:
    facts = await tools.read(unit)
    overtaken = _overtaken(facts, judged)
    if overtaken:
        return RepairResult(AttemptResult.OVERTAKEN, overtaken)
    if facts.acts_on_machine:
        said = "a failure of this unit acts on the whole machine"
        return RepairResult(AttemptResult.FINAL, said)
    along, stays_down = await tools.along(unit)
    harm = _harm(along, stays_down, await tools.pushed_out(unit), policy)
    if harm:
        return RepairResult(AttemptResult.FINAL, harm, along)
    # Last of all: what was read above takes its time, and a hold begins in between.
    words = held((unit, *along))
    if words:
        return RepairResult(AttemptResult.OVERTAKEN, words, along)
    result = await tools.restart(unit, limit_s=_limit_s(facts))
    # Results are an open set (systemd 262 adds some): an unknown one is no success.
    outcome = _RESULTS.get(result, AttemptResult.FAILED)
    detail = "" if outcome is AttemptResult.DONE else f"systemd's job ended: {result}"
    return RepairResult(outcome, detail, along)


def _overtaken(facts: UnitFacts, judged: UnitFacts | None) -> str:
    """What somebody did with the unit since it was judged, or ""."""
    if facts.job:
        return "systemd has a job for it already"
    if judged is None:
        return ""
    if facts.invocation and facts.invocation != judged.invocation:
        return "it was started anew meanwhile"
    if facts.active_state is ActiveState.INACTIVE is not judged.active_state:
        return "it was stopped meanwhile"
    return ""


def _harm(
    along: tuple[str, ...], stays_down: tuple[str, ...], foes: tuple[str, ...], policy: Policy
) -> str:
    if foes:
        return f"a restart would stop {foes[0]}, which conflicts with it"
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
