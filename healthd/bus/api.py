"""Our interface, org.healthd1.Manager: authorize, convert, delegate. Decides nothing about health.

Everybody may read. What costs, changes or reveals something is counted per caller, then polkit is
asked, and only then the daemon.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from healthd.bus import rows
from healthd.bus.callers import Callers
from healthd.bus.changes import Changes
from healthd.bus.connection import Connection
from healthd.bus.contract import interfaces, shipped
from healthd.bus.desk import Authorize, Desk
from healthd.bus.export import LIMITS_EXCEEDED, Exporter, Spawn
from healthd.bus.filters import check_filter, incident_filter
from healthd.bus.message import INTERACTIVE_AUTHORIZATION_REQUIRED, INVALID_ARGS, Call
from healthd.bus.objects import READ_LIMIT_S, Acting, Reading, Served
from healthd.errors import HealthdError
from healthd.model import (
    Change,
    CheckKey,
    CheckRow,
    IncidentId,
    IncidentRow,
    Notice,
    Permission,
    State,
)

NAME = "org.healthd1"
PATH = "/org/healthd1"
MANAGER = "org.healthd1.Manager"

# Code of a HealthdError → what a caller sees; a code that is not here is "Failed" with its words.
ERRORS = {
    "no-such-check": "org.healthd1.Error.NoSuchCheck",
    "no-such-unit": "org.healthd1.Error.NoSuchUnit",
    "no-such-incident": "org.healthd1.Error.NoSuchIncident",
    "not-allowlisted": "org.healthd1.Error.NotAllowlisted",
    "never-restart": "org.healthd1.Error.NeverRestart",
    "rate-limited": "org.healthd1.Error.RateLimited",
    "too-many": LIMITS_EXCEEDED,
    "invalid-settings": "org.healthd1.Error.InvalidSettings",
    "switched-off": "org.healthd1.Error.SwitchedOff",
    "not-authorized": "org.healthd1.Error.NotAuthorized",
    "password-needed": INTERACTIVE_AUTHORIZATION_REQUIRED,
    "invalid-args": INVALID_ARGS,
}

# A person may take minutes to find the password, and a pass over every check is not short.
ASK_LIMIT_S = 330.0
ACT_LIMIT_S = 600.0

_SIGNALS = {
    Change.OPENED: "IncidentOpened",
    Change.CHANGED: "IncidentChanged",
    Change.CLOSED: "IncidentClosed",
}


class Api:
    """What the daemon offers on the bus. Built once; `attach` gives it each new connection."""

    def __init__(
        self,
        desk: Desk,
        authorize: Authorize,
        *,
        version: str,
        spawn: Spawn,
        steady_us: Callable[[], int],
    ) -> None:
        self._desk = desk
        self._authorize = authorize
        self._version = version
        self._connection: Connection | None = None
        self._counted: dict[str, int] | None = None
        self._callers = Callers(steady_us)
        self._changes = Changes(desk.sequence())
        self._snapshot = _Once(desk, lambda: rows.checks(desk.check_rows(), next_look=False))
        self._incidents = _Once(desk, lambda: rows.incidents(desk.open_incidents()))
        self._holds = _Once(desk, lambda: [rows.hold(row) for row in desk.holds()])
        self._alerts = _Once(desk, lambda: [rows.alert(row) for row in desk.alerts()])
        self._exporter = Exporter(spawn, ERRORS)
        (manager,) = interfaces(shipped(f"{NAME}.xml"))
        self._exporter.place(
            PATH,
            Served(
                manager,
                {
                    "GetSnapshot": Reading(self._get_snapshot),
                    "ChangesSince": Reading(self._changes_since),
                    "ListChecks": Reading(self._list_checks),
                    "ListIncidents": self._acting(self._list_incidents, READ_LIMIT_S),
                    "Why": Reading(self._why),
                    "Look": self._acting(self._look, ACT_LIMIT_S),
                    "RestartUnit": self._acting(self._restart_unit, ACT_LIMIT_S),
                    "Hold": self._acting(self._hold, ASK_LIMIT_S),
                    "GetEvidence": self._acting(self._get_evidence, ASK_LIMIT_S),
                    "Reload": self._acting(self._reload, ACT_LIMIT_S),
                },
                {
                    "Version": lambda: self._version,
                    "State": lambda: desk.worst(self._counts()).value,
                    "Counts": self._counts,
                    "Snapshot": self._snapshot,
                    "Alerts": self._alerts,
                    "Incidents": self._incidents,
                    "Watching": lambda: desk.watching()[0],
                    "WatchingReason": lambda: desk.watching()[1],
                    "Sequence": desk.sequence,
                    "Holds": self._holds,
                    "Gaps": lambda: [rows.gap(gap) for gap in desk.gaps()],
                },
            ),
        )

    def attach(self, connection: Connection) -> None:
        """Answer on *connection* from now on. Own the name afterwards: no call is then missed."""
        self._connection = connection
        self._callers.forget_senders()
        self._exporter.attach(connection)

    # ---- what the daemon says

    def check_changed(self, row: CheckRow, old: State | None, new: State, sequence: int) -> None:
        """A check's state or reason changed; *old* None: it is new."""
        self._changes.note(CheckKey(row.key), sequence)
        self._stale("Snapshot")
        if State.RED in (old, new):
            self._stale("Alerts")
        body = (row.key, old.value if old else "", new.value, sequence, rows.check(row))
        self._exporter.emit(PATH, MANAGER, "CheckChanged", body)

    def check_removed(self, key: CheckKey, sequence: int) -> None:
        """A check is gone."""
        self._changes.note_gone(key, sequence)
        self._stale("Snapshot", "Alerts")
        self._exporter.emit(PATH, MANAGER, "CheckRemoved", (key, sequence))

    def incident(self, change: Change, row: IncidentRow, sequence: int) -> None:
        """An incident opened, changed or closed; its check's row names it, so that is stale too."""
        self._changes.note(CheckKey(row.key), sequence)
        self._stale("Incidents", "Snapshot", "Alerts")
        body = (row.key, row.id, sequence, rows.incident(row))
        self._exporter.emit(PATH, MANAGER, _SIGNALS[change], body)

    def notice(self, notice: Notice, sequence: int) -> None:
        """The owner is told; what a session's notifier shows."""
        self._exporter.emit(PATH, MANAGER, "Notice", rows.notice(notice, sequence))

    def settings_changed(self) -> None:
        """Other settings are in force: their own check's row shows them, whatever its state."""
        self._stale("Snapshot")
        self.flush()

    def watching_changed(self) -> None:
        """The machine is frozen, or watched again: every row shows it.

        One signal tells of all of them; who follows each check by its number reads them anew.
        """
        self._changes.begin_anew(self._desk.sequence())
        self._stale("Snapshot", "Alerts", "Incidents")
        self.flush()

    def gaps_changed(self) -> None:
        """One more stretch in which nobody watched."""
        self._stale("Gaps", "Incidents")
        self.flush()

    def holds_changed(self) -> None:
        """A hold began or ended."""
        self._stale("Holds")
        self.flush()

    def flush(self) -> None:
        """Tell which properties changed; once, after all that one turn of the loop had to say."""
        self._counted = self._desk.counts()
        try:
            self._exporter.flush()
        finally:
            self._counted = None

    def _counts(self) -> dict[str, int]:
        """How many checks have which state; counted once for all that a flush tells."""
        return self._desk.counts() if self._counted is None else self._counted

    def _stale(self, *names: str) -> None:
        self._exporter.invalidate(PATH, MANAGER, *names)

    # ---- what everybody may read

    def _get_snapshot(self, _: Call) -> Sequence[object]:
        return (self._desk.sequence(), self._snapshot())

    def _changes_since(self, call: Call) -> Sequence[object]:
        (sequence,) = call.body
        since = self._changes.since(sequence if isinstance(sequence, int) else 0)
        now = self._changes.last
        if since.gap:
            return (now, True, self._snapshot())
        changed = [row for row in self._desk.check_rows() if row.key in since.changed]
        gone = [rows.gone(key) for key in since.gone]
        return (now, False, rows.checks(changed, next_look=False) + gone)

    def _list_checks(self, call: Call) -> Sequence[object]:
        wanted = check_filter(call.body[0])
        return (rows.checks(row for row in self._desk.check_rows() if wanted.takes(row)),)

    async def _list_incidents(self, call: Call) -> Sequence[object]:
        given, limit = call.body
        return (rows.incidents(await self._desk.incidents(incident_filter(given, limit))),)

    def _why(self, call: Call) -> Sequence[object]:
        return (rows.why(self._desk.why(CheckKey(str(call.body[0])))),)

    # ---- what polkit decides

    async def _look(self, call: Call) -> Sequence[object]:
        uid = await self._admit(call)
        keys = tuple(dict.fromkeys(CheckKey(str(key)) for key in _items(call.body[0])))
        for key in keys:
            if not self._desk.has_check(key):
                raise HealthdError("no-such-check", f"there is no check {key}", "healthctl checks")
        with self._callers.one_pass(uid):
            await self._allowed(call, "look", {"key": keys[0]} if len(keys) == 1 else {})
            return (rows.checks(await self._desk.look(keys, _by(uid))),)

    async def _restart_unit(self, call: Call) -> Sequence[object]:
        uid = await self._admit(call)
        # Before polkit: nobody is asked for a password for what no password allows.
        unit = self._desk.restartable(str(call.body[0]))
        await self._allowed(call, "restart-unit", {"unit": unit})
        return (await self._desk.restart(unit, _by(uid)),)

    async def _hold(self, call: Call) -> Sequence[object]:
        uid = await self._admit(call)
        given, why, for_us = call.body
        longest_us = for_us if isinstance(for_us, int) else 0
        # Before polkit: nobody is asked for a password for a typing error.
        units = await self._desk.holdable(tuple(map(str, _items(given))), longest_us)
        await self._allowed(call, "hold", {"unit": ", ".join(units)})
        pid = await self._callers.pid_of(self._bus(), call.sender)
        return (await self._desk.hold(units, str(why), longest_us, pid=pid, uid=uid),)

    async def _get_evidence(self, call: Call) -> Sequence[object]:
        await self._admit(call)
        (number,) = call.body
        row = await self._desk.incident(IncidentId(number if isinstance(number, int) else 0))
        await self._allowed(call, "read-evidence", {"key": row.key, "unit": row.unit})
        return (rows.evidence(await self._desk.evidence(IncidentId(row.id))),)

    async def _reload(self, call: Call) -> Sequence[object]:
        await self._admit(call)
        await self._allowed(call, "reload", {})
        return (list(await self._desk.reload()),)

    def _acting(self, run: Callable[[Call], Awaitable[Sequence[object]]], limit_s: float) -> Acting:
        """A method that holds one of its user's places for as long as it awaits something."""

        async def placed(call: Call) -> Sequence[object]:
            with self._callers.one_place(await self._uid_of(call)):
                return await run(call)

        return Acting(placed, limit_s)

    def _bus(self) -> Connection:
        if self._connection is None:
            raise HealthdError("not-authorized", "the caller's bus is gone")
        return self._connection

    async def _uid_of(self, call: Call) -> int:
        return await self._callers.uid_of(self._bus(), call.sender)

    async def _admit(self, call: Call) -> int:
        """Count this call; the caller's uid."""
        uid = await self._uid_of(call)
        self._callers.admit(uid)
        return uid

    async def _allowed(self, call: Call, verb: str, details: dict[str, str]) -> None:
        """Raises HealthdError unless polkit lets the caller do this."""
        action = f"{NAME}.{verb}"
        match await self._authorize(call.sender, action, details, call.interactive):
            case Permission.GRANTED:
                return
            case Permission.PASSWORD if not call.interactive:
                raise HealthdError(
                    "password-needed",
                    f"{action} needs a password, and the call does not allow asking for one",
                    "allow interactive authorization, or use sudo",
                )
            case Permission.PASSWORD:
                raise HealthdError(
                    "not-authorized",
                    f"{action} needs a password, and nothing in your session can ask for one",
                    "use sudo",
                )
            case Permission.REFUSED:
                raise HealthdError(
                    "not-authorized",
                    f"polkit does not let you do {action}",
                    "use sudo; if that is refused too, polkit does not run or a rule forbids it",
                )


class _Once:
    """A rendering that is made when it is read, and again only after something has changed."""

    def __init__(self, desk: Desk, render: Callable[[], list[rows.Row]]) -> None:
        self._desk = desk
        self._render = render
        self._made_at = -1
        self._made: list[rows.Row] = []

    def __call__(self) -> list[rows.Row]:
        now = self._desk.sequence()
        if self._made_at != now:
            self._made, self._made_at = self._render(), now
        return self._made


def _by(uid: int) -> str:
    return f"uid {uid}"


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple)) else ()
