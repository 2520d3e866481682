"""What the daemon waits for at most half a minute. One test, both libraries at once."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from healthd.bus.library import Library, load
from healthd.channels.entries import Kind
from healthd.model import AttemptResult, Phase
from tests.bus.daemon import one_host
from tests.bus.private_bus import PrivateBus

MUTE, UNLISTED = "mute.service", "unlisted.service"
SETTINGS = f"repair: {{allow_restart: [{MUTE}], max_attempts: 1}}\n"


async def test_a_systemd_that_does_not_answer_and_a_journal_that_comes_late() -> None:
    """Neither may hold up a repair or a notice for ever, nor make it come twice."""
    await asyncio.gather(*(_wait_for_both(load(name)) for name in ("next", "fast")))


async def _wait_for_both(library: Library) -> None:
    with tempfile.TemporaryDirectory(prefix="bus-") as folder:
        bus = PrivateBus(Path(folder))
        bus.start()
        try:
            await _on_a_bus(Path(folder), bus, library)
        finally:
            bus.stop()


async def _on_a_bus(folder: Path, bus: PrivateBus, library: Library) -> None:
    async with one_host(folder, bus, library) as healthd:
        healthd.settings(SETTINGS)
        for unit in (MUTE, UNLISTED):
            healthd.systemd.unit(unit, StartLimitIntervalUSec=0)
        healthd.systemd.results[MUTE] = "gone"
        healthd.journal.socket.close()
        await healthd.start()
        client = await healthd.client()
        for unit in (MUTE, UNLISTED):
            healthd.systemd.kill(unit)
        await client.until_step("IncidentChanged", f"liveness:{UNLISTED}", Phase.ENGAGED)
        await healthd.systemd.until_calls("RestartUnit", 1)
        healthd.journal.socket.open()

        await client.until_step("IncidentChanged", f"liveness:{MUTE}", Phase.ENGAGED)
        ((_, result, words),) = (await client.incident_of(f"liveness:{MUTE}")).tried
        assert result == AttemptResult.UNKNOWN
        assert words == f"a restart of {MUTE} may have been queued"
        assert healthd.systemd.times_called("RestartUnit") == 1

        for unit in (UNLISTED, MUTE):
            await client.until_told(f"liveness:{unit}")
            assert len(client.notices(f"liveness:{unit}")) == 1
        assert len(healthd.journal.of_kind(Kind.NOTICE_ENGAGED)) == 2
