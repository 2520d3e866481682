"""Find the checks that a person names by key or by unit. Pure."""

from __future__ import annotations

from healthd.ctl.arguments import nearest
from healthd.ctl.rows import Check
from healthd.errors import HealthdError

_SUFFIXES = (
    *(".service", ".socket", ".target", ".device", ".mount", ".automount", ".swap", ".timer"),
    *(".path", ".slice", ".scope"),
)


def unit_name(name: str) -> str:
    """A unit's name as systemctl completes it: without a suffix it is a service."""
    return name if name.endswith(_SUFFIXES) else f"{name}.service"


def named(name: str, checks: list[Check]) -> list[Check]:
    """The checks that *name*, a key or a unit, means.

    Raises HealthdError "missing", with the nearest name.
    """
    found = [row for row in checks if row["key"] == name]
    if not found and ":" not in name:
        unit = unit_name(name)
        found = [row for row in checks if row["unit"] == unit]
    if not found:
        known = {row["key"] for row in checks} | {row["unit"] for row in checks if row["unit"]}
        words = f"healthd has no check of {name!r}"
        hint = nearest(name if ":" in name else unit_name(name), sorted(filter(None, known)))
        raise HealthdError("missing", words, hint.replace("--help", "checks"))
    return found


def all_named(names: tuple[str, ...], checks: list[Check]) -> list[Check]:
    """The checks that any of *names* means, each once, in the order of the names."""
    found = {row["key"]: row for name in names for row in named(name, checks)}
    return list(found.values())


def healthy(checks: list[Check]) -> bool:
    """Whether none of these is red: what exit code 0 means."""
    return all(row["state"] != "red" for row in checks)
