"""A logind on a private bus: says that the machine is about to sleep or stop, or is not."""

from __future__ import annotations

from healthd.bus.connection import Call, Connection, Variant
from healthd.bus.message import UNKNOWN_METHOD
from healthd.host.logind import MANAGER, NAME, PATH, Preparing

_MEMBERS = {Preparing.SLEEP: "PrepareForSleep", Preparing.SHUTDOWN: "PrepareForShutdown"}


class FakeLogind:
    """Owns logind's name."""

    def __init__(self, address: str) -> None:
        self.prepares: set[Preparing] = set()
        self._address = address
        self._connection: Connection | None = None

    async def start(self) -> None:
        self._connection = await Connection.open(self._address)
        self._connection.serve(self._on_call)
        await self._connection.own(NAME)

    async def stop(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    def say(self, what: Preparing, *, begins: bool) -> None:
        """The signal, and what its property says from now on."""
        assert self._connection is not None
        self.prepares = self.prepares | {what} if begins else self.prepares - {what}
        self._connection.emit(PATH, MANAGER, _MEMBERS[what], "b", (begins,))

    def _on_call(self, call: Call) -> None:
        match call.member, call.body:
            case "Get", (str(interface), str(name)) if interface == MANAGER:
                call.reply("v", (Variant("b", name in self.prepares),))
            case _:
                call.error(UNKNOWN_METHOD, f"no method {call.member}")
