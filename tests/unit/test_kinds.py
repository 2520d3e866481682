"""The table of kinds, and the tools that looks get: where endpoints lead."""

from __future__ import annotations

import typing
from pathlib import Path

import pytest

from healthd import checks
from healthd.checks.base import Place, server_name
from healthd.checks.kinds import KINDS, look
from healthd.checks.tools import places_of
from healthd.checks.words import how_long
from healthd.errors import HealthdError
from healthd.model import (
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    Endpoint,
    ExecSpec,
    HeartbeatSpec,
    HttpSpec,
    Outcome,
    Spec,
    TcpSpec,
    UnitName,
)
from tests.unit.loopback import answering, endpoint, page, served, tools

#: What stands under the kinds.
CORE = {
    *("__init__", "base", "cgroup", "kinds", "names", "probe", "runner", "shared", "tools"),
    *("trust", "wire", "words"),
}


def test_every_file_of_a_kind_has_its_line_in_the_table() -> None:
    """A kind that is in the folder and not in the table would never be looked at."""
    files = {path.stem for path in Path(checks.__path__[0]).glob("*.py")}
    assert files - CORE == set(KINDS)


def test_every_spec_has_one_kind() -> None:
    """What the settings can declare, something must be able to look at."""
    specs = [kind.spec for kind in KINDS.values()]
    assert len(specs) == len(set(specs))
    # A heartbeat is read from systemd by the daemon itself.
    assert {*specs, HeartbeatSpec} == set(typing.get_args(Spec))


async def test_a_spec_finds_its_own_kind() -> None:
    """The one door through which the daemon looks."""
    async with served(answering(page())) as port:
        specs: tuple[Spec, ...] = (
            HttpSpec(endpoint(port)),
            TcpSpec(endpoint(port)),
            ExecSpec(("/bin/true",)),
        )
        looks = [await look(spec, tools()) for spec in specs]
    assert [(each.outcome, each.summary) for each in looks] == [
        (Outcome.OK, "HTTP 200 from web"),
        (Outcome.OK, "web accepts connections"),
        (Outcome.OK, "true ended with exit status 0"),
    ]


@pytest.mark.parametrize(
    ("listen", "place"),
    [
        ("127.0.0.1:8080", Place("127.0.0.1", 8080)),
        ("0.0.0.0:80", Place("127.0.0.1", 80)),
        ("[::]:80", Place("::1", 80)),
        ("*:80", Place("localhost", 80)),
        ("[2001:db8::1]:443", Place("2001:db8::1", 443)),
        ("[fe80::1%eth0]:443", Place("fe80::1%eth0", 443)),
        ("/run/app.sock", Place(unix="/run/app.sock")),
        ("@app", Place(unix="@app")),
    ],
)
def test_a_socket_unit_is_asked_where_it_listens(listen: str, place: Place) -> None:
    """A check follows the port; one that listens everywhere is asked where it is nearest."""
    others = [("Datagram", "127.0.0.1:53"), ("Stream", "vsock:2:1234")]
    assert places_of(UnitName("web.socket"), [*others, ("Stream", listen)]) == (place,)


def test_a_socket_unit_without_a_stream_is_said_to_be_none() -> None:
    """FIFOs and datagrams cannot be connected to by these kinds."""
    with pytest.raises(HealthdError, match=r"a\.socket listens on no stream address"):
        places_of(UnitName("a.socket"), [("FIFO", "/run/a"), ("Stream", "vsock:2:1")])


async def test_an_address_leads_to_itself() -> None:
    """Without a unit nothing has to be asked."""
    assert await tools().places(Endpoint("redis", host="::1", port=6379)) == (Place("::1", 6379),)
    assert await tools().places(Endpoint("app", unix="/run/a")) == (Place(unix="/run/a"),)


def test_places_are_written_as_addresses_are() -> None:
    """In a summary and in the Host header."""
    places = (Place("127.0.0.1", 80), Place("::1", 80), Place(unix="/run/a"))
    assert [str(place) for place in places] == ["127.0.0.1:80", "[::1]:80", "/run/a"]
    assert server_name("", places[2]) == "localhost"


@pytest.mark.parametrize(
    ("duration_us", "words"),
    [
        (0, "0 ms"),
        (812_999, "812 ms"),
        (5 * SECOND_US, "5 s"),
        (2_500_000, "2.5 s"),
        (119 * SECOND_US, "119 s"),
        (5 * MINUTE_US, "5 min"),
        (26 * HOUR_US, "26 h"),
        (9 * 24 * HOUR_US + 5, "9 days"),
    ],
)
def test_durations_are_short(duration_us: int, words: str) -> None:
    """One number and one unit are read at a glance."""
    assert how_long(duration_us) == words
