"""What systemd heals faster than anybody looks is seen, counted, and nobody's trouble."""

from __future__ import annotations

from typing import Any

import pytest

from tests.host.machine import Host
from tests.host.watching import SLEEPER, check_changes, kill, rows_of, signals

#: How long systemd waits before it starts the unit again, of as many units.
DELAYS = ("0", "5ms", "20ms", "50ms", "80ms")
TRIES = 40
WELL = ("green", "ok")


def _faces(seen: list[dict[str, Any]], key: str) -> list[tuple[str, str]]:
    return [(state, reason) for _, state, reason in check_changes(seen, key)]


@pytest.mark.timeout(300)
def test_one_crash_that_systemd_heals_at_once_is_churned_forty_times(
    fresh_host: Host,
) -> None:
    """systemd shows `failed` for a millisecond; a watcher that polls, or reads late, misses it."""
    host = fresh_host
    units = [f"churn-{number}.service" for number in range(TRIES)]
    for number, unit in enumerate(units):
        delay = DELAYS[number % len(DELAYS)]
        host.write(
            f"/etc/systemd/system/{unit}",
            SLEEPER.format(more=f"Restart=on-failure\nRestartSec={delay}"),
        )
    host.run("systemctl", "daemon-reload")
    keys = [f"liveness:{unit}" for unit in units]
    with signals(host) as seen:
        host.run("systemctl", "start", *units, timeout_s=90)
        host.wait_for(lambda: all(_faces(seen, key)[-1:] == [WELL] for key in keys), 90)
        seen.clear()
        for unit in units:
            kill(host, unit)
        host.wait_for(lambda: all(check_changes(seen, key) for key in keys), 90)
        faces = {key: _faces(seen, key) for key in keys}
        loud = [s for s in seen if s["member"] not in ("CheckChanged", "CheckRemoved")]
    assert faces == {key: [("yellow", "churned")] for key in keys}
    assert loud == []
    assert {row["key"]: row["restarts"] for row in rows_of(host, keys)} == dict.fromkeys(keys, 1)
    assert host.healthctl("incidents", "--limit", "100") == []
