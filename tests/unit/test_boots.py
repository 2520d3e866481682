"""What one boot of the machine says of the next: what ran and was not started, and what crashed."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge import run as runs
from healthd.model import (
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    Began,
    How,
    Now,
    Policy,
    Run,
    UnitFacts,
    UnitName,
)
from tests.unit.histories import LIVE_CHECK, LIVENESS
from tests.unit.scenes import MINUTE, well
from tests.unit.sights import NOW, RESTED, crashed, end, says

FRESH = UnitFacts(UnitName("web.service"), wanted=True)
STOPPED = Run(last=end("a", how=How.ASKED))


def test_what_ran_before_the_boot_and_was_not_started_is_missed() -> None:
    """An ordering cycle drops jobs without a word: the service is down, and nothing has failed."""
    ran = runs.woken(Run(invocation="a", started_us=1), NOW, same_boot=False)
    assert says(FRESH, ran) == "failing exited: not started in this boot"
    assert says(replace(FRESH, booted=False), ran) == (
        "not-judged starting: the boot is not finished"
    )
    assert says(replace(FRESH, job=7), ran) == "not-judged starting: its start is queued"
    assert says(replace(FRESH, wanted=False), ran) == "not-judged not-configured: nothing wants it"
    assert says(FRESH, Run()) == "not-judged not-configured: not started in this boot"
    unmet = replace(FRESH, condition_checked=True, condition_met=False)
    assert says(unmet, ran) == "not-judged not-configured: condition not met"


def test_a_disk_that_is_not_plugged_in_today_is_no_outage() -> None:
    """Of mounts and sockets only what failed is a fault."""
    ran = Run(ran_before=True)
    assert says(replace(FRESH, id=UnitName("data.mount")), ran).startswith("not-judged")


def test_how_it_ended_before_the_boot_says_nothing_of_this_one() -> None:
    """What was stopped yesterday and is wanted today is missed; no end is made up for it."""
    ran = runs.woken(STOPPED, NOW, same_boot=False)
    assert (ran.last, ran.ran_before) == (None, True)
    assert runs.unseen_end(ran, FRESH) == ""
    lived = runs.woken(Run(invocation="a"), NOW, same_boot=False)
    assert runs.unseen_end(lived, FRESH) == ""
    assert runs.woken(Run(), NOW, same_boot=False).ran_before is False


def test_over_a_reboot_a_unit_that_was_not_started_is_red() -> None:
    """The whole of it, with the store in between."""
    stage = well(LIVE_CHECK, policy=Policy())
    stage.set(active_state=FRESH.active_state, sub_state="dead", invocation="", inactive_exit_us=0)
    stage.healthd_restarts(same_boot=False)
    stage.run(MINUTE)
    assert stage.play.face(LIVENESS)[0] == "red"
    assert stage.play.watch(LIVENESS).verdict.summary == "not started in this boot"


def test_crashes_count_over_a_reboot() -> None:
    """The count is ours: systemd's own falls to 0 at each boot and reset-failed."""
    ran = runs.woken(crashed(5 * MINUTE_US, 4 * MINUTE_US), NOW, same_boot=False)
    assert runs.restarts_seen(ran, NOW) == 2
    up = runs.began(ran, Began("x", NOW.steady_us), NOW)
    once_more = runs.ended(up, end("x", 0), Now(NOW.steady_us + 1, NOW.wall_at + 1))
    assert len(runs.counted_ends(once_more, NOW, 10 * MINUTE_US)) == 3


def _away(n_restarts: int, written: int = 0, last: Run | None = None) -> tuple[int, ...]:
    """What a gap of an hour hid from a unit that had restarted twice before it."""
    run = replace(last or Run(), invocation="a", n_restarts=2)
    facts = replace(RESTED, invocation="z", n_restarts=n_restarts)
    at = tuple(NOW.wall_at - HOUR_US + n * SECOND_US for n in range(written))
    return runs.unheard_ends(run, facts, at, NOW)


def test_after_a_gap_the_one_that_knows_of_more_is_right() -> None:
    """NRestarts is reset by a start; the journal may be gone, or not be ours to read."""
    assert len(_away(7)) == 4
    assert len(_away(7, written=9)) == 8
    # Reset in between, and risen to 1 again.
    assert _away(1) == ()
    assert len(_away(1, written=3)) == 2
    assert _away(2) == ()
    # One that a person had stopped is none of them.
    assert len(_away(5, last=STOPPED)) == 3
    assert runs.unheard_ends(Run(), replace(RESTED, invocation="z", n_restarts=9), (), NOW) == ()


def test_what_a_gap_hid_counts_in_the_total_and_in_no_window() -> None:
    """When it was is not known well enough to call it a loop of now."""
    run = Run(invocation="a", n_restarts=2)
    began = Began("z", NOW.steady_us, n_restarts=7, unheard_us=_away(7, written=4))
    after = runs.began(run, began, NOW)
    assert runs.restarts_seen(after, NOW) == 4
    assert runs.counted_ends(after, NOW, HOUR_US) == ()
    instants = [end.at_us for end in after.ends]
    assert instants == sorted(instants)
