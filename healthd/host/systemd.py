"""What PID 1 says of its units, and the one thing that it is asked to do: restart one.

Reading loads a unit that is not loaded, so nothing is read here that the caller did not name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from healthd.bus.connection import BUS_NAME, BusError, Connection, Signal
from healthd.errors import HealthdError
from healthd.host import traces
from healthd.host.jobs import Jobs
from healthd.host.manager import Manager, new_owner
from healthd.host.matches import Matches
from healthd.host.timer_facts import decode_timer
from healthd.host.traces import UnitTraces
from healthd.host.unit_facts import (
    RELATIONS,
    active_state,
    decode,
    job_number,
    load_state,
    names,
    related,
    text,
)
from healthd.host.unit_path import MANAGER, ROOT, SYSTEMD, unit_path
from healthd.host.unit_signals import manager_signal, unit_changed
from healthd.model import (
    ActiveState,
    JobRemoved,
    LoadState,
    OwnerChanged,
    Reloading,
    SystemdSignal,
    TimerFacts,
    UnitFacts,
    UnitName,
    UnitNew,
    UnitRemoved,
)

PROPERTIES = f"{BUS_NAME}.Properties"
UNIT = f"{SYSTEMD}.Unit"
SOCKET = f"{SYSTEMD}.Socket"
BUS_LIMIT_S = 5.0

DOWN = (ActiveState.INACTIVE, ActiveState.FAILED)
UP = (ActiveState.ACTIVE, ActiveState.RELOADING, ActiveState.REFRESHING)
COMING_UP = (*UP, ActiveState.ACTIVATING)
WANTERS = ("WantedBy", "RequiredBy", "UpheldBy", "BoundBy")
# What may come and go without wanting a service to run.
NO_WANTERS = (".scope", ".device")
PULLED_IN = ("Requires", "Wants", "BindsTo", "Upholds")
BOOTING = ("initializing", "starting")


class UnitRow(Struct, frozen=True):
    """One line of systemd's own listing. *job* is a number, 0 = none."""

    name: UnitName
    load_state: LoadState
    active_state: ActiveState
    sub_state: str
    job: int = 0


class Systemd:
    """systemd over one connection; thrown away with it."""

    def __init__(
        self, connection: Connection, steady_minus_monotonic_us: Callable[[], int]
    ) -> None:
        self._connection = connection
        self._offset_us = steady_minus_monotonic_us
        self._handler: Callable[[SystemdSignal], None] = lambda _: None
        self._manager = Manager(connection)
        self._jobs = Jobs(self._manager)
        self._matches = Matches(connection)
        self._watched: dict[str, UnitName] = {}
        self._booted = False

    def on_signal(self, handler: Callable[[SystemdSignal], None]) -> None:
        """Hand what systemd signals to *handler*, in order; set it before `subscribe`."""
        self._handler = handler

    async def subscribe(self) -> None:
        """Make systemd send signals, and the bus deliver them. Once for each connection."""
        self._connection.on_signal(self._on_signal)
        self._connection.on_lost(self._jobs.lose)
        await self._manager.subscribe()

    async def watch(self, units: Iterable[str]) -> None:
        """Hand on the property changes of these *units* (Ids, not aliases) and of no others."""
        self._watched = {unit_path(unit): UnitName(unit) for unit in units}
        await self._matches.follow(self._watched.values())

    async def list_units(self) -> tuple[UnitRow, ...]:
        """Every loaded unit."""
        await self._manager.subscribe_owner()
        return rows((await self._manager.call("ListUnits"))[0])

    async def list_failed(self) -> tuple[UnitRow, ...]:
        """Every loaded unit that is `failed`, whatever its kind."""
        return rows((await self._manager.call("ListUnitsFiltered", "as", (["failed"],)))[0])

    async def list_by_names(self, units: Iterable[str]) -> tuple[UnitRow, ...]:
        """How *units* are, those that are not there too; loads for a moment what is not loaded."""
        return rows((await self._manager.call("ListUnitsByNames", "as", (list(units),)))[0])

    async def system_state(self) -> str:
        """Manager.SystemState: "running", "degraded", "starting", "stopping", … an open set."""
        return text(await self._manager_property("SystemState"))

    async def reloaded_at(self) -> int:
        """When it last read the unit files again, wall µs; 0 = not since it came up, or unknown."""
        try:
            loaded = await self._manager_property("UnitsLoadTimestamp")
            first = await self._manager_property("UnitsLoadFinishTimestamp")
        except BusError:
            # systemd before 250 does not say.
            return 0
        if not isinstance(loaded, int) or not isinstance(first, int):
            return 0
        return loaded if loaded > first else 0

    async def traces(self, unit: str) -> UnitTraces:
        """What a restart of *unit* would wipe out or hide. Loads it."""
        return traces.decode(await self._properties(unit, ""))

    async def read(self, unit: str, known: Mapping[str, UnitRow] | None = None) -> UnitFacts:
        """All that decides about *unit*; `not-found` where there is none. Loads it.

        *known*, lines of a listing taken just now by name, saves a question about other units.
        """
        return await self._facts(await self._properties(unit, ""), known)

    async def read_timer(
        self, timer: str, known: Mapping[str, UnitRow] | None = None
    ) -> tuple[UnitFacts, TimerFacts]:
        """The same of a timer, and what is a timer's own; its job is another unit."""
        properties = await self._properties(timer, "")
        found = decode_timer(properties, self._offset_us())
        return await self._facts(properties, known), found

    async def _facts(
        self, properties: Mapping[str, object], known: Mapping[str, UnitRow] | None
    ) -> UnitFacts:
        facts = decode(properties, self._offset_us())
        triggers = names(properties.get("TriggeredBy"))
        wanters = [n for n in related(properties, WANTERS) if not n.endswith(NO_WANTERS)]
        others = {*triggers, *wanters, *(facts.foes if facts.active_state not in UP else ())}
        states = await self._states(others, known or {})
        wanted = any(_wants(states.get(name)) for name in wanters)
        active = [name for name in triggers if _is(states.get(name), UP)]
        return replace(
            facts,
            wanted=wanted,
            on_demand=active[0] if active else await self._activatable_name(properties),
            triggered_by_timer=_timer(triggers, active, states, wanted=wanted),
            active_foes=tuple(name for name in facts.foes if _is(states.get(name), COMING_UP)),
            booted=await self._is_booted(),
        )

    async def listens(self, socket: str) -> tuple[tuple[str, str], ...]:
        """What a .socket unit listens on: its property Listen, pairs of type and address.

        Raises HealthdError "endpoint-missing" when systemd has no such socket.
        """
        try:
            (found,) = await self._manager.ask(
                unit_path(socket), PROPERTIES, "Get", "ss", (SOCKET, "Listen")
            )
        except BusError as err:
            raise HealthdError("endpoint-missing", f"systemd has no socket {socket}") from err
        pairs = found if isinstance(found, (list, tuple)) else ()
        return tuple((text(kind), text(address)) for kind, address in pairs)

    async def along(self, unit: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What a restart of *unit* would restart too, and what it would stop and leave down.

        Followed through active units only, as systemd does; ask right before a restart.
        """
        takes, stops = RELATIONS["taken_along"], RELATIONS["stays_down"]
        restarted = await self._spread((unit,), takes, COMING_UP)
        stopped = await self._spread((unit, *restarted), (*takes, *stops), COMING_UP)
        return restarted, tuple(name for name in stopped if name not in restarted)

    async def pushed_out(self, unit: str) -> tuple[str, ...]:
        """The active units that a start of *unit*, or of what it pulls in, would stop."""
        starting = (unit, *await self._spread((unit,), PULLED_IN, DOWN))
        found: dict[str, None] = {}
        for name in starting:
            found.update(dict.fromkeys(await self._next(name, RELATIONS["foes"], COMING_UP)))
        return tuple(found)

    async def restart(self, unit: str, *, limit_s: float) -> str:
        """Restart *unit* and wait for its job to end: "done", "failed", "canceled", … an open set.

        Raises HealthdError: "refused" (polkit), "unit-missing", "unit-masked", "overtaken" (another
        job goes first), "restart-failed" (not queued, for another reason), "restart-unknown"
        (nobody knows whether it was queued), "job-slow" (not ended within *limit_s*; it goes on in
        PID 1), "bus-lost" (the same).
        Source: org.freedesktop.systemd1(5), RestartUnit.
        """
        return await self._jobs.restart(unit, limit_s=limit_s)

    async def _manager_property(self, name: str) -> object:
        (value,) = await self._manager.ask(ROOT, PROPERTIES, "Get", "ss", (MANAGER, name))
        return value

    async def _properties(self, unit: str, interface: str) -> Mapping[str, object]:
        (found,) = await self._manager.ask(unit_path(unit), PROPERTIES, "GetAll", "s", (interface,))
        return found if isinstance(found, dict) else {}

    async def _states(
        self, units: Iterable[str], known: Mapping[str, UnitRow]
    ) -> Mapping[str, UnitRow]:
        asked = [name for name in units if name not in known]
        if not asked:
            return known
        found = await self.list_by_names(asked)
        return {**known, **{row.name: row for row in found}}

    async def _next(
        self, unit: str, kinds: tuple[str, ...], states: tuple[ActiveState, ...]
    ) -> list[str]:
        """The units related to *unit* by *kinds* that are in one of *states*."""
        others = related(await self._properties(unit, UNIT), kinds)
        if not others:
            return []
        found = {row.name: row for row in await self.list_by_names(others)}
        return [name for name in others if _is(found.get(UnitName(name)), states)]

    async def _spread(
        self, units: tuple[str, ...], kinds: tuple[str, ...], states: tuple[ActiveState, ...]
    ) -> tuple[str, ...]:
        """All that is reached from *units* through relations of *kinds* to units in *states*."""
        found = dict.fromkeys(units)
        waiting = list(units)
        while waiting:
            for name in await self._next(waiting.pop(0), kinds, states):
                if name not in found:
                    found[name] = None
                    waiting.append(name)
        return tuple(found)[len(units) :]

    async def _activatable_name(self, properties: Mapping[str, object]) -> str:
        """The bus name whose first caller starts the unit, "" = none.

        Asked while it runs too: when it ends because nobody needs it, no signal tells of this.
        """
        name = text(properties.get("BusName"))
        if not name:
            return ""
        (activatable,) = await self._connection.call(
            BUS_NAME, "/", BUS_NAME, "ListActivatableNames", limit_s=BUS_LIMIT_S
        )
        return name if name in names(activatable) else ""

    async def _is_booted(self) -> bool:
        if not self._booted:
            self._booted = await self.system_state() not in BOOTING
        return self._booted

    def _on_signal(self, signal: Signal) -> None:
        owner = new_owner(signal)
        if owner is not None:
            self._manager.own(owner)
            self._handler(OwnerChanged(present=bool(owner)))
            return
        if signal.sender != self._manager.owner:
            return
        unit = self._watched.get(signal.path)
        said = unit_changed(unit, signal) if unit else manager_signal(signal)
        if isinstance(said, Reloading):
            self._manager.reload(said.active)
        elif isinstance(said, JobRemoved):
            self._jobs.feed(said)
        # A reload lets every unit go and takes it up again.
        quiet = self._manager.reloading and isinstance(said, (UnitNew, UnitRemoved))
        if said is not None and not quiet:
            self._handler(said)


def rows(listing: object) -> tuple[UnitRow, ...]:
    """The lines of ListUnits, of the right length and with a name."""
    found = []
    for line in listing if isinstance(listing, list) else ():
        if isinstance(line, (list, tuple)) and len(line) >= 8 and text(line[0]):
            found.append(
                UnitRow(
                    name=UnitName(text(line[0])),
                    load_state=load_state(line[2]),
                    active_state=active_state(line[3]),
                    sub_state=text(line[4]),
                    job=job_number(line[7]),
                )
            )
    return tuple(found)


def shows(row: UnitRow, facts: UnitFacts) -> bool:
    """Whether a line of the listing shows what is known."""
    return (
        facts.load_state is row.load_state
        and facts.active_state is row.active_state
        and facts.sub_state == row.sub_state
        and facts.job == row.job
    )


def _is(row: UnitRow | None, states: tuple[ActiveState, ...]) -> bool:
    return row is not None and row.active_state in states


def _wants(row: UnitRow | None) -> bool:
    """Whether a unit that wants another is there to want it, or is about to be."""
    if row is None:
        return False
    # A job of an inactive unit starts it: so during the boot, targets come last.
    return row.active_state in COMING_UP or (row.active_state in DOWN and row.job != 0)


def _timer(
    triggers: Iterable[str], active: list[str], states: Mapping[str, UnitRow], *, wanted: bool
) -> str:
    """The timer that judges a service: an active one; of a service that nobody wants, any."""
    timers = [name for name in triggers if name.endswith(".timer")]
    loaded = [n for n in timers if n in states and states[n].load_state is LoadState.LOADED]
    candidates = [n for n in timers if n in active] or ([] if wanted else loaded)
    return candidates[0] if candidates else ""
