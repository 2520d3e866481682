"""`healthctl monitor`: whom it believes, and what it says when healthd comes and goes."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

from jeepney import HeaderFields, message_bus, new_method_call, new_signal
from jeepney.io.blocking import open_dbus_connection

from healthd.ctl.main import Exit
from tests.bus.healthctl import stand_in
from tests.bus.healthctl.running import PROGRAM
from tests.bus.healthctl.stand_in import CHECK, MANAGER, StandIn


class Monitor:
    """A running `healthctl monitor`."""

    def __init__(self, healthd: StandIn, *options: str) -> None:
        healthd.snapshot_read.clear()
        self._process = subprocess.Popen(
            [*PROGRAM, "monitor", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert healthd.snapshot_read.wait(30)

    def line(self) -> str:
        """The next line, waited for, without its time."""
        assert self._process.stdout is not None
        return self._process.stdout.readline().rstrip("\n").partition("  ")[2]

    def record(self) -> Any:
        """The next line as JSON."""
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def stop(self) -> tuple[int, str]:
        """Interrupt it, as a person does; its exit code and what it complained of."""
        self._process.send_signal(signal.SIGINT)
        _, err = self._process.communicate(timeout=30)
        return self._process.returncode, err


def _spoof(address: str, row: Any) -> None:
    """Send CheckChanged to everybody on the bus by unicast, as any user can."""
    with open_dbus_connection(address) as stranger:
        call = new_method_call(message_bus, "ListNames")
        (names,) = stranger.send_and_get_reply(call, timeout=10).body
        for name in names:
            if name.startswith(":") and name != stranger.unique_name:
                body = (row[0], "green", "red", 2**40, row)
                message = new_signal(MANAGER, "CheckChanged", f"ssst{CHECK}", body)
                message.header.fields[HeaderFields.destination] = name
                stranger.send(message)
        # An answered call: the bus has passed on all that was sent before it.
        stranger.send_and_get_reply(call, timeout=10)


def test_monitor_prints_changes_and_believes_only_healthd(healthd: StandIn, bus: str) -> None:
    """Any local user can send a signal that looks like ours."""
    monitor = Monitor(healthd)
    assert monitor.line() == "healthd is here: 1 red, 2 green"
    _spoof(bus, stand_in.check("liveness:forged.service", "red", "failed", "spoofed"))
    healthd.change(
        stand_in.check("liveness:nginx.service", "red", "failed", "exit code 1"), "green"
    )
    assert monitor.line() == "liveness:nginx.service  green → red failed: exit code 1"
    incident = stand_in.incident(43, "liveness:nginx.service", "repairing", "exit code 1")
    signature = f"stt{stand_in.INCIDENT}"
    healthd.emit("IncidentOpened", signature, "liveness:nginx.service", 43, 102, incident)
    assert monitor.line() == "incident 43 opened  liveness:nginx.service  repairing"
    assert monitor.stop() == (Exit.INTERRUPTED, "")


def test_monitor_passes_over_what_it_does_not_know(healthd: StandIn) -> None:
    """A later healthd sends more signals, or longer ones."""
    monitor = Monitor(healthd, "--json")
    assert monitor.record()["event"] == "healthd_here"
    healthd.emit("Weather", "s", "fine")
    healthd.emit("CheckRemoved", "stb", "liveness:cron.service", 101, True)
    # Its number says that the snapshot held it already.
    healthd.emit("CheckRemoved", "st", "liveness:cron.service", 100)
    healthd.emit("CheckRemoved", "st", "liveness:nginx.service", 102)
    record = monitor.record()
    assert (record["event"], record["key"]) == ("check_removed", "liveness:nginx.service")
    monitor.stop()


def test_monitor_follows_healthd_over_a_restart(healthd: StandIn, bus: str) -> None:
    """What changed meanwhile is told when it is back, or the last line would be wrong."""
    monitor = Monitor(healthd)
    assert monitor.line() == "healthd is here: 1 red, 2 green"
    healthd.close()
    assert monitor.line() == "healthd went away"
    successor = StandIn(bus)
    # As a daemon does: it owns its name when it can answer; this one answers from the start.
    try:
        assert monitor.line() == "healthd is here: nothing is watched"
        removed = {monitor.line() for _ in range(3)}
        assert "liveness:cron.service  no longer watched" in removed
        successor.change(stand_in.check("liveness:a.service", "yellow", "suspect", "?"), "")
        assert monitor.line() == "liveness:a.service  yellow suspect: ?"
    finally:
        successor.close()
        monitor.stop()
