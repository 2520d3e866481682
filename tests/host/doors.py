"""Run inside a host, as root: what a real systemd and a real journal say through our doors.

Prints one JSON object; test_doors.py holds it against what must be so. Units are written by the
test.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

from healthd.bus.connection import Connection
from healthd.errors import HealthdError
from healthd.host import journal
from healthd.host.systemd import Systemd
from healthd.model import JobRemoved, SystemdSignal, UnitChanged, UnitNew, UnitRemoved

LIMIT_S = 30.0


class Ear:
    """Everything that systemd says, and a way to wait for some of it."""

    def __init__(self) -> None:
        self.heard: list[SystemdSignal] = []
        self._news = asyncio.Event()

    def hear(self, said: SystemdSignal) -> None:
        self.heard.append(said)
        self._news.set()

    async def until_state(self, unit: str, *states: str) -> None:
        """Wait until *unit* has been seen in one of *states*."""
        async with asyncio.timeout(LIMIT_S):
            while not any(
                isinstance(said, UnitChanged)
                and said.unit == unit
                and said.properties.get("ActiveState") in states
                for said in self.heard
            ):
                self._news.clear()
                await self._news.wait()


async def run(*words: str) -> None:
    """Run a command and wait for its end."""
    process = await asyncio.create_subprocess_exec(*words)
    async with asyncio.timeout(LIMIT_S):
        await process.wait()


async def everything_is_read(systemd: Systemd, ear: Ear) -> dict[str, Any]:
    """Every loaded service, with a listing and without."""
    known = {str(row.name): row for row in await systemd.list_units()}
    services = [name for name in known if name.endswith(".service")]
    facts = [await systemd.read(name, known) for name in services]
    for name in services:
        await systemd.read(name)
    loaded = [said for said in ear.heard if isinstance(said, (UnitNew, UnitRemoved))]
    return {
        "services": len(services),
        "unnamed": [name for name, seen in zip(services, facts, strict=True) if not seen.id],
        "wanted": sum(seen.wanted for seen in facts),
        "booted": all(seen.booted for seen in facts),
        "loaded_by_reading": [str(said.unit) for said in loaded],
    }


async def how_units_end(systemd: Systemd, ear: Ear, unit: str) -> dict[str, Any]:
    """*unit* is killed, restarted by us, and stopped by a person."""
    await run("systemctl", "start", unit)
    await systemd.watch([unit])
    killed = await systemd.read(unit)
    await run("systemctl", "kill", "--kill-whom=main", f"--signal={signal.SIGKILL:d}", unit)
    await ear.until_state(unit, "failed")
    job = await systemd.restart(unit, limit_s=LIMIT_S)
    stopped = await systemd.read(unit)
    ear.heard.clear()
    await run("systemctl", "stop", unit)
    await ear.until_state(unit, "inactive")
    # journald reads at its leisure what PID 1 wrote.
    await run("journalctl", "--sync")
    asked = journal.how_it_ended(stopped.invocation)
    own = journal.how_it_ended(killed.invocation)
    return {
        "job": job,
        "new_invocation": killed.invocation != stopped.invocation,
        "killed": own is not None and own.by_itself and not own.by_job,
        "stopped": asked is not None and asked.by_job and asked.job_type,
        "lines": journal.lines_of(killed.invocation, unit),
        "removed": [said.result for said in ear.heard if isinstance(said, JobRemoved)],
    }


async def reads_go_on_over_a_reexec(systemd: Systemd, unit: str) -> int:
    """How often *unit* was read while systemd executed itself anew; a failed one raises."""
    reexec = asyncio.create_task(run("systemctl", "daemon-reexec"))
    count = 0
    while not reexec.done():
        await systemd.read(unit)
        count += 1
    await reexec
    return count


async def refused(systemd: Systemd, unit: str) -> str:
    """The code with which a restart of *unit* is refused."""
    try:
        return await systemd.restart(unit, limit_s=LIMIT_S)
    except HealthdError as err:
        return err.code


async def main(unit: str) -> None:
    """Ask everything and print it."""
    connection = await Connection.open()
    systemd = Systemd(connection, lambda: 0)
    ear = Ear()
    systemd.on_signal(ear.hear)
    await systemd.subscribe()
    answers = {
        "read": await everything_is_read(systemd, ear),
        "ends": await how_units_end(systemd, ear, unit),
        "reads_in_reexec": await reads_go_on_over_a_reexec(systemd, unit),
        "missing": await refused(systemd, "no-such.service"),
    }
    await connection.close()
    os.write(1, json.dumps(answers).encode())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
