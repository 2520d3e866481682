"""The fake systemd as a daemon on one host meets it: reading loads units, answers may be late.

What is read is counted. Two of them may be one systemd on two buses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from healthd.bus.connection import Call
from healthd.host.unit_path import unit_name, unit_path
from tests.bus.heard import LIMIT_S
from tests.bus.systemd1 import FakeSystemd


class HostSystemd(FakeSystemd):
    """As the real one does, it says UnitNew and UnitRemoved around each read of an absent unit."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        #: The units that were read, in order.
        self.read: list[str] = []
        #: The same systemd on another bus: what one says, both say.
        self.twin: HostSystemd | None = None
        self._held: dict[str, list[Call]] = {}

    def hold(self, what: str) -> None:
        """Calls of this member, or reads of this unit, are not answered until they are released.

        "UNIT INTERFACE" is a read of that interface only.
        """
        self._held[what] = []

    def release(self, what: str) -> None:
        """Answer what was held, and from now on at once."""
        for call in self._held.pop(what):
            self._on_call(call)

    def forget(self, what: str) -> None:
        """Whoever waits for an answer to what is held has gone."""
        del self._held[what]

    async def until_held(self, what: str) -> None:
        """Wait until one who asks for *what* waits."""
        await self._until(lambda: bool(self._held[what]))

    def share(self, twin: HostSystemd) -> None:
        """From now on both are one systemd, with the units of this one."""
        self.twin, twin.twin = twin, self
        twin.units = self.units

    async def come_back(self) -> None:
        """Onto a new bus: nobody there has subscribed yet."""
        self._subscribers.clear()
        await self.start()

    def times_called(self, member: str, *arguments: object) -> int:
        """How often *member* was called; with *arguments*, with exactly these."""
        return sum(
            called == member and (not arguments or body == arguments) for called, body in self.calls
        )

    def job_of(self, unit: str) -> int:
        """The number of the unit's job, 0 = it has none."""
        pair = self.units[unit]["Job"]
        assert isinstance(pair, tuple)
        return int(pair[0])

    async def until_calls(self, member: str, count: int, *arguments: object) -> None:
        """Wait until *member* has been called so often in all, with exactly these *arguments*."""
        await self._until(lambda: self.times_called(member, *arguments) >= count)

    async def until_read(self, unit: str, count: int) -> None:
        """Wait until *unit* has been read so often in all."""
        await self._until(lambda: self.read.count(unit) >= count)

    async def flush(self) -> None:
        """The bus has delivered all that was said before now."""
        assert self._connection is not None
        await self._connection.owner_of("org.freedesktop.DBus")

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Wait until *holds*, looked at after each call."""
        async with asyncio.timeout(LIMIT_S):
            while not holds():
                self._call_came.clear()
                await self._call_came.wait()

    def _on_call(self, call: Call) -> None:
        unit = unit_name(call.path) if call.member == "GetAll" else ""
        asked = {call.member, unit, f"{unit} {call.body[0]}" if unit else ""}
        for what in asked & self._held.keys():
            self._held[what].append(call)
            self._call_came.set()
            return
        if unit:
            self._note_read(unit)
        super()._on_call(call)

    def _note_read(self, asked: str) -> None:
        name = self.aliases.get(asked, asked)
        self.read.append(name)
        if name not in self.units:
            for member in ("UnitNew", "UnitRemoved"):
                self.emit(member, "so", name, unit_path(name))

    def _signal(
        self, path: str, interface: str, member: str, signature: str, body: tuple[object, ...]
    ) -> None:
        super()._signal(path, interface, member, signature, body)
        if self.twin is not None:
            super(HostSystemd, self.twin)._signal(path, interface, member, signature, body)
