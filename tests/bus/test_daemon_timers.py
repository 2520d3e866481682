"""What the running daemon makes of timers: whom it follows, what it keeps, and what it costs."""

from __future__ import annotations

from healthd.model import Reason, State
from tests.bus.daemon import Healthd
from tests.bus.systemd1 import NEVER
from tests.bus.timer1 import FakeTimer

KEY = "heartbeat:backup.timer"
LISTED = "repair: {allow_restart: [backup.service]}\n"


async def test_a_job_is_judged_by_its_timer(healthd: Healthd) -> None:
    """It rests between its runs, so that its liveness would say nothing."""
    timer = FakeTimer(healthd.systemd, "backup")
    FakeTimer(healthd.systemd, "made-up", Transient=True)
    await healthd.start()
    client = await healthd.client()
    rows = await client.checks()
    assert rows[KEY].face == (State.GREY, Reason.STARTING)
    assert "liveness:backup.service" not in rows
    assert "heartbeat:made-up.timer" not in rows
    timer.fire()
    await client.until_face(KEY, State.GREEN, Reason.OK)


async def test_a_failing_job_is_told_once_over_our_restarts(healthd: Healthd) -> None:
    """What the store knows of the last run is not news after a start."""
    timer = FakeTimer(healthd.systemd, "backup")
    await healthd.start()
    client = await healthd.client()
    timer.fire(status=3)
    await client.until_face(KEY, State.RED, Reason.FAILED)
    await client.until_told(KEY)
    row = (await client.checks())[KEY]
    assert row.face == (State.RED, Reason.FAILED)
    assert row.summary.startswith("exit code 3, last run ")
    assert row.more["remedy"] == "systemctl start backup.service"
    await healthd.stop()
    await healthd.start()
    client = await healthd.client()
    assert (await client.checks())[KEY].face == (State.RED, Reason.FAILED)
    timer.fire()
    await client.until_face(KEY, State.GREEN, Reason.OK)
    assert [said.edition for said in client.notices(KEY)] == ["cleared"]


async def test_a_listed_job_is_run_once_more(healthd: Healthd) -> None:
    """RestartUnit on the job, not on the timer."""
    healthd.settings(LISTED)
    timer = FakeTimer(healthd.systemd, "backup", StartLimitIntervalUSec=0)
    healthd.systemd.units["backup.service"] |= {"StartLimitIntervalUSec": 0}
    healthd.systemd.results["backup.service"] = ""
    await healthd.start()
    client = await healthd.client()
    timer.fire(status=1)
    await healthd.systemd.until_called("RestartUnit")
    timer.began(healthd.systemd.job_of("backup.service"))
    timer.end()
    await client.until_face(KEY, State.GREEN, Reason.OK)
    assert [b[0] for m, b in healthd.systemd.calls if m == "RestartUnit"] == ["backup.service"]
    assert client.notices(KEY) == []


async def test_a_timer_that_was_stopped_is_grey_and_one_that_is_dead_is_red(
    healthd: Healthd,
) -> None:
    """An asked stop is no fault; a timer that is wanted and does not run is one."""
    stopped, dead = (FakeTimer(healthd.systemd, name) for name in ("backup", "other"))
    healthd.systemd.change(
        dead.unit, ActiveState="inactive", SubState="dead", NextElapseUSecRealtime=NEVER
    )
    await healthd.start()
    client = await healthd.client()
    healthd.systemd.stop_unit(stopped.unit)
    await client.until_face(KEY, State.GREY, Reason.STOPPED)
    await client.until_face("heartbeat:other.timer", State.RED, Reason.OVERDUE)


async def test_a_timer_that_fires_costs_no_reading(healthd: Healthd) -> None:
    """One that fires every minute must not make us ask systemd for anything."""
    timer = FakeTimer(healthd.systemd, "backup")
    await healthd.start()
    client = await healthd.client()
    timer.fire()
    await client.until_face(KEY, State.GREEN, Reason.OK)
    await healthd.hears_all(client)
    reads = len(healthd.systemd.read)
    listings = healthd.systemd.times_called("ListUnits")
    for _ in range(20):
        timer.fire()
    await healthd.hears_all(client)
    assert len(healthd.systemd.read) == reads
    assert healthd.systemd.times_called("ListUnits") == listings
    assert (await client.checks())[KEY].face == (State.GREEN, Reason.OK)
