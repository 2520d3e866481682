"""What the package managers did lately, from the records they keep: dpkg's log and apt's history.

Blocking, for a thread. A record that is absent or garbled is no error: what can be read counts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from healthd.model import SECOND_US, Dated

LOGS = Path("/var/log")
#: Newest first: a log that was rotated lately goes on in the one before.
DPKG = ("dpkg.log", "dpkg.log.1")
APT = ("apt/history.log", "apt/history.log.1")

#: More than an upgrade of a whole machine writes in half an hour of interest.
TAIL_BYTES = 256 * 1024
MOST_PACKAGES = 20
MOST_COMMANDS = 10

_ACTS = {"install": "installed", "upgrade": "upgraded", "remove": "removed", "purge": "purged"}
_NONE = "<none>"


def changes_since(since_at: int, logs: Path = LOGS) -> tuple[Dated, ...]:
    """The packages that changed and the commands that changed them since then, oldest first.

    Of very many packages the last, and how many there were before them.
    """
    packages = [p for line in _lines(DPKG, since_at, logs) if (p := package(line, since_at))]
    more = len(packages) - MOST_PACKAGES
    if more > 0:
        packages = packages[-MOST_PACKAGES:]
        packages.insert(0, Dated(packages[0].at, f"dpkg: {more} more packages before these"))
    commands = list(_commands(_lines(APT, since_at, logs), since_at))[-MOST_COMMANDS:]
    return tuple(sorted([*commands, *packages], key=lambda one: one.at))


def package(line: str, since_at: int) -> Dated | None:
    """What one line of dpkg's log says was done to a package, if that was since then.

    Source: dpkg(1), --log; `2026-12-01 00:08:44 upgrade nginx:amd64 1.26.2-1 1.26.3-1`.
    """
    words = line.split()
    if len(words) != 6 or words[2] not in _ACTS:
        return None
    at = _local(f"{words[0]} {words[1]}")
    if at < since_at:
        return None
    versions = [version for version in words[4:] if version != _NONE]
    return Dated(at, f"dpkg: {_ACTS[words[2]]} {words[3]} {' to '.join(versions)}".rstrip())


def _commands(lines: list[str], since_at: int) -> Iterator[Dated]:
    """The commands of apt's history that began since then, with who asked for them."""
    at, command, by = 0, "", ""
    for line in [*lines, ""]:
        name, _, value = line.partition(": ")
        match name:
            case "Start-Date":
                at, command, by = _local(" ".join(value.split())), "", ""
            case "Commandline":
                command = value.strip()
            case "Requested-By":
                by = f", by {value.strip()}"
            case "" if command and at >= since_at:
                yield Dated(at, f"apt: {command}{by}")
                command = ""
            case _:
                pass


def _lines(names: tuple[str, ...], since_at: int, logs: Path) -> list[str]:
    """The ends of these logs as lines, oldest first; no further back than one that is older."""
    found: list[str] = []
    for name in names:
        try:
            with (logs / name).open("rb") as log:
                status = os.fstat(log.fileno())
                if status.st_mtime_ns // 1000 < since_at:
                    break
                log.seek(max(0, status.st_size - TAIL_BYTES))
                text = log.read(TAIL_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        found[:0] = text.splitlines()
        if status.st_size > TAIL_BYTES:
            break
    return found


def _local(text: str) -> int:
    """Wall µs of an instant in the machine's own zone, 0 = it is none."""
    try:
        return int(time.mktime(time.strptime(text, "%Y-%m-%d %H:%M:%S"))) * SECOND_US
    except (ValueError, OverflowError):
        return 0
