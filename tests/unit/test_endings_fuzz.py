"""How invocations end, whatever systemd sends, in whatever order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from healthd.model import ActiveState, Began, How, SystemdSignal, UnitChanged
from tests.unit.signals import CONSUMER, DB, WEB, Bus, counts, over, queued, running, shows

UNITS = st.sampled_from([WEB, DB])
JOBS = st.integers(0, 4)
SUBS = st.sampled_from(["running", "dead", "auto-restart", "failed-before-auto-restart", "odd"])
STATES = st.sampled_from([*ActiveState, "odd"])
CHANGES = st.builds(
    shows, STATES, JOBS, st.integers(0, 3).map(lambda n: "abc"[n - 1] if n else ""), UNITS, SUBS
)
COUNTS = st.builds(counts, st.integers(0, 3), st.sampled_from(["success", "signal", "odd"]), UNITS)
NEWS = st.builds(queued, JOBS, UNITS)
REMOVALS = st.builds(over, JOBS, st.sampled_from(["done", "failed", "canceled", "odd"]), UNITS)
HOSTILE = st.builds(
    UnitChanged,
    UNITS,
    st.sampled_from(["Unit", "Service", "Socket"]),
    st.dictionaries(
        st.sampled_from(["ActiveState", "SubState", "Job", "InvocationID", "Result", "NRestarts"]),
        st.one_of(st.none(), st.integers(), st.text(), st.lists(st.integers()), st.booleans()),
    ),
)
HISTORIES = st.lists(st.one_of(CHANGES, COUNTS, NEWS, REMOVALS, HOSTILE), max_size=60)


@given(HISTORIES)
def test_no_history_is_an_error(history: list[SystemdSignal]) -> None:
    """Whatever systemd sends, in whatever order: a decision or none, never an exception."""
    bus = Bus(CONSUMER, running(DB, foes=(WEB,)))
    bus.events(*history)


@given(HISTORIES)
def test_each_invocation_ends_once(history: list[SystemdSignal]) -> None:
    """Between two beginnings of a unit there is one end; its restart may be called off after it."""
    bus = Bus(CONSUMER, running(DB, foes=(WEB,)))
    living = {WEB: True, DB: True}
    called_off = {WEB: False, DB: False}
    for unit, event in bus.events(*history):
        if isinstance(event, Began):
            assert not living[unit]
            living[unit], called_off[unit] = True, False
        elif living[unit]:
            living[unit] = False
        elif event.end.invocation:
            assert event.end.how is not How.BY_ITSELF
            assert not called_off[unit]
            called_off[unit] = True


@given(HISTORIES)
def test_the_same_history_means_the_same(history: list[SystemdSignal]) -> None:
    """Replay must give what was decided."""
    first, second = Bus(CONSUMER, running(DB)), Bus(CONSUMER, running(DB))
    assert first.events(*history) == second.events(*history)
