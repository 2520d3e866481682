"""Read which interfaces lead out of the machine, and whether anything is plugged into them.

Asks the kernel only, through /proc and /sys; sends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from healthd.model import Link

# Source: linux/route.h. A route that is up, and one that refuses instead of leading anywhere.
_UP, _REJECT = 0x1, 0x200
_NOWHERE = "0" * 8
_NOWHERE_6 = "0" * 32


def read(root: Path = Path("/")) -> Link:
    """The way out as it is now; what cannot be read counts as well, for nobody must be alarmed
    because healthd cannot see. Raises OSError where no family's routes can be read.
    """
    routes = tuple(dict.fromkeys((*_routes_4(root), *_routes_6(root))))
    return Link(routes, tuple(name for name in routes if _unplugged(root, name)))


def _routes_4(root: Path) -> Iterator[str]:
    """Columns: interface, destination, gateway, flags, …, mask (the eighth), in hex."""
    for line in (root / "proc/net/route").read_text(encoding="ascii").splitlines()[1:]:
        words = line.split()
        if len(words) < 8 or words[1] != _NOWHERE or words[7] != _NOWHERE:
            continue
        if _leads(words[3]):
            yield words[0]


def _routes_6(root: Path) -> Iterator[str]:
    """Columns: destination, its length, source, its length, next hop, metric, …, flags, name."""
    try:
        text = (root / "proc/net/ipv6_route").read_text(encoding="ascii")
    except FileNotFoundError:
        # A kernel without IPv6.
        return
    for line in text.splitlines():
        words = line.split()
        if len(words) < 10 or words[0] != _NOWHERE_6 or words[1] != "00":
            continue
        if _leads(words[8]) and words[9] != "lo":
            yield words[9]


def _leads(flags: str) -> bool:
    bits = int(flags, 16)
    return bool(bits & _UP) and not bits & _REJECT


def _unplugged(root: Path, name: str) -> bool:
    try:
        carrier = (root / "sys/class/net" / name / "carrier").read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    except OSError:
        # The kernel answers EINVAL for an interface that is switched off.
        return True
    return carrier.strip() == "0"
