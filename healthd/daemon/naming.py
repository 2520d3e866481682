"""What the settings say about units, for whoever watches them. Nouns only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from healthd.model import Check, UnitName


class Liveness(Protocol):
    """Makes the liveness check of a unit."""

    def __call__(self, unit: UnitName, *, declared: bool) -> Check: ...


class Naming(Struct, frozen=True):
    """What the settings say about units.

    *checks*: the declared ones by the name they are declared under. *names*: every unit that a
    setting names. *declared*: those of them that are meant to run for it. *liveness*: the liveness
    check of a unit; *heartbeat*: that of a timer. *ignored*: why a unit is not judged, or "".
    """

    checks: dict[UnitName, tuple[Check, ...]]
    names: frozenset[UnitName]
    declared: frozenset[UnitName]
    liveness: Liveness
    heartbeat: Callable[[UnitName], Check]
    ignored: Callable[[str], str]
