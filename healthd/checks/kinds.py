"""The kinds of declared checks: one line each. A kind is a frozen spec and a function `look`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import Struct

from healthd.checks import exec as exec_
from healthd.checks import http, tcp
from healthd.checks.base import Tools
from healthd.model import ExecSpec, HttpSpec, Look, Spec, TcpSpec

OneSpec = TypeVar("OneSpec", HttpSpec, TcpSpec, ExecSpec)


class Kind(Struct, frozen=True):
    """How one kind of check is declared and looked at."""

    spec: type
    # Which spec it takes is held by `_kind`, line by line; a table has one type for all.
    look: Callable[[Any, Tools], Awaitable[Look]]


def _kind(spec: type[OneSpec], look: Callable[[OneSpec, Tools], Awaitable[Look]]) -> Kind:
    return Kind(spec, look)


KINDS: dict[str, Kind] = {
    "http": _kind(HttpSpec, http.look),
    "tcp": _kind(TcpSpec, tcp.look),
    "exec": _kind(ExecSpec, exec_.look),
}

_BY_SPEC = {kind.spec: kind for kind in KINDS.values()}


async def look(spec: Spec, tools: Tools) -> Look:
    """One look at what *spec* declares. Raises only for a fault of healthd's own."""
    return await _BY_SPEC[type(spec)].look(spec, tools)
