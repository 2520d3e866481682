"""Our objects and who answers for each member, as their interface XML promises.

Finds, introspects and reads properties; runs nothing and sends nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

from msgspec import Struct

from healthd.bus.contract import STANDARD, Emits, Interface, Method
from healthd.bus.message import (
    INVALID_ARGS,
    UNKNOWN_INTERFACE,
    UNKNOWN_METHOD,
    UNKNOWN_OBJECT,
    UNKNOWN_PROPERTY,
    BusError,
    Call,
    Variant,
)
from healthd.errors import HealthdError

PROPERTY_READ_ONLY = "org.freedesktop.DBus.Error.PropertyReadOnly"
PROPERTIES, INTROSPECTABLE = (interface.name for interface in STANDARD[:2])
DOCTYPE = (
    '<!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"\n'
    ' "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">\n'
)
READ_LIMIT_S = 20.0


class Refusal(BusError):
    """An error that a caller is to get by this very name."""


class Reading(Struct, frozen=True):
    """A method that is computed at once from what healthd knows."""

    render: Callable[[Call], Sequence[object]]
    limit_s: float = READ_LIMIT_S


class Acting(Struct, frozen=True):
    """A method that awaits something, for *limit_s* at most."""

    run: Callable[[Call], Awaitable[Sequence[object]]]
    limit_s: float


Handler = Reading | Acting


class Served(Struct, frozen=True):
    """An interface with what answers for it, by name."""

    interface: Interface
    methods: dict[str, Handler] = {}
    getters: dict[str, Callable[[], object]] = {}

    def value(self, name: str) -> Variant:
        """A property as it is now."""
        return Variant(self.interface.properties[name].signature, self.getters[name]())

    def told_values(self) -> dict[str, object]:
        """The present values of the properties whose changes are told with their value."""
        told = self.interface.properties.values()
        return {p.name: self.getters[p.name]() for p in told if p.emits is Emits.VALUE}


class Objects:
    """Paths, and the interfaces at each."""

    def __init__(self) -> None:
        self._at: dict[str, dict[str, Served]] = {}
        self.ours: dict[tuple[str, str], Served] = {}

    def place(self, path: str, served: Served) -> None:
        """Offer an object with one interface of ours.

        Raises HealthdError "contract" when the interface promises other members than are served.
        """
        interface = served.interface
        promised = {*interface.methods, *interface.properties}
        if promised != {*served.methods, *served.getters}:
            raise HealthdError("contract", f"{interface.name} is not served as its XML says")
        self.ours[path, interface.name] = served
        self._at[path] = {interface.name: served} | self._standard(path)
        while path != "/":
            path = path.rpartition("/")[0] or "/"
            only = {INTROSPECTABLE: self._standard(path)[INTROSPECTABLE]}
            self._at.setdefault(path, only)

    def find(self, call: Call) -> tuple[Method, Handler]:
        """Who answers *call*. Raises Refusal when nobody does, or the arguments do not fit."""
        # The interface may be left out of a call.
        for served in self._interfaces(call.path, call.interface):
            method = served.interface.methods.get(call.member)
            if method is None:
                continue
            if call.signature != method.takes:
                raise Refusal(
                    INVALID_ARGS, f"{method.name} takes ({method.takes}), not ({call.signature})"
                )
            return method, served.methods[method.name]
        raise Refusal(UNKNOWN_METHOD, f"{call.interface or call.path} has no {call.member}")

    def introspection(self, path: str) -> str:
        """What the object at *path* is, as XML; the paths above it only lead there."""
        below = {
            other.removeprefix(path).lstrip("/").partition("/")[0]
            for other in self._at
            if other != path and other.startswith(path.rstrip("/") + "/")
        }
        ours = [served.interface for (at, _), served in self.ours.items() if at == path]
        parts = [interface.xml for interface in (*ours, *(STANDARD if ours else ()))]
        parts += [f'<node name="{name}"/>' for name in sorted(below)]
        inner = "\n  ".join(parts)
        return f'{DOCTYPE}<node name="{path}">\n  {inner}\n</node>\n'

    def _standard(self, path: str) -> dict[str, Served]:
        """What every object answers. Peer is the adapter's: it needs no object."""

        def names(call: Call) -> tuple[str, str]:
            return str(call.body[0]), str(call.body[1])

        properties, introspectable, _ = STANDARD
        return {
            PROPERTIES: Served(
                properties,
                {
                    "Get": Reading(lambda call: (self._get(path, *names(call)),)),
                    "GetAll": Reading(lambda call: (self._get_all(path, str(call.body[0])),)),
                    "Set": Reading(lambda call: self._set(path, *names(call))),
                },
            ),
            INTROSPECTABLE: Served(
                introspectable, {"Introspect": Reading(lambda _: (self.introspection(path),))}
            ),
        }

    def _get(self, path: str, interface: str, name: str) -> Variant:
        for served in self._interfaces(path, interface):
            if name in served.getters:
                return served.value(name)
        raise Refusal(UNKNOWN_PROPERTY, f"{interface or path} has no property {name}")

    def _get_all(self, path: str, interface: str) -> dict[str, Variant]:
        found = self._interfaces(path, interface)
        return {name: served.value(name) for served in found for name in served.getters}

    def _set(self, path: str, interface: str, name: str) -> Sequence[object]:
        if all(name not in served.getters for served in self._interfaces(path, interface)):
            raise Refusal(UNKNOWN_PROPERTY, f"{interface or path} has no property {name}")
        raise Refusal(PROPERTY_READ_ONLY, f"{name} is read-only")

    def _interfaces(self, path: str, interface: str) -> Iterator[Served]:
        """The one that is named, or all where none is."""
        found = self._at.get(path)
        if found is None:
            raise Refusal(UNKNOWN_OBJECT, f"there is no object {path}")
        if interface and interface not in found:
            raise Refusal(UNKNOWN_INTERFACE, f"{path} has no interface {interface}")
        yield from [found[interface]] if interface else found.values()
