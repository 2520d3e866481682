"""What the loop counts for all units together: restarts that healthd made on this machine."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from msgspec.structs import replace

from healthd.daemon.clock import Clock
from healthd.daemon.loop import Loop
from healthd.daemon.saving import Saver, Step
from healthd.model import (
    ActiveState,
    AttemptResult,
    Declared,
    Repair,
    RepairFinished,
    UnitSeen,
)
from healthd.store.records import Meta
from healthd.store.store import Store
from tests.unit.histories import LISTED, LIVE_CHECK, RUNNING, UNIT

FAILED = replace(
    RUNNING,
    active_state=ActiveState.FAILED,
    sub_state="failed",
    result="exit-code",
    start_limit_interval_for_us=0,
)
AT_ONCE = replace(LIVE_CHECK, rules=replace(LIVE_CHECK.rules, after=1))


def test_a_restart_that_was_overtaken_is_not_in_the_machines_budget(tmp_path: Path) -> None:
    """Three that nobody made would keep healthd from mending a fourth unit, and say so wrongly."""

    async def play() -> tuple[int, int]:
        store = await Store.open(tmp_path, now_at=time.time_ns() // 1000)
        clock = Clock(0)
        saver = Saver(store, clock, Meta(), lambda trouble: None)
        loop = Loop(saver, clock, LISTED, first_start=False, broke=lambda what: None)
        steps: list[Step] = []
        run = loop.run(lambda step, saved: steps.append(step), _nothing, _nothing)
        task = asyncio.create_task(run)
        async with asyncio.timeout(10):
            loop.inbox.put(UNIT, Declared((AT_ONCE,)))
            loop.inbox.put(UNIT, UnitSeen(FAILED, fresh=True, due=True))
            await loop.caught_up()
            begun = len(loop.scene().machine_restarts_us)
            (repair,) = [e for s in steps for e, _ in s.effects if isinstance(e, Repair)]
            overtaken = RepairFinished(repair.attempt.id, AttemptResult.OVERTAKEN, "held")
            loop.inbox.put(UNIT, overtaken)
            await loop.caught_up()
        ended = len(loop.scene().machine_restarts_us)
        task.cancel()
        await store.close()
        return begun, ended

    assert asyncio.run(play()) == (1, 0)


def _nothing() -> None:
    """Nobody listens."""
