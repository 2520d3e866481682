"""What is seen when an incident opens, on a real machine, by the installed package's own user."""

from __future__ import annotations

from typing import Any

from tests.host.machine import Host
from tests.host.watching import SLEEPER, face, incident_in, kill, listing, sleeper

#: A package of one file, built inside from nothing.
CONTROL = "Package: evidence-dummy\\nVersion: 1.0\\nArchitecture: all\\nMaintainer: nobody <n@o>\\n"
BUILD = (
    "mkdir -p /root/dummy/DEBIAN /root/dummy/usr/share/evidence-dummy && "
    "echo hello >/root/dummy/usr/share/evidence-dummy/file && "
    f"printf '{CONTROL}Description: nothing\\n' >/root/dummy/DEBIAN/control && "
    "dpkg-deb --build /root/dummy /root/dummy.deb && dpkg -i /root/dummy.deb"
)
SECRET = "PASSWORD=correct-horse"


def evidence_of(host: Host, incident: int) -> dict[str, Any]:
    """The evidence of an incident, once it is there."""

    def taken() -> dict[str, Any] | None:
        (row,) = host.healthctl("show", str(incident))["incidents"]
        found: dict[str, Any] | None = row["evidence"]
        return found

    return host.wait_for(taken)


def test_what_changed_before_a_service_died_is_named(host: Host) -> None:
    """A package, a drop-in, an environment file, a daemon-reload: the usual suspects, by name."""
    host.write("/etc/default/evid-changed", f"{SECRET}\n")
    more = "EnvironmentFile=/etc/default/evid-changed\nExecStartPre=/bin/echo words before the end"
    unit = sleeper(host, "evid-changed.service", more)
    listing(host, unit)
    host.run("sh", "-c", BUILD)
    host.run("mkdir", "-p", f"/etc/systemd/system/{unit}.d")
    drop_in = f"/etc/systemd/system/{unit}.d/evid.conf"
    host.run("sh", "-c", f"printf '[Service]\\nNice=1\\n' >{drop_in}")
    host.run("systemctl", "daemon-reload")
    kill(host, unit)
    incident = incident_in(host, unit, "closed")
    found = evidence_of(host, incident["id"])
    changed = [row["what"] for row in found["changes"]]
    assert "dpkg: installed evidence-dummy:all 1.0" in changed
    assert drop_in in changed
    assert "/etc/default/evid-changed" in changed
    assert "systemd read the unit files again" in changed
    assert changed.index(drop_in) < len(changed) - changed[::-1].index(
        "systemd read the unit files again"
    )
    # The restart came after: what it wiped out is here.
    assert found["facts"]["state"] == "failed (failed)"
    assert found["facts"]["ended"] == "killed by SIGKILL"
    assert any("words before the end" in line for line in found["log"])
    assert any("systemd[1]" in line and "status=9/KILL" in line for line in found["log"])
    assert "correct-horse" not in repr(found)
    shown = host.run("healthctl", "show", str(incident["id"]), check=False).out
    for words in ("How it was:", "What changed in the 30 min before:", drop_in, "Its files:"):
        assert words in shown


def test_the_memory_of_what_died_is_kept_though_it_was_restarted(host: Host) -> None:
    """After the restart systemd shows the new run's; where the kernel counts none there is none."""
    unit = sleeper(host, "evid-memory.service", "MemoryAccounting=yes")
    listing(host, unit)
    counted = host.unit_property(unit, "MemoryPeak")
    kill(host, unit)
    incident = incident_in(host, unit, "closed")
    found = evidence_of(host, incident["id"])
    assert ("memory_peak" in found["facts"]) is counted.isdecimal()


def test_what_a_unit_needs_is_in_its_evidence(host: Host) -> None:
    """The first suspect of a service that fails is what it stands on."""
    provider = sleeper(host, "evid-below.service")
    unit = "evid-above.service"
    below = f"[Unit]\nRequires={provider}\nAfter={provider}\n"
    host.unit(unit, below + SLEEPER.format(more=""))
    host.run("systemctl", "enable", "--now", "--quiet", unit)
    host.wait_for(lambda: face(host, unit) == ("green", "ok"))
    listing(host)
    kill(host, unit)
    found = evidence_of(host, incident_in(host, unit, "engaged")["id"])
    assert [row for row in found["providers"] if row["unit"] == provider] == [
        {"unit": provider, "state": "green", "reason": "ok", "summary": "running"}
    ]
    host.run("systemctl", "restart", unit)


def test_evidence_is_not_for_everybody(host: Host) -> None:
    """Log lines and commands are for those who may read the journal anyway."""
    unit = sleeper(host, "evid-private.service")
    listing(host)
    kill(host, unit)
    incident = incident_in(host, unit, "engaged")
    evidence_of(host, incident["id"])
    said = host.run("healthctl", "show", str(incident["id"]), user="nobody", check=False).out
    assert "Evidence: not permitted" in said
    assert "Its last log lines" not in said
    host.run("systemctl", "restart", unit)


def test_why_is_for_everybody(host: Host) -> None:
    """A colour without its reason is a riddle; nobody needs a password to ask."""
    unit = sleeper(host, "evid-why.service")
    listing(host)
    kill(host, unit)
    incident_in(host, unit, "engaged")
    host.wait_for(lambda: host.healthctl("why", unit)[0]["told"])
    (told,) = host.healthctl("why", unit, user="nobody")
    assert (told["key"], told["state"]) == (f"liveness:{unit}", "red")
    assert told["rule"].startswith("`failed`, no job and no automatic restart pending")
    assert told["judged"].endswith("in a row, red from 2 on")
    assert told["notice"].startswith("told (engaged)")
    assert told["again"] > told["told"]
    assert [look["reason"] for look in told["looks"]][-2:] == ["suspect", "failed"]
    page = host.run("healthctl", "why", unit, user="nobody", check=False).out
    for words in ("Because: ", "Owner: told (engaged)", "The looks behind it:"):
        assert words in page
    missing = host.run("healthctl", "why", "evid-wy", check=False)
    assert missing.rc == 2
    assert f"did you mean {unit}?" in missing.err
    host.run("systemctl", "restart", unit)
