"""The real daemon as a process on a private bus, with the sockets and folders of one host.

A test says what is installed and which units there are, starts it, and may end it in every way.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from healthd.bus.library import Library, load
from tests.bus.client import Client
from tests.bus.heard import LIMIT_S
from tests.bus.host_systemd import HostSystemd
from tests.bus.private_bus import PrivateBus
from tests.bus.sockets import FakeJournal, FakeNotify

# What nothing that healthd does may leave in its log.
COMPLAINTS = ("Traceback", "RuntimeWarning", "never retrieved", "was destroyed")
PROGRAM = "from healthd.daemon.life import main; main()"


class Healthd:
    """One host's healthd; the same folders over all of its lives."""

    def __init__(
        self, folder: Path, bus: PrivateBus, systemd: HostSystemd, library: Library
    ) -> None:
        self.bus = bus
        self.systemd = systemd
        self.library = library
        self.root = folder / "root"
        self.state = folder / "state"
        self.journal = FakeJournal(folder / "journal")
        self.notify = FakeNotify(folder / "notify")
        #: What its environment has besides the usual.
        self.environ: dict[str, str] = {}
        self.program = PROGRAM
        #: The next start is not meant to go well: its log may say so.
        self.may_complain = False
        self._log = bytearray()
        self._logging: list[asyncio.Task[None]] = []
        self._process: asyncio.subprocess.Process | None = None
        self._clients: list[Client] = []
        for made in (self.root, self.state):
            made.mkdir(mode=0o755)

    # ---- what is installed

    def settings(self, text: str) -> Path:
        """Write /etc/healthd/healthd.yaml; returns where it lies."""
        file = self.root / "etc/healthd/healthd.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    # ---- its lives

    async def launch(self) -> None:
        """Start the process."""
        environ = {
            "PATH": os.environ["PATH"],
            "DBUS_SYSTEM_BUS_ADDRESS": self.bus.address,
            "HEALTHD_DBUS": self.library.name,
            "NOTIFY_SOCKET": str(self.notify.socket.path),
            "STATE_DIRECTORY": str(self.state),
            **self.environ,
        }
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", self.program, "--root", str(self.root)),
            *("--state", "/nonexistent", "--journal", str(self.journal.socket.path)),
            env=environ,
            # No file: its size would be limited as the store's is.
            stderr=asyncio.subprocess.PIPE,
        )
        assert self._process.stderr is not None
        self._logging.append(asyncio.create_task(self._keep_log(self._process.stderr)))

    async def start(self) -> None:
        """Start it, and wait until it says that it is ready."""
        heard = len(self.notify.said())
        await self.launch()
        assert self._process is not None
        ready = asyncio.ensure_future(self.notify.until("READY=1", after=heard))
        ended = asyncio.ensure_future(self._process.wait())
        await asyncio.wait({ready, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            raise AssertionError(f"healthd ended before it was ready:\n{self.log()}")
        ended.cancel()
        await ready

    def ask_to_stop(self) -> None:
        """SIGTERM, as systemd sends it."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    async def ended(self) -> int:
        """Wait until it has ended; its exit code, of a signal the negative number."""
        assert self._process is not None
        async with asyncio.timeout(LIMIT_S):
            code = await self._process.wait()
            await asyncio.gather(*self._logging)
        self._process = None
        return code

    async def stop(self) -> int:
        """Ask it to stop, and wait."""
        self.ask_to_stop()
        return await self.ended()

    async def kill(self) -> None:
        """SIGKILL: nothing is tidied up."""
        assert self._process is not None
        self._process.kill()
        assert await self.ended() == -signal.SIGKILL

    def runs(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.returncode is None

    def limit_file_size(self, size_bytes: int) -> None:
        """From now on it can write nothing beyond this; resource.RLIM_INFINITY takes it back."""
        assert self._process is not None
        limits = (size_bytes, resource.RLIM_INFINITY)
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, limits)

    def log(self) -> str:
        """Standard error of all its lives."""
        return self._log.decode()

    async def _keep_log(self, stream: asyncio.StreamReader) -> None:
        async for line in stream:
            self._log += line

    # ---- whoever talks to it

    async def client(self) -> Client:
        """A reader on its bus, closed at the end of the test."""
        client = await Client.open(self.bus.address, self.library)
        self._clients.append(client)
        return client

    async def hears_all(self, client: Client) -> None:
        """The daemon has read all that systemd said before now: the bus keeps the order."""
        await self.systemd.flush()
        await client.sequence()

    async def end(self) -> None:
        """Take everything away; whatever it logged that it should not have is a failure."""
        for client in self._clients:
            await client.close()
        if self._process is not None:
            if self.runs():
                self._process.kill()
            await self.ended()
        self.journal.socket.close()
        self.notify.socket.close()
        if not self.may_complain:
            log = self.log()
            assert not any(word in log for word in COMPLAINTS), log


@asynccontextmanager
async def one_host(folder: Path, bus: PrivateBus, library: Library) -> AsyncIterator[Healthd]:
    """A host whose healthd is not started yet; its systemd and journald are there."""
    systemd = HostSystemd(bus.address)
    await systemd.start()
    healthd = Healthd(folder, bus, systemd, library)
    healthd.journal.socket.open()
    healthd.notify.socket.open()
    try:
        yield healthd
    finally:
        await healthd.end()
        await systemd.stop()


def on_both_libraries(test: Callable[[Healthd], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
    """Play *test* with each library at the same time: for tests that mostly wait."""

    async def play() -> None:
        async with asyncio.TaskGroup() as group:
            for name in ("next", "fast"):
                group.create_task(_play(test, load(name)))

    # pytest must see neither the parameter nor another name.
    play.__name__, play.__doc__ = getattr(test, "__name__", ""), test.__doc__
    return play


async def _play(test: Callable[[Healthd], Awaitable[None]], library: Library) -> None:
    with tempfile.TemporaryDirectory(prefix="bus-") as folder:
        bus = PrivateBus(Path(folder))
        bus.start()
        try:
            async with one_host(Path(folder), bus, library) as healthd:
                await test(healthd)
        except BaseException as err:
            err.add_note(f"with the library {library.name}")
            raise
        finally:
            bus.stop()
