"""A service that died is confirmed, restarted if it is listed, and told about if it is not."""

from __future__ import annotations

from tests.host.machine import Host
from tests.host.watching import (
    QUICK,
    check,
    check_changes,
    face,
    incident_in,
    incidents,
    kill,
    listing,
    signals,
    sleeper,
    starts,
    told,
)


def test_a_listed_service_that_dies_is_healed_and_nobody_is_told(host: Host) -> None:
    """The whole path: suspect at once, red after the confirming look, restarted, closed, silent."""
    unit = sleeper(host, "heal-listed.service", "Restart=no")
    listing(host, unit)
    with signals(host) as seen:
        kill(host, unit)
        incident = incident_in(host, unit, "closed")
    assert incident["ending"] == "self_healed"
    assert (incident["attempts"], incident["notices"]) == (1, 0)
    assert told(host, incident["id"]) == []
    changes = check_changes(seen, f"liveness:{unit}")
    states = [(state, reason) for _, state, reason in changes]
    assert states[0] == ("yellow", "suspect")
    assert states[1][0] == "red"
    assert states[-1] == ("green", "ok")
    assert starts(host, unit) == 2


def test_a_service_that_is_not_listed_is_told_once_with_its_remedy(host: Host) -> None:
    """Nothing is restarted until someone lists it; its owner hears the exact command."""
    unit = sleeper(host, "heal-unlisted.service")
    listing(host)
    kill(host, unit)
    incident = incident_in(host, unit, "engaged")
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged"])
    assert incident["remedy"] == f"systemctl restart {unit}"
    assert incident["attempts"] == 0
    assert starts(host, unit) == 1
    host.run("healthctl", "look", f"liveness:{unit}", check=False)
    assert told(host, incident["id"]) == ["engaged"]
    host.run("systemctl", "restart", unit)
    closed = incident_in(host, unit, "closed", limit_s=180)
    assert closed["ending"] == "user_fixed"
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged", "cleared"])


def test_a_service_that_always_fails_gets_max_attempts_and_not_one_more(host: Host) -> None:
    """Two restarts, then the owner; fixed by hand, then "working again"."""
    unit = "heal-never.service"
    host.unit(unit, "[Service]\nExecStart=/bin/false\n[Install]\nWantedBy=multi-user.target\n")
    listing(host, unit)
    host.run("systemctl", "enable", "--quiet", unit)
    host.run("systemctl", "start", unit, check=False)
    incident = incident_in(host, unit, "engaged", limit_s=120)
    assert incident["attempts"] == 2
    begun = starts(host, unit)
    assert begun == 3
    host.run("healthctl", "look", f"liveness:{unit}", check=False)
    assert starts(host, unit) == begun
    host.unit(unit, "[Service]\nExecStart=/bin/sleep infinity\n")
    host.run("systemctl", "restart", unit)
    closed = incident_in(host, unit, "closed", limit_s=120)
    assert closed["ending"] == "user_fixed"
    host.wait_for(lambda: told(host, closed["id"]) == ["engaged", "cleared"])
    [cleared] = [
        e
        for e in host.journal(f"HEALTHD_INCIDENT={closed['id']}")
        if e.get("HEALTHD_EDITION") == "cleared"
    ]
    assert "working again" in cleared["HEALTHD_TITLE"]


def test_liveness_and_readiness_red_are_one_story(host: Host) -> None:
    """One notice, and at most two restarts in all."""
    unit = "heal-both.service"
    host.unit(unit, "[Service]\nExecStart=/bin/sh -c 'sleep 30; exit 1'\n")
    host.settings(
        f"""
listens: {{both: {{address: "127.0.0.1:9"}}}}
watch: {{crash_loop: {{quiet: 10s}}}}
checks:
  {unit}:
    tcp: {{endpoint: both}}
    every: 11s
    retry: 10s
    after: 2
    grace: 5s
repair: {{allow_restart: [{unit}]}}
"""
    )
    host.run("systemctl", "start", unit)
    host.wait_for(lambda: face(host, f"readiness:{unit}")[0] == "red", 60)

    def all_engaged() -> bool:
        found = incidents(host, unit)
        return bool(found) and all(i["phase"] == "engaged" for i in found)

    host.wait_for(all_engaged, 200)
    assert starts(host, unit) <= 3
    notices = [e for i in incidents(host, unit) for e in told(host, i["id"])]
    assert notices == ["engaged"]


def test_a_restart_by_hand_over_the_bus_is_an_attempt_by_that_caller(host: Host) -> None:
    """`healthctl restart` obeys the same list, and the incident says who it was."""
    unit = sleeper(host, "heal-asked.service")
    refused = host.run("healthctl", "restart", unit, check=False)
    assert refused.rc == 4
    assert "allow_restart" in refused.out + refused.err
    listing(host, unit)
    before = host.unit_property(unit, "MainPID")
    host.run("healthctl", "restart", unit)
    assert host.unit_property(unit, "MainPID") != before
    assert incidents(host, unit) == []
    row = check(host, unit)
    assert row is not None
    assert row["state"] in ("green", "yellow")


def test_no_restart_where_one_would_reach_what_may_never_be_restarted(host: Host) -> None:
    """PartOf= is how never_restart could be walked around; PropagatesStopTo= starts nothing."""
    alive = "[Service]\nExecStart=/bin/sleep infinity\n"
    base, other = "heal-base.service", "heal-propagates.service"
    bound, along = "heal-bound.service", "heal-along.service"
    host.unit(base, f"{alive}[Install]\nWantedBy=multi-user.target\n")
    host.unit(bound, f"[Unit]\nPartOf={base}\n{alive}")
    host.unit(other, f"[Unit]\nPropagatesStopTo={along}\n{alive}")
    host.unit(along, alive)
    lists = f"allow_restart: [{base}, {other}], never_restart: [{bound}]"
    budget = "budget: {unit: 4 per 1h, machine: 60 per 1min}"
    host.settings(f"{QUICK}repair: {{{lists}, {budget}}}\n")
    host.run("systemctl", "start", base, other, bound, along)
    for unit, reached in ((base, bound), (other, along)):
        kill(host, unit)
        host.run("systemctl", "start", reached)
        incident = incident_in(host, unit, "engaged", limit_s=120)
        assert starts(host, unit) == 1
        assert reached in incident["tried"][-1]["detail"]
        assert host.unit_property(reached, "ActiveState") == "active"
