"""What the daemon waits for at most half a minute."""

from __future__ import annotations

from healthd.channels.entries import Kind
from healthd.model import AttemptResult, Phase
from tests.bus.daemon import Healthd, on_both_libraries

MUTE, UNLISTED = "mute.service", "unlisted.service"


@on_both_libraries
async def test_a_systemd_that_does_not_answer_and_a_journal_that_comes_late(
    healthd: Healthd,
) -> None:
    """Neither may hold up a repair or a notice for ever, nor make it come twice."""
    healthd.settings(f"repair: {{allow_restart: [{MUTE}], max_attempts: 1}}\n")
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
