"""What systemd shows is seen as it is: units that are not loaded, and units that are gone again."""

from __future__ import annotations

import json

from tests.host.machine import Host, end
from tests.host.watching import check, face, incidents, listing

DISABLED = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"


def test_a_disabled_unit_that_is_not_loaded_is_grey_and_not_missing(host: Host) -> None:
    """BR-06, BR-49: "not loaded" is not "not there", and who disabled a unit wants no alarm."""
    unit = "seeing-disabled.service"
    host.unit(unit, DISABLED)
    listing(host, unit, "seeing-nowhere.service")
    host.wait_for(lambda: face(host, unit) == ("grey", "not-configured"))
    row = check(host, unit)
    assert row is not None
    assert row["summary"] == "not started in this boot"
    assert face(host, "seeing-nowhere.service") == ("yellow", "configuration")
    assert incidents(host, unit) == []


def test_a_unit_that_is_not_loaded_is_not_loaded_over_and_over(host: Host) -> None:
    """BR-01: to read a unit loads it and says so to everybody; who reads when it hears that, and is
    not alone, keeps PID 1 busy for ever.
    """
    unit, mark = "seeing-absent.service", "seeing-mark.service"
    host.unit(unit, DISABLED)
    host.unit(mark, DISABLED)
    monitor = host.start(
        *("busctl", "monitor", "--json=short", "--match=type='signal',member='UnitNew'")
    )
    assert monitor.stdout is not None
    try:
        listing(host, unit)
        host.wait_for(lambda: face(host, unit) == ("grey", "not-configured"))
        for _ in range(3):
            host.run("healthctl", "look", f"liveness:{unit}", check=False)
        host.run("systemctl", "start", mark)
        loaded = []
        for line in monitor.stdout:
            if line.startswith("{"):
                loaded.append(json.loads(line)["payload"]["data"][0])
            if loaded[-1:] == [mark]:
                break
    finally:
        end(monitor)
    # Once for the settings, once for each look, and once for those who only ask for its state.
    assert loaded.count(unit) <= 10


def test_a_unit_that_ran_for_a_moment_ends_as_what_it_is(host: Host) -> None:
    """BR-02: a monitor heard no change when it started, or none when it ended, and kept the wrong
    state. Loaded, started, over and unloaded within a fifth of a second.
    """
    unit = "seeing-brief.service"
    host.unit(unit, "[Service]\nExecStart=/bin/sleep 0.2\n")
    for _ in range(3):
        host.run("systemctl", "start", unit)
        host.wait_until("sh", "-c", f"! systemctl is-active --quiet {unit}")
    host.run("healthctl", "look", check=False)
    assert face(host, unit)[0] in ("grey", "")
    assert incidents(host, unit) == []


def test_the_last_word_about_a_unit_that_was_killed_is_right(host: Host) -> None:
    """BR-02: the unit was never wanted, and is unloaded as soon as nobody looks."""
    unit = "seeing-killed.service"
    host.unit(unit, "[Service]\nExecStart=/bin/sleep infinity\n")
    host.run("systemctl", "start", unit)
    host.wait_for(lambda: face(host, unit) == ("green", "ok"))
    host.run("kill", "-KILL", host.unit_property(unit, "MainPID"))
    host.wait_for(lambda: face(host, unit) == ("red", "failed"))
    row = check(host, unit)
    assert row is not None
    assert "SIGKILL" in row["summary"]
