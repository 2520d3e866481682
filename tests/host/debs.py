"""Make small Debian packages with a service each, whose scripts do what debhelper's would.

Five ways in which an upgrade treats a service; built with dpkg-deb, outside of the machine.
"""

from __future__ import annotations

import subprocess
from enum import StrEnum
from pathlib import Path

SERVICE = """\
[Unit]
Description={name}, version {version}
[Service]
ExecStart=/bin/sleep infinity
ExecReload=/bin/true
[Install]
WantedBy=multi-user.target
"""

JOB = """\
[Unit]
Description=The job that came with version {version} of {name}
[Service]
Type=oneshot
ExecStart=/bin/true
"""

TIMER = """\
[Timer]
OnActiveSec=1s
OnUnitActiveSec=5s
AccuracySec=100ms
[Install]
WantedBy=timers.target
"""

# A unit that is asked for is unmasked, enabled, and started or restarted, as dh_installsystemd has
# it; `-d /run/systemd/system` leaves a chroot alone.
UP = """\
if [ "$1" = configure ]; then
    deb-systemd-helper unmask {units} >/dev/null || true
    if deb-systemd-helper --quiet was-enabled {units}; then
        deb-systemd-helper enable {units} >/dev/null || true
    else
        deb-systemd-helper update-state {units} >/dev/null || true
    fi
    if [ -d /run/systemd/system ]; then
        systemctl --system daemon-reload >/dev/null || true
        {invoke}
    fi
fi
"""
RESTART = 'deb-systemd-invoke "$([ -n "$2" ] && echo restart || echo start)" {units} || true'
START = "deb-systemd-invoke start {units} || true"
#: Time to look at a service that the package stopped: a migration of its data, say.
MIGRATION = '[ -z "$2" ] || sleep 3'
STOP = """\
if {when} [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop {units} >/dev/null || true
fi
"""
ON_REMOVAL = '[ "$1" = remove ] &&'
DOWN = """\
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl --system daemon-reload >/dev/null || true
fi
if [ "$1" = purge ]; then
    deb-systemd-helper purge {units} >/dev/null || true
fi
"""
#: What a package does that gives a service up: stops it before its file goes, forgets it after.
GIVE_UP_FIRST = """\
if [ "$1" = upgrade ] && [ -d /run/systemd/system ]; then
    deb-systemd-invoke stop {units} >/dev/null || true
fi
"""
GIVE_UP = """\
if [ "$1" = configure ]; then
    deb-systemd-helper purge {units} >/dev/null || true
    [ ! -d /run/systemd/system ] || systemctl --system daemon-reload >/dev/null || true
fi
"""


class Manner(StrEnum):
    """What an upgrade does to a package's service; the value is the package's name."""

    RESTARTED_AFTER = "upgrade-restarts-after"
    STOPPED_BEFORE = "upgrade-stops-before"
    LEFT_RUNNING = "upgrade-leaves-running"
    GIVEN_UP = "upgrade-gives-up"
    TIMER_ADDED = "upgrade-adds-a-timer"


def unit_of(manner: Manner) -> str:
    """The service in the package of this manner."""
    return f"{manner}.service"


def build(manner: Manner, version: int, into: Path) -> Path:
    """Make one package in the folder *into*. Raises CalledProcessError."""
    root = into / f"{manner}-{version}"
    for file, text in _files(manner, version).items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if path.parent.name == "DEBIAN" else 0o644)
    package = into / f"{manner}_{version}_all.deb"
    quiet = ["dpkg-deb", "--root-owner-group", "--build", str(root), str(package)]
    subprocess.run(quiet, check=True, stdout=subprocess.DEVNULL)
    return package


def _files(manner: Manner, version: int) -> dict[str, str]:
    fields = (
        f"Package: {manner}\nVersion: {version}\nArchitecture: all\n"
        "Maintainer: healthd's tests <root@localhost>\nDescription: a service to upgrade\n"
    )
    units = _units(manner, version)
    scripts = {name: text for name, text in _scripts(manner, version).items() if text}
    return {
        "DEBIAN/control": fields,
        **{f"DEBIAN/{name}": f"#!/bin/sh\nset -e\n{text}" for name, text in scripts.items()},
        **{f"usr/lib/systemd/system/{name}": text for name, text in units.items()},
    }


def _units(manner: Manner, version: int) -> dict[str, str]:
    service = {unit_of(manner): SERVICE.format(name=manner, version=version)}
    if version == 1:
        return service
    match manner:
        case Manner.GIVEN_UP:
            return {}
        case Manner.TIMER_ADDED:
            job = JOB.format(name=manner, version=version)
            return {**service, f"{manner}-job.service": job, f"{manner}.timer": TIMER}
        case _:
            return service


def _scripts(manner: Manner, version: int) -> dict[str, str]:
    unit = unit_of(manner)
    scripts = {
        "preinst": "",
        "postinst": UP.format(units=unit, invoke=RESTART.format(units=unit)),
        "prerm": STOP.format(units=unit, when=ON_REMOVAL),
        "postrm": DOWN.format(units=unit),
    }
    match manner:
        case Manner.STOPPED_BEFORE:
            scripts["prerm"] = STOP.format(units=unit, when="")
            invoke = f"{MIGRATION}\n        {START.format(units=unit)}"
            scripts["postinst"] = UP.format(units=unit, invoke=invoke)
        case Manner.LEFT_RUNNING:
            scripts["postinst"] = UP.format(units=unit, invoke=START.format(units=unit))
        case Manner.GIVEN_UP if version > 1:
            give_up = GIVE_UP.format(units=unit)
            scripts = {"preinst": GIVE_UP_FIRST.format(units=unit), "postinst": give_up}
        case Manner.TIMER_ADDED if version > 1:
            timer = f"{manner}.timer"
            scripts["postinst"] += UP.format(units=timer, invoke=RESTART.format(units=timer))
            scripts["prerm"] += STOP.format(units=timer, when=ON_REMOVAL)
        case _:
            pass
    return scripts
