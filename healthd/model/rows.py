"""What readers see, in the names of the D-Bus interface and of the JSON output."""

from __future__ import annotations

from msgspec import Struct

from healthd.model.checks import Observed
from healthd.model.gaps import Gap


class CheckRow(Struct, frozen=True):
    """One check as readers see it; times are wall µs, `failure_class` is `class` in JSON.

    *lists*: names that only this check has to show, each under a word of its own.
    """

    key: str
    aspect: str
    kind: str
    unit: str
    state: str
    reason: str
    failure_class: str
    summary: str
    since: int
    streak: int
    restarts: int
    waiting_on: str
    incident: int
    remedy: str
    next_look: int
    lists: dict[str, tuple[str, ...]] = {}


class AttemptRow(Struct, frozen=True):
    """One attempt as readers see it."""

    at: int
    repairer: str
    by: str
    result: str
    detail: str = ""
    along: tuple[str, ...] = ()


class HoldRow(Struct, frozen=True):
    """One hold as readers see it; times are wall µs."""

    id: int
    units: tuple[str, ...]
    why: str
    pid: int
    uid: int
    since: int
    until: int


class TellingRow(Struct, frozen=True):
    """One edition that was told, as readers see it."""

    at: int
    edition: str
    channel: str


class IncidentRow(Struct, frozen=True):
    """One incident as readers see it; times are wall µs."""

    id: int
    key: str
    unit: str
    phase: str
    idle: str
    reason: str
    summary: str
    opened: int
    closed: int
    ending: str
    attempts: int
    notices: int
    tried: tuple[AttemptRow, ...] = ()
    told: tuple[TellingRow, ...] = ()
    recent: int = 0
    reopened: int = 0
    found: bool = False
    held_under: int = 0
    remedy: str = ""
    gaps: tuple[Gap, ...] = ()


class WhyRow(Struct, frozen=True):
    """Why healthd says what it says of one check, in public words; times are wall µs, 0 = never.

    *rule*: what the last look went by. *judged*: how the verdict came of it. *tried*: what is next
    for its open incident. *notice*: what the owner was told, or why nothing. *looks*: what the last
    looks found, oldest first.
    """

    key: str
    unit: str
    state: str
    reason: str
    summary: str
    since: int
    judged: str
    rule: str = ""
    waiting_on: str = ""
    incident: int = 0
    tried: str = ""
    notice: str = ""
    told: int = 0
    again: int = 0
    looked: int = 0
    next_look: int = 0
    looks: tuple[Observed, ...] = ()
