"""The list that polkit's rule holds now, where the daemon can read it; the rule itself is root's.

Root writes it beside the rule, straight into /run: in a folder of healthd's own, a hijacked healthd
could lead root's pen elsewhere.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

LIST_FILE = "run/healthd-allowed.json"


def encode(allow: tuple[str, ...]) -> str:
    return msgspec.json.encode(sorted(allow)).decode()


def rendered(root: Path) -> frozenset[str] | None:
    """What may be restarted as far as polkit is concerned.

    None where nothing was rendered (healthd was not started by its unit): polkit will say.
    """
    try:
        return frozenset(msgspec.json.decode((root / LIST_FILE).read_bytes(), type=list[str]))
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError):
        return frozenset()
