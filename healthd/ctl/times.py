"""Instants and durations in words, as systemctl shows them. Pure: the caller passes *now*.

The zone is the process's own (TZ), as for every program of the machine.
"""

from __future__ import annotations

import time

SECOND_US = 1_000_000
#: A span is said in two of these, the smaller one left out when it is 0.
_UNITS = (("day", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def exact(at: int) -> str:
    """ "Mon 2026-11-30 23:35:26 UTC"; an instant that no calendar holds is its number."""
    return _formatted("%a %Y-%m-%d %H:%M:%S %Z", at)


def clock(at: int) -> str:
    """ "2026-11-30 23:35:26", where the zone is plain."""
    return _formatted("%Y-%m-%d %H:%M:%S", at)


def _formatted(pattern: str, at: int) -> str:
    try:
        return time.strftime(pattern, time.localtime(at // SECOND_US))
    except (OverflowError, ValueError, OSError):
        return f"@{at // SECOND_US}"


def span(us: int) -> str:
    """ "12 s", "1 min 30 s", "3 days 4 h"; under a second, or below 0, "0 s"."""
    seconds = max(0, us) // SECOND_US
    for index, (name, size) in enumerate(_UNITS):
        if seconds >= size:
            count, rest = divmod(seconds, size)
            words = f"{count} {name}s" if name == "day" and count > 1 else f"{count} {name}"
            if index + 1 < len(_UNITS) and (lower := rest // _UNITS[index + 1][1]):
                return f"{words} {lower} {_UNITS[index + 1][0]}"
            return words
    return "0 s"


def relative(at: int, now: int) -> str:
    """ "4 min 2 s ago", "in 12 s", "now"."""
    if abs(now - at) < SECOND_US:
        return "now"
    return f"{span(now - at)} ago" if at < now else f"in {span(at - now)}"


def coarse(us: int) -> str:
    """ "4 min": the larger unit of `span` alone, for a narrow column."""
    return " ".join(span(us).split()[:2])


def both(at: int, now: int) -> str:
    """ "Mon 2026-11-30 23:35:26 UTC; 4 min 2 s ago"."""
    return f"{exact(at)}; {relative(at, now)}"
