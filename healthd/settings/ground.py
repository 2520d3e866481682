"""What the parts of the settings are judged against, and the way to a value's place. Pure."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from healthd.settings.document import Mapping, mark_at, node_at
from healthd.settings.faults import Findings, Mark
from healthd.settings.schema import Root

#: The way to a value: keys, and places in lists.
Steps = tuple[str | int, ...]


class Ground(Struct, frozen=True):
    """What was read, as values and as a tree.

    *top*: the folder that stands for / (tests have another). *allowed*: the names on
    repair.allow_restart.
    """

    root: Root
    tree: Mapping
    top: Path
    allowed: frozenset[str]
    findings: Findings

    def mark(self, steps: Steps) -> Mark:
        """Where the value at *steps* stands, or the nearest thing above it."""
        return mark_at(self.tree, steps)

    def written(self, steps: Steps) -> tuple[str, ...]:
        """The keys that the files have at *steps*, also those whose values could not be read."""
        node = node_at(self.tree, steps)
        return tuple(entry.key for entry in node.entries) if isinstance(node, Mapping) else ()

    def fault(self, steps: Steps, found: str, allowed: str, hint: str = "") -> None:
        """Fault the value at *steps*."""
        self.findings.fault(self.mark(steps), found, allowed, hint)
