"""The life of the daemon as systemd sees it: ready, status, watchdog, stop."""

from __future__ import annotations

from pathlib import Path

from healthd.bus.api import NAME
from healthd.channels.entries import Kind
from healthd.model import Phase, Reason, State
from healthd.store.store import Store
from tests.bus.daemon import Healthd, on_both_libraries

WEB, DB, OLD = "web.service", "db.service", "old.service"
FAILED = {"ActiveState": "failed", "SubState": "failed", "Result": "signal", "ExecMainStatus": 9}
NAME_REFUSED = f'<deny own="{NAME}"/>'


async def test_ready_comes_after_the_name_and_the_first_pass(healthd: Healthd) -> None:
    """What is started after us finds us on the bus, and what it reads is not "not looked at"."""
    healthd.systemd.unit(WEB)
    healthd.systemd.unit(OLD, ActiveState="inactive", SubState="dead")
    client = await healthd.client()
    healthd.systemd.hold("ListUnits")
    await healthd.launch()
    await healthd.systemd.until_held("ListUnits")
    assert await client.connection.owner_of(NAME)
    await client.sequence()
    assert "READY=1" not in healthd.notify.said()

    healthd.systemd.release("ListUnits")
    await healthd.notify.until("READY=1")
    rows = await client.checks()
    assert rows[f"liveness:{WEB}"].state == State.GREEN
    assert rows[f"liveness:{OLD}"].reason == Reason.NOT_CONFIGURED


async def test_a_name_that_is_refused_is_no_readiness(healthd: Healthd) -> None:
    """On a first installation the bus has not read our policy yet: systemd must wait."""
    client = await healthd.client()
    healthd.bus.allow(NAME_REFUSED)
    await healthd.bus.reload(client.connection)
    # The fault is written to the journal right before the name is asked for.
    healthd.settings("colour: blue\n")
    await healthd.launch()
    await healthd.journal.until_kind(Kind.SETTINGS_REFUSED)
    assert not await client.connection.owner_of(NAME)
    assert "READY=1" not in healthd.notify.said()
    healthd.bus.allow()
    await healthd.bus.reload(client.connection)
    await healthd.notify.until("READY=1")
    assert await client.connection.owner_of(NAME)


async def test_status_counts_and_the_watchdog_is_fed(healthd: Healthd) -> None:
    """`systemctl status` shows it, and a loop that stands still is systemd's to restart."""
    healthd.environ["WATCHDOG_USEC"] = "200000"
    for unit in (WEB, DB):
        healthd.systemd.unit(unit)
    await healthd.start()
    said = healthd.notify.said()
    status = said[said.index("READY=1") - 1]
    # Two units, and healthd's own settings and store.
    assert status == "STATUS=4 checks: 4 green; 0 open incidents"
    await healthd.notify.until("WATCHDOG=1", count=3)
    healthd.systemd.kill(WEB)
    await healthd.notify.until("STATUS=4 checks: 3 green, 1 yellow; 0 open incidents")


async def test_asked_to_stop_it_says_so_and_leaves_a_closed_store(healthd: Healthd) -> None:
    """systemd waits for our end, and the next start needs no scan of the store."""
    healthd.systemd.unit(WEB)
    await healthd.start()
    assert await healthd.stop() == 0
    assert healthd.notify.said()[-1] == "STOPPING=1"
    assert len(healthd.journal.of_kind(Kind.DAEMON_STOPPED)) == 1
    store = await Store.open(healthd.state, now_at=1)
    loaded = await store.load()
    await store.close()
    assert (store.is_new, store.trouble) == (False, "")
    assert WEB in [story.name for story in loaded.stories]


async def test_it_stops_as_well_where_no_journal_is(healthd: Healthd) -> None:
    """At shutdown journald may be gone before us: that is no failure of ours."""
    healthd.journal.socket.close()
    healthd.systemd.unit(WEB)
    await healthd.start()
    assert await healthd.stop() == 0


@on_both_libraries
async def test_what_fails_at_first_start_is_found_and_left_alone(healthd: Healthd) -> None:
    """A new healthd must not restart, nor cry about, what its owner has lived with for years."""
    healthd.settings(f"repair: {{allow_restart: [{WEB}]}}\n")
    healthd.systemd.unit(WEB)
    healthd.systemd.unit(DB)
    healthd.systemd.units[WEB] |= FAILED
    client = await healthd.client()
    # A first start lasts until everything was looked at once, in whichever life.
    healthd.systemd.hold("ListUnits")
    await healthd.launch()
    await healthd.systemd.until_held("ListUnits")
    await healthd.kill()
    healthd.systemd.forget("ListUnits")
    await healthd.start()
    healthd.systemd.kill(DB)
    opened = await client.until_step("IncidentOpened", f"liveness:{WEB}")
    assert opened.more["found"] is True
    assert opened.phase == Phase.ENGAGED
    # What fails after the first pass is an ordinary incident.
    opened = await client.until_step("IncidentOpened", f"liveness:{DB}")
    assert opened.more["found"] is False
    assert healthd.systemd.times_called("RestartUnit") == 0
    assert client.notices(f"liveness:{WEB}") == []


async def test_it_stops_at_once_also_before_it_is_ready(healthd: Healthd) -> None:
    """`systemctl stop` during a slow start must not end in SIGKILL."""
    healthd.systemd.unit(WEB)
    healthd.systemd.hold("ListUnits")
    await healthd.launch()
    await healthd.systemd.until_held("ListUnits")
    assert await healthd.stop() == 0
    assert "READY=1" not in healthd.notify.said()


async def test_a_second_one_ends_in_a_line(healthd: Healthd, tmp_path: Path) -> None:
    """Two watchers with one store, or one name, would each undo what the other does."""
    await healthd.start()
    second = Healthd(tmp_path, healthd.bus, healthd.systemd, healthd.library)
    second.journal, second.notify = healthd.journal, healthd.notify
    await second.launch()
    assert await second.ended() == 1
    assert second.log() == f"healthd: another program owns the name {NAME}\n"
    second.state = healthd.state
    await second.launch()
    assert await second.ended() == 1
    assert second.log().splitlines()[1:] == [f"healthd: another healthd uses {healthd.state}"]
