"""Units that need each other, on a booted machine: one notice a cause, and nobody is forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.host.machine import Host
from tests.host.watching import (
    QUICK,
    check,
    face,
    incident_in,
    incidents,
    kill,
    sleeper,
    starts,
    told,
)

NEEDS = "[Unit]\n{how}={provider}\nAfter={provider}\n[Service]\nExecStart=/bin/sleep infinity\n"
TIMES = "every: 11s, timeout: 2s, after: 2, retry: 10s, grace: 0s"


def settings(host: Host, units: Iterable[str], listed: Iterable[str] = (), more: str = "") -> None:
    """A grace of ten seconds for *units*, and *listed* on the allowlist."""
    graces = "".join(f'  "{unit}": {{grace: 10s}}\n' for unit in units)
    names = ", ".join(f'"{unit}"' for unit in listed)
    host.settings(f"{QUICK}units:\n{graces}repair: {{allow_restart: [{names}]}}\n{more}")


def consumer(host: Host, name: str, provider: str, how: str = "Requires", more: str = "") -> str:
    """An enabled and running service that needs *provider*."""
    install = f"{more}\n[Install]\nWantedBy=multi-user.target\n"
    host.unit(name, NEEDS.format(how=how, provider=provider) + install)
    host.run("systemctl", "enable", "--now", "--quiet", name)
    host.wait_for(lambda: face(host, name) == ("green", "ok"))
    return name


def waits_on(host: Host, key: str) -> str | None:
    """The check that *key* waits on, as soon as readers see that it waits."""
    row = check(host, key)
    return row["waiting_on"] if row and row["reason"] == "waiting" else None


def rows(host: Host, units: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The liveness rows of *units*."""
    known = {row["key"]: row for row in host.healthctl("checks")}
    return {unit: known[f"liveness:{unit}"] for unit in units}


def incidents_of(host: Host, units: Iterable[str]) -> list[dict[str, Any]]:
    """All incidents of *units*."""
    names = set(units)
    return [i for i in host.healthctl("incidents", "--limit", "200") if i["unit"] in names]


def test_a_provider_and_thirty_consumers_that_die_at_once_are_one_notice(host: Host) -> None:
    """It names the thirty; afterwards each comes up or is told, and healthd restarts none.

    Three more are about to be restarted by systemd: they wait on nobody.
    """
    db, plain = "prov-db.service", [f"prov-c@{n}.service" for n in range(27)]
    again = [f"prov-r@{n}.service" for n in range(3)]
    bound = [f"prov-b@{n}.service" for n in range(3)]
    thirty = [*plain, *bound]
    consumers = [*thirty, *again]
    host.unit(db, "[Service]\nExecStart=/bin/sleep infinity\n")
    host.unit("prov-c@.service", NEEDS.format(how="Requires", provider=db))
    # Long enough that a person starts the provider first: systemd's own restart would pull it in.
    restarts = "Restart=on-failure\nRestartSec=30\n"
    host.unit("prov-r@.service", NEEDS.format(how="Requires", provider=db) + restarts)
    host.unit("prov-b@.service", NEEDS.format(how="BindsTo", provider=db))
    host.unit("prov-all.target", f"[Unit]\nWants={db} {' '.join(consumers)}\n")
    stays_down = plain[-1]
    settings(host, consumers, (c for c in consumers if c != stays_down))
    host.run("systemctl", "start", "prov-all.target")
    host.wait_for(lambda: all(face(host, u) == ("green", "ok") for u in (db, plain[0], bound[2])))

    host.run("systemctl", "kill", "--signal=KILL", db, "prov-[cbr]@*.service")
    incident = incident_in(host, db, "engaged")
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged"])
    [notice] = [
        entry
        for entry in host.journal(f"HEALTHD_INCIDENT={incident['id']}")
        if entry.get("HEALTHD_EDITION") == "engaged"
    ]
    assert "30 others wait on it" in notice["MESSAGE"]
    assert all(unit in notice["MESSAGE"] for unit in thirty)
    seen = rows(host, thirty).values()
    assert {(row["reason"], row["waiting_on"]) for row in seen} == {("waiting", f"liveness:{db}")}

    begun = {unit: starts(host, unit) for unit in consumers}
    host.run("systemctl", "start", db)
    by_hand = [unit for unit in thirty if unit != stays_down]
    host.run("systemctl", "start", *by_hand)
    left = incident_in(host, stays_down, "engaged")
    assert left["attempts"] == 0
    host.wait_for(lambda: told(host, left["id"]) == ["engaged"])
    others = [unit for unit in consumers if unit != stays_down]

    def all_up() -> bool:
        return {row["state"] for row in rows(host, others).values()} == {"green"}

    host.wait_for(all_up, 60)
    assert incidents_of(host, others) == []
    assert {unit: starts(host, unit) - begun[unit] for unit in others} == dict.fromkeys(others, 1)
    assert incident_in(host, db, "closed")["ending"] == "user_fixed"


def test_what_is_bound_to_a_crashed_provider_and_not_brought_back_is_told(host: Host) -> None:
    """systemd stops it with the provider, and restarts only that."""
    db = sleeper(host, "bound-db.service", "Restart=always\nRestartSec=1")
    app = consumer(host, "bound-app.service", db, "BindsTo")
    settings(host, (db, app))
    kill(host, db)
    host.wait_for(lambda: face(host, app) == ("grey", "waiting"))
    incident = incident_in(host, app, "engaged")
    assert incident["reason"] == "exited"
    assert db in incident["summary"]
    assert incidents(host, db) == []


def test_a_provider_that_a_person_stops_takes_its_consumers_along_in_peace(host: Host) -> None:
    """Whoever stops a database knows what needs it."""
    db = sleeper(host, "meant-db.service")
    app = consumer(host, "meant-app.service", db)
    bound = consumer(host, "meant-bound.service", db, "BindsTo")
    settings(host, (db, app, bound), (db, app, bound))
    host.run("systemctl", "stop", db)
    for unit in (app, bound):
        host.wait_for(lambda unit=unit: face(host, unit)[0] == "grey")  # type: ignore[misc]
    host.run("healthctl", "look", check=False)
    assert {row["state"] for row in rows(host, (db, app, bound)).values()} == {"grey"}
    assert incidents_of(host, (db, app, bound)) == []
    assert {starts(host, unit) for unit in (db, app, bound)} == {1}


def test_what_is_not_started_because_its_provider_failed_waits_on_it(host: Host) -> None:
    """As at a boot: systemd says "dependency", and the one to mend is the provider."""
    db, app = "boot-db.service", "boot-app.service"
    wanted = "\n[Install]\nWantedBy=multi-user.target\n"
    host.unit(db, f"[Service]\nExecStart=/bin/false\nType=exec\nExecStartPre=/bin/false{wanted}")
    host.unit(app, NEEDS.format(how="Requires", provider=db) + wanted)
    host.run("systemctl", "enable", "--quiet", db, app)
    assert host.run("systemctl", "start", app, check=False).rc != 0
    incident = incident_in(host, db, "engaged")
    host.wait_for(lambda: waits_on(host, app) == f"liveness:{db}")
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged"])
    assert incidents(host, app) == []
    row = check(host, app)
    assert row is not None
    assert db in row["summary"]


def test_a_chain_waits_on_its_root_and_a_restart_of_healthd_tells_nothing_again(
    host: Host,
) -> None:
    """Who waits, on whom, and what was told are kept."""
    db = sleeper(host, "chain-db.service")
    app = consumer(host, "chain-app.service", db)
    web = consumer(host, "chain-web.service", app)
    host.run("systemctl", "kill", "--signal=KILL", web, app, db)
    incident = incident_in(host, db, "engaged")
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged"])
    for unit in (app, web):
        assert waits_on(host, unit) == f"liveness:{db}"
    host.run("systemctl", "restart", "healthd.service")
    host.wait_for(lambda: all(waits_on(host, u) == f"liveness:{db}" for u in (app, web)))
    [kept] = incidents_of(host, (db, app, web))
    assert (kept["id"], kept["phase"]) == (incident["id"], "engaged")
    assert told(host, incident["id"]) == ["engaged"]


def test_what_needs_a_service_waits_while_that_does_not_serve(host: Host) -> None:
    """`needs` is about health: the provider runs, and answers nobody."""
    db, app = sleeper(host, "needs-db.service"), sleeper(host, "needs-app.service")
    probe = "exec: {command: [/usr/bin/test, '!', -e, /run/needs.bad]}"
    checks = f"checks:\n  {db}: {{{probe}, {TIMES}}}\n  {app}: {{{probe}, {TIMES}}}\n"
    host.settings(f"units:\n  {app}: {{needs: [{db}]}}\n{checks}")
    host.wait_for(lambda: face(host, f"readiness:{app}") == ("green", "ok"))
    host.run("touch", "/run/needs.bad")
    incident = incident_in(host, db, "engaged")
    assert incident["key"] == f"readiness:{db}"
    host.wait_for(lambda: waits_on(host, f"readiness:{app}") == f"readiness:{db}")
    assert incidents(host, app) == []
    host.run("rm", "/run/needs.bad")
    host.wait_for(lambda: face(host, f"readiness:{app}") == ("green", "ok"))
    assert incidents(host, app) == []


def test_one_dead_uplink_is_one_notice_and_its_end_ends_all(host: Host) -> None:
    """No way out: twenty checks of other machines wait, and are looked at when it is back."""
    unit = sleeper(host, "uplink.service")
    places = [f"192.0.2.{n}" for n in range(1, 21)]
    listens = "".join(f'  p{n}: {{address: "{place}:7"}}\n' for n, place in enumerate(places))
    checks = "".join(f"    - {{name: p{n}, tcp: {{endpoint: p{n}}}, {TIMES}}}\n" for n in range(20))
    host.settings(f"network: true\nlistens:\n{listens}checks:\n  {unit}:\n{checks}")
    keys = [f"readiness:{unit}/p{n}" for n in range(20)]

    def network(phase: str) -> dict[str, Any] | None:
        found = host.healthctl("incidents", "--limit", "200")
        return next((i for i in found if i["key"] == "host:network" and i["phase"] == phase), None)

    incident = host.wait_for(lambda: network("engaged"))
    assert incident["summary"] == "no default route"
    host.wait_for(lambda: told(host, incident["id"]) == ["engaged"])
    host.wait_for(lambda: {waits_on(host, key) for key in keys} == {"host:network"})
    assert incidents(host, unit) == []

    # The machine is given an uplink with the twenty at its other end.
    server = host.start("socat", "TCP-LISTEN:7,fork,reuseaddr", "EXEC:/bin/true")
    try:
        for place in places:
            host.run("ip", "address", "add", f"{place}/32", "dev", "lo")
        host.run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "up1")
        for name in ("up0", "up1"):
            host.run("ip", "link", "set", name, "up")
        host.run("ip", "route", "add", "default", "dev", "up0")
        host.wait_for(lambda: {face(host, key) for key in keys} == {("green", "ok")}, 10)
        closed = host.wait_for(lambda: network("closed"))
        assert closed["ending"] == "user_fixed"
        assert incidents(host, unit) == []
    finally:
        host.run("ip", "link", "delete", "up0", check=False)
        for place in places:
            host.run("ip", "address", "delete", f"{place}/32", "dev", "lo", check=False)
        server.kill()
        server.wait()
