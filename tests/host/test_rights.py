"""What healthd may do, what others may do with it, and whom it believes."""

from __future__ import annotations

import pytest

from tests.host.machine import Host
from tests.host.watching import face, listing, sleeper

MANAGER = (
    "org.freedesktop.systemd1",
    "/org/freedesktop/systemd1",
    "org.freedesktop.systemd1.Manager",
)
OURS = ("org.healthd1", "/org/healthd1", "org.healthd1.Manager")


def _systemd(host: Host, *call: str) -> tuple[int, str]:
    """One call to systemd as user healthd."""
    asked = host.run("busctl", "call", *MANAGER, *call, user="healthd", check=False)
    return asked.rc, asked.err


def test_polkit_lets_healthd_restart_what_is_listed_and_nothing_else(host: Host) -> None:
    """A hijacked healthd can restart the list. Not another unit, and with no other verb."""
    listed, other = sleeper(host, "rights-listed.service"), sleeper(host, "rights-other.service")
    listing(host, listed)
    assert _systemd(host, "RestartUnit", "ss", listed, "replace")[0] == 0
    refused = [
        ("RestartUnit", "ss", other, "replace"),
        ("StartUnit", "ss", listed, "replace"),
        ("StopUnit", "ss", listed, "replace"),
        ("KillUnit", "ssi", listed, "main", "9"),
        ("StartTransientUnit", "ssa(sv)a(sa(sv))", listed, "replace", "0", "0"),
        ("StartTransientUnit", "ssa(sv)a(sa(sv))", "rights-new.service", "replace", "0", "0"),
        ("ResetFailedUnit", "s", listed),
        ("ReloadUnit", "ss", listed, "replace"),
        ("Reload", ""),
    ]
    for call in refused:
        rc, said = _systemd(host, *call)
        assert rc != 0, call
        assert "denied" in said or "not permitted" in said, (call, said)


def test_the_rule_goes_when_healthd_stops(host: Host) -> None:
    """Nobody who gets healthd's user later inherits what it might do."""
    unit = sleeper(host, "rights-stop.service")
    listing(host, unit)
    host.run("systemctl", "stop", "healthd.service")
    assert _systemd(host, "RestartUnit", "ss", unit, "replace")[0] != 0
    assert host.run("ls", "/etc/polkit-1/rules.d", check=False).out.find("healthd") < 0


def test_anybody_may_read_and_not_act(host: Host) -> None:
    """The snapshot is for every local program; acts are polkit's to allow."""
    unit = sleeper(host, "rights-read.service")
    listing(host, unit)
    snapshot = host.run("busctl", "get-property", *OURS, "Snapshot", user="nobody").out
    assert f"liveness:{unit}" in snapshot
    for call in (("RestartUnit", "s", unit), ("Reload", ""), ("Look", "as", "0")):
        asked = host.run("busctl", "call", *OURS, *call, user="nobody", check=False)
        assert asked.rc != 0
        assert "authoriz" in asked.err.lower() or "password" in asked.err.lower(), asked.err


def test_without_polkit_the_answer_is_no(fresh_host: Host) -> None:
    """Absent polkit means no; looks go on, and it works again once polkit is back."""
    host = fresh_host
    unit = sleeper(host, "rights-nopolkit.service")
    listing(host, unit)
    host.run("systemctl", "mask", "--runtime", "--now", "polkit.service")
    asked = host.run("busctl", "call", *OURS, "RestartUnit", "s", unit, user="nobody", check=False)
    assert asked.rc != 0
    assert face(host, unit)[0] in ("green", "yellow")
    host.run("systemctl", "unmask", "--runtime", "polkit.service")
    host.run("systemctl", "start", "polkit.service")
    host.run("healthctl", "restart", unit)


FORGERY = """
from jeepney import DBusAddress, HeaderFields, new_signal
from jeepney.io.blocking import open_dbus_connection
connection = open_dbus_connection(bus="SYSTEM")
unit = DBusAddress("{path}", interface="org.freedesktop.DBus.Properties")
changed = {{"ActiveState": ("s", "failed"), "SubState": ("s", "failed")}}
body = ("org.freedesktop.systemd1.Unit", changed, [])
for owner in {owners!r}:
    message = new_signal(unit, "PropertiesChanged", "sa{{sv}}as", body)
    message.header.fields[HeaderFields.destination] = owner
    connection.send(message)
connection.close()
"""


def test_a_forged_signal_changes_nothing(host: Host) -> None:
    """Any local user can send us a signal that looks like systemd's, by unicast."""
    unit = sleeper(host, "rights-forged.service")
    path = host.run("busctl", "call", *MANAGER, "GetUnit", "s", unit).out.split('"')[1]
    owner = host.run(
        *("busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus"),
        *("org.freedesktop.DBus", "GetNameOwner", "s", "org.healthd1"),
    ).out.split('"')[1]
    before = _sequence(host)
    script = FORGERY.format(path=path, owners=[owner, "org.healthd1"])
    host.run("python3", "-c", script, user="nobody")
    # A question that healthd answers after the forged signals has been read after them.
    host.run("busctl", "get-property", *OURS, "State")
    assert face(host, unit) == ("green", "ok")
    assert _sequence(host) == before


def _sequence(host: Host) -> str:
    return host.run("busctl", "get-property", *OURS, "Sequence").out


@pytest.mark.parametrize("value", ["private-word-of-a-check"])
def test_what_a_check_says_is_in_evidence_only(host: Host, value: str) -> None:
    """Text that came from a check never enters a property, a signal or healthd's journal."""
    unit = sleeper(host, "rights-private.service")
    host.write("/usr/local/bin/tell", f"#!/bin/sh\necho {value}\nexit 2\n", mode=0o755)
    times = "every: 11s, after: 2, retry: 10s, grace: 0s"
    host.settings(f"checks: {{{unit}: {{exec: {{command: [/usr/local/bin/tell]}}, {times}}}}}\n")
    host.wait_for(lambda: face(host, f"readiness:{unit}")[0] == "red", 60)
    incident = next(i for i in host.healthctl("incidents", "--open") if i["unit"] == unit)
    everything = host.run("busctl", "get-property", *OURS, "Snapshot", "Incidents", "Alerts").out
    assert value not in everything
    assert not [e for e in host.journal("_SYSTEMD_UNIT=healthd.service") if value in str(e)]
    assert value in host.run("healthctl", "show", str(incident["id"]), check=False).out
