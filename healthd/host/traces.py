"""What of a unit a restart would wipe out or hide: its memory, its cgroup, the files it came from.

Of files only names and times: what is in them is nobody's business here.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path

from msgspec import Struct

from healthd.host.unit_facts import INFINITY, names, text
from healthd.model import Dated

CGROUPS = Path("/sys/fs/cgroup")
#: Where a person's drop-ins for a unit lie, and those until the next boot.
DROP_IN_HOMES = (Path("/etc/systemd/system"), Path("/run/systemd/system"))

MOST_FILES = 24
_MOST_MATCHES = 8
_FILE_BYTES = 4096


class UnitTraces(Struct, frozen=True):
    """*files*: unit file, drop-ins, what a generator made it from; *environment*: EnvironmentFile=,
    which may be patterns. *memory_peak_bytes*: 0 = nobody counted. *stale*: a file has changed
    since systemd read it.
    """

    id: str = ""
    files: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    control_group: str = ""
    memory_peak_bytes: int = 0
    stale: bool = False


def decode(properties: Mapping[str, object]) -> UnitTraces:
    """The traces of a GetAll of all interfaces of one unit."""
    files = (
        text(properties.get("FragmentPath")),
        *names(properties.get("DropInPaths")),
        text(properties.get("SourcePath")),
    )
    return UnitTraces(
        id=text(properties.get("Id")),
        files=tuple(dict.fromkeys(name for name in files if name)),
        environment=_environment(properties.get("EnvironmentFiles")),
        control_group=text(properties.get("ControlGroup")),
        memory_peak_bytes=_bytes(properties.get("MemoryPeak")),
        stale=properties.get("NeedDaemonReload") is True,
    )


def files_of(
    traces: UnitTraces, homes: Iterable[Path] = DROP_IN_HOMES, root: Path = Path("/")
) -> tuple[Dated, ...]:
    """The unit's files and folders of drop-ins, each with when it was last written or put there.

    A file that a package or a copy brings keeps the time at which it was made elsewhere: when it
    came is the time of its inode. Blocking.
    """
    folders = (str(home / f"{traces.id}.d") for home in homes) if traces.id else ()
    matched = (
        f"/{match}"
        for pattern in traces.environment
        for match in sorted(islice(glob.iglob(pattern.lstrip("/"), root_dir=root), _MOST_MATCHES))
    )
    found: dict[str, Dated] = {}
    for name in (*traces.files, *folders, *matched):
        try:
            status = os.stat(root / name.lstrip("/"))
        except OSError:
            continue
        at = max(status.st_mtime_ns, status.st_ctime_ns) // 1000
        found.setdefault(name, Dated(at, name))
    return tuple(found.values())[:MOST_FILES]


def out_of_memory_kills(traces: UnitTraces, cgroups: Path = CGROUPS) -> int:
    """How many processes of the unit's present cgroup the kernel killed for want of memory.

    Source: cgroup v2, memory.events. Blocking.
    """
    for line in _cgroup_file(traces, cgroups, "memory.events").splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill" and count.strip().isdecimal():
            return int(count)
    return 0


def memory_peak_bytes(traces: UnitTraces, cgroups: Path = CGROUPS) -> int:
    """The most memory it had: as systemd says, older than 256 as its cgroup says. Blocking."""
    said = _cgroup_file(traces, cgroups, "memory.peak").strip()
    return traces.memory_peak_bytes or (int(said) if said.isdecimal() else 0)


def _cgroup_file(traces: UnitTraces, cgroups: Path, name: str) -> str:
    if not traces.control_group.strip("/"):
        return ""
    try:
        with (cgroups / traces.control_group.lstrip("/") / name).open("rb") as file:
            return file.read(_FILE_BYTES).decode("ascii", "replace")
    except (OSError, ValueError):
        return ""


def _environment(value: object) -> tuple[str, ...]:
    """The names of `a(sb)`: a file, and whether it may be absent."""
    pairs = value if isinstance(value, (list, tuple)) else ()
    found = [text(pair[0]) for pair in pairs if isinstance(pair, (list, tuple)) and pair]
    return tuple(name for name in found if name.startswith("/"))


def _bytes(value: object) -> int:
    return value if isinstance(value, int) and 0 < value < INFINITY else 0
