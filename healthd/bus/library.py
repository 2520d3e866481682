"""Choose the D-Bus library and mend what bites in it.

Only `bus/` imports either library, and never hands a library's class to another room.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

from msgspec import Struct

from healthd.errors import HealthdError

log = logging.getLogger(__name__)

MODULES = {"fast": "dbus_fast", "next": "dbus_next"}
# A flood of messages must not keep timers, limits and the watchdog's ping from running.
MESSAGES_PER_TURN = 32
MAX_AUTH_LINE_BYTES = 16 * 1024


class Library(Struct, frozen=True):
    """What the adapter needs of a library; untyped, because one of the two has no types."""

    name: str
    message_bus: Any
    message: Any
    message_type: Any
    message_flag: Any
    bus_type: Any
    variant: Any
    unpack: Callable[[Any], Any]


def choose(wanted: str | None = None) -> Library:
    """The library that *wanted* or `HEALTHD_DBUS` names; else dbus-fast, else dbus-next."""
    wanted = os.environ.get("HEALTHD_DBUS", "") if wanted is None else wanted
    if wanted:
        return load(wanted)
    try:
        return load("fast")
    except HealthdError:
        return load("next")


@cache
def load(short: str) -> Library:
    """The library *short* ("fast", "next"). HealthdError "bus-library": it cannot be used."""
    module = MODULES.get(short)
    if module is None:
        allowed = " or ".join(sorted(MODULES))
        raise HealthdError("bus-library", f"HEALTHD_DBUS={short} names no library: {allowed}")
    try:
        root = importlib.import_module(module)
        aio = importlib.import_module(f"{module}.aio")
    except ImportError as err:
        package = "python3-" + module.replace("_", "-")
        raise HealthdError(
            "bus-library", f"the D-Bus library {module} is not installed", f"install {package}"
        ) from err
    bus = _with_bounded_reader(aio.MessageBus) if short == "next" else aio.MessageBus
    if short == "fast":
        _refuse_old(root)
    return Library(
        name=short,
        message_bus=_mended(bus),
        message=root.Message,
        message_type=root.MessageType,
        message_flag=root.MessageFlag,
        bus_type=root.BusType,
        variant=root.Variant,
        unpack=_compiled_unpack() if short == "fast" else _unpack_with(root.Variant),
    )


def _refuse_old(root: Any) -> None:
    """Refuse dbus-fast 1.84 (Debian 12): the bus hangs up at the first "ä" that it sends.

    It counts characters, not bytes; and one call with two flags, from any local user,
    ends its connection. Debian 13's 2.44 does neither.
    """
    fields = {"path": "/", "interface": "a.b", "member": "C", "serial": 1}
    kind = root.MessageType.SIGNAL
    message = root.Message(message_type=kind, signature="s", body=["ä"], **fields)
    if not bytes(message._marshall(False)).endswith(b"\x02\0\0\0\xc3\xa4\0"):
        raise HealthdError(
            "bus-library",
            "this dbus-fast is too old to send text other than ASCII",
            "install dbus-fast 2.44 or newer, or dbus-next",
        )


def _compiled_unpack() -> Callable[[Any], Any]:
    unpack: Callable[[Any], Any] = importlib.import_module("dbus_fast.unpack").unpack_variants
    return unpack


def _unpack_with(variant: type[Any]) -> Callable[[Any], Any]:
    def unpack(value: Any) -> Any:
        kind = type(value)
        if kind is variant:
            return unpack(value.value)
        if kind is dict:
            return {key: unpack(inner) for key, inner in value.items()}
        if kind is list:
            return [unpack(inner) for inner in value]
        return value

    return unpack


Ancillary = list[tuple[int, int, Any]]


class _PatientSocket:
    """A socket whose `send` says 0 where it is full.

    Both libraries take "try again" for the end of the connection, so that some 150 signals in one
    turn of the loop would cut us off; after 0 they wait until the socket takes more. They then
    forget the descriptors of that message, which are therefore kept here.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._along: Ancillary = []

    def send(self, data: memoryview) -> int:
        if self._along:
            return self.sendmsg([data], self._along)
        try:
            return self._sock.send(data)
        except BlockingIOError:
            return 0

    def sendmsg(self, buffers: list[memoryview], along: Ancillary) -> int:
        self._along = along
        try:
            sent = self._sock.sendmsg(buffers, along)
        except BlockingIOError:
            return 0
        self._along = []
        return sent


def _mended(base: Any) -> Any:
    """*base* without what bites in both libraries, by their private names."""

    class MessageBus(base):  # type: ignore[misc]
        async def connect(self) -> Any:
            await super().connect()
            self._writer.sock = _PatientSocket(self._sock)
            self._writer.negotiate_unix_fd = True
            return self

        async def _authenticate(self) -> None:
            # Descriptors are agreed on, because answers carry some. But both libraries leave those
            # of incoming messages open, and anybody could exhaust us: so the reader is one that
            # does not know of them, and the kernel closes what a plain read does not take.
            self._negotiate_unix_fd = True
            try:
                await super()._authenticate()
            finally:
                self._negotiate_unix_fd = False

        def abandon(self) -> None:
            """Close what a connection that never came about has left open."""
            if getattr(self, "_sock", None) is not None:
                self._finalize()

        async def _auth_readline(self) -> str:
            # dbus-next and dbus-fast 2 append b"" for ever, without yielding to the loop.
            loop = asyncio.get_running_loop()
            line = b""
            # One byte at a time: what follows the line belongs to the message reader.
            while not line.endswith(b"\r\n"):
                byte = await loop.sock_recv(self._sock, 1)
                if not byte or len(line) > MAX_AUTH_LINE_BYTES:
                    raise ConnectionError("the bus closed the connection while authenticating")
                line += byte
            return line[:-2].decode()

        def _finalize(self, err: Exception | None = None) -> None:
            super()._finalize(err)
            # An open socket would keep our names on the bus, with nobody to answer.
            with suppress(OSError, ValueError):
                self._stream.close()
            self._sock.close()

    return MessageBus


def _with_bounded_reader(base: Any) -> Any:
    """dbus-next's bus that reads at most MESSAGES_PER_TURN messages in one turn of the loop.

    Its own reader goes on until the socket is empty: 20,000 signals at once stop timers for 8 s.
    The names are private, but 0.2.3 is the library's last release. dbus-fast needs none of this.
    """

    class MessageBus(base):  # type: ignore[misc]
        _goes_on = False

        def _message_reader(self) -> None:
            # While a turn of our own is queued, the selector's call would run a second one.
            if not self._goes_on:
                self._read_turn()

        def _read_turn(self) -> None:
            self._goes_on = False
            if self._disconnected:
                return
            try:
                for _ in range(MESSAGES_PER_TURN):
                    if not self._read_one():
                        return
            # The bus validates what it forwards, so whatever this is, the stream is at its end.
            except Exception as err:  # noqa: BLE001
                self._finalize(err)
                return
            # What is left may lie in the stream's buffer, where no selector sees it.
            self._goes_on = True
            self._loop.call_soon(self._read_turn)

        def _read_one(self) -> bool:
            if not self._unmarshaller.unmarshall():
                return False
            message = self._unmarshaller.message
            self._unmarshaller: Any = self._create_unmarshaller()
            self._on_message(message)
            return True

    return MessageBus
