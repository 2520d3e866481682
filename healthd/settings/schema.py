"""Every key that a settings file may hold, as types: the only source of what is allowed.

The readers walk along these types (shapes.py); values come out with their units resolved (µs,
bytes, tuples). None means "not said". What is marked LATER is accepted and noted as not built yet.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from healthd.model import HOUR_US, SECOND_US, Budget, CrashLoop, Policy
from healthd.settings import forms, quantities, unit_names
from healthd.settings.check_keys import CheckKeys, TimingKeys
from healthd.settings.machine_keys import CoverageKeys, CredentialKeys, HostKeys
from healthd.settings.notify_keys import NotifyKeys
from healthd.settings.shapes import Trait
from healthd.settings.words import AnyUnit, Span, Word

DAY_US = 24 * HOUR_US
MIB = 1 << 20


class CrashLoopKeys(Struct, frozen=True):
    """`watch.crash_loop`."""

    restarts: Annotated[int, quantities.Number(2, 1000)] = CrashLoop().restarts
    within: Annotated[int, quantities.Span(10 * SECOND_US, DAY_US)] = CrashLoop().within_us
    quiet: Annotated[int, quantities.Span(0, DAY_US)] = CrashLoop().quiet_us


class WatchKeys(Struct, frozen=True):
    """`watch`."""

    enabled: bool = True
    ignore: tuple[Annotated[str, unit_names.UnitPattern(may_except=True)], ...] = ()
    crash_loop: CrashLoopKeys = CrashLoopKeys()


class UnitKeys(Struct, frozen=True):
    """One unit under `units`. `needs: []` means none, not even systemd's."""

    grace: Span | None = None
    needs: tuple[AnyUnit, ...] | None = None
    repair: bool = True
    watch: bool = True


class ListenKeys(Struct, frozen=True):
    """One endpoint under `listens`; exactly one of the keys."""

    unit: Annotated[str, unit_names.Unit(("socket",))] | None = None
    address: Annotated[tuple[str, int], forms.Address()] | None = None
    unix: Annotated[str, forms.SOCKET_PATH] | None = None


class BudgetKeys(Struct, frozen=True):
    """`repair.budget`."""

    unit: Annotated[Budget, quantities.Rate()] = Policy().unit_budget
    machine: Annotated[Budget, quantities.Rate()] = Policy().machine_budget


class RepairKeys(Struct, frozen=True):
    """`repair`. What may stand in `allow_restart` is judged in allowed.py."""

    allow_restart: tuple[str, ...] = ()
    never_restart: tuple[Annotated[str, unit_names.UnitPattern()], ...] = ()
    max_attempts: Annotated[int, quantities.Number(0, 10)] = Policy().max_attempts
    backoff: Annotated[tuple[Annotated[int, quantities.Span(0, DAY_US)], ...], Trait.WHOLE] = (
        Policy().backoff_us
    )
    budget: BudgetKeys = BudgetKeys()
    diagnose_credentials: Annotated[bool, Trait.LATER] = True


class StoreKeys(Struct, frozen=True):
    """`store`: how long history is kept, and how large it may grow."""

    keep: Annotated[int, quantities.Span(DAY_US)] = 400 * DAY_US
    size: Annotated[int, quantities.Size(16 * MIB, 64 * 1024 * MIB)] = 256 * MIB


class Root(Struct, frozen=True):
    """All of it."""

    enabled: bool = True
    network: bool = False
    watch: WatchKeys = WatchKeys()
    defaults: TimingKeys = TimingKeys()
    units: dict[AnyUnit, UnitKeys] = {}
    listens: dict[Word, ListenKeys] = {}
    checks: dict[AnyUnit, Annotated[tuple[CheckKeys, ...], Trait.LONE, Trait.NAMED]] = {}
    host: Annotated[HostKeys, Trait.LATER] = HostKeys()
    credentials: Annotated[dict[Word, CredentialKeys], Trait.LATER] = {}
    repair: RepairKeys = RepairKeys()
    notify: NotifyKeys = NotifyKeys()
    store: StoreKeys = StoreKeys()
    coverage: Annotated[CoverageKeys, Trait.LATER] = CoverageKeys()
