"""What somebody meant to do is no fault, and what systemd heals by itself is no incident."""

from __future__ import annotations

import pytest

from tests.host.machine import Host
from tests.host.watching import (
    check,
    face,
    incident_in,
    incidents,
    kill,
    listing,
    sleeper,
    starts,
    told,
)


def test_a_stopped_service_is_grey_and_left_alone(host: Host) -> None:
    """`systemctl stop` is not an outage: no incident, no restart, even of a listed unit."""
    unit = sleeper(host, "intent-stop.service")
    listing(host, unit)
    host.run("systemctl", "stop", unit)
    host.wait_for(lambda: face(host, unit) == ("grey", "stopped"))
    host.run("healthctl", "look", f"liveness:{unit}", check=False)
    assert face(host, unit) == ("grey", "stopped")
    assert incidents(host, unit) == []
    assert starts(host, unit) == 1


def test_stopped_during_its_incident_and_started_again_is_the_same_incident(host: Host) -> None:
    """A person at work on a broken service is not told twice."""
    unit = sleeper(host, "intent-during.service")
    kill(host, unit)
    incident = incident_in(host, unit, "engaged")
    host.run("systemctl", "restart", unit)
    host.run("systemctl", "stop", unit)
    host.wait_for(lambda: face(host, unit) == ("grey", "stopped"))
    [idle] = incidents(host, unit)
    assert (idle["id"], idle["idle"]) == (incident["id"], "stopped")
    host.run("systemctl", "start", unit)
    host.wait_for(lambda: face(host, unit)[0] in ("green", "yellow"))
    [again] = incidents(host, unit)
    assert again["id"] == incident["id"]
    assert told(host, incident["id"])[:2] in (["engaged"], ["engaged", "cleared"])


def test_one_crash_that_systemd_heals_slowly_is_churned(host: Host) -> None:
    """Restart=on-failure with RestartSec=12: seen, and nobody is troubled."""
    unit = sleeper(host, "intent-churn.service", "Restart=on-failure\nRestartSec=12")
    listing(host, unit)
    kill(host, unit)
    host.wait_for(lambda: face(host, unit) == ("yellow", "churned"))
    host.wait_for(lambda: face(host, unit) == ("green", "ok"), 60)
    assert incidents(host, unit) == []
    assert starts(host, unit) == 2
    row = check(host, unit)
    assert row is not None
    assert row["restarts"] == 1


@pytest.mark.parametrize("kind", ["simple", "notify"])
def test_a_service_that_restarts_for_ever_is_a_crash_loop(host: Host, kind: str) -> None:
    """Never `failed`, never at a start limit, and broken all the same.

    One that never gets ready (`notify`) is not even `active` for a moment.
    """
    unit = f"intent-{kind}-loop.service"
    host.unit(
        unit,
        "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sh -c 'sleep 1; exit 1'\n"
        f"Type={kind}\nRestart=always\nRestartSec=2\n[Install]\nWantedBy=multi-user.target\n",
    )
    listing(host, unit)
    host.run("systemctl", "enable", "--quiet", unit)
    host.run("systemctl", "start", "--no-block", unit)
    incident = incident_in(host, unit, "engaged", limit_s=90)
    assert incident["reason"] == "crash-loop"
    assert incident["attempts"] == 0, "systemd restarts it already"
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged"])


def test_a_disabled_and_removed_unit_is_gone(host: Host) -> None:
    """Neither red nor an exception: no check, and its incident ends without a word."""
    unit = sleeper(host, "intent-gone.service")
    kill(host, unit)
    incident = incident_in(host, unit, "engaged")
    host.run("systemctl", "disable", "--now", "--quiet", unit)
    host.remove_units(unit)
    host.wait_for(lambda: check(host, unit) is None, 60)
    [gone] = incidents(host, unit)
    assert (gone["id"], gone["ending"]) == (incident["id"], "gone")
    assert told(host, incident["id"]) == ["engaged"]
