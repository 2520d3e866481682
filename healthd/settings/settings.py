"""What the owner wants, read and checked: the noun that the rest of healthd asks. Pure."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from healthd.model import (
    HOUR_US,
    NEVER_RESTART,
    UNIT_RULES,
    Budget,
    CrashLoop,
    DeclaredCheck,
    Policy,
    Rules,
    UnitName,
)
from healthd.settings.noise import ignoring


class UnitSettings(Struct, frozen=True):
    """What is said of one unit. *grace_us*: None = the usual. *repair*: False = never by itself.

    *watch*: False = no check of it at all. *needs*: units it depends on; None = not said.
    """

    grace_us: int | None = None
    repair: bool = True
    watch: bool = True
    needs: tuple[UnitName, ...] | None = None


class Settings(Struct, frozen=True):
    """All of it; what an empty file says is the default of each.

    *allow_restart* is the list that the polkit rule is rendered from; *never_restart* holds the
    built-in patterns as well. *ignore* are the owner's entries after the shipped noise list.
    """

    enabled: bool = True
    watch_enabled: bool = True
    network: bool = False
    ignore: tuple[str, ...] = ()
    crash_loop: CrashLoop = CrashLoop()
    units: dict[str, UnitSettings] = {}
    declared: tuple[DeclaredCheck, ...] = ()
    allow_restart: tuple[str, ...] = ()
    never_restart: tuple[str, ...] = NEVER_RESTART
    max_attempts: int = Policy().max_attempts
    backoff_us: tuple[int, ...] = Policy().backoff_us
    unit_budget: Budget = Policy().unit_budget
    machine_budget: Budget = Policy().machine_budget
    renotify_us: int = Policy().renotify_us
    self_healed: bool = False
    keep_us: int = 400 * 24 * HOUR_US
    size_bytes: int = 256 << 20

    def policy(self) -> Policy:
        """What the judge goes by. A unit with `repair: false` is not on its list of names.

        It stays on `allow_restart` here, and in polkit's rule, for the person who asks.
        """
        unrepaired = {name for name, unit in self.units.items() if not unit.repair}
        return Policy(
            enabled=self.enabled,
            watch_enabled=self.watch_enabled,
            network=self.network,
            allow_restart=frozenset(self.allow_restart) - unrepaired,
            never_restart=self.never_restart,
            max_attempts=self.max_attempts,
            backoff_us=self.backoff_us,
            unit_budget=self.unit_budget,
            machine_budget=self.machine_budget,
            crash_loop=self.crash_loop,
            renotify_us=self.renotify_us,
            self_healed=self.self_healed,
        )

    def checks(self) -> tuple[DeclaredCheck, ...]:
        """The declared checks of units that are watched."""
        return tuple(d for d in self.declared if self.unit(d.check.unit).watch)

    def unit(self, name: str) -> UnitSettings:
        """What is said of the unit *name*."""
        return self.units.get(name, UnitSettings())

    def unit_rules(self, name: str) -> Rules:
        """The timing of the unit's own liveness."""
        grace_us = self.unit(name).grace_us
        return UNIT_RULES if grace_us is None else replace(UNIT_RULES, grace_us=grace_us)

    def ignored(self, unit: str) -> str:
        """Why *unit* is not judged: an entry of the lists, `watch: false`, or "" when it is."""
        return ignoring(unit, self.ignore) if self.unit(unit).watch else "watch: false"

    def named_units(self) -> frozenset[UnitName]:
        """Every unit that a setting names: one of them that does not exist is worth a word."""
        names = {*self.units, *self.allow_restart}
        names |= {name for unit in self.units.values() for name in unit.needs or ()}
        for declared in self.declared:
            check = declared.check
            names |= {check.unit, check.repair_unit, *(check.needs or ())}
        return frozenset(UnitName(name) for name in names if name)
