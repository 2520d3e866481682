"""The system bus goes away under the daemon, and comes back or does not."""

from __future__ import annotations

import pytest

from healthd.model import Reason, State
from tests.bus.daemon import Healthd, on_both_libraries

WEB, DB, GONE = "web.service", "db.service", "gone.service"
NEW, NEWEST = "new.service", "newest.service"


async def test_a_new_bus_is_taken_up_and_nothing_is_missed(healthd: Healthd) -> None:
    """An upgrade of dbus restarts it; what died meanwhile was told to nobody."""
    systemd = healthd.systemd
    for unit in (WEB, DB, GONE):
        systemd.unit(unit)
    first = await healthd.client()
    await healthd.start()
    before = await first.sequence()
    lives = len(healthd.notify.said())

    healthd.bus.stop()
    await systemd.stop()
    systemd.kill(DB)
    del systemd.units[GONE]
    healthd.bus.start()
    await systemd.come_back()
    client = await healthd.client()
    await client.until_owned()
    # Reconciling found what no signal told, and …
    await client.until_face(f"liveness:{DB}", State.YELLOW, Reason.SUSPECT)
    await client.until_removed(f"liveness:{GONE}")
    # … signals are heard again.
    systemd.kill(WEB)
    await client.until_face(f"liveness:{WEB}", State.YELLOW, Reason.SUSPECT)
    assert min(client.sequences()) > before
    # It is the same process: systemd is not told "ready" twice.
    assert "READY=1" not in healthd.notify.said()[lives:]


@pytest.mark.parametrize("during", ["ListUnits", NEWEST])
async def test_a_bus_lost_in_the_middle_of_a_pass(healthd: Healthd, during: str) -> None:
    """The loss comes when it likes, also while hundreds of units are being read."""
    systemd = healthd.systemd
    systemd.unit(WEB)
    await healthd.start()
    for unit in (NEW, NEWEST):
        systemd.unit(unit)
    systemd.hold(during)
    systemd.emit("Reloading", "b", False)
    await systemd.until_held(during)

    healthd.bus.stop()
    await systemd.stop()
    systemd.forget(during)
    healthd.bus.start()
    await systemd.come_back()
    client = await healthd.client()
    await client.until_owned()
    systemd.kill(WEB)
    await client.until_face(f"liveness:{WEB}", State.YELLOW, Reason.SUSPECT)
    assert {f"liveness:{NEW}", f"liveness:{NEWEST}"} <= (await client.checks()).keys()


@on_both_libraries
async def test_without_a_bus_it_ends_for_systemd_to_start_it_again(healthd: Healthd) -> None:
    """A daemon that nobody can ask, and that sees nothing, must not look alive."""
    healthd.systemd.unit(WEB)
    await healthd.start()
    healthd.bus.stop()
    code = await healthd.ended()
    assert code == 1
    assert "healthd: no connection to the system bus" in healthd.log()


async def test_it_can_be_stopped_while_the_bus_is_away(healthd: Healthd) -> None:
    """At shutdown the bus may go first."""
    await healthd.start()
    healthd.bus.stop()
    assert await healthd.stop() == 0
