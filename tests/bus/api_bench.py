"""The API of healthd on one connection of a private bus, and a caller on another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field

import pytest

from healthd.bus.api import MANAGER, NAME, PATH, Api
from healthd.bus.connection import Connection
from healthd.bus.contract import interfaces, shipped
from healthd.bus.library import Library
from healthd.bus.message import BusError, Signal
from healthd.bus.objects import PROPERTIES
from tests.bus.fake_desk import FakeDesk, FakePolkit

(CONTRACT,) = interfaces(shipped("org.healthd1.xml"))
LIMIT_S = 20.0


@dataclass
class Bench:
    """healthd's API on one connection and a caller on another."""

    api: Api
    desk: FakeDesk
    polkit: FakePolkit
    daemon: Connection
    caller: Connection
    now_us: int = 1_000_000_000
    heard: list[Signal] = field(default_factory=list)

    async def call(
        self,
        member: str,
        signature: str = "",
        *body: object,
        interface: str = MANAGER,
        path: str = PATH,
        interactive: bool = False,
    ) -> tuple[object, ...]:
        return await self.caller.call(
            NAME, path, interface, member, signature, body, limit_s=LIMIT_S, interactive=interactive
        )

    async def get(self, name: str) -> object:
        (value,) = await self.call("Get", "ss", MANAGER, name, interface=PROPERTIES)
        return value

    async def signals(self) -> list[Signal]:
        """What was heard since the last time. An answer comes after all that was sent before it."""
        await self.get("Version")
        heard, self.heard = self.heard, []
        return heard


@pytest.fixture(name="bench")
async def served_api(private_bus: str, library: Library) -> AsyncIterator[Bench]:
    """The API on one connection, ready to be called from another."""
    desk, polkit = FakeDesk(), FakePolkit()
    tasks: set[asyncio.Task[None]] = set()
    daemon = await Connection.open(private_bus, library=library)
    caller = await Connection.open(private_bus, library=library)
    api = Api(
        desk,
        polkit.authorize,
        version="1.2.3",
        spawn=lambda call: tasks.add(asyncio.ensure_future(call)),
        steady_us=lambda: bench.now_us,
    )
    bench = Bench(api, desk, polkit, daemon, caller)
    api.attach(daemon)
    await daemon.own(NAME)
    caller.on_signal(lambda s: bench.heard.append(s) if s.path == PATH else None)
    await caller.add_match(f"type='signal',path='{PATH}'")
    yield bench
    desk.go_on.set()
    await caller.close()
    await bench.daemon.close()
    # A handler that ended in an exception, or not at all, fails the test.
    await asyncio.wait_for(asyncio.gather(*tasks), LIMIT_S)


async def refused(answer: Awaitable[object]) -> tuple[str, str]:
    """The name and the words of the error that *answer* ends with."""
    with pytest.raises(BusError) as caught:
        await answer
    return caught.value.name.rpartition(".Error.")[2], caught.value.message
