"""The API on a private bus, with either D-Bus library: the contract, and what may be read."""

from __future__ import annotations

import asyncio

import pytest
from jeepney import DBusAddress, HeaderFields, Message, new_method_call
from jeepney.io.blocking import open_dbus_connection

from healthd.bus.api import MANAGER, NAME, PATH
from healthd.bus.contract import STANDARD, interfaces
from healthd.bus.filters import IncidentFilter
from healthd.bus.message import Variant
from healthd.bus.objects import INTROSPECTABLE, PROPERTIES
from healthd.model import (
    CheckKey,
    State,
)
from tests.bus.api_bench import CONTRACT, LIMIT_S, Bench, refused, served_api  # noqa: F401 - a fixture
from tests.bus.fake_desk import LIVENESS, NGINX, check_row


async def busctl(address: str, *arguments: str) -> str:
    """What systemd's own tool prints; it is as strict about types as any reader will be."""
    process = await asyncio.create_subprocess_exec(
        "busctl",
        f"--address={address}",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), LIMIT_S)
    assert process.returncode == 0, err.decode()
    return out.decode()


# ---- the contract


async def test_introspection_is_the_shipped_contract(bench: Bench) -> None:
    """The file is what clients are written against; a daemon that differs breaks them."""
    (xml,) = await bench.call("Introspect", interface=INTROSPECTABLE)
    assert interfaces(str(xml)) == (CONTRACT, *STANDARD)


async def test_the_paths_above_lead_to_the_object(bench: Bench) -> None:
    """`busctl tree` and every browser walk down from the root."""
    (root,) = await bench.call("Introspect", interface=INTROSPECTABLE, path="/")
    (org,) = await bench.call("Introspect", interface=INTROSPECTABLE, path="/org")
    assert '<node name="org"/>' in str(root)
    assert '<node name="healthd1"/>' in str(org)


async def test_busctl_reads_every_property(bench: Bench, private_bus: str) -> None:
    """A value that does not fit its signature would end the reader's connection, or ours."""
    for name, promised in CONTRACT.properties.items():
        printed = await busctl(private_bus, "get-property", NAME, PATH, MANAGER, name)
        assert printed.split()[0] == promised.signature, name


async def test_busctl_introspects_the_object(bench: Bench, private_bus: str) -> None:
    """It reads all properties at once, as proxies do."""
    printed = await busctl(private_bus, "introspect", NAME, PATH)
    for name in (*CONTRACT.methods, *CONTRACT.properties, *CONTRACT.signals):
        assert f".{name} " in printed


@pytest.mark.parametrize("interface", [MANAGER, ""])
async def test_all_properties_come_in_one_call(bench: Bench, interface: str) -> None:
    """A proxy begins with it; one that is missing is None for ever."""
    (found,) = await bench.call("GetAll", "s", interface, interface=PROPERTIES)
    assert isinstance(found, dict)
    assert found.keys() == CONTRACT.properties.keys()
    assert found["Counts"] == bench.desk.tally
    assert (found["State"], found["Version"], found["Sequence"]) == ("red", "1.2.3", 100)


async def test_a_call_may_leave_the_interface_out(bench: Bench, private_bus: str) -> None:
    """The specification allows it, and hand-made clients do it."""

    def ask(member: str) -> Message:
        with open_dbus_connection(private_bus) as connection:
            call = new_method_call(DBusAddress(PATH, NAME), member)
            return connection.send_and_get_reply(call, timeout=LIMIT_S)

    found = await asyncio.to_thread(ask, "GetSnapshot")
    assert found.header.fields[HeaderFields.signature] == CONTRACT.methods["GetSnapshot"].gives
    unknown = await asyncio.to_thread(ask, "Explode")
    name = unknown.header.fields[HeaderFields.error_name]
    assert name == "org.freedesktop.DBus.Error.UnknownMethod"


@pytest.mark.parametrize(
    ("interface", "member", "signature", "body", "name"),
    [
        (MANAGER, "Explode", "", (), "UnknownMethod"),
        ("org.healthd1.Nothing", "Look", "as", ([],), "UnknownInterface"),
        (MANAGER, "Look", "s", (LIVENESS,), "InvalidArgs"),
        (MANAGER, "Look", "", (), "InvalidArgs"),
        (MANAGER, "GetSnapshot", "s", ("x",), "InvalidArgs"),
        (PROPERTIES, "Get", "ss", (MANAGER, "Nothing"), "UnknownProperty"),
        (PROPERTIES, "Get", "ss", ("org.healthd1.Nothing", "State"), "UnknownInterface"),
        (PROPERTIES, "Get", "s", (MANAGER,), "InvalidArgs"),
        (PROPERTIES, "GetAll", "s", ("org.healthd1.Nothing",), "UnknownInterface"),
        (PROPERTIES, "Set", "ssv", (MANAGER, "State", Variant("s", "green")), "PropertyReadOnly"),
        (PROPERTIES, "Set", "ssv", (MANAGER, "Nothing", Variant("b", True)), "UnknownProperty"),
        (MANAGER, "ListChecks", "a{sv}", ({"color": Variant("s", "x")},), "InvalidArgs"),
        (MANAGER, "ListChecks", "a{sv}", ({"state": Variant("s", "blue")},), "InvalidArgs"),
        (MANAGER, "ListChecks", "a{sv}", ({"unit": Variant("u", 1)},), "InvalidArgs"),
        (MANAGER, "ListIncidents", "a{sv}u", ({"open_only": Variant("u", 1)}, 1), "InvalidArgs"),
    ],
)
async def test_a_wrong_call_gets_the_error_s_own_name(
    bench: Bench, interface: str, member: str, signature: str, body: tuple[object, ...], name: str
) -> None:
    """Programs tell errors apart by name; people read the words."""
    answer = bench.call(member, signature, *body, interface=interface)
    assert (await refused(answer))[0] == name


async def test_there_is_nothing_at_another_path(bench: Bench) -> None:
    """A mistyped path says so instead of looking like an old version."""
    answer = bench.call("GetSnapshot", path="/org/healthd1/nothing")
    assert (await refused(answer))[0] == "UnknownObject"


# ---- rows


async def test_a_snapshot_comes_with_its_number(bench: Bench) -> None:
    """A subscriber that knows the number knows which signals are newer."""
    bench.desk.rows = (check_row(), check_row("readiness:nginx.service", failure_class=""))
    number, rows = await bench.call("GetSnapshot")
    assert number == 100
    assert isinstance(rows, list)
    row, plain = (list(r) for r in rows)
    assert row[:8] == [
        LIVENESS,
        NGINX,
        "red",
        "failed",
        "killed by SIGKILL",
        1_796_000_000_000_000,
        2,
        "",
    ]
    assert row[8] == {
        "aspect": "liveness",
        "kind": "unit",
        "class": "exit",
        "restarts": 1,
        "incident": 42,
        "remedy": "systemctl restart nginx.service",
    }
    assert plain[8].keys().isdisjoint({"class", "restarts"})


async def test_listed_checks_say_when_they_are_looked_at(bench: Bench) -> None:
    """What moves without a change is told where it is computed anew, never from a kept snapshot."""
    (rows,) = await bench.call("ListChecks", "a{sv}", {})
    assert isinstance(rows, list)
    assert rows[0][8]["next_look"] == 1_796_000_005_000_000


async def test_what_one_check_lists_comes_under_its_own_words(bench: Bench) -> None:
    """The settings check tells every reader what may be restarted."""
    bench.desk.rows = (check_row("host:healthd/settings", lists={"may_restart": (NGINX,)}),)
    (rows,) = await bench.call("ListChecks", "a{sv}", {})
    assert isinstance(rows, list)
    assert rows[0][8]["may_restart"] == [NGINX]


async def test_checks_are_filtered_by_all_words_given(bench: Bench) -> None:
    """A page that shows one unit does not fetch a thousand rows."""
    other = check_row("readiness:nginx.service", "grey")
    bench.desk.rows = (check_row(), other, check_row("liveness:cron.service", unit="cron.service"))
    wanted = {"unit": Variant("s", NGINX), "state": Variant("s", "grey")}
    (rows,) = await bench.call("ListChecks", "a{sv}", wanted)
    assert isinstance(rows, list)
    assert [row[0] for row in rows] == [other.key]


async def test_incidents_carry_what_was_tried_and_told(bench: Bench) -> None:
    """One row tells the story: what failed, what was tried by whom, who heard of it."""
    (rows,) = await bench.call("ListIncidents", "a{sv}u", {"open_only": Variant("b", True)}, 0)
    assert isinstance(rows, list)
    row = list(rows[0])
    assert row[:4] == [42, LIVENESS, "engaged", "killed by SIGKILL"]
    assert row[7:9] == [1, 1]
    more = row[9]
    assert [list(entry) for entry in more["tried"]] == [
        [1_796_000_001_000_000, "restart-unit", "uid 1000", "done", {"detail": "job 7"}]
    ]
    assert [list(entry) for entry in more["told"]] == [
        [1_796_000_002_000_000, "engaged", "mail", {}]
    ]
    assert (more["found"], more["held_under"], more["idle"]) == (True, 41, "held")
    assert bench.desk.asked == [("incidents", IncidentFilter(open_only=True))]


async def test_a_snapshot_is_rendered_once_a_change(bench: Bench) -> None:
    """A thousand rows cost milliseconds, and every panel on every desk reads them."""
    for _ in range(3):
        await bench.get("Snapshot")
        await bench.call("GetSnapshot")
    assert bench.desk.read == 1
    bench.desk.number += 1
    bench.desk.rows = ()
    assert await bench.get("Snapshot") == []
    assert bench.desk.read == 2


# ---- catching up


async def test_a_late_reader_gets_what_changed(bench: Bench) -> None:
    """Whoever was away reads a few rows, not all, and learns what is gone."""
    other = check_row("liveness:cron.service", "green")
    bench.desk.rows = (check_row(), other)
    bench.api.check_changed(check_row(), State.GREEN, State.RED, 101)
    bench.api.check_removed(CheckKey("liveness:old.service"), 102)
    now, gap, rows = await bench.call("ChangesSince", "t", 100)
    assert isinstance(rows, list)
    assert (now, gap) == (102, False)
    assert [(row[0], row[2]) for row in rows] == [
        (LIVENESS, "red"),
        ("liveness:old.service", "gone"),
    ]
    assert await bench.call("ChangesSince", "t", 102) == (102, False, [])


@pytest.mark.parametrize("number", [7, 5000])
async def test_a_number_that_is_not_known_gives_everything(bench: Bench, number: int) -> None:
    """Older than our memory, or not ours at all: the reader must not believe in calm."""
    now, gap, rows = await bench.call("ChangesSince", "t", number)
    assert isinstance(rows, list)
    assert (now, gap, len(rows)) == (100, True, 1)


async def test_why_is_open_to_everybody(bench: Bench) -> None:
    """Who sees a colour may know where it comes from; polkit is not even asked."""
    (found,) = await bench.call("Why", "s", LIVENESS)
    assert isinstance(found, dict)
    looks = [list(look) for look in found.pop("looks")]
    at = 1_796_000_000_000_000
    assert found == {
        "key": LIVENESS,
        "unit": NGINX,
        "state": "red",
        "reason": "failed",
        "summary": "killed by SIGKILL",
        "since": at,
        "judged": "2 failing looks in a row, red from 2 on",
        "rule": "`failed` → failing",
        "waiting_on": "liveness:db.service",
        "incident": 42,
        "tried": "nothing more: 2 restarts did not help",
        "notice": "told (engaged); again only while it stays red",
        "told": at + 1,
        "again": at + 2,
        "looked": at + 3,
        "next_look": at + 4,
    }
    seen = ["failing", "failed", "red", "failed", "killed by SIGKILL", "`failed` → failing"]
    assert looks == [[at, at + 5, 2, *seen]]
    assert bench.polkit.asked == []
    assert (await refused(bench.call("Why", "s", "liveness:none.service")))[0] == "NoSuchCheck"
