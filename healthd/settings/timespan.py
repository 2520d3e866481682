"""systemd's time spans in text and back: `30s`, `5min`, `1h 30min`. Pure; integers of microseconds.

Unlike systemd, a number without a unit is refused: nobody can tell whether 5 means seconds.
"""

from __future__ import annotations

import re
from decimal import Decimal

_SECOND_US = 1_000_000
_MINUTE_US = 60 * _SECOND_US
_HOUR_US = 60 * _MINUTE_US
_DAY_US = 24 * _HOUR_US
# A month is 30.44 days and a year 365.25 days: systemd.time(7).
_MONTH_US = 2_629_800 * _SECOND_US
_YEAR_US = 31_557_600 * _SECOND_US

#: No span in the settings is longer; the sum of several stays far from 64 bits.
LONGEST_US = 100 * _YEAR_US

_UNITS: dict[str, int] = {
    **dict.fromkeys(("usec", "us", "µs", "μs"), 1),
    **dict.fromkeys(("msec", "ms"), 1_000),
    **dict.fromkeys(("seconds", "second", "sec", "s"), _SECOND_US),
    **dict.fromkeys(("minutes", "minute", "min", "m"), _MINUTE_US),
    **dict.fromkeys(("hours", "hour", "hr", "h"), _HOUR_US),
    **dict.fromkeys(("days", "day", "d"), _DAY_US),
    **dict.fromkeys(("weeks", "week", "w"), 7 * _DAY_US),
    **dict.fromkeys(("months", "month", "M"), _MONTH_US),
    **dict.fromkeys(("years", "year", "y"), _YEAR_US),
}
_SHORT: tuple[tuple[str, int], ...] = (
    ("d", _DAY_US),
    ("h", _HOUR_US),
    ("min", _MINUTE_US),
    ("s", _SECOND_US),
    ("ms", 1_000),
    ("us", 1),
)
# ASCII digits only: int() would also take those of every other script. At most 15 of them, so
# that no text, however long, costs more than its length.
_PART = re.compile(r"\s*([0-9]{1,15})(?:\.([0-9]{1,15}))?\s*([A-Za-zµμ]*)\s*")


class BadSpan(ValueError):
    """No time span; the message says what is wrong in a few words."""


def timespan_us(text: str) -> int:
    """The span in µs, 0 to LONGEST_US; a fraction of a µs is cut off. Raises BadSpan.

    Source: systemd.time(7), "Parsing Time Spans".
    """
    if not text.strip():
        raise BadSpan("is empty")
    total_us = Decimal(0)
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            raise BadSpan("is no time span")
        whole, fraction, unit = part.groups()
        if not unit:
            raise BadSpan(f"is a bare number: write {whole}s, {whole}min or {whole}h")
        if unit not in _UNITS:
            raise BadSpan(f"has the unknown unit {unit}")
        total_us += Decimal(f"{whole}.{fraction or 0}") * _UNITS[unit]
        at = part.end()
    if total_us > LONGEST_US:
        raise BadSpan("is longer than 100 years")
    return int(total_us)


def timespan_text(span_us: int) -> str:
    """The shortest usual way to write *span_us* (≥ 0): `1h 30min`; `0s` for nothing."""
    words = []
    for unit, size_us in _SHORT:
        count, span_us = divmod(span_us, size_us)
        if count:
            words.append(f"{count}{unit}")
    return " ".join(words) or "0s"
