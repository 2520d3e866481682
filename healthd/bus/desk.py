"""What the API needs of the daemon and of polkit. Two seams, no code that runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from healthd.bus.filters import IncidentFilter
from healthd.bus.message import Descriptor
from healthd.model import (
    CheckKey,
    CheckRow,
    Evidence,
    Gap,
    HoldRow,
    IncidentId,
    IncidentRow,
    Permission,
    State,
    UnitName,
    WhyRow,
)

# Sender (a unique name), action, details, whether the caller may be asked for a password.
Authorize = Callable[[str, str, Mapping[str, str], bool], Awaitable[Permission]]


class Desk(Protocol):
    """What the daemon answers. Reads come from one instant; whoever acts raises HealthdError."""

    def check_rows(self) -> tuple[CheckRow, ...]:
        """One row a check, ordered by key."""

    def open_incidents(self) -> tuple[IncidentRow, ...]:
        """The open incidents, oldest first."""

    def alerts(self) -> tuple[CheckRow, ...]:
        """The red checks that have a remedy, ordered by key."""

    def counts(self) -> dict[str, int]:
        """State → number of checks; all four states."""

    def has_check(self, key: CheckKey) -> bool:
        """Whether there is a check of that key."""

    def why(self, key: CheckKey) -> WhyRow:
        """Why that check stands as it does, in public words. Raises "no-such-check"."""

    def worst(self, counts: Mapping[str, int]) -> State:
        """The worst state of a machine with these `counts`."""

    def watching(self) -> tuple[bool, str]:
        """Whether healthd watches now, and why not."""

    def sequence(self) -> int:
        """The number of the last change; it moves whenever something that is shown has changed."""

    async def incidents(self, which: IncidentFilter) -> tuple[IncidentRow, ...]:
        """Open ones and history, newest first. Raises "no-such-incident" for an id of none."""

    async def incident(self, number: IncidentId) -> IncidentRow:
        """One of any age. Raises "no-such-incident"."""

    async def look(self, keys: tuple[CheckKey, ...], by: str) -> tuple[CheckRow, ...]:
        """Look now, and answer what the checks say afterwards; no keys = all of them."""

    def restartable(self, unit: str) -> UnitName:
        """The name that *unit* resolves to. Raises "not-allowlisted" or "never-restart"."""

    async def restart(self, unit: UnitName, by: str) -> IncidentId:
        """Restart it as an attempt by that caller; the incident that records it, 0 = none open."""

    def holds(self) -> tuple[HoldRow, ...]:
        """The holds that are in force, oldest first."""

    def gaps(self) -> tuple[Gap, ...]:
        """Time in which healthd did not watch, oldest first."""

    async def holdable(self, units: tuple[str, ...], for_us: int) -> tuple[UnitName, ...]:
        """The Ids of *units*, each once. Raises "invalid-args" or "no-such-unit"."""

    async def hold(
        self, units: tuple[UnitName, ...], why: str, for_us: int, *, pid: int, uid: int
    ) -> Descriptor:
        """Hold these Ids, 0 = as long as may be; the hold ends when what is returned is closed."""

    async def evidence(self, number: IncidentId) -> Evidence | None:
        """What was seen when it opened; None where nothing was taken."""

    async def reload(self) -> tuple[str, ...]:
        """Read the settings again; what the caller should know. Raises "invalid-settings"."""
