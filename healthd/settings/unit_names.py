"""How names of units, and patterns of them, are read: a text in, a checked name out. Pure."""

from __future__ import annotations

import re

from msgspec import Struct

from healthd.settings.forms import Unfit

UNIT_TYPES = (
    *("service", "socket", "timer", "path", "mount", "automount", "swap"),
    *("target", "device", "slice", "scope"),
)
PATTERN_LETTERS = frozenset("*?[]")
LONGEST_UNIT_NAME = 255

_UNIT = re.compile(rf"([A-Za-z0-9:_.\\@-]+)\.({'|'.join(UNIT_TYPES)})", re.ASCII)
_UNIT_PATTERN = re.compile(r"[A-Za-z0-9:_.\\@*?\[\]!^-]+", re.ASCII)


class Unit(Struct, frozen=True):
    """The full name of a unit of one of *types*; an instance, not a template."""

    types: tuple[str, ...] = UNIT_TYPES

    @property
    def allowed(self) -> str:
        if self.types == UNIT_TYPES:
            return "the full name of a unit, such as nginx.service"
        return "the full name of a unit that ends in " + " or ".join(f".{t}" for t in self.types)

    def read(self, text: str) -> str:
        if not PATTERN_LETTERS.isdisjoint(text):
            raise Unfit("a pattern is no name")
        unit = _UNIT.fullmatch(text)
        if unit is None:
            bare = _UNIT.fullmatch(f"{text}.{self.types[0]}")
            raise Unfit(f"did you mean {text}.{self.types[0]}?" if bare else "")
        if len(text) > LONGEST_UNIT_NAME:
            raise Unfit(f"at most {LONGEST_UNIT_NAME} letters")
        if unit[1].startswith("@") or unit[1].endswith("@"):
            raise Unfit(f"{text} is a template: name one instance of it")
        if unit[2] not in self.types:
            raise Unfit("")
        return text


class UnitPattern(Struct, frozen=True):
    """A unit's name in which * and ? may stand; *may_except*: a ! before it takes it off a list."""

    may_except: bool = False

    @property
    def allowed(self) -> str:
        words = "the full name of a unit, with * and ? where it is a pattern"
        return words + ", or ! and a name" if self.may_except else words

    def read(self, text: str) -> str:
        name = text.removeprefix("!") if self.may_except else text
        if not _UNIT_PATTERN.fullmatch(name) or name.startswith("!"):
            raise Unfit("")
        if not name.endswith(("*", *(f".{t}" for t in UNIT_TYPES))):
            raise Unfit(f"did you mean {text}.service?")
        return text
