"""Say whether a unit may be restarted, and render that list as polkit's rule. Pure.

polkit is the guard; what is said here spares a call and names the reason. Both come from one list.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from fnmatch import fnmatchcase

from msgspec import Struct

_RULE = """\
// Written by healthd from repair.allow_restart of its settings, at its start and reload; removed
// when it stops. What is changed here is lost.
polkit.addRule(function (action, subject) {
    var units = %s;
    if (subject.user !== "healthd" || action.id.indexOf("org.freedesktop.systemd1.") !== 0) {
        return polkit.Result.NOT_HANDLED;
    }
    // The verb is "restart" and no other: "start" would also let StartTransientUnit run anything.
    if (action.id === "org.freedesktop.systemd1.manage-units" &&
        action.lookup("verb") === "restart" &&
        units.indexOf(action.lookup("unit")) >= 0) {
        return polkit.Result.YES;
    }
    return polkit.Result.NO;
});
"""


class Refusal(Struct, frozen=True):
    """Why a unit may not be restarted, and what would allow it or ""."""

    message: str
    hint: str = ""


def may_restart(unit: str, allow: Collection[str], never: Collection[str]) -> Refusal | None:
    """None when *unit* (its Id) is on *allow* and no pattern of *never* fits it."""
    pattern = fitting(unit, never)
    if pattern:
        named = "" if pattern == unit else f" (it fits {pattern})"
        return Refusal(f"healthd never restarts {unit}{named}", f"run: systemctl restart {unit}")
    if unit not in allow:
        return Refusal(
            f"{unit} is not listed in repair.allow_restart",
            "list it in /etc/healthd/healthd.yaml, then: systemctl reload healthd",
        )
    return None


def fitting(unit: str, patterns: Collection[str]) -> str:
    """The first of *patterns* that fits *unit*, or ""."""
    return next((pattern for pattern in patterns if fnmatchcase(unit, pattern)), "")


def render_rule(allow: Collection[str]) -> str:
    """polkit's rule: yes to user healthd, for the verb restart, for these names; else no to it.

    Everybody else's requests and actions that are not systemd's are left to other rules. The same
    list gives the same text, whatever its order. Source: polkit(8), "Authorization rules".
    """
    # ASCII JSON is a JavaScript literal too, which JSON with U+2028 in it need not be.
    names = ",\n        ".join(json.dumps(name) for name in sorted(set(allow)))
    return _RULE % (f"[\n        {names}\n    ]" if names else "[]")
