"""A machine that stops under healthd, a healthd that stands still: nothing false, nothing twice.

Sleep and steps of clocks cannot be made here; tests/bus/test_daemon_freeze.py stands in for them.
"""

from __future__ import annotations

from typing import Any

from tests.host.machine import Host
from tests.host.watching import face, incident_in, incidents, kill, sleeper, told


def gaps(host: Host) -> list[dict[str, Any]]:
    """What healthd says that it did not watch, oldest first."""
    found: list[dict[str, Any]] = host.healthctl("status")["gaps"]
    return found


def test_br_61_a_stop_of_healthd_is_a_gap_that_readers_see(host: Host) -> None:
    """The watcher's own absence is no uptime of anything."""
    unit = sleeper(host, "freeze-gap.service")
    kill(host, unit)
    incident = incident_in(host, unit, "engaged")
    host.run("systemctl", "stop", "healthd.service")
    host.run("sleep", "7")
    host.run("systemctl", "start", "healthd.service")
    host.wait_until("healthctl", "checks")
    gap = gaps(host)[-1]
    assert gap["why"] == "healthd was stopped"
    assert gap["ended"] - gap["started"] >= 6_000_000
    [after] = incidents(host, unit)
    assert (after["id"], after["gaps"]) == (incident["id"], [gap])
    page = host.run("healthctl", "show", str(incident["id"]), check=False).out
    assert "healthd was stopped" in page
    assert "Not watched" in host.run("healthctl", check=False).out


def test_a_healthd_that_stood_still_makes_nothing_of_it(host: Host) -> None:
    """SIGSTOP, a machine in swap: what had a limit meanwhile did not time out."""
    unit = sleeper(host, "freeze-still.service")
    host.settings(
        "checks:\n"
        f"  {unit}:\n"
        "    - name: still\n"
        "      exec: {command: [/bin/true]}\n      every: 10s\n      timeout: 2s\n      grace: 0s\n"
    )
    key = f"readiness:{unit}/still"
    host.wait_for(lambda: face(host, key) == ("green", "ok"))
    pid = host.unit_property("healthd.service", "MainPID")
    host.run("kill", "-STOP", pid)
    host.run("sleep", "25")
    host.run("kill", "-CONT", pid)
    host.wait_for(lambda: gaps(host) and gaps(host)[-1]["why"] == "healthd did not run")
    assert host.unit_property("healthd.service", "MainPID") == pid
    host.wait_for(lambda: face(host, key) == ("green", "ok"))
    assert face(host, unit) == ("green", "ok")
    assert incidents(host, unit) == []


def test_br_51_a_soft_reboot_repeats_nothing_and_tells_of_nothing_that_it_ended(
    fresh_host: Host,
) -> None:
    """All services end, one of them badly, under an incident that is open: none of it is news."""
    host = fresh_host
    broken = sleeper(host, "freeze-broken.service")
    badly = sleeper(
        host,
        "freeze-badly.service",
        "ExecStop=/bin/sh -c 'kill -KILL $MAINPID'\nSuccessExitStatus=0\nRestart=no",
    )
    kill(host, broken)
    incident = incident_in(host, broken, "engaged")
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged"])
    host.run("systemctl", "soft-reboot", check=False)
    host.wait_for(lambda: host.unit_property("healthd.service", "MainPID") == "0", 60)
    host.wait_until("healthctl", "checks", limit_s=90)
    host.wait_for(lambda: face(host, badly) == ("green", "ok"), 60)
    assert incidents(host, badly) == []
    [after] = incidents(host, broken)
    assert after["id"] == incident["id"]
    assert "engaged" not in told(host, incident["id"])[1:]
    assert gaps(host) == [] or gaps(host)[-1]["why"] == "the machine was soft-rebooting"
