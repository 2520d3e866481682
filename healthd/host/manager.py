"""The conversation with PID 1: who owns its name, what is asked again after a reload.

A signal is believed only from the present owner of the name: any local user can send one. Nobody
may be asked for a password on our behalf.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from healthd.bus.connection import BUS_NAME, BusError, Connection, Signal
from healthd.errors import HealthdError
from healthd.host.matches import manager_rules
from healthd.host.unit_path import MANAGER, ROOT, SYSTEMD

ANSWER_LIMIT_S = 10.0
# A reload reads every unit file; a reexec carries all state over.
RELOAD_LIMIT_S = 30.0
# Nothing is watched before this is answered.
BOOT_LIMIT_S = 5.0
PROPERTIES = f"{BUS_NAME}.Properties"
TRIES = 3
PAUSE_S = 0.1

# Nobody was there to ask.
ABSENT = frozenset(
    f"org.freedesktop.DBus.Error.{name}" for name in ("NameHasNoOwner", "ServiceUnknown")
)
# systemd went away with the question: reading may ask again, a restart may not.
INTERRUPTED = frozenset(
    f"org.freedesktop.DBus.Error.{name}" for name in ("NoReply", "Disconnected", "Timeout")
)


class Manager:
    """systemd's manager object, over one connection."""

    def __init__(self, connection: Connection) -> None:
        self.owner = ""
        self.reloading = False
        self._connection = connection
        self._subscribed_at = ""
        self._owner_heard = False
        self._ready = asyncio.Event()

    async def subscribe(self) -> None:
        """Have the bus deliver systemd's signals, and systemd send them."""
        for rule in manager_rules():
            await self._connection.add_match(rule)
        owner = await self._connection.owner_of(SYSTEMD)
        # A change that was signalled since is newer than this answer.
        if not self._owner_heard:
            self.own(owner)
        await self.subscribe_owner()

    async def subscribe_owner(self) -> None:
        """Subscribe at the present owner, where that has not been done."""
        if self._subscribed_at == self.owner:
            return
        try:
            await self.call("Subscribe")
        except BusError as err:
            if not err.name.endswith(".AlreadySubscribed"):
                raise
        self._subscribed_at = self.owner

    def own(self, owner: str) -> None:
        """systemd's name belongs to *owner* now, "" = to nobody."""
        self.owner = owner
        self._owner_heard = True
        self._announce()

    def reload(self, active: bool) -> None:
        """systemd reads its units again, or has done so."""
        self.reloading = active
        self._announce()

    def _announce(self) -> None:
        if self.owner and not self.reloading:
            self._ready.set()
        else:
            self._ready.clear()

    async def call(
        self, member: str, signature: str = "", body: Sequence[object] = ()
    ) -> tuple[object, ...]:
        """Call a method of the manager that only reads."""
        return await self.ask(ROOT, MANAGER, member, signature, body)

    async def ask(
        self, path: str, interface: str, member: str, signature: str, body: Sequence[object]
    ) -> tuple[object, ...]:
        """Call a method that only reads; a reload or reexec in between is waited for.

        Raises BusError, and HealthdError as `Connection.call` does.
        """
        for _ in range(TRIES - 1):
            try:
                return await self.ask_once(path, interface, member, signature, body)
            except BusError as err:
                if err.name not in ABSENT | INTERRUPTED:
                    raise
            await self.settle()
        return await self.ask_once(path, interface, member, signature, body)

    async def ask_once(
        self,
        path: str,
        interface: str,
        member: str,
        signature: str,
        body: Sequence[object],
        *,
        limit_s: float = ANSWER_LIMIT_S,
    ) -> tuple[object, ...]:
        """Call a method, without trying again."""
        # After a restart of the bus, PID 1 comes back by itself; activation waits for it.
        return await self._connection.call(
            SYSTEMD, path, interface, member, signature, body, limit_s=limit_s, auto_start=True
        )

    async def settle(self) -> None:
        """Wait until systemd has its name and reads no units; at most RELOAD_LIMIT_S."""
        # The error may come before the signal that explains it.
        await asyncio.sleep(PAUSE_S)
        try:
            async with asyncio.timeout(RELOAD_LIMIT_S):
                await self._ready.wait()
        except TimeoutError as err:
            raise HealthdError("systemd-absent", "systemd does not come back to the bus") from err


async def soft_reboots(connection: Connection) -> int | None:
    """How often user space was restarted under this kernel; None = systemd does not say.

    boot_id and all clocks run on over a soft reboot (systemd 254).
    """
    body = (MANAGER, "SoftRebootsCount")
    try:
        (count,) = await connection.call(
            SYSTEMD, ROOT, PROPERTIES, "Get", "ss", body, limit_s=BOOT_LIMIT_S
        )
    except BusError:
        return None
    except HealthdError as err:
        if err.code == "bus-lost":
            raise
        return None
    return count if isinstance(count, int) else None


def new_owner(signal: Signal) -> str | None:
    """The new owner of systemd's name, "" = nobody; None for any other signal."""
    if signal.sender != BUS_NAME or signal.member != "NameOwnerChanged":
        return None
    match signal.body:
        case (str(name), str(), str(owner)) if name == SYSTEMD:
            return owner
        case _:
            return None
