"""Settings of the running daemon: faulty at start, read again, and its two switches."""

from __future__ import annotations

import pytest

from healthd.bus.connection import BusError
from healthd.channels.entries import Kind
from healthd.model import Reason, State
from tests.bus.daemon import Healthd, on_both_libraries
from tests.bus.polkit import MockPolkit

WEB, DB = "web.service", "db.service"
SETTINGS, LIVE, READY = "host:healthd/settings", f"liveness:{WEB}", f"readiness:{WEB}"
RELOAD, RESTART, LOOK = (f"org.healthd1.{verb}" for verb in ("reload", "restart-unit", "look"))
GOOD = f"""
listens:
  web: {{address: "127.0.0.1:1"}}
  far: {{address: "192.0.2.7:80"}}
checks:
  {WEB}:
    - tcp: {{endpoint: web}}
    - name: far
      tcp: {{endpoint: far}}
repair:
  allow_restart: [{WEB}]
"""
FAULTY = f"repair:\n  allow_restart: [{WEB}, 'db*.service']\n"
# Where the pattern stands in FAULTY.
PLACE = ":2:32"


async def test_faulty_settings_at_start_are_said_and_restart_nothing(
    healthd: Healthd, polkit: MockPolkit
) -> None:
    """A daemon that does not start watches nothing; one that guesses a list restarts something."""
    file = healthd.settings(FAULTY)
    healthd.systemd.unit(WEB)
    await healthd.start()
    client = await healthd.client()
    rows = await client.checks()
    row = rows[SETTINGS]
    assert row.face == (State.YELLOW, Reason.CONFIGURATION)
    assert row.summary.startswith(f"settings refused, see healthctl verify: {file}{PLACE}: ")
    (fault,) = row.strings("faults")
    assert fault.startswith(f"{file}{PLACE}: fault; allowed: ")
    assert row.strings("may_restart") == []
    assert rows[LIVE].state == State.GREEN
    entry = await healthd.journal.until_kind(Kind.SETTINGS_REFUSED)
    assert entry["HEALTHD_FAULT"] == (fault,)

    await polkit.allow(RELOAD, RESTART)
    with pytest.raises(BusError) as caught:
        await client.call("RestartUnit", "s", WEB)
    assert caught.value.name == "org.healthd1.Error.NotAllowlisted"
    # Mended, and read again: all is well.
    healthd.settings(f"repair: {{allow_restart: [{WEB}]}}\n")
    await client.call("Reload")
    await client.until_face(SETTINGS, State.GREEN, Reason.OK)
    row = (await client.checks())[SETTINGS]
    assert (row.strings("faults"), row.strings("may_restart")) == ([], [WEB])
    assert await client.call("RestartUnit", "s", WEB) == (0,)


async def test_a_reload_adds_and_removes_and_a_faulty_one_changes_nothing(
    healthd: Healthd, polkit: MockPolkit
) -> None:
    """Who edits the settings of a machine must not lose the watch over a typing error."""
    file = healthd.settings(GOOD)
    healthd.systemd.unit(WEB)
    await polkit.allow(RELOAD, LOOK)
    client = await healthd.client()
    await healthd.start()
    await client.look()
    before = await client.checks()
    assert {READY, f"{READY}/far"} <= before.keys()

    file = healthd.settings(FAULTY)
    with pytest.raises(BusError) as caught:
        await client.call("Reload")
    assert caught.value.name == "org.healthd1.Error.InvalidSettings"
    assert f"{file}{PLACE}: " in caught.value.message
    await client.until_face(SETTINGS, State.YELLOW, Reason.CONFIGURATION)
    # What is in force is still shown.
    rows = await client.checks()
    assert rows[SETTINGS].strings("may_restart") == [WEB]
    assert rows.keys() == before.keys()

    healthd.settings(GOOD.replace("name: far", "name: near").replace("192.0.2.7:80", "[::1]:1"))
    await client.call("Reload")
    await client.until_removed(f"{READY}/far")
    await client.until_face(SETTINGS, State.GREEN, Reason.OK)
    await client.look()
    after = await client.checks()
    assert after.keys() == before.keys() - {f"{READY}/far"} | {f"{READY}/near"}
    assert after[LIVE].since == before[LIVE].since


async def test_what_a_reload_put_in_force_is_shown_at_once(
    healthd: Healthd, polkit: MockPolkit
) -> None:
    """No check changes by a longer list or another switch, and still the answer is another."""
    await polkit.allow(RELOAD)
    for unit in (WEB, DB):
        healthd.systemd.unit(unit)
    healthd.settings(f"repair: {{allow_restart: [{WEB}]}}\n")
    await healthd.start()
    client = await healthd.client()
    properties = await client.properties_changed()
    assert (await client.checks())[SETTINGS].strings("may_restart") == [WEB]
    healthd.settings(f"repair: {{allow_restart: [{WEB}, {DB}]}}\nwatch: {{enabled: false}}\n")
    await client.call("Reload")
    assert (await client.checks())[SETTINGS].strings("may_restart") == [DB, WEB]
    assert await client.property("Watching") is False
    await properties.until(lambda changed: changed.get("Watching") is False)


async def test_switched_off_it_answers_and_asks_systemd_nothing(
    healthd: Healthd, polkit: MockPolkit
) -> None:
    """HEALTHD_ENABLED=0: who switched it off wants none of its questions, but may ask it why."""
    healthd.environ["HEALTHD_ENABLED"] = "0"
    healthd.settings(GOOD)
    healthd.systemd.unit(WEB)
    await polkit.allow(LOOK, RESTART)
    await healthd.start()
    client = await healthd.client()
    assert await client.property("Watching") is False
    assert "enabled" in str(await client.property("WatchingReason"))
    assert all(key.startswith("host:healthd/") for key in await client.checks())
    for member, signature, argument in (("Look", "as", []), ("RestartUnit", "s", WEB)):
        with pytest.raises(BusError) as caught:
            await client.call(member, signature, argument)
        assert caught.value.name == "org.healthd1.Error.SwitchedOff"
    assert healthd.systemd.calls == []


async def test_the_main_switch_is_taken_up_at_a_start_and_a_reload_says_so(
    healthd: Healthd, polkit: MockPolkit
) -> None:
    """Whoever switches it off by a reload must not believe that it is off while it restarts."""
    await polkit.allow(RELOAD)
    healthd.systemd.unit(WEB)
    await healthd.start()
    client = await healthd.client()
    healthd.settings("enabled: false\n")
    notes = ["`enabled` is taken up by: systemctl restart healthd"]
    assert await client.call("Reload") == (notes,)
    await client.until_face(SETTINGS, State.YELLOW, Reason.CONFIGURATION)
    assert await client.property("Watching") is True
    healthd.systemd.kill(WEB)
    await client.until_face(LIVE, State.YELLOW, Reason.SUSPECT)
    assert await healthd.stop() == 0
    await healthd.start()
    assert await client.property("Watching") is False
    assert (await client.checks())[SETTINGS].face == (State.GREEN, Reason.OK)


@on_both_libraries
async def test_without_the_watch_it_shows_and_does_nothing(healthd: Healthd) -> None:
    """HEALTHD_WATCH_ENABLED=0 judges and shows; a remote endpoint is not even asked."""
    healthd.environ["HEALTHD_WATCH_ENABLED"] = "0"
    healthd.settings(GOOD)
    for unit in (WEB, DB):
        healthd.systemd.unit(unit, StartLimitIntervalUSec=0)
    client = await healthd.client()
    await healthd.start()
    assert await client.property("Watching") is False
    for unit in (WEB, DB):
        healthd.systemd.kill(unit)
    await client.until_face(f"{READY}/far", State.GREY, Reason.NETWORK_OFF)
    for unit in (WEB, DB):
        await client.until_face(f"liveness:{unit}", State.RED, Reason.FAILED)
    assert await client.incidents() == []
    assert healthd.systemd.times_called("RestartUnit") == 0
    assert not any(client.notices(f"liveness:{unit}") for unit in (WEB, DB))
