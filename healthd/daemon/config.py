"""The settings that are in force, and what follows from them for the other rooms."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from healthd.daemon.naming import Naming
from healthd.daemon.rendered import rendered
from healthd.model import (
    READ_KINDS,
    Aspect,
    Check,
    CheckKey,
    DeclaredCheck,
    Policy,
    UnitName,
)
from healthd.settings.faults import Faults
from healthd.settings.heartbeats import heartbeat_check
from healthd.settings.load import fallback, load


class Config:
    """Read at the start and at each reload; a faulty file changes nothing."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.faults: tuple[str, ...] = ()
        #: Whether the files say something else about `enabled` than what is in force.
        self.switch_waits = False
        try:
            self.settings = load(os.environ, root)
        except Faults as err:
            self.settings = fallback(os.environ)
            self.faults = tuple(fault.public() for fault in err.faults)
        self._rendered = rendered(root)
        self._naming = self._named()

    def reload(self, units: Iterable[str]) -> None:
        """Raises Faults, and then all is as before but for `faults`.

        `enabled` decides what a start begins with, so it is taken up at a start only.
        """
        try:
            settings = load(os.environ, self._root, tuple(units))
        except Faults as err:
            self.faults = tuple(fault.public() for fault in err.faults)
            raise
        self.switch_waits = settings.enabled is not self.settings.enabled
        self.settings = replace(settings, enabled=self.settings.enabled)
        self.faults = ()
        self._rendered = rendered(self._root)
        self._naming = self._named()

    def policy(self) -> Policy:
        """What the judge goes by; no unit that polkit's rule does not hold yet."""
        policy = self.settings.policy()
        return replace(policy, allow_restart=frozenset(self._in_force(policy.allow_restart)))

    def may_be_asked_for(self) -> frozenset[str]:
        """What a person may have restarted: what is listed, `repair: false` or not."""
        return frozenset(self._in_force(self.settings.allow_restart))

    def unrendered(self) -> tuple[str, ...]:
        """Listed units that polkit's rule does not hold yet."""
        return tuple(sorted(set(self.settings.allow_restart) - self.may_be_asked_for()))

    def declared(self) -> dict[CheckKey, DeclaredCheck]:
        """The checks whose looks are made, not read from systemd."""
        return {d.check.key: d for d in self.settings.checks() if d.check.kind not in READ_KINDS}

    def naming(self) -> Naming:
        return self._naming

    def _named(self) -> Naming:
        """Made once for each reading of the files: it is asked for every unit."""
        settings, checks = self.settings, dict[UnitName, tuple[Check, ...]]()
        for declared in settings.checks():
            unit = declared.check.unit
            checks[unit] = (*checks.get(unit, ()), declared.check)
        needs = {UnitName(n) for unit in settings.units.values() for n in unit.needs or ()}
        needs |= {name for some in checks.values() for c in some for name in c.needs or ()}
        repairs = {c.repair_unit for some in checks.values() for c in some if c.repair_unit}
        listed = {UnitName(name) for name in settings.allow_restart}
        return Naming(
            checks=checks,
            names=settings.named_units(),
            declared=frozenset({*checks, *listed, *needs, *repairs}),
            liveness=self._liveness,
            heartbeat=self._heartbeat,
            ignored=settings.ignored,
        )

    def _liveness(self, unit: UnitName, *, declared: bool) -> Check:
        return Check(
            key=CheckKey(f"{Aspect.LIVENESS}:{unit}"),
            aspect=Aspect.LIVENESS,
            kind="unit",
            unit=unit,
            rules=self.settings.unit_rules(unit),
            declared=declared,
            needs=self.settings.unit(unit).needs,
        )

    def _heartbeat(self, timer: UnitName) -> Check:
        for declared in self._naming.checks.get(timer, ()):
            if declared.aspect is Aspect.HEARTBEAT:
                return declared
        return heartbeat_check(timer, needs=self.settings.unit(timer).needs, said=False)

    def _in_force(self, listed: Iterable[str]) -> set[str]:
        return set(listed) if self._rendered is None else set(listed) & self._rendered
