"""Read the filters that callers send. Pure: what does not fit is an error that says what would."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from healthd.errors import HealthdError
from healthd.model import Aspect, CheckRow, Closing, State

INCIDENTS_AT_MOST = 1000

_CHECK_WORDS: dict[str, type] = {"unit": str, "aspect": str, "state": str}
_INCIDENT_WORDS: dict[str, type] = {
    "open_only": bool,
    "key": str,
    "unit": str,
    "since": int,
    "ending": str,
    "id": int,
}
_TYPES = {str: "s", bool: "b", int: "t"}


class CheckFilter(Struct, frozen=True):
    """Which checks; "" = any."""

    unit: str = ""
    aspect: str = ""
    state: str = ""

    def takes(self, row: CheckRow) -> bool:
        """Whether *row* matches all that was given."""
        return (
            self.unit in ("", row.unit)
            and self.aspect in ("", row.aspect)
            and self.state in ("", row.state)
        )


class IncidentFilter(Struct, frozen=True):
    """Which incidents, newest first, *limit* at most; *since_at*: opened then or later, wall µs.

    *id*: that one alone, however old, whatever else is asked.
    """

    open_only: bool = False
    key: str = ""
    unit: str = ""
    since_at: int = 0
    ending: str = ""
    id: int | None = None
    limit: int = INCIDENTS_AT_MOST


def check_filter(given: object) -> CheckFilter:
    """Raises HealthdError "invalid-args"."""
    words = _read(given, _CHECK_WORDS)
    _one_of(words, "aspect", [aspect.value for aspect in Aspect])
    _one_of(words, "state", [state.value for state in State])
    return CheckFilter(**{name: str(value) for name, value in words.items()})


def incident_filter(given: object, limit: object) -> IncidentFilter:
    """*limit* 0, and one that is too high, mean the highest. Raises HealthdError "invalid-args"."""
    words = _read(given, _INCIDENT_WORDS)
    _one_of(words, "ending", [closing.value for closing in Closing if closing.value])
    since = words.get("since", 0)
    number = words.get("id")
    asked = limit if isinstance(limit, int) else 0
    return IncidentFilter(
        open_only=bool(words.get("open_only", False)),
        key=str(words.get("key", "")),
        unit=str(words.get("unit", "")),
        since_at=since if isinstance(since, int) else 0,
        ending=str(words.get("ending", "")),
        id=number if isinstance(number, int) else None,
        limit=min(asked or INCIDENTS_AT_MOST, INCIDENTS_AT_MOST),
    )


def _read(given: object, words: dict[str, type]) -> Mapping[str, object]:
    filter_ = given if isinstance(given, dict) else {}
    for name, value in filter_.items():
        if name not in words:
            raise HealthdError("invalid-args", f"no filter is called {name}", _allowed(words))
        # A bool is an int to Python and another type to D-Bus.
        if type(value) is not words[name]:
            raise HealthdError("invalid-args", f"{name} has another type", _allowed(words))
    return filter_


def _allowed(words: dict[str, type]) -> str:
    return "there are " + ", ".join(f"{name} {_TYPES[kind]}" for name, kind in words.items())


def _one_of(words: Mapping[str, object], name: str, allowed: list[str]) -> None:
    if name in words and words[name] not in allowed:
        raise HealthdError(
            "invalid-args", f"no {name} is called {words[name]}", f"there are {', '.join(allowed)}"
        )
