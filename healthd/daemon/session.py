"""What lives and dies with one connection to the system bus."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping

from healthd.bus.api import NAME, Api
from healthd.bus.connection import Connection
from healthd.daemon.clock import Clock
from healthd.daemon.inbox import Inbox
from healthd.daemon.naming import Naming
from healthd.daemon.units import Units
from healthd.daemon.vigil import Cause, Vigil
from healthd.host.logind import Logind, Preparing
from healthd.host.systemd import Systemd
from healthd.model import Story

Spawn = Callable[[Coroutine[object, object, None]], object]


class Session:
    """The machine through one connection. *spawn* starts tasks that end with it."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        inbox: Inbox,
        stories: Mapping[str, Story],
        naming: Callable[[], Naming],
        spawn: Spawn,
        vigil: Vigil,
    ) -> None:
        self.connection = connection
        self._spawn = spawn
        self._vigil = vigil
        self._logind = Logind(connection, self._prepares)
        self.systemd = Systemd(connection, clock.steady_minus_monotonic_us)
        self.units = Units(self.systemd, inbox, stories, clock, naming, spawn, vigil)

    async def begin(self, api: Api, *, watch: bool) -> None:
        """Answer callers and own the name; then, to *watch*, make the first pass over all units."""
        api.attach(self.connection)
        await self.connection.own(NAME)
        if watch:
            await self._logind.begin()
            await self.units.begin()
            self._spawn(self.units.run())

    def _prepares(self, what: Preparing, begins: bool) -> None:
        cause = Cause.SLEEP if what is Preparing.SLEEP else Cause.SHUTDOWN
        self._vigil.set(cause, begins)
