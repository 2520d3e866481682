"""The disk is full under the running daemon: it watches on, says so, and makes up for it."""

from __future__ import annotations

from resource import RLIM_INFINITY

import pytest

from healthd.bus.message import BusError, Variant
from healthd.channels.entries import Kind
from healthd.model import Phase, Reason, State
from tests.bus.daemon import Healthd, on_both_libraries

LISTED, UNLISTED, MARK = "listed.service", "unlisted.service", "mark.service"
STORE = "host:healthd/store"


@on_both_libraries
async def test_on_a_full_disk_it_watches_on_and_restarts_nothing(healthd: Healthd) -> None:
    """That the disk is full is when a watch is needed; a restart not recorded might come twice."""
    systemd = healthd.systemd
    healthd.settings(f"repair: {{allow_restart: [{LISTED}], max_attempts: 1}}\n")
    for unit in (LISTED, UNLISTED, MARK):
        systemd.unit(unit, StartLimitIntervalUSec=0)
    await healthd.start()
    client = await healthd.client()
    healthd.limit_file_size(0)
    for unit in (LISTED, UNLISTED):
        systemd.kill(unit)
    troubled = await client.until_face(STORE, State.YELLOW, Reason.DEGRADED)
    assert "cannot be used" in troubled.row.summary
    for unit in (LISTED, UNLISTED):
        await client.until_step("IncidentChanged", f"liveness:{unit}", Phase.ENGAGED)
        await healthd.journal.until_kind(Kind.NOTICE_ENGAGED, HEALTHD_KEY=f"liveness:{unit}")
    assert systemd.times_called("RestartUnit") == 0

    # There is room again: what is owed is written with the next change.
    healthd.limit_file_size(RLIM_INFINITY)
    systemd.kill(MARK)
    await client.until_face(STORE, State.GREEN, Reason.OK)
    owed = {row.key: (row.id, row.tried) for row in await client.incidents()}
    assert owed.keys() == {f"liveness:{unit}" for unit in (LISTED, UNLISTED)}
    assert owed[f"liveness:{LISTED}"][1] == [
        ("healthd", "final", "the store could not record a restart, so none was made")
    ]

    await healthd.kill()
    await healthd.start()
    assert {row.key: (row.id, row.tried) for row in await client.incidents()} == owed
    assert [len(client.notices(f"liveness:{unit}")) for unit in (LISTED, UNLISTED)] == [1, 1]


async def test_an_incident_is_found_by_its_number(healthd: Healthd) -> None:
    """However much has happened since; and a number that no incident has is said to be none."""
    healthd.systemd.unit(UNLISTED)
    await healthd.start()
    client = await healthd.client()
    healthd.systemd.kill(UNLISTED)
    opened = await client.until_step("IncidentOpened", f"liveness:{UNLISTED}")
    (rows,) = await client.call("ListIncidents", "a{sv}u", {"id": Variant("t", opened.id)}, 1)
    assert isinstance(rows, list)
    assert [row[0] for row in rows] == [opened.id]
    for number in (0, opened.id + 1, 2**64 - 1):
        with pytest.raises(BusError, match="there is no incident"):
            await client.call("ListIncidents", "a{sv}u", {"id": Variant("t", number)}, 1)


async def test_without_a_folder_for_the_store_it_says_so_in_a_line(healthd: Healthd) -> None:
    """`systemctl status` shows the last lines: no traceback there, but what is wrong."""
    healthd.state.rmdir()
    healthd.state.write_text("not a folder")
    await healthd.launch()
    assert await healthd.ended() == 1
    assert healthd.log().startswith(f"healthd: {healthd.state}")
    assert len(healthd.log().splitlines()) == 1
