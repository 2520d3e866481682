"""Mounts, swaps, sockets, paths and automounts: what fails without a process of its own."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from healthd.host.unit_facts import decode, merge
from healthd.judge.run import of_a_resource
from healthd.model import Declared, Ended, How, UnitName, UnitSeen
from tests.unit.histories import LIVE_CHECK, LIVENESS, Play
from tests.unit.sights import FAILED, RESTED, RUNS, after, crashed, end, says

DATA = UnitName("data.mount")
MOUNTED = replace(RUNS, id=DATA, sub_state="mounted")
UNMOUNTED = replace(RESTED, id=DATA)
BROKEN = replace(FAILED, id=DATA, exit_code=1, exit_status=32)


@pytest.mark.parametrize(
    ("unit", "result", "words"),
    [
        ("data.mount", "exit-code", "exit code 32"),
        ("data.mount", "timeout", "timed out"),
        ("dev-sdb2.swap", "exit-code", "exit code 32"),
        ("web.socket", "resources", "systemd could not set it up"),
        ("web.socket", "service-start-limit-hit", "the service that it starts failed too often"),
        ("spool.path", "unit-start-limit-hit", "the unit that it starts failed too often"),
        ("data.automount", "mount-start-limit-hit", "mounting failed too often"),
    ],
)
def test_what_failed_is_failing_and_says_why(unit: str, result: str, words: str) -> None:
    """A mount that could not be mounted is an outage that no service shows."""
    facts = replace(BROKEN, id=UnitName(unit), result=result)
    assert says(facts) == f"failing failed: {words}"


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("data.mount", "mounted"),
        ("dev-sdb2.swap", "in use"),
        ("web.socket", "listening"),
        ("spool.path", "watching"),
        ("data.automount", "ready to mount"),
    ],
)
def test_what_is_active_is_well(unit: str, words: str) -> None:
    """Each kind says in its own word what active means, also after it was mended."""
    facts = replace(MOUNTED, id=UnitName(unit))
    assert says(facts) == f"ok ok: {words}"
    assert says(facts, crashed(5, 4, 3)) == f"ok ok: {words}"


def test_an_umount_by_hand_is_no_fault() -> None:
    """No job ends it, so that it looks like something that went away by itself."""
    gone = of_a_resource(end(clean=True))
    assert gone.how is How.UNDECIDED
    assert says(UNMOUNTED, after(gone)) == "not-judged stopped: not in use"
    assert says(replace(UNMOUNTED, wanted=False)) == "not-judged not-configured: nothing wants it"
    assert of_a_resource(end(clean=False)).how is How.BY_ITSELF


def test_an_automount_that_somebody_unmounted_is_no_fault() -> None:
    """systemd calls it failed: the mount point went away under its feet, as a person wanted."""
    facts = replace(BROKEN, id=UnitName("data.automount"), result="unmounted")
    assert says(facts) == "not-judged stopped: unmounted, not by systemd"


def test_a_disk_that_was_unplugged_takes_its_mount_along_in_silence() -> None:
    """A device is nobody's service: what went with it waits for nothing."""
    along = replace(end(how=How.TAKEN_ALONG), by=UnitName("dev-sdb1.device"))
    assert says(UNMOUNTED, after(along)) == "not-judged stopped: its device is gone"


def test_a_judged_mount_is_never_said_to_have_ended_by_itself() -> None:
    """A backup that unmounts and mounts each night churns nothing."""
    play = Play(checks=())
    check = replace(LIVE_CHECK, unit=DATA)
    play.story = replace(play.story, name=DATA, facts=None)
    play.put(Declared((check,)))
    play.put(UnitSeen(MOUNTED, fresh=True))
    play.at(10, Ended(end("a", clean=True)))
    play.at(11, UnitSeen(UNMOUNTED, fresh=True))
    assert play.face(LIVENESS) == ("grey", "stopped")
    play.at(20, UnitSeen(replace(MOUNTED, invocation="b"), fresh=True))
    assert play.face(LIVENESS) == ("green", "ok")
    assert play.story.run.ends == ()


def test_the_properties_of_resources_are_decoded() -> None:
    """One limit both ways, and how the mount command ended, which only a read shows."""
    line = ["/usr/bin/mount", ["mount", "/data"], False, 1, 1, 2, 2, 77, 1, 32]
    said = {
        "Id": "data.mount",
        "ActiveState": "failed",
        "SubState": "failed",
        "Result": "exit-code",
        "SourcePath": "/etc/fstab",
        "TimeoutUSec": 7_000_000,
        "ExecMount": [line],
    }
    facts = decode(said, 0)
    assert (facts.exit_code, facts.exit_status) == (1, 32)
    assert facts.source_path == "/etc/fstab"
    assert facts.timeout_start_for_us == facts.timeout_stop_for_us == 7_000_000
    changed = merge(facts, "Mount", {"Result": "success"}, 0)
    assert changed.result == "success"


@pytest.mark.parametrize("lines", [None, [], [[]], [7], [["a"] * 10], "no list"])
def test_hostile_command_lines_decide_nothing(lines: object) -> None:
    """What is not a line of systemd's own is as good as none."""
    assert decode({"Id": "data.mount", "ExecMount": lines}, 0).exit_code == 0
