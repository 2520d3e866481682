"""What holds for every history of units that need each other, whatever people and mishaps do.

`pytest tests/unit/test_town_properties.py -m soak --timeout 0` plays more and longer ones.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healthd.judge.repairing import HEALTHD
from healthd.model import Repair, Tell
from tests.unit.test_judge_properties import SEEDS
from tests.unit.test_judge_properties import few as any_few
from tests.unit.town_laws import LawfulTown
from tests.unit.town_plans import ANY, ASKED, Chronicle, Deed, deeds, plan, tame

_NUMBERS = st.integers(0, 1 << 16)
_HOUR_S = 3600.0
_KILLS = ("kill", "kill_with_needs", "stop", "start", "restart", "exit", "finish")
_A_WHILE: Deed = ("wait", 9)


def few(examples: int) -> settings:
    """The same ones each time: new ones are sought by `make soak`."""
    return settings(any_few(examples), derandomize=True)


def histories(verbs: tuple[str, ...], most: int) -> st.SearchStrategy[list[Deed]]:
    """Deeds that hypothesis can cut short where they break a law."""
    return st.lists(st.tuples(st.sampled_from(verbs), _NUMBERS), min_size=8, max_size=most)


def played(seed: int, history: list[Deed], *, most: int = 12, saves: bool = False) -> Chronicle:
    """A town, after a history."""
    chronicle = Chronicle(plan(seed, most).build(saves=saves))
    chronicle.do(history)
    return chronicle


def to_the_end(chronicle: Chronicle) -> LawfulTown:
    """Nothing more happens: all is said. Then everything is put right: all is over."""
    town = chronicle.town
    chronicle.calm()
    town.run(1.4 * _HOUR_S)
    town.all_is_said()
    chronicle.mend()
    town.all_is_over()
    return town


@few(30)
@given(SEEDS, histories(ANY, 40))
def test_no_history_of_a_town_breaks_a_law(seed: int, history: list[Deed]) -> None:
    """One cause is one notice, nobody is repaired in vain, and somebody speaks for whatever is
    down."""
    to_the_end(played(seed, history))


@few(6)
@given(SEEDS, histories(ASKED, 30))
def test_what_people_ask_for_in_a_town_is_nobodys_alarm(seed: int, history: list[Deed]) -> None:
    """Whole trees of units are stopped, started and restarted, and healthd keeps still."""
    chronicle = played(seed, history)
    chronicle.calm()
    chronicle.start_all("", 0)
    chronicle.town.run(0.3 * _HOUR_S)
    assert not [e for e in chronicle.town.effects if isinstance(e, Tell)]
    own = [e for e in chronicle.town.effects if isinstance(e, Repair) and e.attempt.by == HEALTHD]
    assert not own


@few(3)
@given(SEEDS, histories(ANY, 25))
def test_the_same_history_of_a_town_has_the_same_effects(seed: int, history: list[Deed]) -> None:
    """Replay must show what was decided, of all units."""
    towns = [played(seed, history).town for _ in range(2)]
    assert towns[0].effects == towns[1].effects
    assert towns[0].stories == towns[1].stories


@few(4)
@given(SEEDS, histories(ANY, 20))
def test_what_was_saved_of_a_town_goes_on_in_the_same_way(seed: int, history: list[Deed]) -> None:
    """Every event is judged from what is held of all units, and from what was saved of them."""
    played(seed, history, most=5, saves=True)


@few(6)
@given(SEEDS, histories(_KILLS, 8), _NUMBERS)
def test_a_restart_of_healthd_changes_nothing_that_is_done(
    seed: int, history: list[Deed], moments: int
) -> None:
    """Killed and started again between any two deeds, it says and repairs the same."""
    towns = [_interrupted(seed, history, bits) for bits in (0, moments)]
    assert _done(towns[0]) == _done(towns[1])


def _interrupted(seed: int, history: list[Deed], moments: int) -> LawfulTown:
    """*moments*: after which deeds healthd is killed, as bits."""
    chronicle = Chronicle(tame(seed).build())
    for number, deed in enumerate(history):
        chronicle.do([deed, _A_WHILE])
        if (moments >> number) & 1:
            chronicle.do([("end_healthd", moments)])
    chronicle.town.run(0.2 * _HOUR_S)
    return chronicle.town


def _done(town: LawfulTown) -> list[tuple[str, str]]:
    notices = [
        (str(e.notice.key), e.notice.edition.value) for e in town.effects if isinstance(e, Tell)
    ]
    repairs = [(str(e.key), "repair") for e in town.effects if isinstance(e, Repair)]
    return sorted(notices) + sorted(repairs)


# ---- longer, for `make soak`


@pytest.mark.soak
@any_few(300)
@given(SEEDS)
def test_long_histories_of_towns(seed: int) -> None:
    """Hundreds of deeds, thousands of events, in a town of any shape."""
    to_the_end(played(seed, deeds(seed, 300, ANY)))


@pytest.mark.soak
@any_few(200)
@given(SEEDS)
def test_long_lives_of_towns_in_which_people_only_ask(seed: int) -> None:
    """Days of stops and starts by persons."""
    chronicle = played(seed, deeds(seed, 200, ASKED))
    assert not [e for e in chronicle.town.effects if isinstance(e, Tell)]


@pytest.mark.soak
def test_a_storm_of_thousands_of_deeds() -> None:
    """Nothing that is kept of a unit grows with what happens to it."""
    for seed in range(20):
        to_the_end(played(seed, deeds(seed, 3000, ANY)))
