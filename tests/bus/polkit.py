"""python-dbusmock's polkitd on a private bus: what it allows is said by the test."""

from __future__ import annotations

import asyncio
import os
import sys

from healthd.bus.connection import Connection, Signal

NAME = "org.freedesktop.PolicyKit1"
PATH = "/org/freedesktop/PolicyKit1/Authority"
MOCK = "org.freedesktop.DBus.Mock"
LIMIT_S = 30.0


async def appears(connection: Connection, name: str) -> None:
    """Wait until *name* has an owner."""
    came = asyncio.Event()

    def heard(signal: Signal) -> None:
        if signal.member == "NameOwnerChanged" and signal.body[0] == name and signal.body[2]:
            came.set()

    connection.on_signal(heard)
    await connection.add_match(f"type='signal',member='NameOwnerChanged',arg0='{name}'")
    if not await connection.owner_of(name):
        async with asyncio.timeout(LIMIT_S):
            await came.wait()


class MockPolkit:
    """A polkitd that refuses everything until told otherwise."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._process: asyncio.subprocess.Process | None = None
        self._connection: Connection | None = None

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "dbusmock", "--system", "--template", "polkitd"),
            env={**os.environ, "DBUS_SYSTEM_BUS_ADDRESS": self._address},
            stdout=asyncio.subprocess.DEVNULL,
        )
        self._connection = await Connection.open(self._address)
        await appears(self._connection, NAME)

    async def stop(self) -> None:
        if self._connection is not None:
            await self._connection.close()
        if self._process is not None:
            self._process.kill()
            await self._process.wait()

    async def allow(self, *actions: str) -> None:
        """These actions, for everybody; no others."""
        await self._say("SetAllowed", "as", list(actions))

    async def hang(self, hangs: bool = True) -> None:
        """It takes questions and does not answer them."""
        await self._say("SimulateHang", "b", hangs)

    async def _say(self, member: str, signature: str, argument: object) -> None:
        assert self._connection is not None
        await self._connection.call(
            NAME, PATH, MOCK, member, signature, (argument,), limit_s=LIMIT_S
        )
