"""What an attempt's call comes to when systemd does not queue the restart."""

from __future__ import annotations

import pytest

from healthd.errors import HealthdError
from healthd.model import AttemptResult, Policy, UnitFacts, UnitName
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
