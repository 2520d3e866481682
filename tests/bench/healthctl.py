"""What healthctl costs from start to output beside `systemctl list-units`, in the same run.

Judges nothing: prints medians and how many times systemctl's they are. All runs are on a booted
machine that watches many services, the commands taken in turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys

from tests.host import machine, package
from tests.host.machine import Host

SERVICES = 300
ROUNDS = 21

COMMANDS = {
    "systemctl list-units": ["systemctl", "list-units", "--no-pager"],
    "healthctl checks": ["healthctl", "checks", "--no-pager"],
    "healthctl status": ["healthctl", "status", "--no-pager"],
    "healthctl checks --json": ["healthctl", "checks", "--json"],
    "healthctl --version": ["healthctl", "--version"],
    "python3 -c pass": ["python3", "-c", "pass"],
}
#: Run inside: wall and CPU milliseconds of every run of every command.
IN_TURNS = """
import json, os, shutil, sys, time
rounds, commands = int(sys.argv[1]), json.loads(sys.argv[2])
silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
runs = {name: [] for name in commands}
for turn in range(rounds + 1):
    for name, argv in commands.items():
        began = time.perf_counter()
        pid = os.posix_spawn(shutil.which(argv[0]), argv, os.environ, file_actions=silent)
        used = os.wait4(pid, 0)[2]
        wall = time.perf_counter() - began
        if turn:  # The first one reads from the disk.
            runs[name].append((1000 * wall, 1000 * (used.ru_utime + used.ru_stime)))
print(json.dumps(runs))
"""
Figures = dict[str, dict[str, float]]


def measure(host: Host, rounds: int = ROUNDS) -> Figures:
    """Median wall and CPU of each command in ms, and each as a multiple of systemctl's."""
    arguments = (str(rounds), json.dumps(COMMANDS))
    runs = json.loads(host.run("python3", "-c", IN_TURNS, *arguments, timeout_s=600).out)
    medians = {
        name: [statistics.median(run[what] for run in taken) for what in (0, 1)]
        for name, taken in runs.items()
    }
    wall, cpu = medians["systemctl list-units"]
    return {
        name: {
            "wall_ms": round(own_wall, 1),
            "cpu_ms": round(own_cpu, 1),
            "wall_ratio": round(own_wall / wall, 2),
            "cpu_ratio": round(own_cpu / cpu, 2),
        }
        for name, (own_wall, own_cpu) in medians.items()
    }


def lines(figures: Figures) -> list[str]:
    """The figures, a line a command."""
    head = f"{'':28}{'wall ms':>9}{'CPU ms':>9}{'x wall':>9}{'x CPU':>9}"
    body = [
        f"{name:28}{f['wall_ms']:9}{f['cpu_ms']:9}{f['wall_ratio']:9}{f['cpu_ratio']:9}"
        for name, f in figures.items()
    ]
    return [head, *body]


def main() -> int:
    """Boot a machine, have it watch many services, measure, print."""
    from tests.bench.__main__ import rest

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--services", type=int, default=SERVICES)
    options.add_argument("--rounds", type=int, default=ROUNDS, help="runs of each command")
    given = options.parse_args()
    with machine.boot(package.machine_tree("host"), "healthctl") as host:
        host.install(*package.packages())
        rest(host, given.services)
        print(f"{given.services} services, medians of {given.rounds} runs in turns")
        print("\n".join(lines(measure(host, given.rounds))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
