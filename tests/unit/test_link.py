"""The kernel's own words about the way out, as files of a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthd.host import link
from healthd.model import Link

HEAD = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
DEFAULT = "eth0\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
NEIGHBOURS = "eth0\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n"
HALF = "tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0\n"
REFUSES = "*\t00000000\t00000000\t0201\t0\t0\t0\t00000000\t0\t0\t0\n"
ZERO = "0" * 32
DEFAULT_6 = f"{ZERO} 00 {ZERO} 00 fe800000000000000000000000000001 00000400 1 0 00000003 wlan0\n"
NOWHERE_6 = f"{ZERO} 00 {ZERO} 00 {ZERO} ffffffff 1 0 00200200 lo\n"


def machine(
    root: Path, routes: str = "", routes_6: str | None = NOWHERE_6, **carriers: str
) -> Path:
    """A folder that looks like a machine with these routes and interfaces."""
    (root / "proc/net").mkdir(parents=True)
    (root / "proc/net/route").write_text(HEAD + routes)
    if routes_6 is not None:
        (root / "proc/net/ipv6_route").write_text(routes_6)
    for name, carrier in carriers.items():
        (root / "sys/class/net" / name).mkdir(parents=True)
        (root / "sys/class/net" / name / "carrier").write_text(carrier)
    return root


@pytest.mark.parametrize(
    ("routes", "routes_6", "leads"),
    [
        ("", NOWHERE_6, ()),
        (NEIGHBOURS, NOWHERE_6, ()),
        (HALF + REFUSES, NOWHERE_6, ()),
        (DEFAULT + NEIGHBOURS, None, ("eth0",)),
        (NEIGHBOURS, DEFAULT_6 + NOWHERE_6, ("wlan0",)),
        (DEFAULT, DEFAULT_6, ("eth0", "wlan0")),
    ],
)
def test_a_default_route_of_either_family_leads_out(
    tmp_path: Path, routes: str, routes_6: str | None, leads: tuple[str, ...]
) -> None:
    """Routes to neighbours and routes that refuse lead nowhere."""
    assert link.read(machine(tmp_path, routes, routes_6)) == Link(routes=leads)


def test_an_interface_without_carrier_is_unplugged(tmp_path: Path) -> None:
    """The kernel keeps the routes of a cable that was pulled."""
    root = machine(tmp_path, DEFAULT, DEFAULT_6, eth0="0\n", wlan0="1\n")
    assert link.read(root) == Link(routes=("eth0", "wlan0"), unplugged=("eth0",))


def test_a_machine_without_routes_that_can_be_read_says_so(tmp_path: Path) -> None:
    """Not to see is no finding; the caller says that it could not look."""
    with pytest.raises(FileNotFoundError):
        link.read(tmp_path)


def test_this_machine_can_be_read() -> None:
    """The real files have the columns that are expected."""
    found = link.read()
    assert set(found.unplugged) <= set(found.routes)
