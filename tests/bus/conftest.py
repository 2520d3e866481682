"""A bus of its own for each test, with the services on it that the test names."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from healthd.bus.library import Library, load
from tests.bus.daemon import Healthd, one_host
from tests.bus.login1 import FakeLogind
from tests.bus.moved_clocks import PROGRAM, MovedClocks
from tests.bus.polkit import MockPolkit
from tests.bus.private_bus import PrivateBus
from tests.bus.systemd1 import FakeSystemd


@pytest.fixture(params=["next", "fast"])
def library(request: pytest.FixtureRequest) -> Library:
    """Each library that the adapter runs on, in turn."""
    return load(request.param)


@pytest.fixture
def bus() -> Iterator[PrivateBus]:
    """A running bus, to stop, freeze and forbid things on."""
    # Not tmp_path: a socket's path may have 107 bytes at most.
    with tempfile.TemporaryDirectory(prefix="bus-") as folder:
        daemon = PrivateBus(Path(folder))
        daemon.start()
        try:
            yield daemon
        finally:
            daemon.stop()


@pytest.fixture
def private_bus(bus: PrivateBus) -> str:
    """Its address: what DBUS_SYSTEM_BUS_ADDRESS must say."""
    return bus.address


@pytest.fixture
async def systemd1(private_bus: str) -> AsyncIterator[FakeSystemd]:
    """systemd on that bus, without units."""
    systemd = FakeSystemd(private_bus)
    await systemd.start()
    yield systemd
    await systemd.stop()


@pytest.fixture
async def logind(private_bus: str) -> AsyncIterator[FakeLogind]:
    """logind on that bus."""
    fake = FakeLogind(private_bus)
    await fake.start()
    yield fake
    await fake.stop()


@pytest.fixture
def clocks(healthd: Healthd) -> MovedClocks:
    """The clocks of that healthd."""
    moved = MovedClocks(healthd.state.parent)
    healthd.environ |= moved.environ
    healthd.program = PROGRAM
    return moved


@pytest.fixture
async def polkit(private_bus: str) -> AsyncIterator[MockPolkit]:
    """polkit on that bus, which refuses everything."""
    mock = MockPolkit(private_bus)
    await mock.start()
    yield mock
    await mock.stop()


@pytest.fixture
async def healthd(bus: PrivateBus, library: Library) -> AsyncIterator[Healthd]:
    """The real daemon, not started yet; it runs on each library in turn."""
    with tempfile.TemporaryDirectory(prefix="healthd-") as folder:
        async with one_host(Path(folder), bus, library) as host:
            yield host
