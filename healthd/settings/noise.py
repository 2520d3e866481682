"""Units that are never judged because they fail or rest on healthy machines. Pure; a visible list.

`watch.ignore` adds to it, and takes entries off it again.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

#: Shipped with healthd, and named in healthd.yaml(5).
NOISE: tuple[str, ...] = (
    "getty@*.service",
    "serial-getty@*.service",
    "container-getty@*.service",
    "console-getty.service",
    "autovt@*.service",
    "*-wait-online.service",
    "*-wait-online@*.service",
    "systemd-*-wait*.service",
    "initrd-*.service",
    "user@*.service",
    "user-runtime-dir@*.service",
    # Were it down, healthd could not say so; its own parts are the checks `host:healthd/…`.
    "healthd.service",
)


def ignoring(unit: str, entries: tuple[str, ...]) -> str:
    """The entry because of which *unit* is ignored, or "". The last one that fits decides.

    *entries* stand after the shipped list; `!name` (a pattern too) takes what it fits off again.
    """
    for entry in reversed(NOISE + entries):
        if fnmatchcase(unit, entry.removeprefix("!")):
            return "" if entry.startswith("!") else entry
    return ""
