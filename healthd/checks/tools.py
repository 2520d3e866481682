"""What looks really use of the world: one Toolbox for all of them, a small handful for each look.

Decides nothing about a check.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from healthd.checks.base import Ended, Place, Probe, Reply
from healthd.checks.probe import Prober
from healthd.checks.runner import Runner
from healthd.errors import HealthdError
from healthd.model import Endpoint, UnitName

#: What a .socket unit listens on, as its property Listen has it: pairs of type and address.
#: Raises HealthdError when systemd does not know the unit.
Listens = Callable[[UnitName], Awaitable[Sequence[tuple[str, str]]]]

#: A socket that listens everywhere is asked where it is nearest.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "*": "localhost"}


class Toolbox:
    """What all looks share. *listens* asks systemd, *wall_at* says now in wall µs."""

    def __init__(
        self, prober: Prober, runner: Runner, listens: Listens, wall_at: Callable[[], int]
    ) -> None:
        self.prober = prober
        self.runner = runner
        self.listens = listens
        self.wall_at = wall_at

    def for_look(self, limit_s: float) -> LookTools:
        return LookTools(self, limit_s)


class LookTools:
    """The tools of one look (the Protocol `Tools`)."""

    def __init__(self, box: Toolbox, limit_s: float) -> None:
        self._box = box
        self._limit_s = limit_s

    @property
    def limit_s(self) -> float:
        return self._limit_s

    async def places(self, endpoint: Endpoint) -> tuple[Place, ...]:
        if not endpoint.unit:
            return (Place(endpoint.host, endpoint.port, endpoint.unix),)
        return places_of(endpoint.unit, await self._box.listens(endpoint.unit))

    async def probe(self, probe: Probe) -> Reply:
        return await self._box.prober.probe(probe, self._limit_s)

    async def run(self, command: tuple[str, ...]) -> Ended:
        return await self._box.runner.run(command, self._limit_s)

    def wall_at(self) -> int:
        return self._box.wall_at()


def places_of(unit: UnitName, listen: Sequence[tuple[str, str]]) -> tuple[Place, ...]:
    """Where to connect to a .socket unit: its first stream address.

    Raises HealthdError "endpoint-missing" when it has none.
    """
    for kind, address in listen:
        if kind == "Stream" and (place := _place(address)):
            return (place,)
    raise HealthdError("endpoint-missing", f"{unit} listens on no stream address")


def _place(address: str) -> Place | None:
    if address.startswith(("/", "@")):
        return Place(unix=address)
    if address.startswith("vsock:"):
        return None
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        return None
    host = host.removeprefix("[").removesuffix("]")
    return Place(_EVERYWHERE.get(host, host), int(port))
