"""One stretch of red: what was tried, who was told, how it ended."""

from __future__ import annotations

from msgspec import Struct

from healthd.model.words import (
    AttemptId,
    AttemptResult,
    CheckKey,
    Closing,
    Edition,
    Idle,
    IncidentId,
    Phase,
    Reason,
    State,
    UnitName,
    Urgency,
)


class Attempt(Struct, frozen=True):
    """One repair, recorded before it is made. *by* is "healthd" or the caller ("uid 1000").

    *along*: the units that a restart takes along.
    """

    id: AttemptId
    at: int
    at_us: int
    repairer: str
    by: str
    unit: UnitName
    result: AttemptResult = AttemptResult.PENDING
    detail: str = ""
    ended_us: int = 0
    along: tuple[str, ...] = ()


class Telling(Struct, frozen=True):
    """One edition of an incident's notice; *channel* is "" until a channel has delivered it."""

    at: int
    at_us: int
    edition: Edition
    channel: str = ""


class Incident(Struct, frozen=True):
    """One stretch of red of one check.

    *idle_since_us*: when it began to rest, 0 = it does not. *again_from_us*: from when the clock of
    `again` runs; it is moved on by every rest. *withdrawn*: its notice was taken back.
    """

    id: IncidentId
    key: CheckKey
    unit: UnitName
    phase: Phase
    reason: Reason
    summary: str
    opened_at: int
    opened_us: int
    idle: Idle = Idle.NO
    closed_at: int = 0
    closed_us: int = 0
    closing: Closing = Closing.NOT_YET
    attempts: tuple[Attempt, ...] = ()
    tellings: tuple[Telling, ...] = ()
    told: bool = False
    found: bool = False
    recent: int = 0
    recent_healed: int = 0
    reopened: int = 0
    held_under: IncidentId = IncidentId(0)
    remedy: str = ""
    good_looks: int = 0
    good_since_us: int = 0
    degraded_since_us: int = 0
    stopped_since_us: int = 0
    idle_since_us: int = 0
    again_from_us: int = 0
    withdrawn: bool = False
    why_engaged: str = ""


class Notice(Struct, frozen=True):
    """One message to the owner.

    *id* stays the same when it is sent again, so that it replaces itself. *incident* is 0 where it
    tells of many.
    """

    id: str
    incident: IncidentId
    key: CheckKey
    unit: UnitName
    edition: Edition
    urgency: Urgency
    title: str
    body: str
    remedy: str
    at: int


class Dated(Struct, frozen=True):
    """Something of the machine and when it changed, wall clock."""

    at: int
    what: str


class Neighbour(Struct, frozen=True):
    """What healthd said of a provider's liveness at one instant."""

    unit: UnitName
    state: State
    reason: Reason
    summary: str = ""


class Evidence(Struct, frozen=True):
    """What was seen when an incident opened, before a repair could destroy it. Private, bounded.

    *log*: the last lines of that invocation. *look*: what the check itself said. *files*: those
    that make the unit, by name. *changes*: what changed on the machine before, oldest first.
    """

    incident: IncidentId
    taken_at: int
    facts: dict[str, str] = {}
    log: tuple[str, ...] = ()
    look: str = ""
    files: tuple[Dated, ...] = ()
    changes: tuple[Dated, ...] = ()
    providers: tuple[Neighbour, ...] = ()


class PastIncident(Struct, frozen=True):
    """What recurrence needs of a closed incident (kept 7 days). *attempts*: healthd's own."""

    key: CheckKey
    closed_at: int
    closing: Closing
    attempts: int = 0
