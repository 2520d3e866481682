"""Speak to org.healthd1 over jeepney, blocking; the only door to that library.

Never starts healthd (NO_AUTO_START on every call), and lets no exception of the library out. Values
leave this file without variants and with the shape that dbus-api promises.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, NoReturn

from jeepney import (
    DBusAddress,
    HeaderFields,
    MatchRule,
    Message,
    MessageFlag,
    MessageType,
    message_bus,
    new_method_call,
)
from jeepney.auth import AuthenticationError
from jeepney.io.blocking import DBusConnection, open_dbus_connection

from healthd.ctl import rows
from healthd.ctl.variants import opened
from healthd.errors import HealthdError

NAME = "org.healthd1"
PATH = "/org/healthd1"
MANAGER = "org.healthd1.Manager"
HIGHEST = 2**64 - 1
BUS = "org.freedesktop.DBus"

#: How long a read may take, a pass over checks (each has its own limit), a person at a password.
READ_S = 25.0
PASS_S = 120.0
PASSWORD_S = 300.0

CHECKS = f"a{rows.CHECK_SIGNATURE}"
INCIDENTS = f"a{rows.INCIDENT_SIGNATURE}"
#: The properties that are read, with their types.
PROPERTIES = {
    "Version": "s",
    "State": "s",
    "Counts": "a{su}",
    "Snapshot": CHECKS,
    "Incidents": INCIDENTS,
    "Watching": "b",
    "WatchingReason": "s",
    "Sequence": "t",
    "Holds": f"a{rows.HOLD_SIGNATURE}",
    "Gaps": f"a{rows.GAP_SIGNATURE}",
}
SIGNALS = {
    "CheckChanged": f"ssst{rows.CHECK_SIGNATURE}",
    "CheckRemoved": "st",
    "IncidentOpened": f"stt{rows.INCIDENT_SIGNATURE}",
    "IncidentChanged": f"stt{rows.INCIDENT_SIGNATURE}",
    "IncidentClosed": f"stt{rows.INCIDENT_SIGNATURE}",
    "Notice": "sttsssssa{sv}",
}

#: What a D-Bus error means here; main.py makes exit codes of these. What is not listed "failed".
_CODES = {
    "org.freedesktop.DBus.Error.NameHasNoOwner": "not-running",
    "org.freedesktop.DBus.Error.ServiceUnknown": "not-running",
    "org.freedesktop.DBus.Error.NoReply": "unreachable",
    "org.freedesktop.DBus.Error.Disconnected": "unreachable",
    "org.freedesktop.DBus.Error.AccessDenied": "refused",
    "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired": "needs-password",
    "org.healthd1.Error.NotAuthorized": "refused",
    "org.healthd1.Error.NotAllowlisted": "refused",
    "org.healthd1.Error.NeverRestart": "refused",
    "org.healthd1.Error.NoSuchCheck": "missing",
    "org.healthd1.Error.NoSuchIncident": "missing",
    "org.healthd1.Error.NoSuchUnit": "missing",
    "org.freedesktop.DBus.Error.InvalidArgs": "usage",
}

#: Gives a person the means to type a password while it is entered; None where nobody can be asked.
Asking = Callable[[], AbstractContextManager[None]] | None


class Signal(NamedTuple):
    """A signal of healthd's; *member* "": its name went to *owner*, "" for nobody."""

    member: str
    arguments: tuple[Any, ...] = ()
    owner: str = ""


class Client:
    """One connection to the system bus. Every method raises HealthdError; its code says why."""

    def __init__(self, connection: DBusConnection) -> None:
        self._connection = connection

    def manager(self) -> rows.Manager:
        """Everything that `status` shows."""
        address = DBusAddress(PATH, NAME, f"{BUS}.Properties")
        values = self._call(address, "GetAll", "s", (MANAGER,), "a{sv}")[0]
        for name, signature in PROPERTIES.items():
            if values.get(name, ("",))[0] != signature:
                _unexpected(f"property {name}")
        get = {name: opened(kind, values[name][1]) for name, kind in PROPERTIES.items()}
        return rows.Manager(
            version=get["Version"],
            state=get["State"],
            counts=get["Counts"],
            checks=[rows.check(row) for row in get["Snapshot"]],
            incidents=[rows.incident(row) for row in get["Incidents"]],
            watching=get["Watching"],
            watching_reason=get["WatchingReason"],
            sequence=get["Sequence"],
            holds=[rows.hold(row) for row in get["Holds"]],
            gaps=[rows.gap(row) for row in get["Gaps"]],
        )

    def version(self) -> str:
        """The version of the daemon that runs."""
        address = DBusAddress(PATH, NAME, f"{BUS}.Properties")
        signature, value = self._call(address, "Get", "ss", (MANAGER, "Version"), "v")[0]
        return str(value) if signature == "s" else _unexpected("property Version")

    def snapshot(self) -> tuple[int, list[rows.Check]]:
        """Number of the last change, and all checks as they are after it."""
        sequence, found = self._call_manager("GetSnapshot", "", (), f"t{CHECKS}")
        return sequence, [rows.check(row) for row in opened(CHECKS, found)]

    def checks(self) -> list[rows.Check]:
        """All checks."""
        found = self._call_manager("ListChecks", "a{sv}", ({},), CHECKS)[0]
        return [rows.check(row) for row in opened(CHECKS, found)]

    def incidents(
        self, *, open_only: bool = False, key: str = "", limit: int
    ) -> list[rows.Incident]:
        """The newest *limit* incidents, newest first; of one check when *key* is given."""
        chosen: dict[str, tuple[str, object]] = {"open_only": ("b", True)} if open_only else {}
        if key:
            chosen["key"] = ("s", key)
        found = self._call_manager("ListIncidents", "a{sv}u", (chosen, limit), INCIDENTS)[0]
        return [rows.incident(row) for row in opened(INCIDENTS, found)]

    def incident(self, number: int) -> rows.Incident:
        """The incident *number*, however old. Raises HealthdError "missing" when there is none."""
        chosen = {"id": ("t", number)}
        # A greater one does not fit into a message.
        if number <= HIGHEST:
            found = self._call_manager("ListIncidents", "a{sv}u", (chosen, 1), INCIDENTS)[0]
            for row in opened(INCIDENTS, found):
                return rows.incident(row)
        raise HealthdError("missing", f"there is no incident {number}", "see: healthctl incidents")

    def look(self, keys: list[str], asking: Asking = None) -> list[rows.Check]:
        """Have the checks looked at now, all when *keys* is empty."""
        found = self._ask("Look", "as", (keys,), CHECKS, asking)[0]
        return [rows.check(row) for row in opened(CHECKS, found)]

    def restart(self, unit: str, asking: Asking = None) -> int:
        """Have *unit* restarted; the incident in which the attempt is recorded, 0 when in none."""
        number: int = self._ask("RestartUnit", "s", (unit,), "t", asking)[0]
        return number

    def hold(self, units: tuple[str, ...], why: str, for_us: int, asking: Asking = None) -> int:
        """Hold *units* until the descriptor that this returns is closed, and each copy of it.

        *for_us*: how long at most, 0 = as long as may be. Needs a connection for descriptors.
        """
        kept = self._ask("Hold", "asst", (list(units), why, for_us), "h", asking)[0]
        number: int = kept.to_raw_fd()
        # The library leaves it open over an exec.
        os.set_inheritable(number, False)
        return number

    def why(self, key: str) -> rows.Why:
        """Why a check stands as it does."""
        found = self._call_manager("Why", "s", (key,), "a{sv}")[0]
        return rows.why(key, opened("a{sv}", found))

    def evidence(self, incident: int) -> dict[str, Any]:
        """What was seen when the incident opened."""
        found: dict[str, Any] = self._call_manager("GetEvidence", "t", (incident,), "a{sv}")[0]
        return opened("a{sv}", found)  # type: ignore[no-any-return]

    def follow(self) -> Iterator[Signal]:
        """Every signal of healthd's from now on, and its name changing hands; never ends.

        A signal is believed only from the present owner of the name: whoever is on the bus can send
        one that looks like it. The first item, with the owner, comes before anything is waited for,
        so that what is read after it misses nothing.
        """
        believed = _Believed()
        queue: deque[Message] = deque()
        # The handle stays for the life of the connection; nothing else is done with it.
        self._connection.filter(believed, queue=queue)
        for rule in _match_rules():
            self._call(message_bus, "AddMatch", "s", (rule.serialise(),), "")
        believed.owner = self._owner()
        yield Signal("", owner=believed.owner)
        while True:
            try:
                message = self._connection.recv_until_filtered(queue)
            except OSError as err:
                raise HealthdError("unreachable", "the system bus went away") from err
            if (signal := _signal(message)) is not None:
                yield signal

    def _owner(self) -> str:
        try:
            owner: str = self._call(message_bus, "GetNameOwner", "s", (NAME,), "s")[0]
        except HealthdError as err:
            if err.code == "not-running":
                return ""
            raise
        return owner

    def _call_manager(
        self, member: str, signature: str, body: tuple[Any, ...], reply: str
    ) -> tuple[Any, ...]:
        return self._call(DBusAddress(PATH, NAME, MANAGER), member, signature, body, reply)

    def _ask(
        self, member: str, signature: str, body: tuple[Any, ...], reply: str, asking: Asking
    ) -> tuple[Any, ...]:
        """Call what polkit may refuse; a person is asked only when it says that this would help."""
        address = DBusAddress(PATH, NAME, MANAGER)
        try:
            return self._call(address, member, signature, body, reply, limit_s=PASS_S)
        except HealthdError as err:
            if err.code != "needs-password" or asking is None:
                raise
        with asking():
            flags = MessageFlag.allow_interactive_authorization
            return self._call(
                address, member, signature, body, reply, limit_s=PASSWORD_S, flags=flags
            )

    def _call(
        self,
        address: Any,
        member: str,
        signature: str,
        body: tuple[Any, ...],
        reply: str,
        *,
        limit_s: float = READ_S,
        flags: int = 0,
    ) -> tuple[Any, ...]:
        message = new_method_call(address, member, signature or None, body)
        message.header.flags = MessageFlag.no_auto_start | flags
        try:
            answer = self._connection.send_and_get_reply(message, timeout=limit_s)
        except TimeoutError as err:
            words = f"healthd did not answer within {limit_s:.0f} s"
            raise HealthdError("unreachable", words, "see: systemctl status healthd") from err
        except OSError as err:
            raise HealthdError("unreachable", f"the system bus went away: {err.strerror}") from err
        if answer.header.message_type is MessageType.error:
            _raise_error(answer)
        if answer.header.fields.get(HeaderFields.signature, "") != reply:
            _unexpected(f"answer to {member}")
        return answer.body  # type: ignore[no-any-return]


class _Believed:
    """Which incoming messages are kept: from healthd's present owner, and the bus's about that."""

    def __init__(self) -> None:
        self.owner = ""

    def matches(self, message: Message) -> bool:
        """Called by the library for each message that is no reply, in the order of arrival."""
        fields = message.header.fields
        if message.header.message_type is not MessageType.signal:
            return False
        sender = fields.get(HeaderFields.sender, "")
        # Only the bus itself can have this sender.
        if sender == BUS and fields.get(HeaderFields.member) == "NameOwnerChanged":
            if message.body[0] != NAME:
                return False
            self.owner = message.body[2]
            return True
        is_healthd = bool(self.owner) and sender == self.owner
        return is_healthd and fields.get(HeaderFields.interface) == MANAGER


def not_running() -> HealthdError:
    """What is raised when nobody owns healthd's name."""
    hint = "start it with: systemctl start healthd"
    return HealthdError("not-running", "healthd is not running", hint)


def connect(*, descriptors: bool = False) -> Client:
    """Connect to the system bus, or to the one that DBUS_SYSTEM_BUS_ADDRESS names.

    *descriptors*: what is asked of this connection may be answered with one.
    """
    try:
        return Client(open_dbus_connection("SYSTEM", enable_fds=descriptors))
    except (OSError, RuntimeError, ValueError, AuthenticationError) as err:
        words = err.strerror if isinstance(err, OSError) and err.strerror else str(err)
        raise HealthdError("unreachable", f"cannot reach the system bus: {words}") from err


def _match_rules() -> tuple[MatchRule, MatchRule]:
    changes = MatchRule(type="signal", sender=NAME, interface=MANAGER, path=PATH)
    owners = MatchRule(type="signal", sender=BUS, interface=BUS, member="NameOwnerChanged")
    owners.add_arg_condition(0, NAME)
    return changes, owners


def _signal(message: Message) -> Signal | None:
    """The message as a signal; None for what this healthctl does not know."""
    fields = message.header.fields
    member = fields[HeaderFields.member]
    if fields[HeaderFields.sender] == BUS:
        return Signal("", owner=message.body[2])
    signature = SIGNALS.get(member)
    if signature is None or fields.get(HeaderFields.signature) != signature:
        return None
    return Signal(member, opened(f"({signature})", message.body))


def _raise_error(answer: Message) -> NoReturn:
    name = answer.header.fields.get(HeaderFields.error_name, "")
    code = _CODES.get(name, "failed")
    if code == "not-running":
        raise not_running()
    if code == "needs-password":
        words = "a password is needed and there is no terminal to ask for it"
        raise HealthdError(code, words, "run it in a terminal, or as root")
    body = answer.body
    words = body[0] if body and isinstance(body[0], str) and body[0] else name
    raise HealthdError(code, words)


def _unexpected(what: str) -> NoReturn:
    raise HealthdError(
        "failed", f"{what} is not what this healthctl understands", "compare: healthctl version"
    )
