"""systemd's names on the bus; unit names and their object paths. Pure."""

from __future__ import annotations

import string

from healthd.model import UnitName

SYSTEMD = "org.freedesktop.systemd1"
MANAGER = f"{SYSTEMD}.Manager"
ROOT = "/org/freedesktop/systemd1"
UNITS = f"{ROOT}/unit/"
PLAIN = frozenset((string.ascii_letters + string.digits).encode())


def unit_path(unit: str) -> str:
    """The object path of *unit*: all but [A-Za-z0-9] is escaped, a digit at the start too.

    Source: sd_bus_path_encode(3).
    """
    raw = unit.encode()
    escaped = "".join(
        chr(byte) if byte in PLAIN and (at or not chr(byte).isdigit()) else f"_{byte:02x}"
        for at, byte in enumerate(raw)
    )
    return UNITS + (escaped or "_")


def unit_name(path: str) -> UnitName:
    """The unit of an object path, "" where it is not a unit's. Source: sd_bus_path_encode(3)."""
    head, _, escaped = path.rpartition("/")
    if f"{head}/" != UNITS or not escaped:
        return UnitName("")
    plain, *rest = escaped.split("_")
    raw = bytearray(plain, "ascii", "replace")
    for part in rest:
        try:
            raw += bytes.fromhex(part[:2]) + part[2:].encode()
        except ValueError:
            return UnitName("")
    return UnitName(raw.decode("utf-8", "replace"))
