"""Reads the recordings: what a subscriber saw, as signals; what `systemctl show` said, as facts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from healthd.host.unit_facts import decode, invocation, job_number
from healthd.model import (
    Began,
    Ended,
    JobNew,
    JobRemoved,
    Now,
    OwnerChanged,
    Reloading,
    SystemdSignal,
    UnitChanged,
    UnitFacts,
    UnitName,
    UnitNew,
    UnitRemoved,
)

FOLDER = Path(__file__).parent
_WALL_MINUS_STEADY_US = 1_796_000_000_000_000


class Heard(Struct, frozen=True):
    """One signal and when it came."""

    signal: SystemdSignal
    now: Now


def names() -> list[str]:
    """Every recording."""
    found = {path.name.removesuffix(".jsonl") for path in FOLDER.glob("*.jsonl")}
    return sorted(name for name in found if not name.endswith(".journal"))


def scenario(name: str) -> str:
    """What happened, without the host it happened on."""
    return name.partition("-")[2]


def at(steady_us: int) -> Now:
    """An instant of a recording: none slept, so its clock is steady; the wall's is made up."""
    return Now(steady_us, steady_us + _WALL_MINUS_STEADY_US)


def lines(name: str) -> Iterator[dict[str, object]]:
    """What the recorder wrote, line by line."""
    for line in (FOLDER / f"{name}.jsonl").read_text().splitlines():
        yield json.loads(line)


def last_instant(name: str) -> Now:
    """When the recording ended."""
    instants = [line["t"] for line in lines(name)]
    last = instants[-1]
    assert isinstance(last, int)
    return at(last)


def heard(name: str) -> list[Heard]:
    """The signals of a recording, as the product's door hands them on."""
    found = []
    for line in lines(name):
        signal = _signal(line)
        if signal is not None and not _forged(line):
            t = line["t"]
            assert isinstance(t, int)
            found.append(Heard(signal, at(t)))
    return found


def was_up(name: str) -> dict[UnitName, str]:
    """Units that ran when the recorder subscribed, with their invocation.

    It took no first reading. Those ran whose first signal shows them up, or shows that they left
    `active` later than that.
    """
    begun = next(lines(name))["t"]
    assert isinstance(begun, int)
    firsts: dict[UnitName, Mapping[str, object]] = {}
    for one in heard(name):
        if isinstance(one.signal, UnitChanged) and one.signal.interface == "Unit":
            firsts.setdefault(one.signal.unit, one.signal.properties)
    return {
        unit: str(shown["InvocationID"])
        for unit, shown in firsts.items()
        if shown["ActiveState"] == "active"
        or _instant(shown, "ActiveExitTimestampMonotonic") > begun
    }


def late(name: str) -> dict[str, UnitFacts]:
    """What `systemctl show` said of each unit when all was over."""
    path = FOLDER / f"{name}.late.txt"
    found = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        mark, *pairs = line.split(" ")
        if mark == "#late":
            shown = dict(pair.split("=", 1) for pair in pairs if pair)
            facts = decode({key: typed(key, text) for key, text in shown.items()}, 0)
            found[str(facts.id)] = facts
    return found


def every_unit(name: str) -> list[Mapping[str, str]]:
    """The properties of all units of a machine, as `systemctl show '*'` prints them."""
    with gzip.open(FOLDER / f"{name}.show.gz", "rt") as text:
        blocks = text.read().split("\n\n")
    return [
        dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        for block in blocks
        if block.strip()
    ]


def typed(key: str, shown: str) -> object:
    """A property as D-Bus has it, from what `systemctl show` prints."""
    if key == "Job":
        return int(shown or 0)
    if shown in ("yes", "no"):
        return shown == "yes"
    return int(shown) if shown.isdecimal() and key != "InvocationID" else shown


def in_words(event: Ended | Began) -> str:
    """One line for an end or a beginning."""
    match event:
        case Began(automatic=True):
            return "started automatically"
        case Began(asked=True):
            return "started"
        case Began():
            return "started again"
        case Ended(end=end):
            by = f" {end.by}" if end.by else ""
            return f"{end.how}{by}" if end.clean else f"{end.how}{by}, unclean"


def _signal(line: Mapping[str, object]) -> SystemdSignal | None:
    args = line.get("args")
    match line.get("sig"), args:
        case "JobNew", [int(number), _, str(unit)]:
            return JobNew(number, UnitName(unit))
        case "JobRemoved", [int(number), _, str(unit), str(result)]:
            return JobRemoved(number, UnitName(unit), result)
        case "UnitNew", [str(unit), _]:
            return UnitNew(UnitName(unit))
        case "UnitRemoved", [str(unit), _]:
            return UnitRemoved(UnitName(unit))
        case "Reloading", [bool(active)]:
            return Reloading(active)
        case "NameOwnerChanged", ["org.freedesktop.systemd1", _, str(owner)]:
            return OwnerChanged(present=bool(owner))
        case "PropertiesChanged", _:
            return _changed(line)
        case _:
            return None


def _changed(line: Mapping[str, object]) -> UnitChanged:
    unit, interface, shown = line["unit"], line["iface"], line["props"]
    assert isinstance(unit, str)
    assert isinstance(interface, str)
    assert isinstance(shown, dict)
    properties: dict[str, object] = dict(shown)
    if "Job" in properties:
        properties["Job"] = job_number(properties["Job"])
    if "InvocationID" in properties:
        properties["InvocationID"] = invocation(properties["InvocationID"])
    return UnitChanged(UnitName(unit), interface, properties)


def _forged(line: Mapping[str, object]) -> bool:
    """Whether nobody's program sent it: the door drops it by its sender, which was not recorded.

    systemd sends all properties of an interface at once; the forger sent one.
    """
    return line.get("sig") == "PropertiesChanged" and line.get("props") == {"ActiveState": "failed"}


def _instant(shown: Mapping[str, object], name: str) -> int:
    value = shown[name]
    assert isinstance(value, int)
    return value
