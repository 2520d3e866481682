"""What a package run stopped and did not start: grey, then yellow, then red, never repaired."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from healthd.host import package_run
from healthd.judge import run as runs
from healthd.model import HOUR_US, MINUTE_US, How, PackageRunOver, Run
from tests.unit.histories import LISTED, LIVE_CHECK, LIVENESS
from tests.unit.scenes import MINUTE, opened, well
from tests.unit.sights import NOW, RESTED, after, end, says

STOPPED = replace(end("a", how=How.ASKED), in_package_run=True)
OVER = replace(STOPPED, package_run_over_us=NOW.steady_us)


def test_while_the_run_goes_on_and_in_the_grace_after_it_nothing_is_said() -> None:
    """An upgrade stops a service before it starts the new one."""
    assert says(RESTED, after(STOPPED)) == (
        "not-judged stopped: stopped by a package run, which is not over"
    )
    assert says(RESTED, after(OVER), later_us=MINUTE_US - 1) == (
        "not-judged stopped: stopped by a package run"
    )


def test_what_it_forgot_is_yellow_and_after_half_an_hour_red() -> None:
    """A maintainer script that failed half way leaves a service down, and nobody asked for it."""
    words = "stopped by a package run and not started again"
    assert says(RESTED, after(OVER), later_us=MINUTE_US) == f"degraded degraded: {words}"
    assert says(RESTED, after(OVER), later_us=30 * MINUTE_US) == f"failing exited: {words}"


def test_what_need_not_run_may_stay_down() -> None:
    """A package that was taken away, or disabled, is as its owner wants it."""
    unwanted = replace(RESTED, wanted=False)
    assert says(unwanted, after(OVER), later_us=HOUR_US) == "not-judged stopped: stopped"
    by_hand = replace(STOPPED, in_package_run=False)
    assert says(RESTED, after(by_hand)) == "not-judged stopped: stopped"


def test_that_it_was_a_package_run_is_found_out_after_the_end() -> None:
    """The lock is read while the end is judged already; it counts once all the same."""
    known = runs.ended(Run(), replace(STOPPED, in_package_run=False), NOW)
    flagged = runs.ended(known, STOPPED, NOW)
    assert flagged.last == STOPPED
    assert runs.ended(flagged, STOPPED, NOW) == flagged
    over = runs.package_run_over(flagged, NOW)
    assert over.last == OVER
    assert runs.package_run_over(over, NOW) == over
    assert runs.package_run_over(Run(), NOW) == Run()


def test_the_whole_story_is_told_and_never_repaired() -> None:
    """healthd starts nothing that was stopped, listed or not: the package may have meant it."""
    stage = well(LIVE_CHECK, policy=LISTED)
    stage.stop()
    story = stage.play.story
    assert story.run.last is not None
    flagged = runs.ended(story.run, replace(story.run.last, in_package_run=True), stage.play.now)
    stage.play.story = replace(story, run=flagged)
    stage.run(10 * MINUTE)
    assert stage.play.face(LIVENESS) == ("grey", "stopped")
    stage.put(PackageRunOver())
    stage.run(2 * MINUTE)
    assert stage.play.face(LIVENESS) == ("yellow", "degraded")
    stage.run(30 * MINUTE)
    assert stage.play.face(LIVENESS) == ("red", "exited")
    assert opened(stage, LIVENESS).why_engaged == "a package run stopped it, and may have meant to"
    assert stage.calls == 0
    stage.start()
    stage.run(5 * MINUTE)
    assert stage.play.face(LIVENESS)[0] == "green"


@pytest.mark.parametrize("lock", package_run.LOCKS)
def test_a_held_lock_is_seen_in_the_kernels_own_list(tmp_path: Path, lock: str) -> None:
    """As apt, dpkg and rpm hold them: a lock of fcntl(2) on a file that we may not open."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/locks").symlink_to("/proc/locks")
    file = tmp_path / lock
    file.parent.mkdir(parents=True)
    file.touch()
    assert not package_run.under_way(tmp_path)
    with file.open("w") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        # Some sandboxes hide the locks of this process: then a line as the kernel writes it.
        if f":{os.fstat(held.fileno()).st_ino} " not in Path("/proc/locks").read_text():
            (tmp_path / "proc/locks").unlink()
            line = f"1: POSIX  ADVISORY  WRITE 715 00:19:{file.stat().st_ino} 0 EOF\n"
            (tmp_path / "proc/locks").write_text(line)
        assert package_run.under_way(tmp_path)


def test_other_locks_and_nothing_to_read_are_no_package_run(tmp_path: Path) -> None:
    """A machine with neither dpkg nor rpm, a lock of somebody else, no list of locks at all."""
    assert not package_run.under_way(tmp_path)
    lock = tmp_path / "var/lib/dpkg/lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert not package_run.under_way(tmp_path)
    (tmp_path / "proc").mkdir()
    other = lock.stat().st_ino + 1
    (tmp_path / "proc/locks").write_text(f"1: FLOCK  ADVISORY  WRITE 1 fd:01:{other} 0 EOF\nodd\n")
    assert not package_run.under_way(tmp_path)
