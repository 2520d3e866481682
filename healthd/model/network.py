"""The machine's way out, and what looks at others tell of it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Way(StrEnum):
    """How far a look at another machine came. UNKNOWN: it says nothing of the network between."""

    UNKNOWN = ""
    OPEN = "open"
    NO_ANSWER = "no-answer"
    NO_ROUTE = "no-route"
    NO_RESOLVER = "no-resolver"


class Link(Struct, frozen=True):
    """The interfaces that lead out. *routes*: those with a default route, of either family;
    *unplugged*: those of them that have no carrier.
    """

    routes: tuple[str, ...] = ()
    unplugged: tuple[str, ...] = ()
