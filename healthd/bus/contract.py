"""Read the interface XML: what the daemon promises, and what every object on a bus answers.

Decides nothing and calls nobody.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from xml.etree import ElementTree

from msgspec import Struct

from healthd.errors import HealthdError

# A checkout reads its own file, never one that an installed package left behind.
_PLACES = (
    Path(__file__).parents[2] / "dbus",
    Path("/usr/share/dbus-1/interfaces"),
)
_EMITS = "org.freedesktop.DBus.Property.EmitsChangedSignal"


class Emits(StrEnum):
    """What a change of a property is told with; D-Bus specification, EmitsChangedSignal."""

    VALUE = "true"
    NAME_ONLY = "invalidates"
    NEVER_CHANGES = "const"
    NOTHING = "false"


class Method(Struct, frozen=True):
    """The signatures of a method's arguments, all in one, and of its answer."""

    name: str
    takes: str
    gives: str


class Property(Struct, frozen=True):
    """A property; all of ours are read-only."""

    name: str
    signature: str
    emits: Emits


class Interface(Struct, frozen=True):
    """One interface. *signals*: name → signature. *xml*: its element, without the comments."""

    name: str
    methods: dict[str, Method]
    properties: dict[str, Property]
    signals: dict[str, str]
    xml: str


def shipped(file_name: str) -> str:
    """The text of an interface file that is installed with healthd.

    Raises HealthdError "no-interface" where it is missing.
    """
    for place in _PLACES:
        path = place / file_name
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise HealthdError(
        "no-interface", f"{file_name} is in none of {', '.join(map(str, _PLACES))}", "install it"
    )


def interfaces(xml: str) -> tuple[Interface, ...]:
    """The interfaces of one node, in the order of the file."""
    return tuple(_interface(element) for element in ElementTree.fromstring(xml).iter("interface"))


def _interface(element: ElementTree.Element) -> Interface:
    ElementTree.indent(element, level=1)
    return Interface(
        name=_name(element),
        methods={_name(m): _method(m) for m in element.iter("method")},
        properties={_name(p): _property(p) for p in element.iter("property")},
        signals={_name(s): _signature(s) for s in element.iter("signal")},
        xml=ElementTree.tostring(element, encoding="unicode").rstrip(),
    )


def _method(element: ElementTree.Element) -> Method:
    return Method(_name(element), _signature(element, "in"), _signature(element, "out"))


def _property(element: ElementTree.Element) -> Property:
    emits = next((a.get("value", "") for a in element if a.get("name") == _EMITS), Emits.VALUE)
    return Property(_name(element), element.get("type", ""), Emits(emits))


def _signature(element: ElementTree.Element, direction: str = "") -> str:
    """The types of the arguments that go this way; a method's argument without a word goes in."""
    return "".join(
        arg.get("type", "")
        for arg in element.iter("arg")
        if not direction or arg.get("direction", "in") == direction
    )


def _name(element: ElementTree.Element) -> str:
    return element.get("name", "")


STANDARD = interfaces(
    """
<node>
  <interface name="org.freedesktop.DBus.Properties">
    <method name="Get">
      <arg name="interface_name" type="s" direction="in"/>
      <arg name="property_name" type="s" direction="in"/>
      <arg name="value" type="v" direction="out"/>
    </method>
    <method name="GetAll">
      <arg name="interface_name" type="s" direction="in"/>
      <arg name="properties" type="a{sv}" direction="out"/>
    </method>
    <method name="Set">
      <arg name="interface_name" type="s" direction="in"/>
      <arg name="property_name" type="s" direction="in"/>
      <arg name="value" type="v" direction="in"/>
    </method>
    <signal name="PropertiesChanged">
      <arg name="interface_name" type="s"/>
      <arg name="changed_properties" type="a{sv}"/>
      <arg name="invalidated_properties" type="as"/>
    </signal>
  </interface>
  <interface name="org.freedesktop.DBus.Introspectable">
    <method name="Introspect">
      <arg name="xml_data" type="s" direction="out"/>
    </method>
  </interface>
  <interface name="org.freedesktop.DBus.Peer">
    <method name="Ping"/>
    <method name="GetMachineId">
      <arg name="machine_uuid" type="s" direction="out"/>
    </method>
  </interface>
</node>
"""
)
