"""Remember which checks changed when, so that a reader who missed signals catches up.

Bounded: what is forgotten is said to be forgotten. Holds keys and numbers, no rows.
"""

from __future__ import annotations

from msgspec import Struct

from healthd.model import CheckKey

# Checks that are gone are remembered so far back; those that are there, always.
GONE_KEPT = 256


class Since(Struct, frozen=True):
    """What changed after a number. *gap*: it is not known, everything may have."""

    gap: bool
    changed: frozenset[CheckKey] = frozenset()
    gone: tuple[CheckKey, ...] = ()


class Changes:
    """The last change of every check since healthd started."""

    def __init__(self, sequence: int) -> None:
        """*sequence*: the number of the last change before the first that will be noted."""
        self.last = sequence
        self._known_after = sequence
        self._changed: dict[CheckKey, int] = {}
        self._gone: dict[CheckKey, int] = {}

    def begin_anew(self, sequence: int) -> None:
        """Every check is shown otherwise from this number on."""
        self.last = self._known_after = sequence

    def note(self, key: CheckKey, sequence: int) -> None:
        """This check, or an incident of it, changed."""
        self.last = max(self.last, sequence)
        self._gone.pop(key, None)
        self._changed[key] = sequence

    def note_gone(self, key: CheckKey, sequence: int) -> None:
        """This check is gone."""
        self.last = max(self.last, sequence)
        self._changed.pop(key, None)
        # Taken out first, so that the order stays that of the numbers.
        self._gone.pop(key, None)
        self._gone[key] = sequence
        if len(self._gone) > GONE_KEPT:
            self._known_after = max(self._known_after, self._gone.pop(next(iter(self._gone))))

    def since(self, sequence: int) -> Since:
        """What changed after *sequence*; a number that was never given is a gap too."""
        if not self._known_after <= sequence <= self.last:
            return Since(gap=True)
        return Since(
            gap=False,
            changed=frozenset(key for key, at in self._changed.items() if at > sequence),
            gone=tuple(key for key, at in self._gone.items() if at > sequence),
        )
