"""Which of systemd's signals the bus is asked for. Never decides what is believed."""

from __future__ import annotations

from collections.abc import Iterable

from healthd.bus.connection import BUS_NAME, Connection
from healthd.host.unit_facts import INTERFACES
from healthd.host.unit_path import MANAGER, ROOT, SYSTEMD, unit_path

MANAGER_SIGNALS = (
    "JobNew",
    "JobRemoved",
    "Reloading",
    "StartupFinished",
    "UnitFilesChanged",
    "UnitNew",
    "UnitRemoved",
)
# The system bus allows 512 rules a connection, and looks at each of them for every message.
MOST_PATHS = 200
NAME_RULE = (
    f"type='signal',sender='{BUS_NAME}',interface='{BUS_NAME}',"
    f"member='NameOwnerChanged',arg0='{SYSTEMD}'"
)
CHANGES = (
    f"type='signal',sender='{SYSTEMD}',interface='{BUS_NAME}.Properties',member='PropertiesChanged'"
)


def manager_rules() -> list[str]:
    base = f"type='signal',sender='{SYSTEMD}',interface='{MANAGER}',path='{ROOT}'"
    return [NAME_RULE, *(f"{base},member='{member}'" for member in MANAGER_SIGNALS)]


def change_rules(units: Iterable[str]) -> frozenset[str]:
    """One rule a unit up to MOST_PATHS; above that one an interface, for all units there are."""
    paths = frozenset(f"{CHANGES},path='{unit_path(unit)}'" for unit in units)
    if len(paths) <= MOST_PATHS:
        return paths
    return frozenset(f"{CHANGES},arg0='{SYSTEMD}.{kind}'" for kind in INTERFACES)


class Matches:
    """The rules that this connection has, brought from one set of units to the next."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rules: frozenset[str] = frozenset()

    async def follow(self, units: Iterable[str]) -> None:
        """Ask for the changes of *units*; new rules come before old ones go: nothing is missed."""
        wanted = change_rules(units)
        for rule in sorted(wanted - self._rules):
            await self._connection.add_match(rule)
            self._rules |= {rule}
        for rule in sorted(self._rules - wanted):
            await self._connection.remove_match(rule)
            self._rules -= {rule}
