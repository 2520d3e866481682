"""The properties of the fake systemd's units, by interface, as they are while a service runs."""

from __future__ import annotations

NO_JOB = (0, "/")
NEVER = 2**64 - 1

# Property → signature and value of a service that was started and runs.
UNIT: dict[str, tuple[str, object]] = {
    "Id": ("s", ""),
    "Names": ("as", []),
    "LoadState": ("s", "loaded"),
    "ActiveState": ("s", "active"),
    "SubState": ("s", "running"),
    "UnitFileState": ("s", "enabled"),
    "FragmentPath": ("s", ""),
    "SourcePath": ("s", ""),
    "Transient": ("b", False),
    "NeedDaemonReload": ("b", False),
    "InvocationID": ("ay", b""),
    "Job": ("(uo)", NO_JOB),
    "ConditionResult": ("b", True),
    "ConditionTimestampMonotonic": ("t", 1),
    "Conditions": ("a(sbbsi)", []),
    "AssertResult": ("b", True),
    "AssertTimestampMonotonic": ("t", 1),
    "Asserts": ("a(sbbsi)", []),
    "StartLimitIntervalUSec": ("t", 10_000_000),
    "StartLimitBurst": ("u", 5),
    "StartLimitAction": ("s", "none"),
    "FailureAction": ("s", "none"),
    "SuccessAction": ("s", "none"),
    "JobTimeoutAction": ("s", "none"),
    "StateChangeTimestampMonotonic": ("t", 0),
    "ActiveEnterTimestampMonotonic": ("t", 0),
    "ActiveExitTimestampMonotonic": ("t", 0),
    "InactiveEnterTimestampMonotonic": ("t", 0),
    "InactiveExitTimestampMonotonic": ("t", 0),
} | {
    relation: ("as", [])
    for relation in (
        *("Requires", "Requisite", "Wants", "BindsTo", "PartOf", "Upholds", "StopPropagatedFrom"),
        *("RequiredBy", "RequisiteOf", "WantedBy", "BoundBy", "UpheldBy", "ConsistsOf"),
        *("PropagatesStopTo", "Conflicts", "ConflictedBy", "TriggeredBy", "Triggers"),
    )
}
SERVICE: dict[str, tuple[str, object]] = {
    "Type": ("s", "simple"),
    "Slice": ("s", "system.slice"),
    "Result": ("s", "success"),
    "Restart": ("s", "no"),
    "RestartUSec": ("t", 100_000),
    "NRestarts": ("u", 0),
    "BusName": ("s", ""),
    "MainPID": ("u", 0),
    "ExecMainCode": ("i", 0),
    "ExecMainStatus": ("i", 0),
    "ExecMainStartTimestampMonotonic": ("t", 0),
    "ExecMainExitTimestampMonotonic": ("t", 0),
    "TimeoutStartUSec": ("t", 90_000_000),
    "TimeoutStopUSec": ("t", 90_000_000),
}
TIMER: dict[str, tuple[str, object]] = {
    "Unit": ("s", ""),
    "Result": ("s", "success"),
    "NextElapseUSecRealtime": ("t", NEVER),
    "NextElapseUSecMonotonic": ("t", NEVER),
    "LastTriggerUSec": ("t", 0),
    "AccuracyUSec": ("t", 60_000_000),
    "Persistent": ("b", False),
    "TimersMonotonic": ("a(stt)", []),
    "TimersCalendar": ("a(sst)", [("OnCalendar", "*-*-* 03:00:00", 0)]),
}
# What a change of a unit's state carries, whether it is new or not.
SIGNALLED = frozenset(
    {
        *("ActiveState", "SubState", "Job", "InvocationID", "ConditionResult", "AssertResult"),
        *("ConditionTimestampMonotonic", "AssertTimestampMonotonic"),
        *("Result", "NRestarts", "MainPID", "ExecMainCode", "ExecMainStatus"),
        *(name for name in (*UNIT, *SERVICE) if name.endswith("TimestampMonotonic")),
    }
)


def kind_of(name: str) -> tuple[str, dict[str, tuple[str, object]]]:
    """The interface that a unit has besides Unit, and what it shows there."""
    return ("Timer", TIMER) if name.endswith(".timer") else ("Service", SERVICE)
