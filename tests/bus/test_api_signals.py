"""What the API says unasked: changes, and which properties to read again."""

from __future__ import annotations

from healthd.bus.api import MANAGER, NAME
from healthd.bus.connection import Connection
from healthd.bus.library import Library
from healthd.bus.objects import PROPERTIES
from healthd.model import (
    Change,
    CheckKey,
    Edition,
    IncidentId,
    Notice,
    State,
    UnitName,
    Urgency,
)
from tests.bus.api_bench import CONTRACT, Bench, served_api  # noqa: F401 - a fixture
from tests.bus.fake_desk import LIVENESS, NGINX, check_row, incident_row


async def test_nothing_is_said_when_nothing_changed(bench: Bench) -> None:
    """Every signal wakes every panel on the machine."""
    bench.api.flush()
    bench.api.flush()
    assert await bench.signals() == []


async def test_values_are_told_only_when_they_changed(bench: Bench) -> None:
    """Readers keep State and Counts by these signals alone."""
    bench.desk.state = State.GREEN
    bench.desk.tally = {"green": 4, "yellow": 0, "red": 0, "grey": 2}
    bench.api.flush()
    bench.api.flush()
    bench.desk.watch = (False, "switched off")
    bench.api.flush()
    first, second = await bench.signals()
    assert (first.interface, first.member, first.signature) == (
        PROPERTIES,
        "PropertiesChanged",
        "sa{sv}as",
    )
    assert first.body == (MANAGER, {"State": "green", "Counts": bench.desk.tally}, [])
    assert second.body == (MANAGER, {"Watching": False, "WatchingReason": "switched off"}, [])


async def test_checks_are_counted_once_a_turn(bench: Bench) -> None:
    """State and Counts are told at every turn of the loop, over a thousand checks."""
    before = bench.desk.counted
    bench.api.flush()
    assert bench.desk.counted == before + 1
    bench.desk.tally = {"green": 5, "yellow": 0, "red": 0, "grey": 0}
    assert await bench.get("Counts") == bench.desk.tally


async def test_a_change_is_told_and_its_properties_once_a_turn(bench: Bench) -> None:
    """Ten changes at once make ten signals and one list of what to read again."""
    row = check_row()
    bench.api.check_changed(row, State.YELLOW, State.RED, 101)
    bench.api.incident(Change.OPENED, incident_row(), 102)
    bench.api.flush()
    changed, opened, properties = await bench.signals()
    assert (changed.member, changed.signature) == ("CheckChanged", CONTRACT.signals["CheckChanged"])
    assert changed.body[:4] == (LIVENESS, "yellow", "red", 101)
    assert (opened.member, opened.signature) == (
        "IncidentOpened",
        CONTRACT.signals["IncidentOpened"],
    )
    assert opened.body[:3] == (LIVENESS, 42, 102)
    assert properties.body == (MANAGER, {}, ["Alerts", "Incidents", "Snapshot"])


async def test_alerts_are_read_again_only_when_red_is_in_it(bench: Bench) -> None:
    """A service that starts is nobody's alert."""
    bench.api.check_changed(check_row(state="green"), None, State.GREEN, 101)
    bench.api.flush()
    new, properties = await bench.signals()
    assert new.body[1:3] == ("", "green")
    assert properties.body == (MANAGER, {}, ["Snapshot"])


async def test_every_signal_has_its_signature(bench: Bench) -> None:
    """Bindings drop a signal whose arguments are not those of the contract."""
    notice = Notice(
        id="incident-42",
        incident=IncidentId(42),
        key=CheckKey(LIVENESS),
        unit=UnitName(NGINX),
        edition=Edition.ENGAGED,
        urgency=Urgency.CRITICAL,
        title="nginx.service is down",
        body="2 restarts did not help",
        remedy="systemctl restart nginx.service",
        at=1_796_000_000_000_000,
    )
    bench.api.check_changed(check_row(), State.GREEN, State.RED, 101)
    bench.api.check_removed(CheckKey(LIVENESS), 102)
    for number, change in enumerate(Change, 103):
        bench.api.incident(change, incident_row(), number)
    bench.api.notice(notice, 106)
    heard = await bench.signals()
    assert {signal.member: signal.signature for signal in heard} == CONTRACT.signals
    assert heard[-1].body == (
        LIVENESS,
        42,
        106,
        "engaged",
        "critical",
        "nginx.service is down",
        "2 restarts did not help",
        NGINX,
        {"at": 1_796_000_000_000_000},
    )


async def test_another_connection_begins_anew(
    bench: Bench, private_bus: str, library: Library
) -> None:
    """After the bus was lost the same API answers on the next connection."""
    await bench.daemon.close()
    bench.desk.state = State.GREEN
    bench.api.check_changed(check_row(state="green"), State.RED, State.GREEN, 101)
    bench.api.flush()
    bench.daemon = await Connection.open(private_bus, library=library)
    bench.api.attach(bench.daemon)
    await bench.daemon.own(NAME)
    bench.api.flush()
    assert await bench.signals() == []
    assert await bench.get("State") == "green"
    await bench.call("Reload")
