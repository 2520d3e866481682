"""How one word of the settings is read: a text in, a checked value out, or what is wrong. Pure.

A form stands in the annotation of a key (schema.py) and is the only source of its bounds.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

LONGEST_TEXT = 4096
# sockaddr_un holds 108 bytes, the last one a zero.
LONGEST_SOCKET_PATH = 107

_HOST = re.compile(r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_-]+)*\.?")


class Unfit(ValueError):
    """The text does not fit its form; the message is a hint, or "" where *allowed* says it all."""


class Form(Protocol):
    """One kind of word."""

    @property
    def allowed(self) -> str:
        """What may be written, in words."""

    def read(self, text: str) -> object:
        """The value of *text*. Raises Unfit."""


class Switch(Struct, frozen=True):
    """A bool, in YAML's words."""

    @property
    def allowed(self) -> str:
        return "true or false"

    def read(self, text: str) -> bool:
        match text.lower():
            case "true" | "yes" | "on":
                return True
            case "false" | "no" | "off":
                return False
        raise Unfit("")


class Text(Struct, frozen=True):
    """Any text, as a str. *private*: a fault must not show what was found."""

    what: str = "a text"
    private: bool = False

    @property
    def allowed(self) -> str:
        return self.what

    def read(self, text: str) -> str:
        if "\0" in text:
            raise Unfit("a zero byte ends a text for most programs")
        if len(text) > LONGEST_TEXT:
            raise Unfit(f"at most {LONGEST_TEXT} letters")
        return text


class Matching(Struct, frozen=True):
    """A text that an expression fits as a whole."""

    expression: str
    what: str
    private: bool = False

    @property
    def allowed(self) -> str:
        return self.what

    def read(self, text: str) -> str:
        if len(text) > LONGEST_TEXT or not re.fullmatch(self.expression, text):
            raise Unfit("")
        return text


WORD = Matching(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", "a word of letters, digits and _ . -")
URL_PATH = Matching(r"/[!-~]*", "a path that begins with / and has no blanks")
HEADER_NAME = Matching(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", "the name of a header")
HEADER_VALUE = Matching(r"[\t -~]*", "a value of printable ASCII letters", private=True)
URL = Matching(r"[a-z][a-z0-9+.-]*://[!-~]+", "a URL")
BUS_NAME = Matching(
    r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)+", "a name such as org.example.Name"
)
HOST_NAME = Matching(_HOST.pattern, "a host's name")


class OneOf(Struct, frozen=True):
    """One of the values of a closed set."""

    choices: type[StrEnum]

    @property
    def allowed(self) -> str:
        return " or ".join(self.choices)

    def read(self, text: str) -> StrEnum:
        try:
            return self.choices(text)
        except ValueError:
            raise Unfit("") from None


class AbsolutePath(Struct, frozen=True):
    """The absolute path of a file; whether it is there is not asked here."""

    what: str = "an absolute path"
    longest: int = LONGEST_TEXT

    @property
    def allowed(self) -> str:
        return self.what

    def read(self, text: str) -> str:
        if not text.startswith("/") or "\0" in text:
            raise Unfit("")
        if len(text.encode()) > self.longest:
            raise Unfit(f"at most {self.longest} bytes")
        return text


SOCKET_PATH = AbsolutePath("the absolute path of a socket", LONGEST_SOCKET_PATH)


class Expression(Struct, frozen=True):
    """A regular expression of Python, as its text."""

    @property
    def allowed(self) -> str:
        return "a regular expression"

    def read(self, text: str) -> str:
        if len(text) > LONGEST_TEXT:
            raise Unfit(f"at most {LONGEST_TEXT} letters")
        try:
            re.compile(text)
        except (re.error, OverflowError, RecursionError) as err:
            raise Unfit(f"it does not compile: {err}") from err
        return text


class Address(Struct, frozen=True):
    """`host:port` or `[v6]:port`, as a pair of host (no brackets) and port."""

    @property
    def allowed(self) -> str:
        return "host:port or [v6]:port, a port from 1 to 65535"

    def read(self, text: str) -> tuple[str, int]:
        host, colon, port = text.rpartition(":")
        if not colon:
            raise Unfit(
                f"did you mean 127.0.0.1:{text}?" if text.isdecimal() else "a port is missing"
            )
        if not re.fullmatch("[0-9]{1,9}", port, re.ASCII) or not 1 <= int(port) <= 65535:
            raise Unfit("the port is not one")
        if host.startswith("[") and host.endswith("]"):
            try:
                return str(ipaddress.IPv6Address(host[1:-1])), int(port)
            except ValueError as err:
                raise Unfit("between [ and ] an IPv6 address") from err
        if ":" in host:
            raise Unfit(f"an IPv6 address stands in brackets: [{host}]:{port}")
        if not _HOST.fullmatch(host):
            raise Unfit("the host is not one")
        return host, int(port)


class Date(Struct, frozen=True):
    """A day, as a date."""

    @property
    def allowed(self) -> str:
        return "a day such as 2027-06-01"

    def read(self, text: str) -> datetime.date:
        try:
            return datetime.datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=datetime.UTC).date()
        except ValueError:
            raise Unfit("") from None
