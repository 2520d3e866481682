"""Records what an ordinary subscriber sees of some units for a while, and what is left afterwards.

Reads only; whoever records does to the units what is to be seen. See README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import time
from pathlib import Path
from typing import TextIO

from healthd.bus.connection import Connection, Signal
from healthd.host.matches import Matches, manager_rules
from healthd.host.unit_facts import invocation
from healthd.host.unit_path import MANAGER, ROOT, unit_path

SYSTEMD = "org.freedesktop.systemd1"
LIMIT_S = 5.0

#: The properties that decide, or by which a reading can be told from another.
KEPT = frozenset(
    (
        *("ActiveState", "SubState", "LoadState", "UnitFileState", "Job", "InvocationID"),
        *("Result", "ExecMainCode", "ExecMainStatus", "MainPID", "NRestarts", "ConditionResult"),
        *("ActiveEnterTimestampMonotonic", "ActiveExitTimestampMonotonic"),
        *("InactiveEnterTimestampMonotonic", "InactiveExitTimestampMonotonic"),
        *("StateChangeTimestampMonotonic", "ConditionTimestampMonotonic"),
        *("ExecMainStartTimestampMonotonic", "ExecMainExitTimestampMonotonic"),
    )
)
SHOWN = ("Id", *sorted(KEPT))
#: `systemctl show` prints these as dates, which say less than what was signalled.
OF_TIMERS = frozenset(("NextElapseUSecRealtime", "NextElapseUSecMonotonic", "LastTriggerUSec"))


def monotonic_us() -> int:
    """Now, on the clock of systemd's own timestamps."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


class Recorder:
    """Writes one line a signal."""

    def __init__(self, out: TextIO, units: tuple[str, ...]) -> None:
        self._out = out
        self._names = units
        self._units = {unit_path(unit): unit for unit in units}

    def put(self, **what: object) -> None:
        """One line, with the present instant."""
        self._out.write(json.dumps({"t": monotonic_us(), **what}) + "\n")

    def hear(self, signal: Signal) -> None:
        """Whoever sent it: a forged signal belongs into a recording of forgery."""
        of_manager = signal.interface == MANAGER and signal.path == ROOT
        if signal.member in ("UnitNew", "UnitRemoved") and signal.body[0] not in self._names:
            # A reload announces every loaded unit anew.
            return
        if of_manager or signal.member == "NameOwnerChanged":
            self.put(sig=signal.member, args=list(signal.body))
        elif signal.member == "PropertiesChanged" and signal.path in self._units:
            self._changed(self._units[signal.path], signal.body)

    def _changed(self, unit: str, body: tuple[object, ...]) -> None:
        interface, changed = str(body[0]), body[1]
        if isinstance(changed, dict):
            kept = {k: _plain(k, v) for k, v in changed.items() if k in KEPT | OF_TIMERS}
            kind = interface.rpartition(".")[2]
            self.put(sig="PropertiesChanged", unit=unit, iface=kind, props=kept)


def _plain(name: str, value: object) -> object:
    return invocation(value) if name == "InvocationID" else value


async def record(path: Path, units: tuple[str, ...], seconds: float) -> None:
    """Subscribe, and write down what comes in the next *seconds*."""
    connection = await Connection.open()
    with path.open("w", buffering=1) as out:
        recorder = Recorder(out, units)
        connection.on_signal(recorder.hear)
        for rule in manager_rules():
            await connection.add_match(rule)
        await Matches(connection).follow(units)
        await connection.call(SYSTEMD, ROOT, MANAGER, "Subscribe", limit_s=LIMIT_S)
        recorder.put(note="subscribed")
        await asyncio.sleep(seconds)
        recorder.put(note="end")
    await connection.close()


def late(units: tuple[str, ...]) -> str:
    """What systemd says of the units now, one line each."""
    lines = []
    for unit in units:
        command = ["systemctl", "show", "--property", ",".join(SHOWN), "--", unit]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        lines.append(f"#late {' '.join(shown.split())}")
    return "\n".join(lines) + "\n"


def journal(units: tuple[str, ...], seconds: float) -> str:
    """PID 1's entries about the units in the last *seconds*."""
    command = ["journalctl", "--output=json", f"--since=-{seconds:.0f}s", "_PID=1"]
    command += [f"UNIT={unit}" for unit in units]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """The command of README.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="HOST-SCENARIO")
    parser.add_argument("units", nargs="+")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent)
    asked = parser.parse_args()
    units, folder = tuple(asked.units), asked.folder
    asyncio.run(record(folder / f"{asked.name}.jsonl", units, asked.seconds))
    (folder / f"{asked.name}.late.txt").write_text(late(units))
    (folder / f"{asked.name}.journal.jsonl").write_text(journal(units, asked.seconds + 1))


if __name__ == "__main__":
    main()
