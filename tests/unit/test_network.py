"""Histories of checks of other machines, and of the way out: one dead uplink is one notice."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from healthd.judge.network import NETWORK, NO_NAMES, NO_ROUTE, network_check, way_of
from healthd.model import (
    Check,
    Edition,
    FailureClass,
    Link,
    Look,
    Outcome,
    Reason,
    Way,
)
from tests.unit.histories import FAIL, OK
from tests.unit.town import Town, ready

MINUTE = 60
UNITS = tuple(f"web{number:02}.service" for number in range(20))
WIRED = Link(routes=("eth0",))
UNPLUGGED = Link(routes=("eth0",), unplugged=("eth0",))


def short(failure_class: FailureClass, way: Way) -> Look:
    """A look that never got as far as the service."""
    return Look(Outcome.FAILING, Reason.UNREADY, f"{way}", failure_class, way=way)


NO_WAY = short(FailureClass.CONNECT, Way.NO_ROUTE)
SILENT = short(FailureClass.TIMEOUT, Way.NO_ANSWER)
NAMELESS = short(FailureClass.DNS, Way.NO_RESOLVER)
NO_SUCH_NAME = short(FailureClass.DNS, Way.UNKNOWN)
REFUSED = short(FailureClass.CONNECT, Way.OPEN)


def remote(unit: str) -> Check:
    """A declared check of *unit* whose endpoint is another machine."""
    return replace(ready(unit), remote=True)


def town_of(*units: str) -> Town:
    """Each unit with one remote check, all of them well."""
    return Town(dict.fromkeys(units, ()), checks=tuple(remote(unit) for unit in units))


def all_find(town: Town, look: Look, *units: str) -> None:
    """From now on the looks at these units find *look*."""
    for unit in units:
        town.serves[unit] = lambda: look


def faces(town: Town, *units: str) -> set[tuple[str, str]]:
    """State and reason of the units' remote checks, each once."""
    return {town.face(f"readiness:{unit}") for unit in units}


@pytest.mark.parametrize(
    ("link", "look", "words"),
    [
        (Link(), NO_WAY, NO_ROUTE),
        (UNPLUGGED, SILENT, "no link on eth0"),
        (WIRED, NAMELESS, NO_NAMES),
        (Link(), NAMELESS, NO_ROUTE),
    ],
)
def test_one_dead_uplink_is_one_notice_and_the_rest_waits(
    link: Link, look: Look, words: str
) -> None:
    """Twenty messages say less than one."""
    town = town_of(*UNITS)
    town.link = link
    all_find(town, look, *UNITS)
    town.run(10 * MINUTE)
    (notice,) = town.notices()
    assert (notice.key, notice.edition) == (NETWORK, Edition.ENGAGED)
    assert words in notice.title
    assert notice.remedy.startswith("ip ")
    assert town.repairs() == []
    assert faces(town, *UNITS) == {("grey", "waiting")}
    assert all(not town.stories[unit].incidents for unit in UNITS)


def test_the_notice_names_who_waits() -> None:
    """Whoever reads it knows what is not being looked at meanwhile."""
    town = town_of(*UNITS)
    town.link = Link()
    all_find(town, NO_WAY, *UNITS)
    town.run(2 * MINUTE)
    (notice,) = town.notices()
    assert all(unit in notice.body for unit in UNITS)


def test_when_the_link_is_back_all_are_looked_at_again_at_once() -> None:
    """They need not wait for their turn, and nobody is told of what comes up within its grace."""
    town = town_of(*UNITS)
    town.link = Link()
    all_find(town, NO_WAY, *UNITS)
    town.run(5 * MINUTE)
    town.link = WIRED
    all_find(town, OK, *UNITS)
    town.run(6)
    assert faces(town, *UNITS) == {("green", "ok")}
    town.run(5 * MINUTE)
    assert [(n.key, n.edition) for n in town.notices()] == [
        (NETWORK, Edition.ENGAGED),
        (NETWORK, Edition.CLEARED),
    ]


def test_who_does_not_answer_after_the_link_is_back_stands_on_its_own() -> None:
    """Waiting is no way to be forgotten."""
    town = town_of("a.service", "b.service")
    town.link = Link()
    all_find(town, NO_WAY, "a.service", "b.service")
    town.run(5 * MINUTE)
    town.link = WIRED
    all_find(town, OK, "a.service")
    all_find(town, SILENT, "b.service")
    town.run(30)
    assert faces(town, "b.service") == {("grey", "waiting")}
    town.run(3 * MINUTE)
    assert faces(town, "b.service") == {("red", "unready")}
    assert [n.unit for n in town.notices(Edition.ENGAGED)] == ["", "b.service"]


@pytest.mark.parametrize("look", [SILENT, NO_SUCH_NAME, NAMELESS, REFUSED])
def test_one_service_that_is_down_says_nothing_of_the_network(look: Look) -> None:
    """Others answer, so the way out is there: its owner hears of the service."""
    town = town_of(*UNITS)
    all_find(town, look, UNITS[3])
    town.run(10 * MINUTE)
    assert town.face(NETWORK) == ("green", "ok")
    assert [n.unit for n in town.notices()] == [UNITS[3]]


@pytest.mark.parametrize("look", [SILENT, NO_SUCH_NAME, NAMELESS, REFUSED])
def test_a_single_remote_check_that_fails_is_no_finding_about_the_network(look: Look) -> None:
    """With a link and a resolver, a name that does not exist is that name's trouble."""
    town = town_of("a.service")
    all_find(town, look, "a.service")
    town.run(10 * MINUTE)
    assert town.face(NETWORK) == ("green", "ok")
    assert [n.unit for n in town.notices()] == ["a.service"]


def test_a_machine_that_never_had_a_way_out_misses_none() -> None:
    """In a network of its own, a dead neighbour is a dead neighbour."""
    town = town_of("a.service", "b.service")
    town.link = Link()
    all_find(town, SILENT, "a.service")
    town.run(10 * MINUTE)
    assert [n.unit for n in town.notices()] == ["a.service"]
    all_find(town, SILENT, "b.service")
    town.run(10 * MINUTE)
    assert [n.unit for n in town.notices()] == ["a.service", "b.service"]


def test_what_answers_over_another_way_speaks_for_the_network() -> None:
    """A neighbour that answers: then it is not that nothing can be reached."""
    town = town_of("a.service", "b.service")
    town.link = Link()
    all_find(town, NO_WAY, "a.service")
    town.run(10 * MINUTE)
    assert town.face(NETWORK) == ("green", "ok")
    assert [n.unit for n in town.notices()] == ["a.service"]


def test_what_reached_its_service_does_not_wait_on_the_network() -> None:
    """A wrong answer is an answer."""
    town = town_of("a.service", "b.service")
    town.link = Link()
    all_find(town, NO_WAY, "a.service", "b.service")
    town.run(5 * MINUTE)
    all_find(town, FAIL, "b.service")
    town.run(5 * MINUTE)
    assert faces(town, "b.service") == {("red", "unready")}


def test_an_incident_that_was_open_before_is_held_under_that_of_the_network() -> None:
    """Kept, idle and linked, and not told again."""
    town = town_of("a.service", "b.service")
    all_find(town, REFUSED, "a.service")
    town.run(5 * MINUTE)
    town.link = Link()
    all_find(town, NO_WAY, "a.service", "b.service")
    town.run(5 * MINUTE)
    (mine,) = town.stories["a.service"].incidents
    (networks,) = town.stories[NETWORK].incidents
    assert (mine.idle, mine.held_under) == ("waiting", networks.id)
    assert [n.key for n in town.notices()] == [mine.key, NETWORK]


def test_the_network_is_not_looked_at_while_all_is_well() -> None:
    """No polling: a failing check calls for it."""
    town = town_of(*UNITS)
    before = len(town.plays[NETWORK].effects)
    town.run(60 * MINUTE)
    assert len(town.plays[NETWORK].effects) == before


def test_one_that_fails_for_long_does_not_have_others_looked_at_each_time() -> None:
    """`every` is a promise to the other side."""
    town = town_of("a.service", "b.service")
    all_find(town, NAMELESS, "a.service")
    town.run(2 * MINUTE)
    looks = []

    def counted() -> Look:
        looks.append(town.now_us)
        return OK

    town.serves["b.service"] = counted
    town.run(10 * MINUTE)
    assert len(looks) == 20


def test_the_network_has_its_own_check_only() -> None:
    """It belongs to no unit, so nothing is ever restarted for it."""
    check = network_check()
    assert (check.key, check.unit, check.remote) == (NETWORK, "", False)


@pytest.mark.parametrize(
    ("look", "way"),
    [
        (OK, Way.OPEN),
        (FAIL, Way.OPEN),
        (short(FailureClass.TLS, Way.UNKNOWN), Way.OPEN),
        (NO_SUCH_NAME, Way.UNKNOWN),
        (Look(Outcome.NOT_JUDGED, Reason.UNKNOWN, "could not"), Way.UNKNOWN),
    ],
)
def test_whatever_reached_its_end_says_that_there_is_a_way(look: Look, way: Way) -> None:
    """A wrong status or certificate came over the network."""
    assert way_of(look) is way
