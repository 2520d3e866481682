"""Files and environment → Settings, or every fault at once. The one entrance to the settings.

Root's renderer of the polkit rule and the daemon both come in here, so both know the same list.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from healthd.model import NEVER_RESTART, CrashLoop, UnitName
from healthd.settings import document
from healthd.settings.allowed import allowed_names
from healthd.settings.declared import declared_checks
from healthd.settings.decode import decode, readable
from healthd.settings.faults import Fault, Faults, Findings, Mark, Remark, shown
from healthd.settings.files import Source, read_installed
from healthd.settings.forms import Switch, Unfit
from healthd.settings.ground import Ground
from healthd.settings.merge import merge_files
from healthd.settings.schema import Root, UnitKeys
from healthd.settings.settings import Settings, UnitSettings
from healthd.settings.shapes import keys_of

ENABLED = "HEALTHD_ENABLED"
WATCH_ENABLED = "HEALTHD_WATCH_ENABLED"
NET_PROBE = "HEALTHD_NET_PROBE"


class Reading(Struct, frozen=True):
    """What the files came to. With *faults* the settings are not for use.

    *notes*: keys whose parts are not built yet.
    """

    settings: Settings
    faults: tuple[Fault, ...]
    notes: tuple[Remark, ...]


def load(
    environ: Mapping[str, str], root: Path = Path("/"), units: Collection[str] = ()
) -> Settings:
    """The installed settings. *units*: names that exist, for better words. Raises Faults."""
    reading = read(*read_installed(root), environ, root, units)
    if reading.faults:
        raise Faults(reading.faults)
    return reading.settings


def fallback(environ: Mapping[str, str]) -> Settings:
    """What healthd runs with when the files are faulty at its start: nothing may be restarted."""
    return _with_environment(Settings(), environ, Findings())


def read(
    sources: tuple[Source, ...],
    faults: tuple[Fault, ...],
    environ: Mapping[str, str],
    root: Path = Path("/"),
    units: Collection[str] = (),
) -> Reading:
    """What *sources* say together, later over earlier; *faults* are those of reading the files."""
    findings = Findings()
    findings.add(faults)
    tree = _tree(sources, findings)
    keys = decode(keys_of(Root), tree, "the settings", findings)
    if not isinstance(keys, Root):
        raise TypeError("the settings as a whole require no key")
    allowed = allowed_names(keys.repair, tree, units, findings)
    ground = Ground(keys, tree, root, frozenset(allowed), findings)
    settings = _settings(ground, allowed)
    settings = _with_environment(settings, environ, findings)
    return Reading(settings, findings.faults, findings.notes)


def _tree(sources: tuple[Source, ...], findings: Findings) -> document.Mapping:
    trees: list[document.Mapping] = []
    for source in sources:
        tree, faults = document.parse(source.text, source.file)
        findings.add(faults)
        if tree is not None:
            trees.append(tree)
    return merge_files(trees, keys_of(Root))


def _settings(ground: Ground, allowed: tuple[str, ...]) -> Settings:
    keys = ground.root
    if not keys.repair.backoff:
        ground.fault(("repair", "backoff"), "backoff: an empty list", "at least one pause")
    crash_loop = keys.watch.crash_loop
    return Settings(
        enabled=keys.enabled,
        watch_enabled=keys.watch.enabled,
        network=keys.network,
        ignore=_read_all(keys.watch.ignore),
        crash_loop=CrashLoop(crash_loop.restarts, crash_loop.within, crash_loop.quiet),
        units={name: _unit(unit) for name, unit in keys.units.items()},
        declared=declared_checks(ground),
        allow_restart=allowed,
        never_restart=NEVER_RESTART + _read_all(keys.repair.never_restart),
        max_attempts=keys.repair.max_attempts,
        backoff_us=tuple(pause for _, pause in readable(keys.repair.backoff)),
        unit_budget=keys.repair.budget.unit,
        machine_budget=keys.repair.budget.machine,
        renotify_us=keys.notify.renotify,
        self_healed=keys.notify.self_healed,
        keep_us=keys.store.keep,
        size_bytes=keys.store.size,
    )


def _unit(said: UnitKeys) -> UnitSettings:
    needs = None if said.needs is None else tuple(UnitName(n) for n in _read_all(said.needs))
    return UnitSettings(said.grace, said.repair, said.watch, needs)


def _read_all(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(item for _, item in readable(items))


def _with_environment(
    settings: Settings, environ: Mapping[str, str], findings: Findings
) -> Settings:
    """The environment can switch off what the files leave on, and let checks leave this machine."""
    return replace(
        settings,
        enabled=settings.enabled and _switch(environ, ENABLED, True, findings),
        watch_enabled=settings.watch_enabled and _switch(environ, WATCH_ENABLED, True, findings),
        network=settings.network or _switch(environ, NET_PROBE, False, findings),
    )


def _switch(environ: Mapping[str, str], name: str, default: bool, findings: Findings) -> bool:
    text = environ.get(name, "")
    if text in ("", "0", "1"):
        return text == "1" if text else default
    try:
        return Switch().read(text)
    except Unfit:
        findings.fault(Mark(f"environment {name}"), shown(text), "0 or 1")
        return default
