"""What is looked at and what a look says; the kinds that an owner can declare, checked and
resolved.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from healthd.model.network import Way
from healthd.model.words import (
    MINUTE_US,
    SECOND_US,
    Aspect,
    CheckKey,
    FailureClass,
    Outcome,
    Reason,
    State,
    UnitName,
)


class Rules(Struct, frozen=True):
    """Timing of one check; semantics.md, "Timing of one check"."""

    every_us: int = 30 * SECOND_US
    timeout_us: int = 5 * SECOND_US
    after: int = 3
    retry_us: int = 15 * SECOND_US
    grace_us: int = 60 * SECOND_US
    settle: int = 2


UNIT_RULES = Rules(every_us=5 * MINUTE_US, after=2, retry_us=5 * SECOND_US)

# A second look at the same end shows that systemd still says so; another run may be a day away.
# One run that went well is all that an incident waits for.
HEARTBEAT_RULES = Rules(every_us=5 * MINUTE_US, after=2, retry_us=5 * SECOND_US, settle=1)


class Check(Struct, frozen=True):
    """One thing that is looked at. *unit* is "" for checks that belong to no unit.

    *needs*: the units that its health depends on besides those that systemd says; empty = none at
    all, not even systemd's; None = nothing was said. *within_us*: a heartbeat's job succeeds at
    least this often, 0 = nothing was said.
    """

    key: CheckKey
    aspect: Aspect
    kind: str
    unit: UnitName = UnitName("")
    rules: Rules = Rules()
    declared: bool = False
    repair_unit: UnitName = UnitName("")
    remote: bool = False
    needs: tuple[UnitName, ...] | None = None
    within_us: int = 0


#: Kinds whose looks are readings of systemd: its signals and the reconcile call for them.
READ_KINDS = frozenset({"unit", "heartbeat"})


class Look(Struct, frozen=True):
    """One observation of a check.

    *summary* is one line in healthd's own words and may be read by anybody; *private* is what the
    check itself said (bounded by the kind, at most 4 KiB) and goes to evidence only.
    *until_us* is the steady instant at which time alone may change this look, 0 = never. *way*: how
    far it came, where the kind knows. *rule* says in public words by which
    rule it found that, "" = by that of its kind.
    """

    outcome: Outcome
    reason: Reason
    summary: str
    failure_class: FailureClass | None = None
    private: str = ""
    took_us: int = 0
    until_us: int = 0
    way: Way = Way.UNKNOWN
    rule: str = ""


class Verdict(Struct, frozen=True):
    """What healthd says of a check now."""

    state: State
    reason: Reason
    summary: str
    since_at: int
    streak: int = 0
    failure_class: FailureClass | None = None
    waiting_on: CheckKey = CheckKey("")


class Observed(Struct, frozen=True):
    """Looks one after the other that came to the same: what they found, what was said of it.

    *found* is the looks' own reason, *state* and *reason* the verdict's; *summary* and *rule* are
    those of the last of them. Public. *last_at* and *times* of looks that changed nothing are not
    stored at once.
    """

    first_at: int
    last_at: int
    times: int
    outcome: Outcome
    found: Reason
    state: State
    reason: Reason
    summary: str
    rule: str = ""


class Endpoint(Struct, frozen=True):
    """Where a check connects, under its name in `listens`. Exactly one of three is set.

    *host* and *port*: an address (*host* without brackets). *unix*: a socket's path. *unit*: a
    .socket unit, whose Listen is read when a look begins, so that a check follows the port.
    """

    name: str
    host: str = ""
    port: int = 0
    unix: str = ""
    unit: UnitName = UnitName("")

    @property
    def address(self) -> str:
        """`host:port` or `[v6]:port`; "" when the endpoint is no address."""
        if not self.host:
            return ""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class HttpSpec(Struct, frozen=True):
    """One HTTP request and what its answer must be. Redirects are answers, not followed.

    *status*: the codes that are well, empty = 200 to 299. *body*: text that the body must hold;
    *matches*: a regular expression searched in it. *slow_for_us*: an answer that takes longer is
    degraded, 0 = never. *certificate_for_us*: one that is valid for less is degraded, 0 = no such
    question. *host*: Host header and TLS server name, "" = the endpoint's. *ca*: a file of
    authorities to trust instead of the system's.
    """

    endpoint: Endpoint
    path: str = "/"
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    status: tuple[int, ...] = ()
    body: str = ""
    matches: str = ""
    slow_for_us: int = 0
    certificate_for_us: int = 0
    tls: bool = False
    host: str = ""
    ca: str = ""


class TcpSpec(Struct, frozen=True):
    """One connection: *send* once it stands (b"" = nothing), *expect* somewhere in the answer."""

    endpoint: Endpoint
    send: bytes = b""
    expect: bytes = b""
    tls: bool = False
    host: str = ""
    ca: str = ""


class ExecProtocol(StrEnum):
    """How a program says what it found: 0 and not 0, or the four codes of monitoring plug-ins."""

    EXIT = "exit"
    NAGIOS = "nagios"


class ExecSpec(Struct, frozen=True):
    """A program to run; *command* is its absolute path and its arguments, no shell."""

    command: tuple[str, ...]
    protocol: ExecProtocol = ExecProtocol.EXIT


class HeartbeatSpec(Struct, frozen=True):
    """A timer's job: what is asked of it stands in the check itself."""


Spec = HttpSpec | TcpSpec | ExecSpec | HeartbeatSpec


class DeclaredCheck(Struct, frozen=True):
    """A check from the settings with what its kind needs to look."""

    check: Check
    spec: Spec
