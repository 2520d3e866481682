"""Write down what healthd costs on a booted machine. Judges nothing: figures are for comparing.

idle: CPU time, wake-ups and memory of the daemon while it watches services at rest.
death: from `kill -9` of a service to the arrival of CheckChanged at a listener.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from functools import partial
from pathlib import Path

from tests.host import machine, package
from tests.host.machine import Host
from tests.host.watching import check_changes, signals

REPORT = package.CHECKOUT / "build/bench/healthd.json"

RESTING_SERVICE = """\
[Unit]
Description=Resting service %i

[Service]
ExecStart=/bin/sleep infinity
"""


def rest(host: Host, services: int) -> None:
    """Start *services* of which none ever does anything, and wait until healthd watches them."""
    host.unit("resting@.service", RESTING_SERVICE)
    names = [f"resting@{number}.service" for number in range(services)]
    host.run("systemctl", "start", *names, timeout_s=120)
    host.wait_for(lambda: _resting_checks(host) >= services, 120)


def _resting_checks(host: Host) -> int:
    return sum(check["key"].startswith("liveness:resting@") for check in host.healthctl("checks"))


def idle(host: Host, duration_s: float) -> dict[str, float]:
    """What the daemon used in *duration_s* in which nothing happened."""
    pid = host.unit_property("healthd.service", "MainPID")
    before = _used(host, pid)
    began = time.monotonic()
    time.sleep(duration_s)
    after = _used(host, pid)
    lasted_s = time.monotonic() - began
    memory = host.read(f"/proc/{pid}/smaps_rollup")
    return {
        "cpu_ms_per_s": round(1000 * (after[0] - before[0]) / lasted_s, 3),
        "wakeups_per_s": round((after[1] - before[1]) / lasted_s, 3),
        "rss_bytes": _kilobytes("Rss", memory) * 1024,
        "pss_bytes": _kilobytes("Pss", memory) * 1024,
    }


def _used(host: Host, pid: str) -> tuple[float, int]:
    """CPU seconds and voluntary switches of all threads of *pid* so far."""
    # schedstat counts nanoseconds; the ticks of stat are too coarse for a daemon at rest.
    lines = host.run(
        "sh", "-c", f"cat /proc/{pid}/task/*/schedstat; cat /proc/{pid}/task/*/status"
    ).out
    nanoseconds = [int(line.split()[0]) for line in lines.splitlines() if re.match(r"\d+ ", line)]
    switches = re.findall(r"^voluntary_ctxt_switches:\s+(\d+)", lines, re.MULTILINE)
    return sum(nanoseconds) / 1e9, sum(map(int, switches))


def _kilobytes(name: str, smaps: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", smaps, re.MULTILINE)
    return int(found[1]) if found else 0


def death(host: Host, rounds: int) -> dict[str, float]:
    """Milliseconds from a kill to its CheckChanged, of as many services as *rounds* says."""
    took = []
    with signals(host) as seen:
        for number in range(rounds):
            unit = f"resting@{number}.service"
            pid = host.unit_property(unit, "MainPID")
            killed_at = int(host.run("sh", "-c", f"date +%s%6N && kill -9 {pid}").out)
            changes = partial(check_changes, seen, f"liveness:{unit}")
            took.append((host.wait_for(changes)[0][0] - killed_at) / 1000)
    return {"median_ms": round(statistics.median(took), 1), "longest_ms": round(max(took), 1)}


def main() -> int:
    """What `make bench` does."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=120, help="how long to look at rest")
    options.add_argument("--rounds", type=int, default=15, help="how many services are killed")
    given = options.parse_args()
    figures: dict[str, dict[str, float]] = {}
    with machine.boot(package.machine_tree("host"), "bench") as host:
        host.install(*package.packages())
        rest(host, 100)
        figures["idle, 100 services"] = idle(host, given.seconds)
        figures["death, 100 services"] = death(host, given.rounds)
    _write_down(REPORT, figures)
    return 0


def _write_down(report: Path, figures: dict[str, dict[str, float]]) -> None:
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(figures, indent=2) + "\n")
    for what, measured in figures.items():
        print(f"{what}: " + ", ".join(f"{name} {value}" for name, value in measured.items()))
    print(f"written to {report}")


if __name__ == "__main__":
    sys.exit(main())
