"""The closed sets, the identities, and the units of time.

Times end in `_us` (steady) or `_at` (wall).
"""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

CheckKey = NewType("CheckKey", str)
UnitName = NewType("UnitName", str)
IncidentId = NewType("IncidentId", int)
AttemptId = NewType("AttemptId", int)
HoldId = NewType("HoldId", int)

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US


class Aspect(StrEnum):
    """What question a check answers about its subject."""

    LIVENESS = "liveness"
    READINESS = "readiness"
    FUNCTION = "function"
    HEARTBEAT = "heartbeat"
    HOST = "host"
    CREDENTIAL = "credential"
    REPORTED = "reported"


#: What systemd says of these is so at once: no grace after a start holds it back.
NO_GRACE = frozenset({Aspect.LIVENESS, Aspect.HEARTBEAT})


class State(StrEnum):
    """What healthd says of a check."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"
    GREY = "grey"


class Reason(StrEnum):
    """Why a check has its state; a closed set."""

    OK = "ok"
    # yellow
    DEGRADED = "degraded"
    SUSPECT = "suspect"
    CHURNED = "churned"
    MISSED = "missed"
    CONFIGURATION = "configuration"
    # red
    FAILED = "failed"
    CRASH_LOOP = "crash-loop"
    STUCK = "stuck"
    EXITED = "exited"
    UNREADY = "unready"
    OVERDUE = "overdue"
    EXPIRED = "expired"
    REVOKED = "revoked"
    FULL = "full"
    FLAPPING = "flapping"
    REPAIRING = "repairing"
    # grey
    NOT_CONFIGURED = "not-configured"
    STARTING = "starting"
    STOPPED = "stopped"
    HELD = "held"
    WAITING = "waiting"
    NETWORK_OFF = "network-off"
    UNKNOWN = "unknown"
    FROZEN = "frozen"
    STALE = "stale"


class Outcome(StrEnum):
    """What one look found. KEEP: this look says nothing, the last verdict stands."""

    OK = "ok"
    DEGRADED = "degraded"
    FAILING = "failing"
    NOT_JUDGED = "not-judged"
    KEEP = "keep"


class FailureClass(StrEnum):
    """Where a failing look failed."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    STATUS = "status"
    BODY = "body"
    TIMEOUT = "timeout"
    EXIT = "exit"
    COULD_NOT_RUN = "could-not-run"


class Phase(StrEnum):
    """Where an incident stands."""

    REPAIRING = "repairing"
    ENGAGED = "engaged"
    SETTLING = "settling"
    CLOSED = "closed"


class Idle(StrEnum):
    """Why an open incident rests: nothing is repaired, nobody is told."""

    NO = ""
    WAITING = "waiting"
    HELD = "held"
    FROZEN = "frozen"
    STOPPED = "stopped"
    DEGRADED = "degraded"


class Edition(StrEnum):
    """Which telling of an incident a notice is."""

    ENGAGED = "engaged"
    AGAIN = "again"
    CLEARED = "cleared"
    FOUND = "found"
    DIGEST = "digest"


class Closing(StrEnum):
    """How an incident ended (`Ending` in the interface)."""

    NOT_YET = ""
    SELF_HEALED = "self_healed"
    USER_FIXED = "user_fixed"
    GONE = "gone"


class AttemptResult(StrEnum):
    """What became of a repair's call; looks alone decide whether it helped."""

    PENDING = ""
    DONE = "done"
    FAILED = "failed"
    FINAL = "final"
    OVERTAKEN = "overtaken"
    UNKNOWN = "unknown"


class Permission(StrEnum):
    """What polkit says of a caller. PASSWORD: yes, once somebody has typed one."""

    GRANTED = "granted"
    REFUSED = "refused"
    PASSWORD = "password"


class Urgency(StrEnum):
    """How loud a notice may be."""

    LOW = "low"
    NORMAL = "normal"
    CRITICAL = "critical"
