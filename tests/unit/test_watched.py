"""Which units have a liveness check."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from healthd.judge.watched import is_watched
from healthd.model import LoadState, UnitFacts, UnitName
from tests.unit.sights import RUNS, WEB


@pytest.mark.parametrize(
    ("facts", "watched"),
    [
        (RUNS, True),
        (replace(RUNS, id=UnitName("user@1000.service")), False),
        (replace(RUNS, id=UnitName("run-u7.service")), False),
        (replace(RUNS, id=UnitName("dbus-:1.2-org.example@0.service")), False),
        (replace(RUNS, id=UnitName("dbus.service")), True),
        (replace(RUNS, id=UnitName("system.slice")), False),
        (replace(RUNS, id=UnitName("web.socket")), False),
        (replace(RUNS, id=UnitName("web.socket"), fragment_path="/usr/lib/web.socket"), True),
        (replace(RUNS, id=UnitName("data.mount"), source_path="/etc/fstab"), True),
        (replace(RUNS, id=UnitName("run-lock.mount"), fragment_path="/usr/lib/run-lock"), True),
        (replace(RUNS, id=UnitName("run-user-1000.mount")), False),
        (replace(RUNS, id=UnitName("web.target"), fragment_path="/usr/lib/web.target"), False),
        (replace(RUNS, id=UnitName("web.timer"), fragment_path="/usr/lib/web.timer"), False),
        (replace(RUNS, transient=True), False),
        (replace(RUNS, load_state=LoadState.MERGED), False),
        (replace(RUNS, triggered_by_timer="web.timer"), False),
        (replace(RUNS, load_state=LoadState.MASKED), True),
        (UnitFacts(WEB, load_state=LoadState.NOT_FOUND), False),
    ],
)
def test_units_that_stay_are_watched(facts: UnitFacts, watched: bool) -> None:
    """One check a unit that comes from a file, none for what comes and goes."""
    assert is_watched(facts, named=False, ignored=False) is watched
    assert not is_watched(facts, named=False, ignored=True)


def test_a_unit_that_a_setting_names_is_missed() -> None:
    """A name nobody can find is a mistake to be shown."""
    absent = UnitFacts(WEB, load_state=LoadState.NOT_FOUND)
    assert is_watched(absent, named=True, ignored=False)
