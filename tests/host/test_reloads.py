"""systemd reads everything anew, and executes itself anew, while services die: nothing is missed.

Around each of them PID 1 says nothing on the bus for a moment, drops every unit and has it again.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.host.machine import Host, end
from tests.host.watching import QUICK, SLEEPER, notices, rows_of

RELOADS, REEXECS = 100, 10
#: A unit that comes back may crash twice: a third time it would be a crash loop.
HEALED, CRASHES_EACH = 15, 2
DYING, STEADY = 20, 5

RELOADER = f"""
for turn in $(seq {RELOADS}); do
    systemctl daemon-reload
    [ $((turn % {RELOADS // REEXECS})) != 0 ] || systemctl daemon-reexec
done
"""

# The pid from the cgroup, not from systemd, which now and then cannot be asked.
CRASH = 'kill -"$1" $(cat "/sys/fs/cgroup/system.slice/$0/cgroup.procs")'


def _units(host: Host, kind: str, number: int, more: str = "") -> list[str]:
    units = [f"reloads-{kind}-{n}.service" for n in range(number)]
    for unit in units:
        host.write(f"/etc/systemd/system/{unit}", SLEEPER.format(more=more))
    return units


@pytest.mark.timeout(600)
def test_nothing_is_missed_over_a_hundred_reloads_and_ten_reexecs(fresh_host: Host) -> None:
    """A configuration manager reloads systemd all day; a death in that moment is a death.

    Every crash is in its unit's record; what stayed dead has one incident and one notice; what is
    well has none.
    """
    host = fresh_host
    healed = _units(host, "healed", HEALED, "Restart=on-failure\nRestartSec=50ms")
    dying, steady = _units(host, "dying", DYING), _units(host, "steady", STEADY)
    host.run("systemctl", "daemon-reload")
    host.run("systemctl", "start", *healed, *dying, *steady, timeout_s=90)
    host.settings(QUICK)
    keys = [f"liveness:{unit}" for unit in (*healed, *dying, *steady)]
    host.wait_for(lambda: {row["state"] for row in rows_of(host, keys)} == {"green"}, 90)
    victims = [*healed * CRASHES_EACH, *dying]
    chance = random.Random(2202)
    chance.shuffle(victims)
    reloader = host.start("sh", "-euc", RELOADER)
    crashes = Counter[str]()
    try:
        while reloader.poll() is None:
            if (
                victims
                and host.run(
                    *("sh", "-c", CRASH, victims[-1], chance.choice(("KILL", "SEGV", "ABRT"))),
                    check=False,
                ).rc
                == 0
            ):
                crashes[victims.pop()] += 1
    finally:
        end(reloader)
    assert reloader.returncode == 0
    assert victims == [], "the reloads were over before every unit had crashed"
    host.wait_for(lambda: {unit for _, unit in notices(host)} == set(dying), 120)
    host.wait_for(
        lambda: (
            {row["state"] for row in rows_of(host, keys) if row["unit"] not in dying} == {"green"}
        ),
        90,
    )
    assert sorted(notices(host)) == sorted(("engaged", unit) for unit in dying)
    assert Counter(i["unit"] for i in host.healthctl("incidents", "--limit", "200")) == Counter(
        dying
    )
    counted = {row["unit"]: row["restarts"] for row in rows_of(host, keys)}
    assert {unit: counted[unit] for unit in healed} == {unit: crashes[unit] for unit in healed}
    assert {unit: counted[unit] for unit in steady} == dict.fromkeys(steady, 0)
