"""Whether packages are being installed or removed: the package managers' own locks, as the kernel
lists them. Opens none of the files, and decides nothing.

The lock of apt's lists is none of them: `apt update` stops no service.
"""

from __future__ import annotations

import re
from pathlib import Path

#: apt holds the first for the whole of its run, dpkg the second for its own; then rpm's.
LOCKS = (
    "var/lib/dpkg/lock-frontend",
    "var/lib/dpkg/lock",
    "var/lib/rpm/.rpm.lock",
    "usr/lib/sysimage/rpm/.rpm.lock",
)
# major:minor:inode. The device is that of the file system, which stat(2) shows otherwise on some.
_INODE = re.compile(r" [0-9a-f]+:[0-9a-f]+:(\d+) ")


def under_way(root: Path = Path("/")) -> bool:
    """Whether somebody holds one of the locks; what cannot be read is no package run.

    Source: proc_locks(5).
    """
    inodes = {inode for lock in LOCKS if (inode := _inode(root / lock))}
    if not inodes:
        return False
    try:
        held = (root / "proc/locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return any(int(number) in inodes for number in _INODE.findall(held))


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0
