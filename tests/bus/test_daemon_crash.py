"""healthd is killed in the middle of things: nothing is lost, nothing is done or told twice."""

from __future__ import annotations

from healthd.channels.entries import Kind
from healthd.host.systemd import UNIT
from healthd.model import AttemptResult, Phase, Reason, State
from tests.bus.client import Client
from tests.bus.daemon import Healthd, on_both_libraries

#: Killed while we ask what a restart would take along; while systemd thinks about the restart.
ASKING, QUEUING = "asking.service", "queuing.service"
UNLISTED, MARK = "unlisted.service", "mark.service"
SETTINGS = f"""
repair:
  allow_restart: [{ASKING}, {QUEUING}]
  max_attempts: 1
"""
BROKEN = (ASKING, QUEUING, UNLISTED)


@on_both_libraries
async def test_killed_in_the_middle_of_a_repair_and_with_a_notice_undelivered(
    healthd: Healthd,
) -> None:
    """Its own crash must not restart a unit twice, nor tell the owner twice or never."""
    systemd = healthd.systemd
    healthd.settings(SETTINGS)
    for unit in (*BROKEN, MARK):
        systemd.unit(unit, StartLimitIntervalUSec=0)
    systemd.hold(f"{ASKING} {UNIT}")
    systemd.results[QUEUING] = "gone"
    # There is no journald in the first life.
    healthd.journal.socket.close()
    await healthd.start()
    client = await healthd.client()
    for unit in BROKEN:
        systemd.kill(unit)
    await systemd.until_held(f"{ASKING} {UNIT}")
    await systemd.until_calls("RestartUnit", 1)
    await client.until_step("IncidentChanged", f"liveness:{UNLISTED}", Phase.ENGAGED)
    before = await numbers_of(client)
    assert [row.told for row in await client.incidents()].count([("engaged", "")]) == 1

    await healthd.kill()
    systemd.forget(f"{ASKING} {UNIT}")
    del systemd.results[QUEUING]
    healthd.journal.socket.open()
    await healthd.start()
    for unit in BROKEN:
        told = await healthd.journal.until_kind(Kind.NOTICE_ENGAGED, HEALTHD_KEY=f"liveness:{unit}")
        assert told["HEALTHD_INCIDENT"] == (str(before[f"liveness:{unit}"]),)
        await client.until_told(f"liveness:{unit}")
    for unit in (ASKING, QUEUING):
        row = await client.incident_of(f"liveness:{unit}")
        ((by, result, words),) = row.tried
        assert (by, result) == ("healthd", AttemptResult.UNKNOWN)
        assert words == "a restart may have been tried"

    await healthd.kill()
    await healthd.start()
    systemd.kill(MARK)
    await client.until_face(f"liveness:{MARK}", State.YELLOW, Reason.SUSPECT)
    assert await numbers_of(client) == before
    # Over all three lives:
    assert [len(client.notices(f"liveness:{unit}")) for unit in BROKEN] == [1, 1, 1]
    assert len(healthd.journal.of_kind(Kind.NOTICE_ENGAGED)) == len(BROKEN)
    assert systemd.times_called("RestartUnit", ASKING, "fail") == 0
    assert systemd.times_called("RestartUnit", QUEUING, "fail") == 1
    assert client.sequences() == sorted(client.sequences())
    assert client.sequences()[-1] <= await client.sequence()


async def numbers_of(client: Client) -> dict[str, int]:
    """Key → number of each incident; a key has one."""
    rows = await client.incidents()
    numbers = {row.key: row.id for row in rows}
    assert len(numbers) == len(rows)
    return numbers
