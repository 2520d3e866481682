"""When the machine is not watched, by clocks that only the test moves; and gaps that are kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from healthd.daemon import own
from healthd.daemon.clock import boot_identity, kernel_of, soft_reboots_of
from healthd.daemon.gaps import Pulse, before_start
from healthd.daemon.lateness import Lateness
from healthd.judge import snapshot, transients
from healthd.judge.network import network_check
from healthd.model import (
    SECOND_US,
    Check,
    CheckKey,
    Gap,
    Look,
    Looked,
    Now,
    Outcome,
    Policy,
    Reason,
    State,
    Story,
)
from healthd.store.records import Meta
from tests.unit.clockwork import KEY, Clockwork
from tests.unit.histories import BEGIN_AT, BEGIN_US, LIVENESS, READINESS, UNIT, Play
from tests.unit.scenes import HOUR, MINUTE, well

STOPPED_AT = BEGIN_AT
META = Meta(watched_until_at=STOPPED_AT, wall_mark_at=STOPPED_AT - 1, stopped=True)


def after(seconds: float, *, same_kernel: bool = True, same_boot: bool = True) -> Gap | None:
    """The gap of a start so long after a clean stop."""
    now_at = STOPPED_AT + int(seconds * SECOND_US)
    return before_start(META, 0, now_at, same_kernel=same_kernel, same_boot=same_boot)


def test_br_61_a_stop_is_a_gap_from_the_last_instant_that_was_watched() -> None:
    """What nobody saw is claimed by nobody."""
    gap = after(5 * HOUR)
    assert gap == Gap(STOPPED_AT, STOPPED_AT + 5 * HOUR * SECOND_US, "healthd was stopped")


def test_a_restart_within_one_look_is_no_gap() -> None:
    """An upgrade of healthd takes a second: no look was missed for it."""
    assert after(3) is None


def test_the_first_start_has_no_gap() -> None:
    """Before it there was nothing that could have watched."""
    assert before_start(Meta(), 0, STOPPED_AT, same_kernel=False, same_boot=False) is None


def test_a_clock_that_was_set_back_makes_no_gap() -> None:
    """A stretch that ends before it begins is none."""
    assert after(-HOUR) is None


@pytest.mark.parametrize(
    ("same_kernel", "same_boot", "why"),
    [
        (True, True, "healthd was stopped"),
        (True, False, "the machine was soft-rebooting"),
        (False, False, "the machine was off or restarting"),
    ],
)
def test_a_gap_says_why(same_kernel: bool, same_boot: bool, why: str) -> None:
    """Whoever asks about a night wants to know whose it was."""
    gap = after(HOUR, same_kernel=same_kernel, same_boot=same_boot)
    assert gap is not None
    assert gap.why == why


def test_a_killed_healthd_was_last_seen_at_its_last_beat(tmp_path: Path) -> None:
    """Its store knows only of the last change; the beat is some seconds old at most."""
    pulse = Pulse(str(tmp_path))
    assert pulse.last_at() == 0
    pulse.beat(STOPPED_AT + HOUR * SECOND_US)
    assert pulse.last_at() == STOPPED_AT + HOUR * SECOND_US
    gap = before_start(
        replace(META, stopped=False),
        pulse.last_at(),
        STOPPED_AT + 2 * HOUR * SECOND_US,
        same_kernel=True,
        same_boot=True,
    )
    assert gap == Gap(pulse.last_at(), STOPPED_AT + 2 * HOUR * SECOND_US, "healthd had died")


def test_without_a_folder_nothing_beats() -> None:
    """Started by hand there is no runtime directory."""
    pulse = Pulse("")
    pulse.beat(STOPPED_AT)
    assert pulse.last_at() == 0


def test_a_soft_reboot_is_another_boot_on_the_same_kernel() -> None:
    """Clocks go on over it, and nothing else does."""
    first, second = boot_identity(0), boot_identity(1)
    assert first != second
    assert kernel_of(first) == kernel_of(second) == first
    assert (soft_reboots_of(first), soft_reboots_of(second)) == (0, 1)


class Moved:
    """A steady clock that the test moves."""

    def __init__(self) -> None:
        self.us = BEGIN_US

    def __call__(self) -> int:
        return self.us


async def test_a_look_in_which_the_loop_stood_still_came_late() -> None:
    """Asked by the look itself, which may have its turn before any timer."""
    clock = Moved()
    lateness = Lateness(clock)
    begun = lateness.begin()
    clock.us += 11 * SECOND_US
    assert lateness.end(begun) == 10 * SECOND_US


async def test_a_look_after_the_loop_stood_still_did_not() -> None:
    """One stall spoils what was under way in it, and no other."""
    clock = Moved()
    lateness = Lateness(clock)
    begun = lateness.begin()
    clock.us += 11 * SECOND_US
    lateness.end(begun)
    clock.us += SECOND_US
    begun = lateness.begin()
    clock.us += SECOND_US
    assert lateness.end(begun) == 0


async def test_no_timer_runs_while_there_is_no_look() -> None:
    """An idle daemon does not wake up for its own sake."""
    lateness = Lateness(Moved())
    lateness.end(lateness.begin())
    loop = asyncio.get_running_loop()
    assert [t for t in getattr(loop, "_scheduled", []) if not t.cancelled()] == []


def shown(second: float, key: CheckKey, frozen: str = "") -> tuple[str, str, str]:
    """What a reader sees of a check that was well, so many seconds after its last look."""
    stage = well(policy=Policy())
    now = Now(stage.now_us + int(second * SECOND_US), BEGIN_AT)
    (row,) = [r for r in snapshot.check_rows([stage.play.story], now, frozen) if r.key == key]
    return row.state, row.reason, row.summary


def test_a_frozen_check_is_shown_grey_and_keeps_its_verdict() -> None:
    """Nothing is written for it: what it was is there again when the freeze is over."""
    words = "the machine is going to sleep; before that green: running"
    assert shown(0, LIVENESS, "the machine is going to sleep") == ("grey", "frozen", words)
    assert shown(0, LIVENESS) == ("green", "ok", "running")


def test_a_check_that_was_not_looked_at_for_three_intervals_is_stale() -> None:
    """Old news must not pass for health."""
    assert shown(60, READINESS)[:2] == ("green", "ok")
    assert shown(130, READINESS)[:2] == ("grey", "stale")
    assert shown(10 * MINUTE, LIVENESS)[:2] == ("green", "ok")
    assert shown(20 * MINUTE, LIVENESS)[:2] == ("grey", "stale")


@pytest.mark.parametrize(
    ("check", "look"),
    [
        (own.own_check(own.SETTINGS), own.settings_look(("line 3: no such key",), ())),
        (transients.CHECK, transients.transient_look(2, None, last=False)),
        (network_check(), Look(Outcome.OK, Reason.OK, "leads out by eth0")),
    ],
)
def test_what_is_looked_at_when_something_happens_is_never_stale(check: Check, look: Look) -> None:
    """Nobody looks at these by the clock: refused settings must not fade into "not looked at"."""
    play = Play(policy=Policy(), checks=(check,), story=Story(check.key))
    play.put(Looked(check.key, look))
    before = snapshot.check_row(play.story, play.watch(check.key), play.now)
    a_day_later = Now(play.now.steady_us + 24 * HOUR * SECOND_US, BEGIN_AT)
    row = snapshot.check_row(play.story, play.watch(check.key), a_day_later)
    assert (row.state, row.reason, row.summary) == (before.state, before.reason, look.summary)
    assert row.next_look == 0


def test_a_heartbeat_that_no_reconcile_has_seen_is_stale() -> None:
    """Its looks are readings of systemd, as those of a unit are."""
    clock = Clockwork()
    story, watch = clock.play.story, clock.play.watch(KEY)
    for second, stale in ((10 * MINUTE, False), (20 * MINUTE, True)):
        now = Now(clock.now_us + second * SECOND_US, BEGIN_AT)
        assert snapshot.is_stale(story, replace(watch, due_us=0), now) is stale


def test_all_checks_of_a_frozen_machine_are_counted_grey() -> None:
    """Counts and rows are of one mind."""
    stage = well()
    counted = snapshot.counts(stage.play.story.watches)
    assert snapshot.all_grey(counted) == {"green": 0, "yellow": 0, "red": 0, "grey": 2}
    assert counted[State.GREEN.value] == 2
    assert stage.play.story.name == UNIT
