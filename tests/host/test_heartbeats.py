"""Timers of a real systemd: whether their jobs ran and succeeded, and who is told of it."""

from __future__ import annotations

from tests.host.machine import Host
from tests.host.watching import (
    check,
    face,
    incident_in,
    incidents,
    listing,
    starts,
    told,
)

_SERVICE = "[Service]\nType=oneshot\nExecStart=/bin/sh -c '{command}'\n"
_TIMER = "[Timer]\nOnCalendar=2099-01-01\nOnUnitActiveSec=1d\n[Install]\nWantedBy=timers.target\n"


def job(host: Host, name: str, command: str) -> str:
    """A oneshot and its timer, which is enabled and started. Returns the timer's heartbeat."""
    host.unit(f"{name}.service", _SERVICE.format(command=command))
    host.unit(f"{name}.timer", _TIMER)
    host.run("systemctl", "enable", "--now", "--quiet", f"{name}.timer")
    key = f"heartbeat:{name}.timer"
    host.wait_for(lambda: check(host, key), 60)
    return key


def run(host: Host, name: str) -> None:
    """What the timer does."""
    host.run("systemctl", "start", f"{name}.service", check=False)


def test_a_failing_job_is_one_incident_until_a_run_succeeds(host: Host) -> None:
    """The next night's failure belongs to the same incident; one good run ends it."""
    key = job(host, "beat-fails", "test -e /run/beat-good")
    assert face(host, key) == ("grey", "starting")
    run(host, "beat-fails")
    incident = incident_in(host, "beat-fails.timer", "engaged")
    assert (incident["reason"], incident["remedy"]) == (
        "failed",
        "systemctl start beat-fails.service",
    )
    row = check(host, key)
    assert row is not None
    assert row["summary"].startswith("exit code 1, last run ")
    run(host, "beat-fails")
    assert [i["id"] for i in incidents(host, "beat-fails.timer")] == [incident["id"]]
    host.run("touch", "/run/beat-good")
    run(host, "beat-fails")
    closed = incident_in(host, "beat-fails.timer", "closed")
    assert (closed["id"], closed["ending"]) == (incident["id"], "user_fixed")
    assert told(host, incident["id"]) == ["engaged", "cleared"]
    assert face(host, key) == ("green", "ok")
    assert check(host, "liveness:beat-fails.service") is None


def test_a_listed_job_is_run_once_more(host: Host) -> None:
    """A job that failed for a moment's reason needs nobody; it is never run a third time."""
    key = job(host, "beat-again", "test -e /run/beat-again || ! touch /run/beat-again")
    listing(host, "beat-again.service")
    run(host, "beat-again")
    closed = incident_in(host, "beat-again.timer", "closed", 90)
    assert closed["ending"] == "self_healed"
    assert [a["repairer"] for a in closed["tried"]] == ["rerun"]
    assert told(host, closed["id"]) == []
    assert starts(host, "beat-again.service") == 2
    assert face(host, key) == ("green", "ok")
    key = job(host, "beat-never", "false")
    listing(host, "beat-never.service")
    run(host, "beat-never")
    engaged = incident_in(host, "beat-never.timer", "engaged", 90)
    assert engaged["attempts"] == 1
    assert starts(host, "beat-never.service") == 2


def test_a_stopped_timer_is_grey_and_a_dead_one_is_overdue(host: Host) -> None:
    """Stopped on purpose is nobody's fault; wanted, and down though nobody asked, is dead."""
    key = job(host, "beat-stop", "true")
    run(host, "beat-stop")
    host.wait_for(lambda: face(host, key) == ("green", "ok"))
    host.run("systemctl", "stop", "beat-stop.timer")
    host.wait_for(lambda: face(host, key) == ("grey", "stopped"))
    assert incidents(host, "beat-stop.timer") == []
    host.unit("beat-dead.service", _SERVICE.format(command="true"))
    host.unit("beat-dead.timer", _TIMER)
    host.run("systemctl", "enable", "--quiet", "beat-dead.timer")
    host.wait_for(lambda: face(host, "heartbeat:beat-dead.timer") == ("red", "overdue"))
    incident = incident_in(host, "beat-dead.timer", "engaged")
    assert incident["remedy"] == "systemctl start beat-dead.timer"
    assert told(host, incident["id"]) == ["engaged"]
    host.run("systemctl", "start", "beat-dead.timer")
    assert incident_in(host, "beat-dead.timer", "closed")["id"] == incident["id"]
    assert told(host, incident["id"]) == ["engaged", "cleared"]


def test_the_ledger_outlives_healthd(host: Host) -> None:
    """What ran while healthd was away is found in the journal, and told once."""
    key = job(host, "beat-gap", "test ! -e /run/beat-bad")
    run(host, "beat-gap")
    host.wait_for(lambda: face(host, key) == ("green", "ok"))
    host.run("touch", "/run/beat-bad")
    host.run("systemctl", "stop", "healthd.service", timeout_s=120)
    run(host, "beat-gap")
    # Nothing of it is left in systemd.
    host.run("systemctl", "reset-failed", "beat-gap.service")
    host.run("systemctl", "start", "healthd.service", timeout_s=120)
    incident = incident_in(host, "beat-gap.timer", "engaged")
    assert incident["reason"] == "failed"
    host.run("systemctl", "restart", "healthd.service", timeout_s=120)
    host.wait_for(lambda: face(host, key) == ("red", "failed"))
    assert told(host, incident["id"]) == ["engaged"]


def test_stock_timers_make_no_noise(host: Host) -> None:
    """Those that Debian ships, at rest, with a condition, or a fortnight away, are no finding."""
    rows = [row for row in host.healthctl("checks") if row["aspect"] == "heartbeat"]
    stock = [row for row in rows if not row["unit"].startswith("beat-")]
    assert "heartbeat:systemd-tmpfiles-clean.timer" in {row["key"] for row in stock}
    assert {row["state"] for row in stock} <= {"green", "grey"}, stock
