"""A unit dies under the running daemon: confirmed, restarted once an attempt, or engaged."""

from __future__ import annotations

import os

import pytest

from healthd.bus.connection import BusError
from healthd.channels.entries import Kind
from healthd.model import AttemptResult, Edition, Phase, Reason, State
from tests.bus.client import Client
from tests.bus.daemon import Healthd, on_both_libraries
from tests.bus.polkit import MockPolkit
from tests.bus.systemd1 import REFUSED

HEALED, HOPELESS, FORBIDDEN = "healed.service", "hopeless.service", "forbidden.service"
OVERTAKEN, SLOW, UNLISTED = "overtaken.service", "slow.service", "unlisted.service"
LISTED = (HEALED, HOPELESS, FORBIDDEN, OVERTAKEN, SLOW)
SETTINGS = f"""
repair:
  allow_restart: [{", ".join(LISTED)}]
  max_attempts: 2
  backoff: [0s]
  budget: {{machine: 100 per 1min}}
"""
SUSPECT = (State.YELLOW, Reason.SUSPECT)
FAILED = (State.RED, Reason.FAILED)
REPAIRING = (State.RED, Reason.REPAIRING)


def live(unit: str) -> str:
    """The key of its liveness."""
    return f"liveness:{unit}"


def restarts(healthd: Healthd, unit: str) -> int:
    """How often systemd was asked to restart it."""
    return healthd.systemd.times_called("RestartUnit", unit, "fail")


@on_both_libraries
async def test_what_becomes_of_a_unit_that_dies(healthd: Healthd) -> None:
    """Six fates at once, because confirming a death takes its time."""
    systemd = healthd.systemd
    healthd.settings(SETTINGS)
    for unit in (*LISTED, UNLISTED):
        # With a start limit the first seconds of a watch allow no restart.
        systemd.unit(unit, StartLimitIntervalUSec=0)
    systemd.results = {HOPELESS: "failed", OVERTAKEN: "", SLOW: ""}
    systemd.refuse[FORBIDDEN] = REFUSED
    await healthd.start()
    client = await healthd.client()
    for unit in (*LISTED, UNLISTED):
        systemd.kill(unit)

    await systemd.until_calls("RestartUnit", 1, OVERTAKEN, "fail")
    somebody_else_starts(healthd, OVERTAKEN)
    for unit in (HOPELESS, FORBIDDEN, UNLISTED):
        await client.until_step("IncidentChanged", live(unit), Phase.ENGAGED)
    await client.until_attempt(live(OVERTAKEN), AttemptResult.OVERTAKEN)
    await client.until_attempt(live(HEALED), AttemptResult.DONE)

    # Confirmed by a second look, restarted once, and nobody is told.
    assert client.faces(live(HEALED))[:2] == [SUSPECT, REPAIRING]
    assert restarts(healthd, HEALED) == 1
    assert client.notices(live(HEALED)) == []
    # `max_attempts` restarts, not one more, then the owner's turn.
    assert client.faces(live(HOPELESS))[:2] == [SUSPECT, REPAIRING]
    assert (await client.checks())[live(HOPELESS)].face == FAILED
    assert restarts(healthd, HOPELESS) == 2
    # No retry can change what polkit says.
    assert restarts(healthd, FORBIDDEN) == 1
    ((_, result, words),) = (await client.incident_of(live(FORBIDDEN))).tried
    assert (result, words) == (AttemptResult.FINAL, f"polkit refuses to restart {FORBIDDEN}")
    # What is not listed is left alone.
    assert client.faces(live(UNLISTED)) == [SUSPECT, FAILED]
    assert restarts(healthd, UNLISTED) == 0
    # Somebody was faster: not counted, not engaged.
    assert restarts(healthd, OVERTAKEN) == 1
    assert client.notices(live(OVERTAKEN)) == []
    await each_is_told_once(healthd, client, (HOPELESS, FORBIDDEN, UNLISTED))

    # An attempt lasts until its job has ended, and is the only one meanwhile.
    assert restarts(healthd, SLOW) == 1
    assert (await client.incident_of(live(SLOW))).tried == [("healthd", AttemptResult.PENDING, "")]
    systemd.run_job(SLOW, systemd.job_of(SLOW), "done")
    await client.until_attempt(live(SLOW), AttemptResult.DONE)
    assert restarts(healthd, SLOW) == 1


def somebody_else_starts(healthd: Healthd, unit: str) -> None:
    """A person's job takes the place of ours."""
    systemd = healthd.systemd
    ours = systemd.job_of(unit)
    theirs = systemd.queue(unit)
    systemd.finish(unit, ours, "canceled")
    systemd.start_unit(unit, theirs)
    systemd.finish(unit, theirs, "done")


async def each_is_told_once(healthd: Healthd, client: Client, units: tuple[str, ...]) -> None:
    """On the bus and in the journal, and nobody else is."""
    for unit in units:
        await healthd.journal.until_kind(Kind.NOTICE_ENGAGED, HEALTHD_KEY=live(unit))
        (notice,) = client.notices(live(unit))
        assert notice.edition == Edition.ENGAGED
        assert notice.body.endswith(f"To fix it: systemctl restart {unit}")
    assert len(healthd.journal.of_kind(Kind.NOTICE_ENGAGED)) == len(units)


async def test_a_person_restarts_what_is_listed(healthd: Healthd, polkit: MockPolkit) -> None:
    """The same list binds everybody, and what systemd says reaches who asked."""
    systemd = healthd.systemd
    healthd.settings(SETTINGS)
    for unit in (HEALED, FORBIDDEN, UNLISTED):
        systemd.unit(unit)
    systemd.refuse[FORBIDDEN] = REFUSED
    client = await healthd.client()
    await healthd.start()
    with pytest.raises(BusError) as caught:
        await client.call("RestartUnit", "s", HEALED)
    assert caught.value.name == "org.healthd1.Error.NotAuthorized"
    await polkit.allow("org.healthd1.restart-unit")
    with pytest.raises(BusError) as caught:
        await client.call("RestartUnit", "s", UNLISTED)
    assert caught.value.name == "org.healthd1.Error.NotAllowlisted"
    with pytest.raises(BusError) as caught:
        await client.call("RestartUnit", "s", FORBIDDEN)
    assert "polkit refuses to restart" in caught.value.message
    assert systemd.times_called("RestartUnit") == 1
    assert await client.call("RestartUnit", "s", HEALED) == (0,)
    assert restarts(healthd, HEALED) == 1
    made = await healthd.journal.until_kind(Kind.ATTEMPT_MADE, UNIT=HEALED)
    assert f"by uid {os.getuid()}" in made["MESSAGE"][0]
    assert await client.incidents() == []


async def test_a_repair_that_breaks_is_said_and_ends_like_one_that_did_not_help(
    healthd: Healthd,
) -> None:
    """BR-35: the watcher gave up, or died, without a word. Giving up is the notice, and a part of
    healthd that broke is a yellow check of its own.
    """
    systemd = healthd.systemd
    healthd.settings(SETTINGS)
    systemd.unit(HEALED, StartLimitIntervalUSec=0)
    systemd.results = {HEALED: "nonsense"}
    healthd.may_complain = True
    client = await healthd.client()
    await healthd.start()
    systemd.kill(HEALED)
    await client.until_step("IncidentChanged", live(HEALED), Phase.ENGAGED)
    assert [result for _, result, _ in (await client.incident_of(live(HEALED))).tried] == [
        AttemptResult.FAILED,
        AttemptResult.FAILED,
    ]
    own = (await client.checks())["host:healthd/faults"]
    assert (own.state, f"restarting {HEALED}" in own.summary) == (State.YELLOW, True)
    [notice] = client.notices(live(HEALED))
    assert notice.edition == Edition.ENGAGED
