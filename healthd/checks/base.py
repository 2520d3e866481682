"""What every kind of declared check stands on: where to connect, what to ask, what came of it.

Nouns and the seam `Tools` only. Nothing here opens a socket, starts a process or reads a clock.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from healthd.model import Endpoint, FailureClass, Look, Outcome, Reason, Way

#: How much of what a check itself said is kept for evidence.
PRIVATE_BYTES = 4096


class Place(Struct, frozen=True):
    """Where to connect: *host* and *port*, or the path of a *unix* socket ("@name" = abstract)."""

    host: str = ""
    port: int = 0
    unix: str = ""

    def __str__(self) -> str:
        if self.unix:
            return self.unix
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Tls(Struct, frozen=True):
    """How to speak TLS. *server_name*: what the certificate must be for. *ca*: authorities to trust
    instead of the system's, a file."""

    server_name: str
    ca: str = ""


def server_name(host: str, place: Place) -> str:
    """What a certificate must be for: the declared *host* without its port, else the place's."""
    if host:
        return re.sub(r":\d+$", "", host).strip("[]")
    return place.host.partition("%")[0] or "localhost"


class HttpExchange(Struct, frozen=True):
    """One request; its body is empty. *headers* are sent as they stand, Host among them."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]


class TcpExchange(Struct, frozen=True):
    """Send these bytes (b"" = nothing) and read until *expect* is seen (b"" = read nothing)."""

    send: bytes = b""
    expect: bytes = b""


class Probe(Struct, frozen=True):
    """One connection and what is said over it. All *places* are tried within one limit."""

    places: tuple[Place, ...]
    exchange: HttpExchange | TcpExchange
    tls: Tls | None = None


class Stage(StrEnum):
    """How far a probe came; each stage is stamped when it ends."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    FIRST_BYTE = "first-byte"
    DONE = "done"


class Trouble(Struct, frozen=True):
    """Why a probe got no whole answer. *words* are healthd's own, "" for a limit that passed.

    *ours*: healthd could not look (no permission, no descriptors), which says nothing of the check.
    *way*: what it says of the network between.
    """

    failure_class: FailureClass
    stage: Stage
    words: str = ""
    ours: bool = False
    way: Way = Way.UNKNOWN


class Reply(Struct, frozen=True):
    """What came of a probe.

    *status*: of an HTTP answer, 0 = none. *received*: the body, or what came over TCP, bounded;
    *whole*: nothing was left out of it. *valid_until_at*: the end of the peer's certificate, wall
    µs, 0 = no TLS. *stamps*: µs from the beginning to the end of each stage that was passed.
    """

    trouble: Trouble | None = None
    status: int = 0
    received: bytes = b""
    whole: bool = True
    valid_until_at: int = 0
    took_us: int = 0
    stamps: dict[Stage, int] = {}


class Ended(Struct, frozen=True):
    """How a program ended: by *signal*, or (signal 0) with *exit_status*.

    *late*: it reached its limit and was killed. *not_run*: why it could not be run, else "".
    *output*: the beginning of what it wrote, standard output and error together.
    """

    exit_status: int = 0
    signal: int = 0
    late: bool = False
    not_run: str = ""
    output: str = ""
    took_us: int = 0


class Tools(Protocol):
    """What one look may use of the world."""

    @property
    def limit_s(self) -> float:
        """This look's limit; `probe` and `run` end at it by themselves."""

    async def places(self, endpoint: Endpoint) -> tuple[Place, ...]:
        """Where *endpoint* is now. Raises HealthdError when nobody knows."""

    async def probe(self, probe: Probe) -> Reply:
        """Connect and ask. Raises nothing for what the other side does."""

    async def run(self, command: tuple[str, ...]) -> Ended:
        """Run a program to its end. The limit runs from its start, not from a place in a queue."""

    def wall_at(self) -> int:
        """Now, wall µs."""


def failing(failure_class: FailureClass, summary: str, private: str = "", took_us: int = 0) -> Look:
    """The look of a check that does not serve. *summary* is public, *private* is not."""
    return Look(
        outcome=Outcome.FAILING,
        reason=Reason.UNREADY,
        summary=summary,
        failure_class=failure_class,
        private=private,
        took_us=took_us,
    )


def could_not_run(summary: str) -> Look:
    """healthd could not look: that is never the check's failure, and never an alarm."""
    return Look(
        outcome=Outcome.NOT_JUDGED,
        reason=Reason.UNKNOWN,
        summary=summary,
        failure_class=FailureClass.COULD_NOT_RUN,
    )


def excerpt(said: bytes) -> str:
    """The beginning of what a check said, as text of at most PRIVATE_BYTES in UTF-8."""
    text = said[:PRIVATE_BYTES].decode("utf-8", "replace")
    # A byte that is no text becomes a sign of three.
    return text.encode()[:PRIVATE_BYTES].decode("utf-8", "ignore")
