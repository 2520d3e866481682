"""The first start on a machine with old troubles, in the real daemon: one notice for all, once."""

from __future__ import annotations

from healthd.channels.entries import Kind
from healthd.judge.found import KEY
from healthd.model import Phase, Reason, State
from tests.bus.daemon import Healthd, on_both_libraries

WEB, NEW, MANY = "web.service", "new.service", 300


def _failed(healthd: Healthd, *units: str) -> None:
    """They failed long before healthd was installed."""
    for unit in units:
        healthd.systemd.unit(
            unit,
            ActiveState="failed",
            SubState="failed",
            Result="exit-code",
            ExecMainCode=1,
            ExecMainStatus=3,
        )


@on_both_libraries
async def test_300_old_failures_are_one_notice_and_a_new_one_is_told(healthd: Healthd) -> None:
    """A machine's old troubles are one list, not an alarm; what breaks today is one."""
    _failed(healthd, *(f"old{number:03}.service" for number in range(MANY)))
    for unit in (WEB, NEW):
        healthd.systemd.unit(unit)
    client = await healthd.client()
    await healthd.start()
    told = await healthd.journal.until_kind(Kind.NOTICE_FOUND)
    assert told["HEALTHD_TITLE"] == (f"Found at first start: {MANY} units",)
    assert told["HEALTHD_REMEDY"] == ("healthctl incidents",)
    row = await client.until_told("liveness:old007.service")
    assert (row.notices, row.told, row.more["found"]) == (1, [("found", "journal")], True)
    assert [row.notices for row in await client.incidents()] == [1] * MANY

    await healthd.kill()
    await healthd.start()
    healthd.systemd.kill(NEW)
    await client.until_step("IncidentChanged", f"liveness:{NEW}", Phase.ENGAGED)
    await client.until_told(f"liveness:{NEW}")
    assert len(healthd.journal.of_kind(Kind.NOTICE_FOUND)) == 1
    assert len(healthd.journal.of_kind(Kind.NOTICE_ENGAGED)) == 1
    assert healthd.systemd.times_called("RestartUnit") == 0


@on_both_libraries
async def test_a_digest_that_was_not_delivered_is_delivered_by_the_next_life(
    healthd: Healthd,
) -> None:
    """Saved before it is told: a crash in between loses no word and says none twice."""
    _failed(healthd, "old.service")
    healthd.systemd.unit(WEB)
    healthd.journal.socket.close()
    client = await healthd.client()
    await healthd.start()
    await client.said.until_true(lambda: bool(client.notices(KEY)))
    row = await client.incident_of("liveness:old.service")
    assert row.told == [("found", "")]
    await healthd.kill()
    healthd.journal.socket.open()
    await healthd.start()
    row = await client.until_told("liveness:old.service")
    assert row.told == [("found", "journal")]
    assert len(healthd.journal.of_kind(Kind.NOTICE_FOUND)) == 1
    assert len(client.notices(KEY)) == 1


@on_both_libraries
async def test_a_healthy_machine_has_no_digest(healthd: Healthd) -> None:
    """Nobody is told that nothing is wrong; and what fails in the next life is new."""
    healthd.systemd.unit(WEB)
    client = await healthd.client()
    await healthd.start()
    await client.until_face(f"liveness:{WEB}", State.GREEN, Reason.OK)
    await healthd.hears_all(client)
    await healthd.stop()
    healthd.systemd.kill(WEB)
    await healthd.start()
    await client.until_step("IncidentChanged", f"liveness:{WEB}", Phase.ENGAGED)
    row = await client.until_told(f"liveness:{WEB}")
    assert row.told == [("engaged", "journal")]
    assert not row.more["found"]
    assert healthd.journal.of_kind(Kind.NOTICE_FOUND) == []
