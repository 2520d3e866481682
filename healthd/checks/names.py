"""Turn a place into the socket addresses to try, both families, in the order to try them.

Asks the resolver only for what is no address, and never on the loop.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from itertools import chain
from typing import cast

from msgspec import Struct

from healthd.checks.base import Place
from healthd.checks.shared import Shared

#: How long a name's addresses are believed: the looks of one tick share one question.
KEEP_S = 2.0

SocketAddress = str | tuple[str, int] | tuple[str, int, int, int]


class Candidate(Struct, frozen=True):
    """One socket address to try, in the form that its *family* has in Python."""

    family: socket.AddressFamily
    address: SocketAddress


#: A place's candidates, in the order to try them. Raises OSError.
Resolver = Callable[[Place], tuple[Candidate, ...]]


class Names:
    """The addresses of places. One object serves all looks."""

    def __init__(self, resolver: Resolver | None = None) -> None:
        """*resolver* is called in a thread for what is no address; default: the system's own."""
        self._resolved = Shared(resolver or resolve, keep_s=KEEP_S)

    def known(self, place: Place) -> tuple[Candidate, ...]:
        """The candidates of a place that needs no resolver; () for one that does."""
        if place.unix:
            path = place.unix
            return (Candidate(socket.AF_UNIX, f"\0{path[1:]}" if path[0] == "@" else path),)
        host = place.host.removesuffix(".").lower()
        # RFC 6761, 6.3: these names are the loopback's whatever a resolver would say (some give one
        # family only), and they must not wait behind names whose resolver is down.
        if host == "localhost" or host.endswith(".localhost"):
            return (*_numeric("::1", place.port), *_numeric("127.0.0.1", place.port))
        return _numeric(place.host, place.port)

    def resolve(self, place: Place) -> asyncio.Future[tuple[Candidate, ...]]:
        """The candidates of a name, there or still to come; it may end with an OSError.

        It belongs to all who ask for that name: never cancel it.
        """
        return self._resolved.get(place)


def _numeric(host: str, port: int) -> tuple[Candidate, ...]:
    """The one candidate of an address; () when *host* is a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        address = (host, port) if family == socket.AF_INET else (host, port, 0, 0)
        return (Candidate(family, address),)
    # fe80::1%eth0: the scope's number is the kernel's to say, which asks nobody else.
    return _asked(host, port, socket.AI_NUMERICHOST) if "%" in host else ()


def resolve(place: Place) -> tuple[Candidate, ...]:
    """What the system's resolver says, the families by turns. Blocks. Raises OSError."""
    # Not AI_ADDRCONFIG: glibc does not count the loopback's own address for it.
    found = _asked(place.host, place.port, 0)
    first = [each for each in found if each.family == found[0].family]
    others = [each for each in found if each.family != found[0].family]
    both = min(len(first), len(others))
    paired = chain.from_iterable(zip(first, others, strict=False))
    return (*paired, *first[both:], *others[both:])


def _asked(host: str, port: int, flags: int) -> tuple[Candidate, ...]:
    """What getaddrinfo says, in its order, each address once. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return tuple(
        dict.fromkeys(
            Candidate(family, cast("SocketAddress", address)) for family, _, _, _, address in found
        )
    )
