"""Decode systemd's properties of one unit. Pure: no bus, no clock.

Values are hostile: a wrong type becomes the default, a value of a newer systemd becomes UNKNOWN.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import TypeVar

from msgspec.structs import replace

from healthd.model import ActiveState, LoadState, UnitFacts, UnitName

log = logging.getLogger(__name__)

State = TypeVar("State", bound=StrEnum)

INFINITY = 2**64 - 1
# Every service conflicts with it, and it is active only when all is over.
END_OF_ALL = "shutdown.target"
#: The interfaces whose changes tell how a watched unit is.
INTERFACES = ("Unit", "Service", "Mount", "Swap", "Socket", "Path", "Automount", "Timer")
MACHINE_ACTIONS = ("StartLimitAction", "FailureAction", "SuccessAction", "JobTimeoutAction")

# Ours ← systemd's, by kind of value; what is put together from several properties stands below.
TEXTS = {
    "sub_state": "SubState",
    "unit_file_state": "UnitFileState",
    "fragment_path": "FragmentPath",
    "source_path": "SourcePath",
    "slice": "Slice",
    "service_type": "Type",
    "result": "Result",
    "restart": "Restart",
}
INSTANTS = {
    "active_enter_us": "ActiveEnterTimestampMonotonic",
    "active_exit_us": "ActiveExitTimestampMonotonic",
    "inactive_enter_us": "InactiveEnterTimestampMonotonic",
    "inactive_exit_us": "InactiveExitTimestampMonotonic",
    "state_change_us": "StateChangeTimestampMonotonic",
    "main_start_us": "ExecMainStartTimestampMonotonic",
    "main_exit_us": "ExecMainExitTimestampMonotonic",
}
DURATIONS = {
    "timeout_start_for_us": "TimeoutStartUSec",
    "timeout_stop_for_us": "TimeoutStopUSec",
    "start_limit_interval_for_us": "StartLimitIntervalUSec",
}
NUMBERS = {
    "exit_code": "ExecMainCode",
    "exit_status": "ExecMainStatus",
    "n_restarts": "NRestarts",
    "start_limit_burst": "StartLimitBurst",
}
SWITCHES = {
    "transient": "Transient",
    "need_daemon_reload": "NeedDaemonReload",
}
RELATIONS = {
    "requires": ("Requires", "Requisite", "BindsTo"),
    "providers": ("Requires", "Requisite", "BindsTo", "PartOf", "StopPropagatedFrom"),
    "bound_to": ("BindsTo",),
    "triggers": ("Triggers",),
    "foes": ("Conflicts", "ConflictedBy"),
    "taken_along": ("RequiredBy", "RequisiteOf", "BoundBy", "ConsistsOf"),
    "stays_down": ("PropagatesStopTo",),
}


def decode(properties: Mapping[str, object], steady_minus_monotonic_us: int) -> UnitFacts:
    """The facts of a GetAll of all interfaces, structs as list or tuple.

    What other units' states decide (`wanted`, `on_demand`, …) is not in there and is left alone.
    """
    facts = UnitFacts(
        id=UnitName(text(properties.get("Id"))),
        names=names(properties.get("Names")),
        load_state=load_state(properties.get("LoadState")),
        acts_on_machine=any(text(properties.get(p)) not in ("", "none") for p in MACHINE_ACTIONS),
    )
    relations = {field: related(properties, kinds) for field, kinds in RELATIONS.items()}
    return _with(replace(facts, **relations), properties, steady_minus_monotonic_us)


def merge(
    facts: UnitFacts,
    interface: str,
    changed: Mapping[str, object],
    steady_minus_monotonic_us: int,
) -> UnitFacts:
    """*facts* after PropertiesChanged of *interface* ("Unit", "Service", "Mount", …)."""
    if interface not in INTERFACES:
        return facts
    return _with(facts, changed, steady_minus_monotonic_us)


def _with(facts: UnitFacts, new: Mapping[str, object], offset_us: int) -> UnitFacts:
    """*facts* with those of the *new* properties that are there and well-formed."""
    fields: dict[str, object] = {}
    for table, read in _tables(offset_us):
        for field, name in table.items():
            if name in new and (value := read(new[name])) is not None:
                fields[field] = value
    fields.update(_of_resources(new))
    if "ActiveState" in new:
        fields["active_state"] = active_state(new["ActiveState"])
    if "Job" in new:
        fields["job"] = job_number(new["Job"])
    if "InvocationID" in new:
        fields["invocation"] = invocation(new["InvocationID"])
    # 254 and newer lengthen the delay from restart to restart, and say what the next one is.
    delay = new.get("RestartUSecNext", new.get("RestartUSec"))
    if (for_us := _duration(delay)) is not None:
        fields["restart_delay_for_us"] = for_us
    if (steps := _number(new.get("RestartSteps"))) is not None:
        most = _duration(new.get("RestartMaxDelayUSec")) or 0
        fields["restart_delay_max_for_us"] = max(0, most) if steps else 0
    return replace(facts, **fields, **_conditions(facts, new))


def _of_resources(new: Mapping[str, object]) -> dict[str, object]:
    """What mounts, swaps and sockets say in properties of their own: one limit for the way up and
    the way down, and how the command ended that mounts.
    """
    fields: dict[str, object] = {}
    if (for_us := _duration(new.get("TimeoutUSec"))) is not None:
        fields |= {"timeout_start_for_us": for_us, "timeout_stop_for_us": for_us}
    for name in ("ExecMount", "ExecActivate"):
        lines = new.get(name)
        last = lines[-1] if isinstance(lines, list) and lines else ()
        # path, arguments, ignored, four instants, process, code, status
        if isinstance(last, (list, tuple)) and len(last) == 10:
            fields |= {"exit_code": _number(last[8]) or 0, "exit_status": _number(last[9]) or 0}
    return fields


def _tables(
    offset_us: int,
) -> tuple[tuple[Mapping[str, str], Callable[[object], object | None]], ...]:
    def instant(value: object) -> int | None:
        number = _number(value)
        return number + offset_us if number else number

    return (
        (TEXTS, lambda value: value if isinstance(value, str) else None),
        (INSTANTS, instant),
        (DURATIONS, _duration),
        (NUMBERS, _number),
        (SWITCHES, lambda value: value if isinstance(value, bool) else None),
    )


def _conditions(facts: UnitFacts, new: Mapping[str, object]) -> dict[str, object]:
    """Conditions and assertions are one thing here: looked at or not, and met or not."""
    kinds = ("Condition", "Assert")
    if not any(f"{kind}Result" in new for kind in kinds):
        return {}
    looked_at = {
        kind: bool(new.get(f"{kind}TimestampMonotonic", facts.condition_checked)) for kind in kinds
    }
    # Before it was looked at, systemd shows a result of "no" that says nothing.
    unmet = [kind for kind in kinds if looked_at[kind] and new.get(f"{kind}Result") is False]
    failed = tuple(line for kind in unmet for line in _failed(kind, new.get(f"{kind}s")))
    # A signal carries the results without the lines.
    return {
        "condition_checked": any(looked_at.values()),
        "condition_met": not unmet,
        "conditions_failed": failed or (facts.conditions_failed if unmet else ()),
    }


def _failed(kind: str, rows: object) -> list[str]:
    """The lines that were not met, of rows (type, trigger, negate, value, state)."""
    lines = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, (list, tuple)) and len(row) >= 5 and (_number(row[4]) or 0) < 0:
            signs = ("|" if row[1] is True else "") + ("!" if row[2] is True else "")
            lines.append(f"{text(row[0]) or kind}={signs}{text(row[3])}")
    return lines


def related(properties: Mapping[str, object], kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The units named by any of *kinds*, each once, in systemd's order."""
    found = dict.fromkeys(name for kind in kinds for name in names(properties.get(kind)))
    found.pop(END_OF_ALL, None)
    return tuple(found)


def load_state(value: object) -> LoadState:
    return _state(LoadState, LoadState.UNKNOWN, value)


def active_state(value: object) -> ActiveState:
    return _state(ActiveState, ActiveState.UNKNOWN, value)


def _state(kind: type[State], unknown: State, value: object) -> State:
    try:
        return kind(text(value))
    except ValueError:
        _warn_once(kind.__name__, text(value))
        return unknown


@lru_cache(maxsize=64)
def _warn_once(kind: str, value: str) -> None:
    log.warning("systemd says %s=%r, which healthd does not know; it decides nothing", kind, value)


def names(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        return ()
    return tuple(name for name in value if isinstance(name, str) and name)


def text(value: object) -> str:
    return value if isinstance(value, str) else ""


def job_number(value: object) -> int:
    """The number of a job pair (uo), 0 = none."""
    first = value[0] if isinstance(value, (list, tuple)) and value else value
    return _number(first) or 0


def invocation(value: object) -> str:
    """An InvocationID as 32 hex digits, "" = none; systemd sends 16 bytes, or none."""
    if isinstance(value, str):
        return value
    if not isinstance(value, (bytes, bytearray)) or not any(value):
        return ""
    return bytes(value).hex()


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _duration(value: object) -> int | None:
    number = _number(value)
    return -1 if number == INFINITY else number
