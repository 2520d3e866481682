"""Failed transient units are one line, however many there are, and cost no reading of each."""

from __future__ import annotations

from healthd.model import Reason, State
from tests.bus.daemon import Healthd

WEB, KEY = "web.service", "host:transient-units"
MANY = 300


def _fail(healthd: Healthd, unit: str) -> None:
    """`systemd-run false`: it comes with a job, and stays as failed."""
    healthd.systemd.unit(unit, Transient=True)
    job = healthd.systemd.queue(unit)
    healthd.systemd.finish(unit, job, "done")
    healthd.systemd.kill(unit)


async def test_a_flood_of_failed_transient_units_is_one_line(healthd: Healthd) -> None:
    """A program that starts hundreds of units which fail is one finding, not hundreds."""
    systemd = healthd.systemd
    systemd.unit(WEB)
    await healthd.start()
    client = await healthd.client()
    reads = len(systemd.read)
    for number in range(MANY):
        _fail(healthd, f"run-r{number:03}.service")
    await client.until_face(KEY, State.YELLOW, Reason.DEGRADED)
    row = (await client.checks())[KEY]
    assert row.summary.startswith(f"{MANY} transient units failed, such as run-r0")
    assert "(killed by SIGKILL), of system.slice" in row.summary
    assert len(systemd.read) - reads < 20
    assert set(await client.checks()) - {KEY} == {"liveness:web.service"} | {
        key for key in await client.checks() if key.startswith("host:healthd/")
    }
    assert await client.incidents() == []


async def test_the_line_is_gone_with_the_last_of_them(healthd: Healthd) -> None:
    """`systemctl reset-failed` ends it, also where healthd was away meanwhile."""
    systemd = healthd.systemd
    systemd.unit(WEB)
    systemd.unit("made-up.service", Transient=True)
    systemd.kill("made-up.service")
    systemd.unit("session-3.scope", ActiveState="failed", SubState="failed")
    await healthd.start()
    client = await healthd.client()
    summary = (await client.checks())[KEY].summary
    assert summary.startswith("2 transient units failed, last ")
    systemd.remove("session-3.scope")
    systemd.remove("made-up.service")
    await client.until_removed(KEY)
    assert KEY not in await client.checks()


async def test_after_a_start_only_those_that_still_fail_are_counted(healthd: Healthd) -> None:
    """What the store remembers of the line is held against what systemd shows now."""
    systemd = healthd.systemd
    systemd.unit(WEB)
    systemd.unit("run-u1.service", Transient=True)
    systemd.kill("run-u1.service")
    await healthd.start()
    client = await healthd.client()
    assert KEY in await client.checks()
    await healthd.stop()
    systemd.remove("run-u1.service")
    await healthd.start()
    assert KEY not in await client.checks()
