"""A stop while somebody holds dpkg's lock is told from a person's, by healthd in its sandbox."""

from __future__ import annotations

from tests.host.machine import Host, end
from tests.host.watching import check, face, incidents, sleeper

# As apt does it: a record lock of fcntl(2), and not flock(2).
HOLD = """
import fcntl, time
lock = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


def _summary(host: Host, unit: str) -> str:
    row = check(host, unit)
    return row["summary"] if row else ""


def test_what_a_package_run_stopped_is_yellow_once_it_is_over(host: Host) -> None:
    """A maintainer script that failed half way leaves a service down that nobody stopped."""
    unit = sleeper(host, "packages-stopped.service")
    run = host.start("python3", "-c", HOLD)
    assert run.stdout is not None
    try:
        assert run.stdout.readline() == "held\n"
        host.run("systemctl", "stop", unit)
        words = "stopped by a package run, which is not over"
        host.wait_for(lambda: _summary(host, unit) == words)
        assert face(host, unit) == ("grey", "stopped")
    finally:
        end(run)
    host.wait_for(lambda: _summary(host, unit) == "stopped by a package run")
    host.wait_for(lambda: face(host, unit) == ("yellow", "degraded"), 120)
    assert _summary(host, unit) == "stopped by a package run and not started again"
    assert incidents(host, unit) == []
    host.run("systemctl", "start", unit)
    host.wait_for(lambda: face(host, unit) == ("green", "ok"))


def test_a_stop_without_a_package_run_is_a_persons(host: Host) -> None:
    """No lock, no suspicion: it stays grey."""
    unit = sleeper(host, "packages-not.service")
    host.run("systemctl", "stop", unit)
    host.wait_for(lambda: _summary(host, unit) == "stopped")
    assert face(host, unit) == ("grey", "stopped")
