"""What systemd signals, decoded, and what PID 1 wrote in the journal of an end."""

from __future__ import annotations

from msgspec import Struct

from healthd.model.words import UnitName


class UnitChanged(Struct, frozen=True, tag=True):
    """PropertiesChanged of one unit, in the order in which it came.

    *interface* is the last word of the interface's name: "Unit", "Service", "Mount", … *properties*
    are systemd's own names with plain values; the pair `Job` is the job's number only, 0 = none;
    `InvocationID` is 32 hex digits, "" = none.
    """

    unit: UnitName
    interface: str
    properties: dict[str, object]


class JobNew(Struct, frozen=True, tag=True):
    """A job was queued for a unit; its type cannot be read in time and is not needed."""

    id: int
    unit: UnitName


class JobRemoved(Struct, frozen=True, tag=True):
    """A job ended. *result* is an open set: "done", "failed", "canceled", "dependency", …"""

    id: int
    unit: UnitName
    result: str


class Reloading(Struct, frozen=True, tag=True):
    """systemd reads its units again, from *active* true to false; UnitRemoved in between says
    nothing.
    """

    active: bool


class UnitNew(Struct, frozen=True, tag=True):
    """A unit was loaded. Never read anything in answer to it: reading loads units."""

    unit: UnitName


class UnitRemoved(Struct, frozen=True, tag=True):
    """A unit is no longer loaded."""

    unit: UnitName


class UnitFilesChanged(Struct, frozen=True, tag=True):
    """Unit files were enabled, disabled or masked."""


class BootFinished(Struct, frozen=True, tag=True):
    """Every job of the boot has ended: facts read before say `booted` false and are out of date."""


class OwnerChanged(Struct, frozen=True, tag=True):
    """systemd's name has a new owner (daemon-reexec), or none (*present* is false: the machine
    stops).
    """

    present: bool = True


class JobStop(Struct, frozen=True):
    """What PID 1 wrote of one invocation's end, read from the journal after a gap.

    *by_job*: a stop or restart job took it, or its pending automatic restart, down (*job_type*,
    *job_result*, *job*). *ended_before*: it had ended by itself before that job called off the
    automatic restart, at *ended_at*. *by_itself*: "deactivated" or "failed" is written and no job
    is. *along*: the provider whose own end or stop job took it along, "" = none did. *begun_at*:
    when the way down began, 0 = that is not written.
    """

    invocation: str
    by_job: bool = False
    ended_before: bool = False
    by_itself: bool = False
    job: int = 0
    job_type: str = ""
    job_result: str = ""
    at: int = 0
    ended_at: int = 0
    begun_at: int = 0
    along: UnitName = UnitName("")


SystemdSignal = (
    UnitChanged
    | JobNew
    | JobRemoved
    | Reloading
    | UnitNew
    | UnitRemoved
    | UnitFilesChanged
    | BootFinished
    | OwnerChanged
)
