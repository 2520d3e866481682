"""What goes through the bus adapter: signals and calls that came in, values that go out.

A library's own types end here: variants come in as plain values and go out as `Variant`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from healthd.bus.library import Library
from healthd.errors import HealthdError

ACCESS_DENIED = "org.freedesktop.DBus.Error.AccessDenied"
FAILED = "org.freedesktop.DBus.Error.Failed"
INTERACTIVE_AUTHORIZATION_REQUIRED = "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"
INVALID_ARGS = "org.freedesktop.DBus.Error.InvalidArgs"
NAME_HAS_NO_OWNER = "org.freedesktop.DBus.Error.NameHasNoOwner"
UNKNOWN_INTERFACE = "org.freedesktop.DBus.Error.UnknownInterface"
UNKNOWN_METHOD = "org.freedesktop.DBus.Error.UnknownMethod"
UNKNOWN_OBJECT = "org.freedesktop.DBus.Error.UnknownObject"
UNKNOWN_PROPERTY = "org.freedesktop.DBus.Error.UnknownProperty"


class BusError(HealthdError):
    """An error reply. *name* is the D-Bus name of the error, by which programs tell them apart."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__("bus-error", text or name)
        self.name = name


class Descriptor:
    """An open file that goes out in an answer, and is closed here once it is sent.

    Nothing that comes in is one: the kernel closes what others send us.
    """

    def __init__(self, number: int) -> None:
        self.number = number

    def close(self) -> None:
        """Close it, unless it is closed already."""
        if self.number >= 0:
            os.close(self.number)
            self.number = -1

    def __del__(self) -> None:
        # An answer that nobody waits for any more is thrown away: the other end must see that.
        self.close()


class Variant(Struct, frozen=True):
    """A value that goes out with its *signature*; what comes in is never wrapped."""

    signature: str
    value: object


class Signal:
    """A signal that came in. The body is decoded when first read: most are dropped by path."""

    __slots__ = ("_body", "_raw", "_unpack", "interface", "member", "path", "sender", "signature")

    def __init__(self, message: Any, unpack: Callable[[Any], Any]) -> None:
        self.sender: str = message.sender or ""
        self.path: str = message.path or ""
        self.interface: str = message.interface or ""
        self.member: str = message.member or ""
        self.signature: str = message.signature
        self._raw: Any = message.body
        self._unpack = unpack
        self._body: tuple[object, ...] | None = None

    @property
    def body(self) -> tuple[object, ...]:
        """The arguments. A struct is a list or a tuple, whichever the library makes: index only."""
        if self._body is None:
            self._body = tuple(self._unpack(value) for value in self._raw)
        return self._body


class Call:
    """A method call that came in; it is answered once, by `reply` or `error`.

    *interface* is "" where the caller named none. *interactive*: the caller lets polkit ask for a
    password.
    """

    __slots__ = (
        "_answer",
        "body",
        "interactive",
        "interface",
        "member",
        "path",
        "sender",
        "signature",
    )

    def __init__(self, message: Any, library: Library, answer: Callable[[Any], None]) -> None:
        self.sender: str = message.sender or ""
        self.path: str = message.path or ""
        self.interface: str = message.interface or ""
        self.member: str = message.member or ""
        self.signature: str = message.signature
        self.interactive = bool(
            message.flags & library.message_flag.ALLOW_INTERACTIVE_AUTHORIZATION
        )
        self.body: tuple[object, ...] = tuple(library.unpack(value) for value in message.body)
        self._answer: Callable[..., None] | None = answer

    def reply(self, signature: str = "", body: Sequence[object] = ()) -> None:
        """Answer with *body*; nothing happens when it is answered already or the bus is gone.

        Raises HealthdError "bus-value" where *body* does not fit *signature*; the call is then
        still unanswered.
        """
        if self._answer is not None:
            self._answer(signature=signature, body=body)
            self._answer = None

    def error(self, name: str, text: str) -> None:
        """Answer with an error. *text* is for people and reaches any local user: not private."""
        if self._answer is not None:
            self._answer(signature="s", body=(text,), error_name=name)
            self._answer = None


def outgoing(value: object, library: Library) -> Any:
    """*value* as *library* takes it: its own variants, lists for structs, plain strings.

    A `Descriptor` is not for here: what goes out in its place is its index.
    """
    if isinstance(value, str):
        return _sendable(value)
    if isinstance(value, Variant):
        return library.variant(value.signature, outgoing(value.value, library))
    if isinstance(value, dict):
        return {outgoing(key, library): outgoing(inner, library) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        # dbus-next refuses a tuple for a struct.
        return [outgoing(inner, library) for inner in value]
    return value


def _sendable(text: str) -> str:
    """*text* as an exact str (dbus-fast's compiled writer refuses a StrEnum) that the bus accepts.

    The bus drops whoever sends a NUL inside a string; a lone surrogate has no UTF-8.
    """
    text = str.__str__(text).replace("\0", "\N{REPLACEMENT CHARACTER}")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
