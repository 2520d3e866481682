"""Somebody works on services and says so: what they break meanwhile is nobody's alarm."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.host.machine import Host, end
from tests.host.watching import face, incident_in, incidents, kill, listing, sleeper, starts, told

HELD = ("grey", "held")


def holds(host: Host) -> list[dict[str, Any]]:
    """The holds that are in force, as `healthctl status` says."""
    found: list[dict[str, Any]] = host.healthctl("status")["holds"]
    return found


@contextmanager
def held(host: Host, *units: str) -> Iterator[subprocess.Popen[str]]:
    """A person's shell that holds *units* until the block ends or it is killed."""
    holder = host.start("healthctl", "hold", *units, "--why", "by hand", "--", "sleep", "600")
    try:
        host.wait_for(lambda: any(hold["units"] == list(units) for hold in holds(host)))
        yield holder
    finally:
        end(holder)


def healthd_pid(host: Host) -> str:
    """The daemon's main process, once it answers."""
    host.wait_until("healthctl", "checks")
    return host.unit_property("healthd.service", "MainPID")


def stored(host: Host) -> str:
    """How many descriptors systemd keeps for healthd."""
    return host.unit_property("healthd.service", "NFileDescriptorStore")


def test_br_29_what_a_script_stops_kills_and_starts_under_a_hold_is_no_incident(
    host: Host,
) -> None:
    """BR-29: a backup stops its service, and breaks it on the way; the hold ends with the script,
    whose exit status comes through.
    """
    unit = sleeper(host, "hold-backup.service")
    listing(host, unit)
    script = (
        f"systemctl stop {unit}; systemctl start {unit}; systemctl kill -s KILL {unit}; sleep 8;"
        f" healthctl checks --json; systemctl start {unit}; exit 7"
    )
    done = host.run("healthctl", "hold", unit, "--", "sh", "-c", script, check=False, timeout_s=60)
    assert done.rc == 7, done.err
    assert '"reason": "held"' in done.out
    assert "held by pid" in done.out
    host.wait_for(lambda: face(host, unit)[0] in ("green", "yellow"))
    host.wait_for(lambda: holds(host) == [])
    assert incidents(host, unit) == []
    assert starts(host, unit) == 3


def test_br_30_ten_services_stopped_and_started_and_released_at_once(host: Host) -> None:
    """BR-30: a planned reload raised alarms, and un-muting too early raised more."""
    units = [sleeper(host, f"hold-many{number}.service") for number in range(10)]
    script = "".join(f"systemctl stop {unit}; systemctl start {unit}; " for unit in units)
    host.run("healthctl", "hold", *units, "--", "sh", "-c", script, timeout_s=60)
    host.run("healthctl", "look", *units)
    host.wait_for(lambda: {face(host, unit) for unit in units} == {("green", "ok")})
    assert [incidents(host, unit) for unit in units] == [[]] * 10


def test_a_hold_stands_over_a_restart_a_kill_and_a_stop_of_healthd(host: Host) -> None:
    """Its descriptor lies with systemd meanwhile; an upgrade of healthd must not blind or alarm."""
    unit = sleeper(host, "hold-restart.service")
    listing(host, unit)
    with held(host, unit):
        assert stored(host) == "1"
        [before] = holds(host)
        host.run("systemctl", "restart", "healthd.service", timeout_s=60)
        healthd_pid(host)
        assert holds(host) == [before]
        kill(host, unit)
        was = healthd_pid(host)
        host.run("kill", "-KILL", was)
        host.wait_for(lambda: healthd_pid(host) not in ("0", was))
        assert [hold["id"] for hold in holds(host)] == [before["id"]]
        host.wait_for(lambda: face(host, unit) == HELD)
        host.run("systemctl", "stop", "healthd.service")
        host.run("systemctl", "start", "healthd.service")
        healthd_pid(host)
        assert [hold["id"] for hold in holds(host)] == [before["id"]]
        host.wait_for(lambda: face(host, unit) == HELD)
        assert incidents(host, unit) == []
        host.run("systemctl", "restart", unit)
    host.wait_for(lambda: holds(host) == [])
    host.wait_for(lambda: face(host, unit)[0] in ("green", "yellow"))
    host.wait_for(lambda: stored(host) == "0")
    assert incidents(host, unit) == []


def test_a_holder_that_ends_while_healthd_is_away_holds_no_longer(host: Host) -> None:
    """systemd drops its descriptor; the record alone is no hold, and the journal says so."""
    unit = sleeper(host, "hold-away.service")
    with held(host, unit):
        [hold] = holds(host)
        host.run("systemctl", "stop", "healthd.service")
    host.wait_for(lambda: stored(host) == "0")
    host.run("systemctl", "start", "healthd.service")
    healthd_pid(host)
    assert holds(host) == []
    said = host.journal(f"HEALTHD_HOLD={hold['id']}", f"UNIT={unit}")
    assert "while healthd was away" in said[-1]["HEALTHD_ENDING"]
    host.wait_for(lambda: face(host, unit) == ("green", "ok"))


def test_a_descriptor_without_a_record_is_let_go(fresh_host: Host) -> None:
    """The store was deleted, which is a first start: nobody knows what is held, so nothing is."""
    host = fresh_host
    unit = sleeper(host, "hold-forgotten.service")
    with held(host, unit):
        host.run("systemctl", "stop", "healthd.service")
        host.run("sh", "-c", "rm -rf /var/lib/healthd/*")
        host.run("systemctl", "start", "healthd.service")
        healthd_pid(host)
        assert holds(host) == []
        host.wait_for(lambda: stored(host) == "0")
        host.wait_for(lambda: face(host, unit) == ("green", "ok"))


def test_a_holder_that_is_killed_holds_no_longer_and_what_it_broke_is_told(host: Host) -> None:
    """Each unit has its grace; one that is still failing after it is told as any other."""
    unit = sleeper(host, "hold-killed.service")
    host.settings(f"units: {{{unit}: {{grace: 5s}}}}\n")
    with held(host, unit):
        kill(host, unit)
        host.wait_for(lambda: face(host, unit) == HELD)
        [hold] = holds(host)
        assert hold["why"] == "by hand"
        host.run("kill", "-KILL", str(hold["pid"]))
        host.wait_for(lambda: holds(host) == [])
    incident = incident_in(host, unit, "engaged")
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged"])


def test_an_incident_from_before_the_hold_is_not_told_again_after_it(host: Host) -> None:
    """Whoever repairs it under a hold was told already; their own failure is no news."""
    unit = sleeper(host, "hold-before.service")
    host.settings(f"units: {{{unit}: {{grace: 5s}}}}\n")
    kill(host, unit)
    incident = incident_in(host, unit, "engaged")
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged"])
    with held(host, unit):
        host.wait_for(lambda: incidents(host, unit)[0]["idle"] == "held")
        host.run("systemctl", "restart", unit)
        kill(host, unit)
    host.wait_for(lambda: face(host, unit) == ("red", "failed"), 60)
    [after] = incidents(host, unit)
    assert (after["id"], after["phase"], after["idle"]) == (incident["id"], "engaged", None)
    assert told(host, incident["id"]) == ["engaged"]


def test_who_may_not_hold_runs_nothing(host: Host) -> None:
    """Anybody who could would blind healthd for every service of the machine."""
    unit = sleeper(host, "hold-rights.service")
    asked = ("healthctl", "hold", unit, "--", "touch", "/tmp/hold-ran")
    refused = host.run(*asked, user="nobody", check=False)
    assert refused.rc == 4, refused.err
    assert host.run("test", "-e", "/tmp/hold-ran", check=False).rc != 0
    unknown = host.run("healthctl", "hold", "hold-ghost", "--", "true", check=False)
    assert (unknown.rc, holds(host)) == (2, [])
    assert "systemd knows no unit hold-ghost.service" in unknown.err
