"""A stand-in for healthd on a private bus, for what healthctl shows: rows in, answers out.

Answers in a thread, never judges anything. Its rows are raw, as they travel on the bus.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any

from jeepney import (
    DBusAddress,
    HeaderFields,
    Message,
    MessageFlag,
    MessageType,
    message_bus,
    new_error,
    new_method_call,
    new_method_return,
    new_signal,
)
from jeepney.io.blocking import DBusConnection, open_dbus_connection

NAME = "org.healthd1"
PATH = "/org/healthd1"
MANAGER = DBusAddress(PATH, NAME, "org.healthd1.Manager")
CHECK = "(ssssstusa{sv})"
INCIDENT = "(tsssttsuua{sv})"

#: 2026-11-30 23:35:26 UTC, when all of it happens.
NOW = 1_796_081_726_000_000
MINUTE = 60_000_000


def check(key: str, state: str, reason: str, summary: str, **more: tuple[str, Any]) -> Any:
    """One Snapshot row; a unit check's unit is the one in its key."""
    unit = key.partition(":")[2].partition("/")[0] if not key.startswith("host:") else ""
    aspect = ("s", key.partition(":")[0])
    streak = 2 if state == "red" else 0
    row = (key, unit, state, reason, summary, NOW - 4 * MINUTE, streak, "")
    return (*row, {"aspect": aspect, **more})


def incident(number: int, key: str, phase: str, summary: str, **more: tuple[str, Any]) -> Any:
    """One Incidents row, opened four minutes ago."""
    opened = NOW - 4 * MINUTE
    closed = NOW - MINUTE if phase == "closed" else 0
    ending = "self_healed" if phase == "closed" else ""
    tried = len(more["tried"][1]) if "tried" in more else 0
    told = len(more["told"][1]) if "told" in more else 0
    return (number, key, phase, summary, opened, closed, ending, tried, told, more)


class StandIn:
    """Owns org.healthd1 on the bus at *address* and answers from what it was given."""

    def __init__(self, address: str) -> None:
        self.checks: list[Any] = []
        self.open_incidents: list[Any] = []
        self.holds: list[Any] = []
        self.gaps: list[Any] = []
        #: Our ends of the holds that were given out.
        self.held: list[int] = []
        self.history: list[Any] = []
        self.state = "green"
        self.watching = (True, "")
        self.sequence = 100
        #: Method → D-Bus error name and words.
        self.refuse: dict[str, tuple[str, str]] = {}
        #: Method → signature and body of the answer, in place of the true one.
        self.answers: dict[str, tuple[str, tuple[Any, ...]]] = {}
        #: Method, arguments and flags of every call.
        self.calls: list[tuple[str, tuple[Any, ...], int]] = []
        #: Set when somebody has read the snapshot, and so has subscribed before.
        self.snapshot_read = threading.Event()
        self._connection: DBusConnection = open_dbus_connection(address, enable_fds=True)
        request = new_method_call(message_bus, "RequestName", "su", (NAME, 4))
        self._connection.send_and_get_reply(request, timeout=10)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leave the bus; the name is free when the bus has seen it."""
        # Unblocks the reader, which a plain close would not; a second close has nothing to do.
        with contextlib.suppress(OSError):
            self._connection.sock.shutdown(2)
        self._thread.join(10)
        self._connection.close()

    def emit(self, member: str, signature: str, *arguments: Any) -> None:
        """Send a signal to all who subscribed."""
        self._connection.send(new_signal(MANAGER, member, signature, arguments))

    def change(self, row: Any, old_state: str) -> None:
        """Put *row* in place of the check's old one and say so."""
        self.checks = [kept for kept in self.checks if kept[0] != row[0]] + [row]
        self.sequence += 1
        arguments = (row[0], old_state, row[2], self.sequence, row)
        self.emit("CheckChanged", f"ssst{CHECK}", *arguments)

    def _serve(self) -> None:
        while True:
            try:
                message = self._connection.receive()
            except OSError:
                return
            if message.header.message_type is MessageType.method_call:
                self._connection.send(self._answer(message))

    def _answer(self, message: Message) -> Message:
        member = message.header.fields[HeaderFields.member]
        self.calls.append((member, message.body, int(message.header.flags)))
        if member in self.refuse and not self._may_ask(message, member):
            name, words = self.refuse[member]
            return new_error(message, name, "s", (words,))
        if member == "GetSnapshot":
            self.snapshot_read.set()
        signature, body = self.answers.get(member) or self._result(member, message.body)
        return new_method_return(message, signature, body)

    def _may_ask(self, message: Message, member: str) -> bool:
        asks = message.header.flags & MessageFlag.allow_interactive_authorization
        return bool(asks) and "InteractiveAuthorization" in self.refuse[member][0]

    def _result(self, member: str, body: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
        match member, body:
            case "GetAll", _:
                return "a{sv}", (self._properties(),)
            case "Get", _:
                return "v", (("s", "0.1.0"),)
            case "GetSnapshot", _:
                return f"ta{CHECK}", (self.sequence, self.checks)
            case "ListChecks", _:
                return f"a{CHECK}", (self.checks,)
            case "ListIncidents", (chosen, limit):
                return f"a{INCIDENT}", (self._incidents(chosen)[:limit],)
            case "Look", (keys,):
                found = [row for row in self.checks if not keys or row[0] in keys]
                return f"a{CHECK}", (found,)
            case "RestartUnit", _:
                return "t", (self.open_incidents[0][0] if self.open_incidents else 0,)
            case "Hold", _:
                end, given = os.pipe()
                self.held.append(end)
                # A file is closed once it is sent and forgotten.
                return "h", (os.fdopen(given, "wb", buffering=0),)
            case _:
                return "a{sv}", ({},)

    def _incidents(self, chosen: dict[str, Any]) -> list[Any]:
        if "id" in chosen:
            return [row for row in self.history if row[0] == chosen["id"][1]]
        rows = self.open_incidents if "open_only" in chosen else self.history
        key = chosen.get("key", ("s", ""))[1]
        return [row for row in rows if not key or row[1] == key]

    def _properties(self) -> dict[str, Any]:
        counts = {"green": 0, "yellow": 0, "red": 0, "grey": 0}
        for row in self.checks:
            counts[row[2]] = counts.get(row[2], 0) + 1
        return {
            "Version": ("s", "0.1.0"),
            "State": ("s", self.state),
            "Counts": ("a{su}", counts),
            "Snapshot": (f"a{CHECK}", self.checks),
            "Alerts": ("a(sssta{sv})", []),
            "Incidents": (f"a{INCIDENT}", self.open_incidents),
            "Watching": ("b", self.watching[0]),
            "WatchingReason": ("s", self.watching[1]),
            "Sequence": ("t", self.sequence),
            "Holds": ("a(tassuta{sv})", self.holds),
            "Gaps": ("a(ttsa{sv})", self.gaps),
        }
