"""The keys of a check and of `defaults`, as types: the only source of what is allowed there."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Struct

from healthd.model import MINUTE_US, SECOND_US, Aspect, ExecProtocol
from healthd.settings import forms, quantities
from healthd.settings.shapes import Trait
from healthd.settings.words import AnyUnit, Expression, Host, Path, Service, Span, Word


class DeclaredAspect(StrEnum):
    """The aspects that a declared check may answer."""

    READINESS = Aspect.READINESS.value
    FUNCTION = Aspect.FUNCTION.value


class Method(StrEnum):
    """HTTP methods that a look may use."""

    GET = "GET"
    HEAD = "HEAD"
    OPTIONS = "OPTIONS"
    POST = "POST"


class TimingKeys(Struct, frozen=True):
    """`defaults`: the timing of declared checks that say nothing else."""

    every: Annotated[int, quantities.Span(10 * SECOND_US)] | None = None
    timeout: Annotated[int, quantities.Span(100_000)] | None = None
    after: Annotated[int, quantities.Number(2, 1000)] | None = None
    retry: Annotated[int, quantities.Span(10 * SECOND_US)] | None = None
    grace: Span | None = None
    settle: Annotated[int, quantities.Number(1, 1000)] | None = None


class HttpKeys(Struct, frozen=True):
    """`http` of a check. `certificate` implies `tls: true`."""

    endpoint: Word
    path: Annotated[str, forms.URL_PATH] = "/"
    method: Method = Method.GET
    headers: dict[Annotated[str, forms.HEADER_NAME], Annotated[str, forms.HEADER_VALUE]] = {}
    status: Annotated[
        tuple[Annotated[int, quantities.Number(100, 599)], ...], Trait.LONE, Trait.WHOLE
    ] = ()
    body: str = ""
    matches: Expression = ""
    slow: Span | None = None
    certificate: Span | None = None
    tls: bool | None = None
    host: Host = ""
    ca: Path = ""


class TcpKeys(Struct, frozen=True):
    """`tcp` of a check."""

    endpoint: Word
    send: str = ""
    expect: str = ""
    tls: bool = False
    host: Host = ""
    ca: Path = ""


class ExecKeys(Struct, frozen=True):
    """`exec` of a check: a list of words, no shell."""

    command: Annotated[tuple[str, ...], Trait.WHOLE]
    protocol: ExecProtocol = ExecProtocol.EXIT


class HeartbeatKeys(Struct, frozen=True):
    """`heartbeat` of a timer."""

    within: Annotated[int, quantities.Span(MINUTE_US)] | None = None


class Engine(StrEnum):
    """Container engines whose health states can be adopted."""

    PODMAN = "podman"
    DOCKER = "docker"


class RuntimeKeys(Struct, frozen=True):
    """`runtime` of a check: the container's own health."""

    engine: Engine
    container: Word


class ToolKeys(Struct, frozen=True):
    """`tool` of a check: the program's own answer over D-Bus."""

    bus_name: Annotated[str, forms.BUS_NAME]
    method: Annotated[str, forms.BUS_NAME]


class CheckKeys(TimingKeys, frozen=True):
    """One check: exactly one kind, its timing, and what belongs to it."""

    name: Word = ""
    aspect: DeclaredAspect = DeclaredAspect.READINESS
    needs: tuple[AnyUnit, ...] | None = None
    repair: Service = ""
    credential: Annotated[Word, Trait.LATER] = ""
    http: HttpKeys | None = None
    tcp: TcpKeys | None = None
    exec: ExecKeys | None = None
    heartbeat: HeartbeatKeys | None = None
    runtime: Annotated[RuntimeKeys | None, Trait.LATER] = None
    tool: Annotated[ToolKeys | None, Trait.LATER] = None


#: The keys of a check that name its kind.
KINDS = ("http", "tcp", "exec", "heartbeat", "runtime", "tool")
