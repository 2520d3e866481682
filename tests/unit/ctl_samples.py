"""Rows of a machine on which something is wrong, for what healthctl prints."""

from __future__ import annotations

import difflib
import time
from pathlib import Path
from typing import Any

import pytest

from healthd.ctl import rows
from healthd.ctl.rows import Check, Incident, Manager

#: Mon 2026-11-30 23:35:26 UTC.
NOW = 1_796_081_726_000_000
SECOND = 1_000_000
MINUTE = 60 * SECOND

SNAPSHOTS = Path(__file__).parent / "snapshots"
SEEN = Path(__file__).parents[2] / "build/snapshots"


def check(key: str, state: str = "green", reason: str = "ok", **fields: Any) -> Check:
    """One check, four minutes in its state; *fields* that are no part of the row go to `more`."""
    unit = "" if key.startswith("host:") else key.partition(":")[2].partition("/")[0]
    aspect = key.partition(":")[0]
    kind = "unit" if aspect == "liveness" else "http"
    summary = fields.pop("summary", "running")
    since = fields.pop("since", NOW - 4 * MINUTE)
    streak = fields.pop("streak", 0)
    waiting_on = fields.pop("waiting_on", "")
    more = {"aspect": aspect, "kind": kind, **fields}
    return rows.check((key, unit, state, reason, summary, since, streak, waiting_on, more))


def incident(number: int, key: str, phase: str = "engaged", **fields: Any) -> Incident:
    """One incident, opened four minutes ago."""
    summary = fields.pop("summary", "killed by SIGKILL")
    closed = NOW - MINUTE if phase == "closed" else 0
    ending = fields.pop("ending", "self_healed") if phase == "closed" else ""
    counts = (len(fields.get("tried", ())), len(fields.get("told", ())))
    unit = key.partition(":")[2].partition("/")[0]
    more = {"unit": unit, "reason": "failed", **fields}
    return rows.incident(
        (number, key, phase, summary, NOW - 4 * MINUTE, closed, ending, *counts, more)
    )


DATABASE = "liveness:postgresql@17-main.service"


def settings_check(state: str = "green", reason: str = "ok", **fields: Any) -> Check:
    """The check in which the daemon says how it is set up."""
    setup = {"may_restart": [], "channels": ["journal"], "ignored": [], "faults": [], **fields}
    return check("host:healthd/settings", state, reason, kind="settings", **setup)


def broken_checks() -> list[Check]:
    """What `healthctl checks` lists on this machine, in no order."""
    return [
        check("liveness:nginx.service", restarts=0),
        check(
            *(DATABASE, "red", "failed"),
            summary="killed by SIGKILL",
            streak=2,
            restarts=2,
            incident=42,
            remedy="systemctl restart postgresql@17-main.service",
        ),
        check(
            *("readiness:nginx.service", "yellow", "degraded"),
            summary="200 in 1.4 s, slow is more than 500 ms",
            next_look=NOW + 12 * SECOND,
        ),
        check(
            *("readiness:nginx.service/admin", "red", "unready"),
            summary="no answer within 5 s",
            streak=3,
            incident=43,
            **{"class": "timeout"},
        ),
        check(
            *("readiness:keycloak.service", "grey", "waiting"),
            summary=f"waiting on {DATABASE}",
            waiting_on=DATABASE,
        ),
        check(
            *("readiness:redis-server.service", "grey", "unknown"),
            summary="/usr/lib/nagios/plugins/check_redis does not exist",
        ),
        check("liveness:cups.service", "grey", "stopped", summary="stopped by a job"),
        settings_check(may_restart=["worker@1.service", "nginx.service"]),
        check("host:healthd/store", kind="store", summary="12 kB"),
    ]


def open_incidents() -> list[Incident]:
    """The incidents of `broken_checks` that are open."""
    return [
        incident(
            *(42, DATABASE),
            recent=2,
            reopened=1,
            tried=[
                (NOW - 200 * SECOND, "restart-unit", "healthd", "failed", {"detail": "timed out"}),
                (NOW - 150 * SECOND, "restart-unit", "uid 1000", "", {}),
            ],
            told=[
                (NOW - 100 * SECOND, "engaged", "journal", {}),
                (NOW - 100 * SECOND, "engaged", "", {}),
            ],
            remedy="systemctl restart postgresql@17-main.service",
        ),
        incident(
            *(43, "readiness:nginx.service/admin", "repairing"),
            summary="no answer within 5 s",
            reason="unready",
            idle="waiting",
            held_under=42,
        ),
    ]


def manager(checks: list[Check], incidents: list[Incident], **fields: Any) -> Manager:
    """The manager's properties that belong to these rows."""
    counts = dict.fromkeys(("green", "yellow", "red", "grey"), 0)
    for row in checks:
        counts[row["state"]] += 1
    worst = next((state for state in ("red", "yellow") if counts[state]), "green")
    known = {
        "watching": True,
        "watching_reason": "",
        "sequence": 7,
        "holds": [],
        "gaps": [],
        **fields,
    }
    return Manager("0.1.0", worst, counts, checks, incidents, **known)


def use_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have instants shown in UTC, whatever the zone of who runs the test."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def evidence() -> dict[str, Any]:
    """What was seen of a database that was killed, as the client hands it on."""
    opened = NOW - 240 * SECOND
    return {
        "taken": opened,
        "facts": {
            "state": "failed (failed)",
            "ended": "killed by SIGKILL",
            "out_of_memory": "yes, the kernel killed a process of it",
            "memory_peak": "812.4 MiB",
        },
        "log": ["2026-11-30 23:31:01 postgres[311]: LOG:  database system is shut down", "bye"],
        "look": "",
        "files": [
            (opened - 86_400 * SECOND, "/usr/lib/systemd/system/postgresql@.service"),
            (opened - 120 * SECOND, "/etc/systemd/system/postgresql@17-main.service.d/mem.conf"),
        ],
        "changes": [
            (NOW - 900 * SECOND, "apt: apt upgrade, by ada (1000)"),
            (opened - 120 * SECOND, "/etc/systemd/system/postgresql@17-main.service.d/mem.conf"),
            (opened - 60 * SECOND, "systemd read the unit files again"),
        ],
        "providers": [("data.mount", "green", "ok", "mounted")],
    }


def why(words: str = "") -> dict[str, Any]:
    """The answer of Why about a database that was killed; *words* in place of its texts."""
    red = NOW - 240 * SECOND
    well = (red - 3600 * SECOND, red - 30 * SECOND, 12, "ok", "ok", "green", "ok", "running")
    rule = "`failed`, no job and no automatic restart pending → failing `failed`, in words"
    suspect = (red - 5 * SECOND, red - 5 * SECOND, 1, "failing", "failed", "yellow", "suspect")
    failed = (red, red + 200 * SECOND, 40, "failing", "failed", "red", "failed")
    return {
        "unit": words or "postgresql@17-main.service",
        "summary": words or "killed by SIGKILL",
        "since": red,
        "judged": words or "40 failing looks in a row, red from 2 on",
        "rule": words or rule,
        "incident": 42,
        "tried": words or "nothing more: 2 restarts did not help",
        "notice": words or "told (engaged); again only while it stays red",
        "told": red + 60 * SECOND,
        "again": red + 43_260 * SECOND,
        "looked": NOW - 3 * SECOND,
        "next_look": NOW + 2 * SECOND,
        "looks": [
            (*well, "`active` → ok"),
            (*suspect, words or "killed by SIGKILL", rule),
            (*failed, words or "killed by SIGKILL", rule),
        ],
    }


def assert_reviewed(name: str, page: str) -> None:
    """Compare *page* with the reviewed snapshots/*name*.txt.

    What was seen instead is left in build/snapshots: read it, and copy it when it is right.
    """
    reviewed = SNAPSHOTS / f"{name}.txt"
    expected = reviewed.read_text() if reviewed.exists() else ""
    if page != expected:
        SEEN.mkdir(parents=True, exist_ok=True)
        (SEEN / reviewed.name).write_text(page)
        differences = difflib.unified_diff(
            expected.splitlines(), page.splitlines(), "reviewed", "seen", lineterm=""
        )
        pytest.fail("\n".join([f"{name}: see {SEEN / reviewed.name}", *differences]))
