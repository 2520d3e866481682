"""A program that reads org.healthd1 and calls it: rows and signals as typed values.

Believes a signal only from the present owner of the name, as every reader should.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, convert

from healthd.bus.api import MANAGER, NAME, PATH
from healthd.bus.connection import Connection, Signal
from healthd.bus.library import Library
from healthd.model import AttemptResult, Reason, State
from tests.bus.heard import LIMIT_S, Heard

PROPERTIES = "org.freedesktop.DBus.Properties"
BUS = "org.freedesktop.DBus"
RULES = (
    f"type='signal',sender='{NAME}'",
    f"type='signal',sender='{BUS}',member='NameOwnerChanged',arg0='{NAME}'",
)


class Row(Struct, frozen=True, array_like=True):
    """One row of checks."""

    key: str
    unit: str
    state: str
    reason: str
    summary: str
    since: int
    streak: int
    waiting_on: str
    more: dict[str, object]

    @property
    def face(self) -> tuple[str, str]:
        """State and reason."""
        return self.state, self.reason

    def strings(self, name: str) -> list[str]:
        """One of the lists in `more`."""
        return convert(self.more[name], list[str])


class IncidentRow(Struct, frozen=True, array_like=True):
    """One row of incidents."""

    id: int
    key: str
    phase: str
    summary: str
    opened: int
    closed: int
    ending: str
    attempts: int
    notices: int
    more: dict[str, object]

    @property
    def tried(self) -> list[tuple[str, str, str]]:
        """By whom, with which result and detail, each attempt was made; in order."""
        rows = self.more["tried"]
        assert isinstance(rows, list)
        return [(by, result, more.get("detail", "")) for _, _, by, result, more in rows]

    @property
    def told(self) -> list[tuple[str, str]]:
        """Edition and channel of each notice, in order."""
        rows = self.more["told"]
        assert isinstance(rows, list)
        return [(edition, channel) for _, edition, channel, _ in rows]


class Changed(Struct, frozen=True):
    """CheckChanged."""

    key: str
    old: str
    new: str
    sequence: int
    row: Row


class Removed(Struct, frozen=True):
    """CheckRemoved."""

    key: str
    sequence: int


class Stepped(Struct, frozen=True):
    """IncidentOpened, IncidentChanged, IncidentClosed: *member*."""

    member: str
    key: str
    id: int
    sequence: int
    row: IncidentRow


class Noticed(Struct, frozen=True):
    """Notice."""

    key: str
    id: int
    sequence: int
    edition: str
    title: str
    body: str


Said = Changed | Removed | Stepped | Noticed


class Client:
    """One reader on the bus."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.said: Heard[Said] = Heard()
        self._owner = ""

    @classmethod
    async def open(cls, address: str, library: Library) -> Client:
        """Connect and hear everything that the daemon will say."""
        client = cls(await Connection.open(address, library=library))
        client.connection.on_signal(client._on_signal)
        for rule in RULES:
            await client.connection.add_match(rule)
        client._owner = await client.connection.owner_of(NAME)
        return client

    async def close(self) -> None:
        await self.connection.close()

    # ---- reads

    async def owner(self) -> str:
        """The daemon's unique name."""
        return await self.connection.owner_of(NAME)

    async def property(self, name: str) -> object:
        """One property of the manager."""
        body = (MANAGER, name)
        (value,) = await self.connection.call(
            NAME, PATH, PROPERTIES, "Get", "ss", body, limit_s=LIMIT_S
        )
        return value

    async def call(
        self, member: str, signature: str = "", *body: object, limit_s: float = LIMIT_S
    ) -> tuple[object, ...]:
        """A method of the manager; raises BusError as the daemon answers."""
        return await self.connection.call(
            NAME, PATH, MANAGER, member, signature, body, limit_s=limit_s
        )

    async def sequence(self) -> int:
        """The number of the last change."""
        number = await self.property("Sequence")
        assert isinstance(number, int)
        return number

    async def checks(self) -> dict[str, Row]:
        """All rows, by key."""
        _, rows = await self.call("GetSnapshot")
        return {row.key: row for row in convert(rows, list[Row])}

    async def incidents(self) -> list[IncidentRow]:
        """Open and closed ones, newest first."""
        (rows,) = await self.call("ListIncidents", "a{sv}u", {}, 0)
        return convert(rows, list[IncidentRow])

    async def incident_of(self, key: str) -> IncidentRow:
        """The one incident that this check ever had."""
        (mine,) = [row for row in await self.incidents() if row.key == key]
        return mine

    async def look(self, *keys: str) -> dict[str, Row]:
        """A person's look; no keys = all."""
        (rows,) = await self.call("Look", "as", list(keys))
        return {row.key: row for row in convert(rows, list[Row])}

    async def properties_changed(self) -> Heard[dict[str, object]]:
        """What each PropertiesChanged says from now on: property → value."""
        heard: Heard[dict[str, object]] = Heard()

        def hear(signal: Signal) -> None:
            if signal.sender == self._owner and signal.member == "PropertiesChanged":
                heard.add(convert(signal.body[1], dict[str, object]))

        self.connection.on_signal(hear)
        return heard

    # ---- waits

    async def until_face(self, key: str, state: State, reason: Reason) -> Changed:
        """The first CheckChanged of *key* to this state and reason."""

        def fits(said: Said) -> bool:
            return isinstance(said, Changed) and (said.key, said.row.face) == (key, (state, reason))

        said = await self.said.until(fits)
        assert isinstance(said, Changed)
        return said

    async def until_removed(self, key: str) -> None:
        """A CheckRemoved of *key*."""
        await self.said.until(lambda said: isinstance(said, Removed) and said.key == key)

    async def until_owned(self) -> None:
        """The daemon has its name on this bus."""
        await self.said.until_true(lambda: bool(self._owner))

    async def until_step(self, member: str, key: str, phase: str = "") -> IncidentRow:
        """The first signal *member* about an incident of *key* (in *phase*)."""

        def fits(said: Said) -> bool:
            return (
                isinstance(said, Stepped)
                and (said.member, said.key) == (member, key)
                and phase in ("", said.row.phase)
            )

        said = await self.said.until(fits)
        assert isinstance(said, Stepped)
        return said.row

    async def until_attempt(self, key: str, result: AttemptResult) -> None:
        """An incident of *key* says that its last attempt had this result."""

        def fits(said: Said) -> bool:
            if not isinstance(said, Stepped) or said.key != key or not said.row.tried:
                return False
            return said.row.tried[-1][1] == result

        await self.said.until(fits)

    async def until_told(self, key: str) -> IncidentRow:
        """Every notice of the one incident of *key* has been delivered by the journal."""
        while True:
            # At a start, deliveries may come before the name, and then no signal says so.
            heard = len(self.said.items)
            row = await self.incident_of(key)
            if row.told and all(channel == "journal" for _, channel in row.told):
                return row
            await self.said.until(lambda _: True, after=heard)

    def faces(self, key: str) -> list[tuple[str, str]]:
        """State and reason of *key* at each CheckChanged, in order."""
        changes = [said for said in self.said.items if isinstance(said, Changed)]
        return [said.row.face for said in changes if said.key == key]

    def notices(self, key: str) -> list[Noticed]:
        """What the owner was told of *key*, in order."""
        return [said for said in self.said.items if isinstance(said, Noticed) and said.key == key]

    def sequences(self) -> list[int]:
        """The numbers of all signals, as they came."""
        return [said.sequence for said in self.said.items]

    def _on_signal(self, signal: Signal) -> None:
        if signal.sender == BUS and signal.member == "NameOwnerChanged":
            name, _, owner = signal.body
            if name == NAME:
                self._owner = str(owner)
                self.said.rouse()
        elif signal.sender == self._owner and signal.interface == MANAGER:
            self.said.add(said_by(signal.member, signal.body))


def said_by(member: str, body: Sequence[object]) -> Said:
    """One of the manager's signals, decoded."""
    match member, body:
        case "CheckChanged", (str(key), str(old), str(new), int(sequence), [*row]):
            return Changed(key, old, new, sequence, convert(row, Row))
        case "CheckRemoved", (str(key), int(sequence)):
            return Removed(key, sequence)
        case "Notice", (str(key), int(id_), int(sequence), edition, _, title, text, *_):
            return Noticed(key, id_, sequence, str(edition), str(title), str(text))
        case _, (str(key), int(id_), int(sequence), [*row]):
            return Stepped(member, key, id_, sequence, convert(row, IncidentRow))
        case _:
            raise AssertionError(f"{member} with another body than promised: {body}")
