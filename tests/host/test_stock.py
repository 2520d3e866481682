"""A healthy machine is left in peace: whatever its packages and its owner do all day."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.host import machine, stock
from tests.host.conftest import install_healthd
from tests.host.machine import Host
from tests.host.watching import signals

#: Services that must be seen running; fewer, and this machine is none to learn from.
MANY = 40
TROUBLE = ("yellow", "red")
#: Errors and warnings.
LOUD = tuple(f"PRIORITY={level}" for level in range(5))


@pytest.fixture
def stock_host() -> Iterator[Host]:
    """Debian with its usual services, all well; healthd was installed there, and it booted anew."""
    with machine.boot(stock.tree(), "stock") as host:
        assert stock.failed_units(host) == "", "the machine itself is not well"
        stock.add_idler(host)
        install_healthd(host)
        host.boot_anew()
        host.wait_until("healthctl", "checks")
        yield host


def _not_well(host: Host) -> dict[str, str]:
    """The checks that are neither green nor grey, with the words for it."""
    rows = host.healthctl("checks")
    return {r["key"]: f"{r['reason']}: {r['summary']}" for r in rows if r["state"] in TROUBLE}


def _noise(seen: list[dict[str, Any]]) -> list[Any]:
    """Of healthd's signals those that could trouble somebody."""
    return [
        (s["member"], s["body"])
        for s in seen
        if s["member"].startswith("Incident")
        or s["member"] == "Notice"
        or (s["member"] == "CheckChanged" and s["body"][2] in TROUBLE)
    ]


def _one_upgrade(host: Host, folder: Path) -> None:
    """What happens to such a machine in an hour, one thing at a time."""
    stock.install_first_versions(host, folder)
    stock.one_round(host)
    stock.upgrade(host)
    stock.install_anew(host)
    stock.one_round(host)


def _was_left_in_peace(host: Host, seen: list[dict[str, Any]]) -> None:
    host.run("healthctl", "look", check=False, timeout_s=120)
    assert stock.failed_units(host) == "", "the machine itself is not well any more"
    assert _noise(seen) == []
    assert _not_well(host) == {}
    assert host.healthctl("incidents", "--limit", "100") == []
    complaints = host.journal("_SYSTEMD_UNIT=healthd.service", *LOUD)
    assert [entry["MESSAGE"] for entry in complaints] == []
    rows = host.healthctl("checks")
    running = [r["key"] for r in rows if r["state"] == "green" and r["summary"] == "running"]
    assert len(running) >= MANY, running


@pytest.mark.timeout(600)
def test_a_stock_debian_is_left_in_peace(stock_host: Host, tmp_path: Path) -> None:
    """The first false alarm is the one after which nobody reads the next.

    Packages are upgraded in five manners and installed anew, systemd and polkit among them;
    services are stopped, started, reloaded, called over the bus; they end when idle and run by
    timers.
    """
    with signals(stock_host) as seen:
        _one_upgrade(stock_host, tmp_path)
        _was_left_in_peace(stock_host, seen)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_stock_debian_is_left_in_peace_for_long(stock_host: Host, tmp_path: Path) -> None:
    """What sleeps behind a socket or a bus name ends after minutes, and is called again."""
    ends = time.monotonic() + float(os.environ.get("SOAK_STOCK_S", "600"))
    with signals(stock_host) as seen:
        _one_upgrade(stock_host, tmp_path)
        while time.monotonic() < ends:
            stock.one_round(stock_host)
            _was_left_in_peace(stock_host, seen)
