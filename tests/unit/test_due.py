"""When a check is looked at next: brisk in trouble, spread over the interval at rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from healthd.judge.due import brisk, next_due, on_grid
from healthd.model import (
    MINUTE_US,
    SECOND_US,
    Check,
    Idle,
    Incident,
    IncidentId,
    Now,
    Phase,
    Reason,
    State,
    Verdict,
    Watch,
)
from tests.unit.histories import BEGIN_AT, BEGIN_US, LIVE_CHECK, READY_CHECK, UNIT

NOW = Now(BEGIN_US, BEGIN_AT)
KEYS = st.text(min_size=1, max_size=40)
EVERY = st.integers(10 * SECOND_US, 60 * MINUTE_US)
INSTANTS = st.integers(0, 2**50)


def watch(check: Check = READY_CHECK, state: str = "green", reason: str = "ok") -> Watch:
    """A watch with this verdict."""
    return Watch(check, Verdict(State(state), Reason(reason), "", BEGIN_AT))


def incident(phase: Phase = Phase.SETTLING, idle: Idle = Idle.NO) -> Incident:
    """An incident of the check."""
    return Incident(
        IncidentId(1), READY_CHECK.key, UNIT, phase, Reason.UNREADY, "", 1, 1, idle=idle
    )


@given(KEYS, EVERY, INSTANTS)
def test_two_looks_are_half_to_one_and_a_half_intervals_apart(
    key: str, every_us: int, after_us: int
) -> None:
    """Never twice in a moment, never forgotten, wherever a late look fell."""
    due_us = on_grid(key, every_us, after_us)
    assert every_us // 2 <= due_us - after_us < every_us + every_us // 2 + 1


@given(KEYS, EVERY, INSTANTS)
def test_looks_that_come_on_time_are_exactly_an_interval_apart(
    key: str, every_us: int, after_us: int
) -> None:
    """Each key has its own grid and stays on it."""
    due_us = on_grid(key, every_us, after_us)
    assert on_grid(key, every_us, due_us) == due_us + every_us
    assert on_grid(key, every_us, due_us + every_us // 10) == due_us + every_us


def test_a_thousand_checks_do_not_fire_together() -> None:
    """In no second of the interval more than a tenth of them."""
    every_us = 30 * SECOND_US
    due = [on_grid(f"readiness:web{n}.service", every_us, BEGIN_US) for n in range(1000)]
    for second in range(60):
        begin_us = BEGIN_US + second * SECOND_US
        assert sum(begin_us <= at_us < begin_us + SECOND_US for at_us in due) < 100


@pytest.mark.parametrize(
    ("state", "reason", "open_incident", "expected"),
    [
        ("green", "ok", None, False),
        ("yellow", "degraded", None, False),
        ("grey", "stopped", None, False),
        ("yellow", "suspect", None, True),
        ("red", "unready", None, True),
        ("red", "unready", incident(Phase.ENGAGED), True),
        ("green", "ok", incident(), True),
        ("yellow", "degraded", incident(idle=Idle.DEGRADED), True),
        ("grey", "stopped", incident(idle=Idle.STOPPED), False),
        ("grey", "waiting", incident(idle=Idle.WAITING), False),
        ("green", "ok", incident(Phase.CLOSED), False),
    ],
)
def test_brisk_while_suspect_red_or_settling(
    state: str, reason: str, open_incident: Incident | None, *, expected: bool
) -> None:
    """Where something is about to be decided, looks come `retry` apart."""
    assert brisk(watch(state=state, reason=reason), open_incident) is expected
    due_us = next_due(watch(state=state, reason=reason), open_incident, NOW, 0)
    retry_us = NOW.steady_us + READY_CHECK.rules.retry_us
    assert (due_us == retry_us) or not expected


def test_a_unit_at_rest_is_served_by_signals() -> None:
    """A thousand quiet units cost no wake-up."""
    assert next_due(watch(LIVE_CHECK), None, NOW, 0) == 0


def test_what_only_time_changes_is_looked_at_then() -> None:
    """ "Restarts in 12 s" must not stand for five minutes."""
    until_us = NOW.steady_us + 12 * SECOND_US
    assert next_due(watch(LIVE_CHECK), None, NOW, until_us) == until_us
    suspect = watch(LIVE_CHECK, "yellow", "suspect")
    assert next_due(suspect, None, NOW, until_us) == NOW.steady_us + 5 * SECOND_US
    soon_us = NOW.steady_us + SECOND_US
    assert next_due(suspect, None, NOW, soon_us) == soon_us


def test_an_instant_that_has_passed_is_due_now() -> None:
    """Never in the past: the clock of the look must not run backwards."""
    assert next_due(watch(LIVE_CHECK), None, NOW, NOW.steady_us - 1) == NOW.steady_us


def test_another_interval_is_another_grid() -> None:
    """A reload that looks more often takes effect with the next look."""
    often = replace(READY_CHECK, rules=replace(READY_CHECK.rules, every_us=10 * SECOND_US))
    due_us = next_due(watch(often), None, NOW, 0)
    assert due_us - NOW.steady_us <= 15 * SECOND_US
