"""Talk to one message bus: calls, signals, names and the calls that others make to us.

Low level on purpose: no proxies, no introspection. A connection that is lost stays lost; open a new
one. Descriptors go out in answers only; what others send us of them is closed before it is seen.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from healthd.bus import library as libraries
from healthd.bus.library import Library
from healthd.bus.message import (
    ACCESS_DENIED,
    FAILED,
    NAME_HAS_NO_OWNER,
    UNKNOWN_METHOD,
    UNKNOWN_OBJECT,
    BusError,
    Call,
    Descriptor,
    Signal,
    Variant,
    outgoing,
)
from healthd.errors import HealthdError

# What other rooms see of the bus.
__all__ = ["BusError", "Call", "Connection", "Signal", "Variant"]

log = logging.getLogger(__name__)

BUS_NAME = "org.freedesktop.DBus"
BUS_PATH = "/org/freedesktop/DBus"
PEER_INTERFACE = "org.freedesktop.DBus.Peer"
# The bus itself answers in microseconds; a stopped one does not answer at all.
BUS_LIMIT_S = 5.0
CLOSE_LIMIT_S = 1.0
NAME_PAUSE_S = 0.5

# RequestName's flag and answers.
DO_NOT_QUEUE = 4
PRIMARY_OWNER = 1
ALREADY_OWNER = 4


class Connection:
    """One connection. Used in one event loop only."""

    def __init__(self, bus: Any, library: Library) -> None:
        """*bus* is the library's, connected; use `open`."""
        self.unique_name: str = bus.unique_name
        self.lost = asyncio.Event()
        self._bus = bus
        self._library = library
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._unsent: dict[asyncio.Future[None], tuple[Descriptor, ...]] = {}
        self._signal_handlers: list[Callable[[Signal], None]] = []
        self._lost_handlers: list[Callable[[], None]] = []
        self._call_handler: Callable[[Call], None] | None = None
        bus.add_message_handler(self._on_message)
        self._end = asyncio.ensure_future(bus.wait_for_disconnect())
        self._end.add_done_callback(self._lose)

    @classmethod
    async def open(
        cls,
        address: str | None = None,
        *,
        system: bool = True,
        limit_s: float = BUS_LIMIT_S,
        library: Library | None = None,
    ) -> Connection:
        """Connect to *address*, else to the system bus, else to the session bus.

        `DBUS_SYSTEM_BUS_ADDRESS` and `DBUS_SESSION_BUS_ADDRESS` are respected.
        Raises HealthdError "bus-unreachable" or "bus-library".
        """
        library = library or libraries.choose()
        kind = library.bus_type.SYSTEM if system else library.bus_type.SESSION
        bus = None
        try:
            async with asyncio.timeout(limit_s):
                # dbus-next, and dbus-fast before 5, connect in the constructor.
                bus = library.message_bus(bus_address=address, bus_type=kind)
                await bus.connect()
        # Each library has errors of its own for an address, a socket and a handshake that fail.
        except Exception as err:
            if bus is not None:
                bus.abandon()
            where = address or ("the system bus" if system else "the session bus")
            raise HealthdError(
                "bus-unreachable", f"no connection to {where}: {str(err) or type(err).__name__}"
            ) from err
        return cls(bus, library)

    async def call(
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Sequence[object] = (),
        *,
        limit_s: float,
        auto_start: bool = False,
        interactive: bool = False,
    ) -> tuple[object, ...]:
        """Call a method and return what it answered, variants as plain values, structs by index.

        Raises BusError for an error reply; HealthdError "bus-slow" when no answer came within
        *limit_s* (whether the call was carried out is then unknown), "bus-lost" when the connection
        ended, "bus-value" where *body* does not fit *signature*.
        """
        flags = self._library.message_flag
        chosen = flags.NONE if auto_start else flags.NO_AUTOSTART
        if interactive:
            chosen |= flags.ALLOW_INTERACTIVE_AUTHORIZATION
        serial = self._bus.next_serial()
        answer = asyncio.get_running_loop().create_future()
        self._pending[serial] = answer
        try:
            async with asyncio.timeout(limit_s):
                self._send(
                    destination=destination,
                    path=path,
                    interface=interface,
                    member=member,
                    signature=signature,
                    body=body,
                    flags=chosen,
                    serial=serial,
                )
                reply = await answer
        except TimeoutError as err:
            raise HealthdError(
                "bus-slow", f"{destination} did not answer {member} within {limit_s:g} s"
            ) from err
        finally:
            del self._pending[serial]
        values = tuple(self._library.unpack(value) for value in reply.body)
        if reply.message_type is self._library.message_type.ERROR:
            raise BusError(reply.error_name, str(values[0]) if values else "")
        return values

    def tell(
        self,
        destination: str,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Sequence[object] = (),
    ) -> None:
        """Call a method whose answer nobody waits for; into the void when the bus is gone."""
        if self._bus.connected:
            flags = self._library.message_flag
            self._send(
                destination=destination,
                path=path,
                interface=interface,
                member=member,
                signature=signature,
                body=body,
                flags=flags.NO_REPLY_EXPECTED | flags.NO_AUTOSTART,
            )

    async def add_match(self, rule: str) -> None:
        """Ask the bus for the broadcast signals that fit *rule*; unicast ones come in any case."""
        await self._ask_bus("AddMatch", "s", (rule,))

    async def remove_match(self, rule: str) -> None:
        """Take back what `add_match` asked for with the same *rule*."""
        await self._ask_bus("RemoveMatch", "s", (rule,))

    async def own(self, name: str, *, retry_s: float = 30.0) -> None:
        """Own *name*; a refusal is tried again for *retry_s*.

        The bus reads a policy that has just been installed only after the package's scripts ran.
        Raises HealthdError "name-refused" or "name-taken".
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + retry_s
        while True:
            try:
                (answer,) = await self._ask_bus("RequestName", "su", (name, DO_NOT_QUEUE))
            except BusError as err:
                if err.name != ACCESS_DENIED:
                    raise
                if loop.time() >= deadline:
                    raise HealthdError(
                        "name-refused",
                        f"the bus refuses us the name {name}",
                        "systemctl reload dbus",
                    ) from err
                await asyncio.sleep(NAME_PAUSE_S)
            else:
                if answer in (PRIMARY_OWNER, ALREADY_OWNER):
                    return
                raise HealthdError("name-taken", f"another program owns the name {name}")

    async def owner_of(self, name: str) -> str:
        """The unique name of the owner of *name*, "" where it has none."""
        try:
            (owner,) = await self._ask_bus("GetNameOwner", "s", (name,))
        except BusError as err:
            if err.name != NAME_HAS_NO_OWNER:
                raise
            return ""
        return str(owner)

    def on_signal(self, handler: Callable[[Signal], None]) -> None:
        """Call *handler* for every signal, from whomever: it tests the sender and the path first.

        Any local user can send us any signal by unicast, whatever the match rules are.
        """
        self._signal_handlers.append(handler)

    def on_lost(self, handler: Callable[[], None]) -> None:
        """Call *handler* when the connection ends, whoever ended it; `lost` is set by then."""
        self._lost_handlers.append(handler)

    def serve(self, handler: Callable[[Call], None]) -> None:
        """Hand every method call, to whatever object, to *handler*; `Peer` is answered here."""
        self._call_handler = handler

    def emit(
        self,
        path: str,
        interface: str,
        member: str,
        signature: str = "",
        body: Sequence[object] = (),
        *,
        destination: str | None = None,
    ) -> None:
        """Send a signal, to everybody or to *destination*; into the void when the bus is gone.

        Raises HealthdError "bus-value" where *body* does not fit *signature*.
        """
        if self._bus.connected:
            self._send(
                message_type=self._library.message_type.SIGNAL,
                destination=destination,
                path=path,
                interface=interface,
                member=member,
                signature=signature,
                body=body,
            )

    async def close(self) -> None:
        """Send what is queued, then leave the bus."""
        if self._unsent and self._bus.connected:
            await asyncio.wait(self._unsent.keys(), timeout=CLOSE_LIMIT_S)
        if self._bus.connected:
            self._bus.disconnect()
        await asyncio.wait({self._end}, timeout=CLOSE_LIMIT_S)
        self._end.cancel()

    async def _ask_bus(
        self, member: str, signature: str, body: Sequence[object]
    ) -> tuple[object, ...]:
        return await self.call(
            BUS_NAME, BUS_PATH, BUS_NAME, member, signature, body, limit_s=BUS_LIMIT_S
        )

    def _send(self, *, body: Sequence[object], **fields: Any) -> None:
        # A library that has lost its socket takes a message and never answers.
        if not self._bus.connected:
            raise HealthdError("bus-lost", "the connection to the bus is lost")
        try:
            along = tuple(value for value in body if isinstance(value, Descriptor))
            values = [
                along.index(value)
                if isinstance(value, Descriptor)
                else outgoing(value, self._library)
                for value in body
            ]
            numbers = [descriptor.number for descriptor in along]
            sent = self._bus.send(
                self._library.message(body=values, unix_fds=numbers, **fields),
            )
        # The libraries raise several kinds of errors for a value that does not fit its signature.
        except Exception as err:
            raise HealthdError("bus-value", f"this cannot be sent over the bus: {err}") from err
        self._unsent[sent] = along
        sent.add_done_callback(self._on_sent)

    def _on_sent(self, sent: asyncio.Future[None]) -> None:
        for descriptor in self._unsent.pop(sent, ()):
            descriptor.close()
        # A write that failed ends the connection, which is told elsewhere.
        if not sent.cancelled():
            sent.exception()

    def _on_message(self, message: Any) -> bool:
        """True: nothing is left for the library to do with *message*."""
        kind = message.message_type
        kinds = self._library.message_type
        if kind is kinds.SIGNAL:
            signal = Signal(message, self._library.unpack)
            for handler in self._signal_handlers:
                handler(signal)
            return True
        if kind is kinds.METHOD_CALL:
            self._on_call(message)
            return True
        answer = self._pending.get(message.reply_serial)
        if answer is not None and not answer.done():
            answer.set_result(message)
        return answer is not None

    def _on_call(self, message: Any) -> None:
        call = Call(message, self._library, self._answer_to(message))
        try:
            if call.interface == PEER_INTERFACE:
                answer_peer(call)
            elif self._call_handler is None:
                call.error(UNKNOWN_OBJECT, f"there is no object {call.path}")
            else:
                self._call_handler(call)
        # One D-Bus call: the library would send its traceback, with paths, to whoever called.
        except Exception:
            log.exception("a call of %s.%s failed", call.interface, call.member)
            call.error(FAILED, "healthd could not answer; its journal says why")

    def _answer_to(self, message: Any) -> Callable[..., None]:
        kinds, flags = self._library.message_type, self._library.message_flag
        if message.flags & flags.NO_REPLY_EXPECTED:
            return lambda **_: None

        def answer(
            *, signature: str, body: Sequence[object], error_name: str | None = None
        ) -> None:
            if self._bus.connected:
                self._send(
                    message_type=kinds.ERROR if error_name else kinds.METHOD_RETURN,
                    error_name=error_name,
                    reply_serial=message.serial,
                    destination=message.sender,
                    signature=signature,
                    body=body,
                )

        return answer

    def _lose(self, end: asyncio.Future[None]) -> None:
        if not end.cancelled():
            # How it ended makes no difference: the connection is thrown away.
            end.exception()
        self.lost.set()
        # What was not sent will not be; whatever descriptor it carried is closed by that.
        self._unsent.clear()
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(HealthdError("bus-lost", "the connection to the bus was lost"))
        for handler in self._lost_handlers:
            handler()


def answer_peer(call: Call) -> None:
    """What every object answers; D-Bus specification, org.freedesktop.DBus.Peer."""
    if call.member == "Ping":
        call.reply()
    elif call.member == "GetMachineId":
        call.reply("s", (Path("/etc/machine-id").read_text(encoding="ascii").strip(),))
    else:
        call.error(UNKNOWN_METHOD, f"{PEER_INTERFACE} has no method {call.member}")
