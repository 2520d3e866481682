"""Words for the tests of the running daemon: units to break, and questions about checks."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from tests.host.machine import Host

#: A settled churn is awaited for seconds here, not two minutes.
QUICK = "watch: {crash_loop: {quiet: 10s}}\n"

SLEEPER = (
    "[Service]\nExecStart=/bin/sleep infinity\n{more}\n[Install]\nWantedBy=multi-user.target\n"
)


def sleeper(host: Host, name: str, more: str = "") -> str:
    """A service that runs until it is ended, enabled and started."""
    host.unit(name, SLEEPER.format(more=more))
    host.run("systemctl", "enable", "--now", "--quiet", name)
    host.wait_for(lambda: face(host, name) == ("green", "ok"))
    return name


def listing(host: Host, *units: str, more: str = QUICK) -> None:
    """Have these units on the allowlist.

    The tests that share a machine have none of them spend the budget of another.
    """
    budget = "budget: {machine: 60 per 1min}"
    host.settings(f"{more}repair: {{allow_restart: [{', '.join(units)}], {budget}}}\n")


def kill(host: Host, unit: str, signal: str = "KILL") -> None:
    """End a unit's main process from outside, as the kernel or a stranger would."""
    host.run("kill", f"-{signal}", host.unit_property(unit, "MainPID"))


def check(host: Host, key: str) -> dict[str, Any] | None:
    """The row of a check; a unit's name means its liveness."""
    key = key if ":" in key else f"liveness:{key}"
    rows = host.healthctl("checks")
    return next((row for row in rows if row["key"] == key), None)


def rows_of(host: Host, keys: Collection[str]) -> list[dict[str, Any]]:
    """The rows of these checks, those that there are."""
    return [row for row in host.healthctl("checks") if row["key"] in keys]


def face(host: Host, key: str) -> tuple[str, str]:
    """State and reason of a check, empty where there is no such check."""
    row = check(host, key)
    return (row["state"], row["reason"]) if row else ("", "")


def incidents(host: Host, unit: str) -> list[dict[str, Any]]:
    """All incidents of a unit, newest first."""
    return [i for i in host.healthctl("incidents", "--limit", "200") if i["unit"] == unit]


def incident_in(host: Host, unit: str, phase: str, limit_s: float = 60) -> dict[str, Any]:
    """The newest incident of *unit*, once it stands in *phase*."""

    def seen() -> dict[str, Any] | None:
        found = incidents(host, unit)
        return found[0] if found and found[0]["phase"] == phase else None

    return host.wait_for(seen, limit_s)


def told(host: Host, incident: int) -> list[str]:
    """The editions that the journal has of one incident's notice, in order."""
    entries = host.journal(f"HEALTHD_INCIDENT={incident}", "_SYSTEMD_UNIT=healthd.service")
    return [entry["HEALTHD_EDITION"] for entry in entries if "HEALTHD_EDITION" in entry]


def notices(host: Host) -> list[tuple[str, str]]:
    """Every notice that the journal has: its edition and the unit that it is about, in order."""
    entries = host.journal("_SYSTEMD_UNIT=healthd.service")
    return [(e["HEALTHD_EDITION"], e["UNIT"]) for e in entries if "HEALTHD_EDITION" in e]


def starts(host: Host, unit: str) -> int:
    """How often PID 1 started *unit*, or failed to."""
    done, failed = "39f53479d3a045ac8e11786248231fbf", "be02cf6855d2428ba40df7e9d022f03d"
    return len(host.journal("_PID=1", f"UNIT={unit}", f"MESSAGE_ID={done}", f"MESSAGE_ID={failed}"))


LISTENER = """
import json, time
from jeepney import DBusAddress, MatchRule, message_bus
from jeepney.io.blocking import Proxy, open_dbus_connection
connection = open_dbus_connection(bus="SYSTEM")
rule = MatchRule(type="signal", interface="org.healthd1.Manager")
Proxy(message_bus, connection).AddMatch(rule)
print("ready", flush=True)
while True:
    message = connection.receive()
    member = message.header.fields.get(3)
    print(json.dumps({"at": time.time_ns() // 1000, "member": member, "body": message.body},
                     default=str), flush=True)
"""


@contextmanager
def signals(host: Host) -> Iterator[list[dict[str, Any]]]:
    """healthd's signals while the block runs: `at` (wall µs of their arrival), member, body."""
    seen: list[dict[str, Any]] = []
    listener = host.start("python3", "-c", LISTENER)
    ready = threading.Event()

    def read() -> None:
        assert listener.stdout is not None
        for line in listener.stdout:
            ready.set()
            if line.startswith("{"):
                seen.append(json.loads(line))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        assert ready.wait(10), "the listener did not come up"
        yield seen
    finally:
        listener.kill()
        listener.wait(10)
        reader.join(10)


def check_changes(seen: list[dict[str, Any]], key: str) -> list[tuple[int, str, str]]:
    """Of these signals: when (µs), the new state and the reason of each CheckChanged of *key*."""
    return [
        (signal["at"], signal["body"][2], signal["body"][4][3])
        for signal in list(seen)
        if signal["member"] == "CheckChanged" and signal["body"][0] == key
    ]
