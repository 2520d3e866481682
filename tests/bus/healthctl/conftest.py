"""healthctl's own bus, and a stand-in for healthd on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.bus.healthctl import stand_in
from tests.bus.healthctl.stand_in import NOW, StandIn


@pytest.fixture
def bus(private_bus: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a bus on which nobody is yet; healthctl takes it for the system's."""
    for name in ("COLUMNS", "NO_COLOR", "PAGER", "SYSTEMD_COLORS", "SYSTEMD_PAGER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", private_bus)
    return private_bus


@pytest.fixture
def healthd(bus: str) -> Iterator[StandIn]:
    """A healthd that watches a well nginx and a broken cron; one incident is open, one closed."""
    stand = StandIn(bus)
    stand.state = "red"
    stand.checks = [
        stand_in.check("liveness:cron.service", "red", "failed", "exit code 3"),
        stand_in.check("liveness:nginx.service", "green", "ok", "running"),
        stand_in.check("readiness:nginx.service", "green", "ok", "200 in 2 ms"),
    ]
    told: Any = ("a(tssa{sv})", [(NOW, "engaged", "journal", {})])
    stand.open_incidents = [
        stand_in.incident(42, "liveness:cron.service", "engaged", "exit code 3", told=told)
    ]
    closed = stand_in.incident(41, "liveness:nginx.service", "closed", "killed by SIGKILL")
    stand.history = [*stand.open_incidents, closed]
    yield stand
    stand.close()
