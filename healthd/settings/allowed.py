"""Judge `repair.allow_restart`: names of services, never patterns, none that must not be restarted.

Every entry becomes a name for which polkit says yes, so whatever is doubtful is a fault.
"""

from __future__ import annotations

from collections.abc import Collection
from fnmatch import fnmatchcase

from healthd.model import NEVER_RESTART
from healthd.settings.decode import readable
from healthd.settings.document import Mapping, mark_at
from healthd.settings.faults import Findings, Mark, shown
from healthd.settings.forms import Unfit
from healthd.settings.schema import RepairKeys
from healthd.settings.unit_names import PATTERN_LETTERS, Unit

_SERVICE = Unit(("service",))
_MOST_NAMED = 8


def allowed_names(
    repair: RepairKeys, tree: Mapping, units: Collection[str], findings: Findings
) -> tuple[str, ...]:
    """The names on the list, each once. *units*: those that exist, where somebody knows."""
    own = tuple(pattern for _, pattern in readable(repair.never_restart))
    names: dict[str, None] = {}
    for place, name in readable(repair.allow_restart):
        mark = mark_at(tree, ("repair", "allow_restart", place))
        if not PATTERN_LETTERS.isdisjoint(name):
            _refuse_pattern(name, mark, units, findings)
            continue
        try:
            _SERVICE.read(name)
        except Unfit as unfit:
            findings.fault(mark, f"allow_restart: {shown(name)}", _SERVICE.allowed, str(unfit))
            continue
        _refuse_never(name, mark, own, findings)
        names[name] = None
    return tuple(names)


def _refuse_pattern(pattern: str, mark: Mark, units: Collection[str], findings: Findings) -> None:
    # `worker@*` would let the caller choose the %i that runs as root.
    found = f"allow_restart: the pattern {shown(pattern)}"
    matches = sorted(unit for unit in units if fnmatchcase(unit, pattern))
    hint = ""
    if matches:
        more = len(matches) - _MOST_NAMED
        hint = f"today it fits {', '.join(matches[:_MOST_NAMED])}"
        hint += f" and {more} more" if more > 0 else ""
    elif units:
        hint = "today it fits no unit"
    findings.fault(mark, found, "names, each instance by itself", hint)


def _refuse_never(name: str, mark: Mark, own: tuple[str, ...], findings: Findings) -> None:
    for patterns, whose in ((NEVER_RESTART, "what healthd never restarts"), (own, "never_restart")):
        for pattern in patterns:
            if fnmatchcase(name, pattern):
                findings.fault(
                    mark,
                    f"allow_restart: {name}, which is on the list of {whose} as well ({pattern})",
                    "a name on one of the two lists",
                )
                return
