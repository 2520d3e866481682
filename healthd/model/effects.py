"""What goes out at the other: data, carried out only after it is saved."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from healthd.model.checks import Verdict
from healthd.model.incidents import Attempt, Incident, Notice
from healthd.model.story import Watch
from healthd.model.units import UnitFacts
from healthd.model.words import CheckKey, IncidentId, UnitName


class Publish(Struct, frozen=True, tag=True):
    """A check's state or reason changed; *old* is None for a new check."""

    watch: Watch
    old: Verdict | None = None
    incident: IncidentId = IncidentId(0)


class Removed(Struct, frozen=True, tag=True):
    """A check is gone."""

    key: CheckKey


class Change(StrEnum):
    """What happened to an incident."""

    OPENED = "opened"
    CHANGED = "changed"
    CLOSED = "closed"


class IncidentStep(Struct, frozen=True, tag=True):
    """An incident opened, changed or closed."""

    change: Change
    incident: Incident


class Repair(Struct, frozen=True, tag=True):
    """Make this attempt. It is stored before this effect runs.

    *judged*: the unit as it was when healthd decided this; None: a person asked, as it is now.
    """

    attempt: Attempt
    key: CheckKey
    judged: UnitFacts | None = None


class Tell(Struct, frozen=True, tag=True):
    """Send this notice on every channel."""

    notice: Notice


class Withdraw(Struct, frozen=True, tag=True):
    """Take an incident's notice back without a word."""

    incident: IncidentId


class ReadUnit(Struct, frozen=True, tag=True):
    """Read the story's unit again before its verdict may change for the worse."""

    unit: UnitName


class LookAt(Struct, frozen=True, tag=True):
    """Look at this check at *at_us* (steady)."""

    key: CheckKey
    at_us: int


class TakeEvidence(Struct, frozen=True, tag=True):
    """Collect what the machine knows about an incident that has just opened."""

    incident: IncidentId
    unit: UnitName
    invocation: str
    private: str


Effect = (
    Publish | Removed | IncidentStep | Repair | Tell | Withdraw | ReadUnit | LookAt | TakeEvidence
)
