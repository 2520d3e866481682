"""What was told before a restart and a boot is not told again, and what broke meanwhile is."""

from __future__ import annotations

import pytest

from tests.host.machine import Host
from tests.host.watching import SLEEPER, face, incident_in, kill, notices

#: A service that runs until the file is there, and at no boot with it.
BREAKABLE = (
    "[Unit]\nDescription=breaks while /etc/broken-%p is there\n[Service]\n"
    "ExecStartPre=/bin/sh -c '! test -e /etc/broken-%p'\nExecStart=/bin/sleep infinity\n"
    "[Install]\nWantedBy=multi-user.target\n"
)
OPEN = 5


@pytest.mark.timeout(300)
def test_five_open_incidents_are_not_told_again_after_a_restart_and_a_boot(
    fresh_host: Host,
) -> None:
    """BR-51: watchers that forget at each restart repeat every alarm, and people stop to read them.

    The services are broken before, at and after the boot: the same incidents, one notice each. One
    that fails for the first time at that boot is told.
    """
    host = fresh_host
    broken = [f"reboot-{number}.service" for number in range(OPEN)]
    late, well = "reboot-late.service", "reboot-well.service"
    for unit in (*broken, late):
        host.unit(unit, BREAKABLE)
    host.unit(well, SLEEPER.format(more=""))
    host.run("systemctl", "enable", "--now", "--quiet", *broken, late, well)
    host.wait_for(lambda: all(face(host, unit) == ("green", "ok") for unit in (*broken, late)), 90)
    for unit in broken:
        host.write(f"/etc/broken-{unit.removesuffix('.service')}", "")
        kill(host, unit)
    before = {unit: incident_in(host, unit, "engaged")["id"] for unit in broken}
    host.run("systemctl", "restart", "healthd.service", timeout_s=60)
    host.wait_until("healthctl", "checks")
    host.write("/etc/broken-reboot-late", "")
    host.boot_anew()
    host.wait_until("healthctl", "checks")
    fresh = incident_in(host, late, "engaged", 120)
    host.wait_for(lambda: all(face(host, unit)[0] == "red" for unit in broken), 120)
    host.run("healthctl", "look", check=False)
    after = {i["unit"]: i["id"] for i in host.healthctl("incidents", "--open")}
    assert after == {**before, late: fresh["id"]}
    assert sorted(notices(host)) == sorted(("engaged", unit) for unit in (*broken, late))
