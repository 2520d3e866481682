"""Nothing is lost or repeated when healthd, the bus or systemd itself starts anew."""

from __future__ import annotations

from tests.host import package
from tests.host.machine import Host
from tests.host.watching import (
    SLEEPER,
    face,
    incident_in,
    incidents,
    kill,
    listing,
    sleeper,
    starts,
    told,
)


def _kill_healthd(host: Host) -> None:
    """End healthd as an out-of-memory kill would, and wait until it answers again."""
    before = host.unit_property("healthd.service", "MainPID")
    host.run("kill", "-KILL", before)
    host.wait_for(lambda: host.unit_property("healthd.service", "MainPID") not in ("0", before))
    host.wait_until("busctl", "--auto-start=no", "status", "org.healthd1")
    host.wait_until("healthctl", "checks")


def test_killed_in_the_middle_of_a_repair_it_makes_no_second_attempt(host: Host) -> None:
    """The attempt was recorded before it was made; the job is PID 1's and completes."""
    unit = "survive-repair.service"
    host.unit(
        unit,
        "[Service]\nType=notify\nNotifyAccess=all\n"
        "ExecStart=/bin/sh -c 'test -e /run/slow && sleep 12; "
        "systemd-notify --ready; exec sleep infinity'\n"
        "[Install]\nWantedBy=multi-user.target\n",
    )
    host.run("systemctl", "enable", "--now", "--quiet", unit)
    host.wait_for(lambda: face(host, unit) == ("green", "ok"))
    listing(host, unit)
    host.run("touch", "/run/slow")
    kill(host, unit)
    host.wait_for(lambda: host.unit_property(unit, "ActiveState") == "activating", 30)
    _kill_healthd(host)
    closed = incident_in(host, unit, "closed", limit_s=120)
    assert (closed["attempts"], closed["ending"]) == (1, "self_healed")
    assert closed["tried"][0]["result"] == "unknown"
    assert starts(host, unit) == 2
    assert told(host, closed["id"]) == []
    host.run("rm", "/run/slow")


def test_an_engaged_incident_survives_a_kill_and_is_not_told_again(host: Host) -> None:
    """Every restart that repeats every alert teaches people to ignore alerts."""
    unit = sleeper(host, "survive-engaged.service")
    kill(host, unit)
    incident = incident_in(host, unit, "engaged")
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged"])
    _kill_healthd(host)
    host.wait_for(lambda: face(host, unit) == ("red", "failed"))
    [after] = incidents(host, unit)
    assert (after["id"], after["phase"], after["attempts"]) == (incident["id"], "engaged", 0)
    host.run("healthctl", "look", f"liveness:{unit}", check=False)
    assert told(host, incident["id"]) == ["engaged"]


def test_what_died_while_healthd_was_away_is_found_out(host: Host) -> None:
    """The journal says how it ended: by itself is an incident, a stop is not."""
    died, stopped = sleeper(host, "survive-died.service"), sleeper(host, "survive-stopped.service")
    host.run("systemctl", "stop", "healthd.service")
    kill(host, died, "TERM")
    host.run("systemctl", "stop", stopped)
    host.run("systemctl", "start", "healthd.service")
    host.wait_for(lambda: face(host, died) == ("red", "exited"), 60)
    assert face(host, stopped) == ("grey", "stopped")
    incident = incident_in(host, died, "engaged")
    assert not incident["found"]
    assert incidents(host, stopped) == []


def test_after_a_restart_of_the_bus_it_is_not_deaf(fresh_host: Host) -> None:
    """A daemon that lives on without hearing anything looks healthy and is not."""
    host = fresh_host
    unit = sleeper(host, "survive-bus.service")
    host.run("systemctl", "restart", "dbus.service", timeout_s=60)
    host.wait_until("healthctl", "checks", limit_s=30)
    kill(host, unit)
    incident_in(host, unit, "engaged", limit_s=60)


def test_reload_and_reexec_of_systemd_change_nothing(host: Host) -> None:
    """No false alarm in the window in which PID 1 drops and re-adds every unit."""
    unit = sleeper(host, "survive-reexec.service")
    for verb in ("daemon-reload", "daemon-reexec", "daemon-reload"):
        host.run("systemctl", verb)
    kill(host, unit)
    incident_in(host, unit, "engaged", limit_s=60)
    assert len(incidents(host, unit)) == 1
    broken = [i for i in host.healthctl("incidents", "--open") if i["unit"] != unit]
    assert [i for i in broken if not i["unit"].startswith("survive-")] == []


def test_first_start_finds_old_failures_and_leaves_them_alone(bare_host: Host) -> None:
    """A machine's old troubles are one notice, not an alarm, and nothing is restarted for them."""
    host = bare_host
    host.unit("old-trouble.service", "[Service]\nExecStart=/bin/false\n")
    host.run("systemctl", "start", "old-trouble.service", check=False)
    host.write("/etc/healthd/healthd.yaml", "repair: {allow_restart: [old-trouble.service]}\n")
    host.install(*package.packages())
    host.wait_until("healthctl", "checks")
    incident = host.wait_for(lambda: incidents(host, "old-trouble.service"), 60)[0]
    assert incident["found"]
    [digest] = host.wait_for(lambda: host.journal("HEALTHD_EDITION=found"), 60)
    assert digest["HEALTHD_TITLE"] == "Found at first start: 1 unit"
    host.wait_for(lambda: incidents(host, "old-trouble.service")[0]["told"][0]["channel"])
    host.run("healthctl", "look", check=False)
    assert starts(host, "old-trouble.service") == 1
    assert incidents(host, "old-trouble.service")[0]["notices"] == 1
    assert told(host, incident["id"]) == []


def test_what_ended_by_itself_before_we_came_is_found_and_stays_found(bare_host: Host) -> None:
    """The journal knows how it ended; a restart of healthd makes no alarm of it."""
    host = bare_host
    unit = "old-end.service"
    host.unit(unit, SLEEPER.format(more=""))
    host.run("systemctl", "enable", "--now", "--quiet", unit)
    host.run("kill", "-TERM", host.unit_property(unit, "MainPID"))
    host.install(*package.packages())
    host.wait_for(lambda: face(host, unit) == ("red", "exited"), 60)
    host.run("systemctl", "restart", "healthd.service")
    host.wait_until("healthctl", "checks")
    host.run("healthctl", "look", f"liveness:{unit}", check=False)
    [found] = incidents(host, unit)
    assert found["found"]
    assert told(host, found["id"]) == []


def test_a_new_store_gives_no_number_twice(fresh_host: Host) -> None:
    """`healthctl show 1` and the journal must not mean two incidents by one number."""
    host, unit = fresh_host, sleeper(fresh_host, "survive-numbers.service")
    kill(host, unit)
    first = incident_in(host, unit, "engaged")
    host.run("systemctl", "stop", "healthd.service")
    host.run("sh", "-c", "rm -rf /var/lib/healthd/*")
    host.run("systemctl", "start", "healthd.service")
    found = host.wait_for(lambda: incidents(host, unit), 60)[0]
    assert found["found"]
    assert found["id"] > first["id"]
