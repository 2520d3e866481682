"""What an attempt's call comes to when systemd does not queue the restart."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from healthd.errors import HealthdError
from healthd.model import ActiveState, AttemptResult, Policy, UnitFacts, UnitName
from healthd.repairs.restart_unit import repair
from tests.unit.histories import RUNNING

WEB = UnitName("web.service")


class Refusing:
    """A machine on which nothing speaks against the restart, and that does not make it."""

    def __init__(self, code: str) -> None:
        self._code = code

    async def read(self, _: str) -> UnitFacts:
        return RUNNING

    async def along(self, _: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (), ()

    async def pushed_out(self, _: str) -> tuple[str, ...]:
        return ()

    async def restart(self, unit: str, *, limit_s: float) -> str:
        raise HealthdError(self._code, f"not {unit} in {limit_s}")


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("overtaken", AttemptResult.OVERTAKEN),
        ("refused", AttemptResult.FINAL),
        ("restart-unknown", AttemptResult.UNKNOWN),
        ("restart-failed", AttemptResult.FAILED),
    ],
)
async def test_why_it_was_not_queued_decides_what_follows(code: str, result: AttemptResult) -> None:
    """A person who stops the unit meanwhile is no failure of the repair, and is not overruled."""
    policy = Policy(allow_restart=frozenset({WEB}))
    assert (await repair(WEB, policy, Refusing(code))).result is result


class Unit:
    """A unit that is as *facts* say, and restarts when it is told to."""

    def __init__(self, facts: UnitFacts) -> None:
        self.facts = facts
        self.restarts = 0

    async def read(self, unit: str) -> UnitFacts:
        return self.facts

    async def along(self, unit: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return (), ()

    async def pushed_out(self, unit: str) -> tuple[str, ...]:
        return ()

    async def restart(self, unit: str, *, limit_s: float) -> str:
        self.restarts += 1
        return "done"


JUDGED = UnitFacts(WEB, active_state=ActiveState.ACTIVE, invocation="a1")


@pytest.mark.parametrize(
    ("now", "result", "restarts"),
    [
        (JUDGED, AttemptResult.DONE, 1),
        (replace(JUDGED, job=7), AttemptResult.OVERTAKEN, 0),
        (replace(JUDGED, invocation="a2"), AttemptResult.OVERTAKEN, 0),
        (replace(JUDGED, active_state=ActiveState.INACTIVE), AttemptResult.OVERTAKEN, 0),
        (replace(JUDGED, acts_on_machine=True), AttemptResult.FINAL, 0),
    ],
)
async def test_what_somebody_did_since_it_was_judged_is_respected(
    now: UnitFacts, result: AttemptResult, restarts: int
) -> None:
    """Between the verdict and the call a person may have stopped or started it."""
    unit = Unit(now)
    policy = Policy(allow_restart=frozenset({WEB}))
    assert (await repair(WEB, policy, unit, JUDGED)).result is result
    assert unit.restarts == restarts


async def test_a_hold_that_began_meanwhile_overtakes_the_restart() -> None:
    """Whoever took it works on the unit, or on one that goes along: they are not interrupted."""
    unit = Unit(JUDGED)
    policy = Policy(allow_restart=frozenset({WEB}))
    asked: list[tuple[str, ...]] = []

    def held(units: tuple[str, ...]) -> str:
        asked.append(units)
        return "web.service is held by pid 812: pg_upgrade"

    result = await repair(WEB, policy, unit, JUDGED, held)
    assert (result.result, unit.restarts, asked) == (AttemptResult.OVERTAKEN, 0, [(WEB,)])
    assert result.detail == "web.service is held by pid 812: pg_upgrade"
