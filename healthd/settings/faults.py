"""What is wrong with the settings, each thing with its place. Values and one exception, no I/O."""

from __future__ import annotations

from msgspec import Struct

from healthd.errors import HealthdError

#: Longer values are cut when they are shown, and so is each part of a fault.
SHOWN_LETTERS = 60
LONGEST_PART = 600


class Mark(Struct, frozen=True, order=True):
    """A place in a file, counted from 1 as editors do; line 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f":{self.line}:{self.column}" if self.line else ""
        return harmless(self.file) + place


class Fault(Struct, frozen=True, order=True):
    """One thing that is wrong: where, what was found, what is allowed, and the next step or ""."""

    file: str
    line: int
    column: int
    found: str
    allowed: str = ""
    hint: str = ""

    def __str__(self) -> str:
        words = [f"{Mark(self.file, self.line, self.column)}: found {self.found}"]
        if self.allowed:
            words.append(f"allowed: {self.allowed}")
        if self.hint:
            words.append(self.hint)
        return "; ".join(words)

    def public(self) -> str:
        """The place and what is allowed there, for everybody: what was found may be a secret."""
        place = Mark(self.file, self.line, self.column)
        return f"{place}: fault; allowed: {self.allowed}" if self.allowed else f"{place}: fault"


class Remark(Struct, frozen=True, order=True):
    """Something worth knowing about settings that hold: a note or a warning, with its place."""

    file: str
    line: int
    column: int
    words: str

    def __str__(self) -> str:
        return f"{Mark(self.file, self.line, self.column)}: {self.words}"


class Faults(HealthdError):
    """The settings are refused as a whole; *faults* holds every reason, in order of place."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        count = len(faults)
        more = f" (and {count - 1} more)" if count > 1 else ""
        super().__init__(
            "invalid-settings",
            f"the settings have {count} {'fault' if count == 1 else 'faults'}: {faults[0]}{more}",
            "healthctl verify shows them all" if count > 1 else "",
        )
        self.faults = faults


class Findings:
    """Where the readers put what they find, so that every fault is told at once."""

    def __init__(self) -> None:
        self._faults: dict[Fault, None] = {}
        self._notes: dict[Remark, None] = {}

    def fault(self, mark: Mark, found: str, allowed: str = "", hint: str = "") -> None:
        """One more fault; the same one twice counts once."""
        words = (harmless(shown(text, LONGEST_PART)) for text in (found, allowed, hint))
        self._faults[Fault(mark.file, mark.line, mark.column, *words)] = None

    def note(self, mark: Mark, words: str) -> None:
        """One more thing that is no fault."""
        self._notes[Remark(mark.file, mark.line, mark.column, words)] = None

    def add(self, faults: tuple[Fault, ...]) -> None:
        """Faults that another reader has found."""
        self._faults.update(dict.fromkeys(faults))

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All faults, in the order of file, line and column."""
        return tuple(sorted(self._faults))

    @property
    def notes(self) -> tuple[Remark, ...]:
        """All notes, in the order of file, line and column."""
        return tuple(sorted(self._notes))


def shown(text: str, most: int = SHOWN_LETTERS) -> str:
    """What stood in a file, cut to *most* letters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def harmless(text: str) -> str:
    """*text* on one line, with nothing that a terminal would act on or an encoding refuse."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
