"""What the settings say about units, and which checks one has by that. Pure: asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from healthd.host.systemd import UnitRow
from healthd.judge.watched import is_watched
from healthd.model import Check, LoadState, UnitFacts, UnitName


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


def checks_of(
    facts: UnitFacts, aliases: Mapping[str, UnitName], naming: Naming
) -> tuple[Check, ...]:
    """The unit's checks: its liveness, if it is one to watch, and what is declared for it under
    any of its names; none = nobody looks at it. *aliases*: the Id behind each other name.
    """
    names = {str(facts.id), *(n for n, unit in aliases.items() if unit == facts.id)}
    named, ignored = bool(names & naming.names), bool(naming.ignored(facts.id))
    checks = []
    if is_watched(facts, named=named, ignored=ignored):
        checks.append(naming.liveness(facts.id, declared=bool(names & naming.declared)))
    for name in sorted(names):
        checks += [replace(c, unit=facts.id) for c in naming.checks.get(UnitName(name), ())]
    return tuple(_resolved(check, aliases) for check in checks)


def ignored_among(rows: Iterable[UnitRow], naming: Naming) -> tuple[str, ...]:
    """The loaded units that are not judged because a list or a setting says so."""
    loaded = (row.name for row in rows if row.load_state is LoadState.LOADED)
    return tuple(sorted(name for name in loaded if naming.ignored(name)))


def _resolved(check: Check, aliases: Mapping[str, UnitName]) -> Check:
    """*check* with the Ids of what it needs, whatever names the settings use."""
    if not check.needs:
        return check
    return replace(check, needs=tuple(aliases.get(n, n) for n in check.needs))
