"""What the API remembers of callers and changes is bounded, and what it forgets it says."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from healthd.bus.callers import (
    CALLERS_KEPT,
    CALLS_A_MINUTE,
    PLACES,
    PLACES_EACH,
    ROOT,
    Callers,
)
from healthd.bus.changes import GONE_KEPT, Changes
from healthd.bus.filters import INCIDENTS_AT_MOST, IncidentFilter, check_filter, incident_filter
from healthd.errors import HealthdError
from healthd.model import MINUTE_US, SECOND_US, CheckKey

KEY = CheckKey("liveness:nginx.service")


class Time:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now_us = 1_000 * SECOND_US

    def __call__(self) -> int:
        return self.now_us


def _refusal(callers: Callers, uid: int) -> str:
    with pytest.raises(HealthdError) as caught:
        callers.admit(uid)
    return f"{caught.value.code}: {caught.value.hint}"


def test_twenty_calls_a_minute_and_no_more() -> None:
    """The window slides: it is any minute, not the one on the clock."""
    time = Time()
    callers = Callers(time)
    for _ in range(CALLS_A_MINUTE):
        callers.admit(1000)
        time.now_us += SECOND_US
    assert _refusal(callers, 1000) == "rate-limited: ask again in 41 s"
    time.now_us += 40 * SECOND_US
    callers.admit(1000)
    assert _refusal(callers, 1000) == "rate-limited: ask again in 2 s"


def test_a_refused_call_does_not_prolong_the_wait() -> None:
    """A script that asks again and again still gets its turn."""
    time = Time()
    callers = Callers(time)
    for _ in range(CALLS_A_MINUTE):
        callers.admit(1000)
    for _ in range(50):
        _refusal(callers, 1000)
    time.now_us += MINUTE_US
    callers.admit(1000)


def test_one_user_does_not_use_up_another_s_calls() -> None:
    """Whoever is limited is limited alone."""
    callers = Callers(Time())
    for _ in range(CALLS_A_MINUTE):
        callers.admit(1000)
    callers.admit(1001)


def test_callers_are_forgotten_when_there_are_too_many() -> None:
    """Memory must not grow with the number of users; the one that was here last is kept."""
    callers = Callers(Time())
    for _ in range(CALLS_A_MINUTE):
        callers.admit(1)
    for uid in range(2, CALLERS_KEPT + 1):
        callers.admit(uid)
    assert _refusal(callers, 1).startswith("rate-limited")
    for uid in range(2, CALLERS_KEPT + 3):
        callers.admit(uid)
    callers.admit(1)


def test_a_user_holds_so_many_places_and_no_more() -> None:
    """Whoever lets calls wait for minutes, on however many connections, shuts out only himself."""
    callers = Callers(Time())
    with ExitStack() as held:
        for _ in range(PLACES_EACH):
            held.enter_context(callers.one_place(1000))
        with pytest.raises(HealthdError) as caught:
            held.enter_context(callers.one_place(1000))
        assert caught.value.code == "too-many"
        held.enter_context(callers.one_place(1001))
    with callers.one_place(1000):
        pass


def test_root_has_places_that_nobody_can_take() -> None:
    """`systemctl reload healthd` must work while many users keep healthd waiting."""
    callers = Callers(Time())
    with ExitStack() as held:
        for number in range(PLACES):
            held.enter_context(callers.one_place(1000 + number // PLACES_EACH))
        with pytest.raises(HealthdError):
            held.enter_context(callers.one_place(5000))
        for _ in range(PLACES_EACH):
            held.enter_context(callers.one_place(ROOT))


def test_a_pass_that_failed_does_not_lock_its_user_out() -> None:
    """Whatever ended it, the next one may begin."""
    callers = Callers(Time())
    with pytest.raises(ZeroDivisionError), callers.one_pass(1000):
        raise ZeroDivisionError
    with callers.one_pass(1000), callers.one_pass(1001):
        pass


def test_a_change_is_found_after_every_number_before_it() -> None:
    """A reader that knows the number of the change itself has it already."""
    changes = Changes(100)
    changes.note(KEY, 101)
    assert changes.since(100).changed == {KEY}
    assert changes.since(101).changed == frozenset()
    assert changes.last == 101


def test_a_check_that_came_back_is_not_gone() -> None:
    """Removed and declared again is one change: the reader must not delete what is there."""
    changes = Changes(100)
    changes.note_gone(KEY, 101)
    changes.note(KEY, 102)
    since = changes.since(100)
    assert since.changed == {KEY}
    assert since.gone == ()


def test_forgotten_removals_are_a_gap() -> None:
    """A reader that would keep a check for ever must read everything instead."""
    changes = Changes(100)
    for number in range(GONE_KEPT + 1):
        changes.note_gone(CheckKey(f"liveness:u{number}.service"), 101 + number)
    assert changes.since(100).gap
    assert not changes.since(101).gap
    assert len(changes.since(101).gone) == GONE_KEPT


@pytest.mark.parametrize("limit", [0, INCIDENTS_AT_MOST + 1, 2**32 - 1])
def test_a_limit_has_a_limit(limit: int) -> None:
    """One answer holds what a message can hold."""
    assert incident_filter({}, limit).limit == INCIDENTS_AT_MOST


def test_an_incident_filter_is_read_word_by_word() -> None:
    """What is given is kept, what is not is open."""
    given = {"unit": "nginx.service", "since": 7, "ending": "gone", "open_only": True, "id": 42}
    assert incident_filter(given, 5) == IncidentFilter(
        open_only=True, unit="nginx.service", since_at=7, ending="gone", id=42, limit=5
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"colour": "red"}, "there are unit s, aspect s, state s"),
        ({"unit": 7}, "there are unit s, aspect s, state s"),
        ({"state": "blue"}, "there are green, yellow, red, grey"),
    ],
)
def test_a_filter_that_does_not_fit_says_what_would(given: object, words: str) -> None:
    """A filter that is silently ignored answers with rows that were not asked for."""
    with pytest.raises(HealthdError) as caught:
        check_filter(given)
    assert (caught.value.code, caught.value.hint) == ("invalid-args", words)
