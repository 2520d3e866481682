"""Decode what systemd signals. Pure; who sent it was tested before."""

from __future__ import annotations

from healthd.bus.connection import Signal
from healthd.host.unit_facts import invocation, job_number
from healthd.host.unit_path import MANAGER, ROOT, SYSTEMD
from healthd.model import (
    BootFinished,
    JobNew,
    JobRemoved,
    Reloading,
    SystemdSignal,
    UnitChanged,
    UnitFilesChanged,
    UnitName,
    UnitNew,
    UnitRemoved,
)

PREFIX = f"{SYSTEMD}."


def unit_changed(unit: UnitName, signal: Signal) -> UnitChanged | None:
    """PropertiesChanged of *unit*; None for anything else that comes from its path."""
    if signal.member != "PropertiesChanged" or signal.signature != "sa{sv}as":
        return None
    interface, changed = signal.body[0], signal.body[1]
    if not isinstance(interface, str) or not isinstance(changed, dict):
        return None
    properties: dict[str, object] = dict(changed)
    if "Job" in properties:
        properties["Job"] = job_number(properties["Job"])
    if "InvocationID" in properties:
        properties["InvocationID"] = invocation(properties["InvocationID"])
    return UnitChanged(unit, interface.removeprefix(PREFIX), properties)


def manager_signal(signal: Signal) -> SystemdSignal | None:
    """A signal of the manager itself; None for one that tells us nothing."""
    if signal.path != ROOT or signal.interface != MANAGER:
        return None
    match signal.member, signal.body:
        case "JobNew", (int(number), _, str(unit)):
            return JobNew(number, UnitName(unit))
        case "JobRemoved", (int(number), _, str(unit), str(result)):
            return JobRemoved(number, UnitName(unit), result)
        case "Reloading", (bool(active),):
            return Reloading(active)
        case "UnitNew", (str(unit), _):
            return UnitNew(UnitName(unit))
        case "UnitRemoved", (str(unit), _):
            return UnitRemoved(UnitName(unit))
        case "UnitFilesChanged", _:
            return UnitFilesChanged()
        case "StartupFinished", _:
            return BootFinished()
        case _:
            return None
