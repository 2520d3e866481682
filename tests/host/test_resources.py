"""Mounts and sockets that fail are found, floods of transient units are one line, a stock machine
is quiet.
"""

from __future__ import annotations

from tests.host.machine import Host
from tests.host.watching import check, face, incident_in, incidents, told

MOUNT = "[Mount]\nWhat=/nonexistent\nWhere=/kinds-broken\nType=ext4\n"
TMPFS = "[Mount]\nWhat=tmpfs\nWhere=/kinds-data\nType=tmpfs\n"
SOCKET = "[Socket]\nListenStream=127.0.0.1:{port}\n"
SERVICE = "[Service]\nExecStart=/bin/sleep infinity\n"


def test_a_stock_machine_is_quiet(fresh_host: Host) -> None:
    """No unit of any kind is yellow or red on a Debian that was just installed."""
    rows = fresh_host.healthctl("checks")
    assert [row["key"] for row in rows if row["state"] in ("yellow", "red")] == []
    kinds = {row["key"].rpartition(".")[2] for row in rows if row["aspect"] == "liveness"}
    assert {"service", "mount", "socket"} <= kinds
    assert fresh_host.healthctl("incidents") == []


def test_a_mount_that_fails_is_told(host: Host) -> None:
    """A disk that is not there is an outage that no service shows."""
    unit = "kinds\\x2dbroken.mount"
    host.unit(unit, MOUNT)
    host.settings("{}\n")
    host.run("systemctl", "start", unit, check=False)
    incident = incident_in(host, unit, "engaged")
    assert incident["reason"] == "failed"
    assert incident["summary"].startswith("exit code 32")
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged"])


def test_an_umount_by_hand_is_nobodys_fault(host: Host) -> None:
    """No job ends it: to systemd it looks like something that went away by itself."""
    unit = "kinds\\x2ddata.mount"
    host.unit(unit, f"{TMPFS}[Install]\nWantedBy=multi-user.target\n")
    host.run("systemctl", "enable", "--now", "--quiet", unit)
    host.wait_for(lambda: face(host, unit) == ("green", "ok"))
    host.run("umount", "/kinds-data")
    host.wait_for(lambda: face(host, unit) == ("grey", "stopped"))
    host.run("systemctl", "start", unit)
    host.wait_for(lambda: face(host, unit) == ("green", "ok"))
    assert incidents(host, unit) == []


def test_a_socket_that_cannot_listen_is_told(host: Host) -> None:
    """The port is somebody else's: what should be started by it never will be."""
    for name in ("kinds-first", "kinds-second"):
        host.unit(f"{name}.socket", SOCKET.format(port=4711))
        host.unit(f"{name}.service", SERVICE)
    host.settings("{}\n")
    host.run("systemctl", "start", "kinds-first.socket")
    host.run("systemctl", "start", "kinds-second.socket", check=False)
    incident = incident_in(host, "kinds-second.socket", "engaged")
    assert (incident["reason"], incident["notices"]) == ("failed", 1)
    host.wait_for(lambda: face(host, "kinds-first.socket") == ("green", "ok"))


def test_200_failed_transient_units_are_one_line(fresh_host: Host) -> None:
    """No check, no incident, no notice of any of them."""
    host, key = fresh_host, "host:transient-units"
    made = "for i in $(seq 200); do systemd-run --quiet --no-block false; done"
    host.run("sh", "-c", made, timeout_s=120)

    def all_counted() -> bool:
        row = check(host, key)
        return row is not None and row["summary"].startswith("200 transient units failed")

    host.wait_for(all_counted, 60)
    row = check(host, key)
    assert row is not None
    assert (row["state"], row["reason"]) == ("yellow", "degraded")
    assert "(exit code 1), of system.slice" in row["summary"]
    assert not [r for r in host.healthctl("checks") if r["key"].startswith("liveness:run-r")]
    assert host.healthctl("incidents") == []
    host.run("systemctl", "reset-failed")
    host.wait_for(lambda: check(host, key) is None)
