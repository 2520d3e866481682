"""Give a host a cgroup of its own, on cgroup v2 and where v2 stands beside v1."""

from __future__ import annotations

import contextlib
import re
import subprocess
from pathlib import Path

_BASE = Path("/sys/fs/cgroup")


def under_systemd() -> bool:
    """Whether this machine's cgroups belong to a systemd, which then must be asked for one."""
    return Path("/run/systemd/system").is_dir()


def hierarchies() -> list[Path]:
    """Where systemd-nspawn expects its cgroup: the v2 root, and v1's named one when it is there.

    Beside v1 both are mounted when they are missing; systemd-nspawn finds them by these paths.
    """
    if _mounted(_BASE) == "cgroup2":
        return [_BASE]
    for name, options in (
        ("unified", ["-t", "cgroup2", "cgroup2"]),
        ("systemd", ["-t", "cgroup", "-o", "none,name=systemd", "cgroup"]),
    ):
        if _mounted(_BASE / name) is None:
            (_BASE / name).mkdir(exist_ok=True)
            subprocess.run(["mount", *options, str(_BASE / name)], check=True)
    return [_BASE / "unified", _BASE / "systemd"]


def make(name: str) -> list[Path]:
    """Make the cgroup *name* and tell the `cgroup.procs` files that move a process into it."""
    made = [root / name for root in hierarchies()]
    for group in made:
        group.mkdir(exist_ok=True)
    return [group / "cgroup.procs" for group in made]


def remove(name: str) -> bool:
    """Remove the cgroup *name* and all below it; False while a process is left in one of them."""
    for root in hierarchies():
        below = sorted((root / name).glob("**/"), key=lambda path: len(path.parts), reverse=True)
        for group in below:
            with contextlib.suppress(OSError):
                group.rmdir()
    return not any((root / name).exists() for root in hierarchies())


def of(pid: int) -> Path:
    """The v2 cgroup in which the process *pid* is."""
    path = re.search(r"^0::(.*)$", Path(f"/proc/{pid}/cgroup").read_text(), re.MULTILINE)
    root = _BASE if _mounted(_BASE) == "cgroup2" else _BASE / "unified"
    return root / (path[1].lstrip("/") if path else "")


def _mounted(path: Path) -> str | None:
    """The type of the file system mounted exactly at *path*."""
    kind = None
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, filesystem = line.partition(" - ")
        if mount.split()[4] == str(path):
            kind = filesystem.split()[0]
    return kind
