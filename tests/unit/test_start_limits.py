"""Histories of a unit's own start limit, which healthd never uses up."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from healthd.model import (
    MINUTE_US,
    SECOND_US,
    Budget,
    UnitSeen,
)
from tests.unit.histories import (
    BEGIN_US,
    LISTED,
    LIVENESS,
    RUNNING,
)
from tests.unit.scenes import MINUTE, dying, made_at, why
from tests.unit.stage import Stage


def test_the_last_two_starts_of_a_units_own_limit_are_not_ours() -> None:
    """At the limit RestartUnit succeeds and nothing runs: an attempt would be wasted."""
    tight = replace(RUNNING, start_limit_burst=3, start_limit_interval_for_us=5 * MINUTE_US)
    stage = dying(replace(LISTED, max_attempts=4, machine_budget=Budget(9, MINUTE_US)), tight)
    stage.run(20 * MINUTE)
    # After two starts there is one left, until the first of them is 5 min old.
    assert made_at(stage)[:3] == [0, 10, 305]


def test_a_unit_with_one_start_waits_its_interval() -> None:
    """StartLimitBurst=1: a restart right after the death would be refused by systemd."""
    one = replace(RUNNING, start_limit_burst=1, start_limit_interval_for_us=MINUTE_US)
    stage = dying(facts=one)
    stage.run(55)
    assert stage.calls == 0
    stage.run(10)
    assert stage.calls == 1


def test_a_limit_that_healthd_cannot_know_is_waited_for() -> None:
    """Just started, healthd has not seen what happened in the interval before."""
    wide = replace(RUNNING, start_limit_interval_for_us=5 * MINUTE_US)
    stage = Stage(facts=wide)
    stage.run(10)
    stage.healthd_restarts()
    stage.run(10)
    stage.kill()
    stage.run(4 * MINUTE)
    assert stage.calls == 0
    stage.run(70)
    assert stage.calls == 1


def test_a_unit_first_seen_just_now_is_as_unknown_as_after_our_start() -> None:
    """Loaded a moment ago: what it did before that is not known."""
    stage = Stage(facts=replace(RUNNING, start_limit_interval_for_us=5 * MINUTE_US))
    fresh = replace(stage.play.story.run, watched_since_us=0)
    stage.play.story = replace(stage.play.story, run=fresh)
    stage.put(UnitSeen(stage.facts, fresh=True))
    stage.kill()
    stage.run(MINUTE)
    assert stage.calls == 0
    assert stage.play.face(LIVENESS) == ("red", "failed")


def test_a_limit_that_never_ends_is_the_owners_to_spend() -> None:
    """StartLimitIntervalSec=infinity: any start could be the last, and waiting would never end."""
    stage = dying(facts=replace(RUNNING, start_limit_interval_for_us=-1))
    stage.run(MINUTE)
    assert stage.calls == 0
    assert why(stage) == "its start limit never ends, so that any start could be its last"


@pytest.mark.parametrize(("burst", "interval_us"), [(0, 10 * SECOND_US), (5, 0)])
def test_a_unit_without_a_start_limit_is_restarted_at_once(burst: int, interval_us: int) -> None:
    """Either value switches the limit off."""
    stage = dying(
        facts=replace(RUNNING, start_limit_burst=burst, start_limit_interval_for_us=interval_us)
    )
    stage.run(6)
    assert stage.calls == 1


def test_a_start_that_was_made_is_in_the_count_of_starts() -> None:
    """Ours, a person's and systemd's alike: the limit does not ask who it was."""
    stage = Stage(restart_s=1)
    stage.run(10)
    stage.kill()
    stage.run(10)
    stage.restart()
    stage.run(1)
    since_us = BEGIN_US + 10 * SECOND_US
    assert len([t for t in stage.play.story.run.starts_us if t > since_us]) == 2


def test_a_unit_that_was_watched_long_enough_is_known() -> None:
    """Whoever saw its last ten seconds need not wait for them."""
    stage = Stage()
    fresh = replace(stage.play.story.run, watched_since_us=0)
    stage.play.story = replace(stage.play.story, run=fresh)
    stage.put(UnitSeen(stage.facts, fresh=True))
    stage.run(MINUTE)
    stage.kill()
    stage.run(6)
    assert stage.calls == 1
