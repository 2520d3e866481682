"""A fault of healthd itself while it judges: the watch over everything else goes on."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from healthd.daemon import loop as loops
from healthd.daemon.clock import Clock
from healthd.daemon.loop import Loop
from healthd.daemon.saving import Saver, Step
from healthd.judge.judge import judge
from healthd.model import Declared, Effect, Event, Policy, Scene, Story, UnitSeen
from healthd.store.records import Meta
from healthd.store.store import Store
from tests.unit.histories import LIVE_CHECK, RUNNING


def _breaks_on_broken(story: Story, event: Event, scene: Scene) -> tuple[Story, tuple[Effect, ...]]:
    if story.name == "broken.service":
        raise ZeroDivisionError
    return judge(story, event, scene)


def test_a_story_that_breaks_the_judge_ends_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One unit with a state that nobody thought of must not leave the machine without a watch."""
    monkeypatch.setattr(loops, "judge", _breaks_on_broken)
    broke: list[str] = []

    async def play() -> Loop:
        store = await Store.open(tmp_path, now_at=time.time_ns() // 1000)
        clock = Clock(0)
        saver = Saver(store, clock, Meta(), lambda trouble: None)
        loop = Loop(saver, clock, Policy(), first_start=False, broke=broke.append)
        steps: list[Step] = []
        task = asyncio.create_task(
            loop.run(lambda step, saved: steps.append(step), _nothing, _nothing)
        )
        for name in ("broken.service", "web.service"):
            loop.inbox.put(name, Declared((LIVE_CHECK,)))
            loop.inbox.put(name, UnitSeen(RUNNING, fresh=True, due=True))
        async with asyncio.timeout(10):
            await loop.caught_up()
        task.cancel()
        await store.close()
        return loop

    loop = asyncio.run(play())
    assert list(loop.stories) == ["web.service"]
    assert set(broke) == {"judging broken.service"}


def _nothing() -> None:
    """Nobody listens."""
