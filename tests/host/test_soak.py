"""Hours of services dying one after another: what healthd must not lose, and not gather."""

from __future__ import annotations

import os
import re
import time

import pytest

from tests.host.machine import Host
from tests.host.watching import QUICK, incident_in, kill

DURATION_S = float(os.environ.get("SOAK_S", "3600"))
#: Each service dies once: a unit's own restart budget is four an hour.
SERVICES = 200

SERVICE = """\
[Service]
ExecStart=/bin/sleep infinity
"""


def _footprint(host: Host) -> tuple[int, int]:
    """Open descriptors and proportional memory (kB) of the daemon."""
    pid = host.unit_property("healthd.service", "MainPID")
    descriptors = len(host.run("ls", f"/proc/{pid}/fd").out.split())
    memory = re.search(r"^Pss:\s+(\d+)", host.read(f"/proc/{pid}/smaps_rollup"), re.MULTILINE)
    return descriptors, int(memory[1]) if memory else 0


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_every_death_is_one_incident_and_nothing_piles_up(fresh_host: Host) -> None:
    """A leak of one descriptor an incident takes a watcher down in the night it is needed."""
    host = fresh_host
    units = [f"soak@{number}.service" for number in range(SERVICES)]
    host.unit("soak@.service", SERVICE)
    host.run("systemctl", "start", *units, timeout_s=120)
    budget = "budget: {unit: 4 per 1h, machine: 60 per 1min}"
    host.settings(f"{QUICK}repair: {{allow_restart: [{', '.join(units)}], {budget}}}\n")
    pid = host.unit_property("healthd.service", "MainPID")
    died: list[str] = []
    at_first = (0, 0)
    ends = time.monotonic() + DURATION_S
    while time.monotonic() < ends and len(died) < SERVICES:
        unit = units[len(died)]
        kill(host, unit)
        died.append(unit)
        incident_in(host, unit, "closed", 120)
        if len(died) == 3:
            at_first = _footprint(host)
    descriptors, memory_kb = _footprint(host)
    endings = [i["ending"] for i in host.healthctl("incidents", "--limit", "1000")]
    assert endings == ["self_healed"] * len(died)
    assert host.unit_property("healthd.service", "MainPID") == pid
    assert descriptors <= at_first[0] + 2
    # An incident is kept and read back from disk; what stays in memory of it is small.
    assert memory_kb <= at_first[1] + 2048 + 20 * len(died)
