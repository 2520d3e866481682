"""Decode systemd's properties of one timer. Pure: no bus, no clock; hostile values say nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from healthd.host.unit_facts import INFINITY, text
from healthd.model import TimerFacts, UnitName

INTERFACE = "Timer"

# What fires again after each run; all other monotonic lines count from one instant.
_REPEATED = ("OnUnitActiveUSec", "OnUnitInactiveUSec")
# A calendar line as systemd writes it, of one day in one year.
_ONE_DAY = re.compile(r"([A-Za-z]{3} )?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?( \S+)?\Z")


def decode_timer(properties: Mapping[str, object], steady_minus_monotonic_us: int) -> TimerFacts:
    """The timer of a GetAll of all interfaces."""
    return merge_timer(TimerFacts(), properties, steady_minus_monotonic_us)


def merge_timer(
    timer: TimerFacts, new: Mapping[str, object], steady_minus_monotonic_us: int
) -> TimerFacts:
    """*timer* with those of the *new* properties that are there and well-formed."""
    fields: dict[str, object] = {}
    for field, name in (
        ("next_at", "NextElapseUSecRealtime"),
        ("next_stamp_us", "NextElapseUSecMonotonic"),
        ("trigger_at", "LastTriggerUSec"),
        ("accuracy_for_us", "AccuracyUSec"),
    ):
        if (number := _number(new.get(name))) is not None:
            fields[field] = number
    if "next_stamp_us" in fields:
        stamp_us = _number(new.get("NextElapseUSecMonotonic")) or 0
        fields["next_us"] = stamp_us + steady_minus_monotonic_us if stamp_us else 0
    if text(new.get("Unit")):
        fields["unit"] = UnitName(text(new["Unit"]))
    if text(new.get("Result")):
        fields["result"] = text(new["Result"])
    if isinstance(new.get("Persistent"), bool):
        fields["persistent"] = new["Persistent"]
    if "TimersMonotonic" in new and "TimersCalendar" in new:
        fields["one_shot"] = _is_one_shot(new["TimersMonotonic"], new["TimersCalendar"])
    return replace(timer, **fields)


def _is_one_shot(monotonic: object, calendar: object) -> bool:
    """Whether no line fires twice. Lines are (base, span, next) and (base, expression, next)."""
    bases, expressions = _column(monotonic, 0), _column(calendar, 1)
    once = all(base not in _REPEATED for base in bases)
    return bool(bases or expressions) and once and all(map(_ONE_DAY.match, expressions))


def _column(lines: object, place: int) -> list[str]:
    rows = lines if isinstance(lines, list) else []
    return [text(row[place]) for row in rows if isinstance(row, (list, tuple)) and len(row) == 3]


def _number(value: object) -> int | None:
    """A number of µs; "never" is 0."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return 0 if value == INFINITY else value
