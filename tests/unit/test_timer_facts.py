"""What a timer's properties come to, hostile ones too; and a job that is run once more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthd.host.timer_facts import decode_timer, merge_timer
from healthd.host.unit_facts import INFINITY
from healthd.model import AttemptResult, Policy, TimerFacts, UnitName
from healthd.repairs.rerun import repair
from healthd.settings.files import Source
from healthd.settings.load import read
from tests.unit.clockwork import JOB
from tests.unit.test_restart_unit import Refusing

OFFSET_US = 7_000_000
DAILY = ("OnCalendar", "*-*-* 03:00:00", 5)
NAMES = (
    *("Unit", "NextElapseUSecRealtime", "NextElapseUSecMonotonic", "LastTriggerUSec"),
    *("AccuracyUSec", "Persistent", "TimersMonotonic", "TimersCalendar", "Result"),
)


def test_the_next_run_has_the_clock_of_its_property() -> None:
    """One is the wall's, the other stands still while the machine sleeps; never is none."""
    shown: dict[str, object] = {
        "Unit": "backup.service",
        "NextElapseUSecRealtime": 11,
        "NextElapseUSecMonotonic": INFINITY,
        "TimersMonotonic": [],
        "TimersCalendar": [DAILY],
    }
    timer = decode_timer(shown, OFFSET_US)
    assert (timer.unit, timer.next_at, timer.next_us, timer.one_shot) == (
        UnitName("backup.service"),
        11,
        0,
        False,
    )
    later = merge_timer(timer, {"NextElapseUSecMonotonic": 5}, OFFSET_US)
    assert (later.next_stamp_us, later.next_us, later.next_at) == (5, 5 + OFFSET_US, 11)


@pytest.mark.parametrize(
    ("monotonic", "calendar", "one_shot"),
    [
        ([("OnBootUSec", 900, 0)], [], True),
        ([("OnBootUSec", 900, 0), ("OnUnitActiveUSec", 86400, 0)], [], False),
        ([], [("OnCalendar", "2020-01-01 00:00:00", 0)], True),
        ([], [("OnCalendar", "2020-01-01 00:00:00 UTC", 0)], True),
        ([], [DAILY], False),
        ([("OnBootUSec", 900, 0)], [DAILY], False),
        ([], [], False),
    ],
)
def test_what_fires_once_is_told_from_what_repeats(
    monotonic: object, calendar: object, one_shot: bool
) -> None:
    """The one is done when it has fired, the other is dead."""
    shown = {"TimersMonotonic": monotonic, "TimersCalendar": calendar}
    assert decode_timer(shown, 0).one_shot is one_shot


@given(
    st.dictionaries(
        st.sampled_from(NAMES),
        st.one_of(
            *(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.text())),
            st.lists(st.tuples(st.text(), st.integers(), st.text())),
        ),
    )
)
def test_hostile_values_never_raise(shown: dict[str, object]) -> None:
    """A newer systemd, or a stranger, may send anything."""
    assert isinstance(decode_timer(shown, OFFSET_US), TimerFacts)


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("job-slow", AttemptResult.DONE),
        ("refused", AttemptResult.FINAL),
        ("restart-unknown", AttemptResult.UNKNOWN),
    ],
)
async def test_a_job_that_is_still_running_has_not_failed(code: str, result: AttemptResult) -> None:
    """A backup runs for an hour; whether it was begun is known long before."""
    policy = Policy(allow_restart=frozenset({JOB}))
    assert (await repair(JOB, policy, Refusing(code))).result is result


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "checks: {a.service: {heartbeat: {within: 26h}}}\n",
            "found heartbeat of a.service; allowed: heartbeat of a .timer unit",
        ),
        (
            "checks: {a.timer: {heartbeat: {within: 26h}, every: 1min}}\n",
            "found every beside heartbeat; allowed: heartbeat and needs only",
        ),
    ],
)
def test_a_heartbeat_that_cannot_be_is_refused(text: str, words: str) -> None:
    """It is looked at when something happens: a timing of its own would mean nothing."""
    [fault] = read((Source("healthd.yaml", text),), (), {}).faults
    assert words in str(fault)
