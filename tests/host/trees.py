"""Build the Debian trees in which packages are built and hosts are booted.

A tree is built once by mmdebstrap, kept outside the checkout, and never written to again: what
uses it does so through an overlay.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

SUITE = "trixie"
#: Raised when a tree must be built anew although its list of packages is the same.
RECIPE = 2
#: How long a tree of another list of packages is kept: a checkout beside this one may use it.
UNUSED_S = 7 * 86400

#: A Debian that boots to a prompt, with what a server has around systemd.
BOOTABLE = (
    "systemd",
    "systemd-sysv",
    "dbus",
    "dbus-user-session",
    "polkitd",
    "libpam-systemd",
    "procps",
    "iproute2",
    "curl",
    "socat",
    "python3",
)
#: What dpkg-buildpackage and lintian need before they read debian/control.
BUILDER = ("build-essential", "dpkg-dev", "lintian")


def cache_dir() -> Path:
    """Where the trees live; outside the checkout, so that a fresh clone finds them."""
    return Path(os.environ.get("HEALTHD_CACHE", "/var/cache/healthd-tests"))


def machine_mirror() -> str | None:
    """The Debian archive that this machine's own apt uses; None leaves the choice to mmdebstrap."""
    policy = subprocess.run(
        ["apt-cache", "policy"], capture_output=True, text=True, check=False
    ).stdout
    found = re.search(
        r"^ +\d+ (?P<uri>\S+) \S+/main \S+ Packages\n +release .*\bo=Debian,.*\bl=Debian,",
        policy,
        re.MULTILINE,
    )
    return found["uri"] if found else None


def tree(name: str, packages: tuple[str, ...], prepare: tuple[str, ...] = ()) -> Path:
    """The tree *name* with *packages*; builds it first when it is not there.

    *prepare*: shell commands that run outside of it once they are installed, the tree as "$1", its
    archive still within reach.
    The path carries a hash of both, so a changed list is another tree. Two builders at the same
    time wait for each other. Raises CalledProcessError when mmdebstrap fails.
    """
    wanted = sorted(set(packages))
    made_of = f"{SUITE} {RECIPE} {' '.join((*wanted, *prepare))}"
    stamp = hashlib.sha256(made_of.encode()).hexdigest()[:12]
    path = cache_dir() / f"{name}-{stamp}"
    cache_dir().mkdir(parents=True, exist_ok=True)
    with _locked(cache_dir() / f"{name}.lock"):
        if not path.is_dir():
            _build(path, wanted, prepare)
            _remove_older(name, keep=path)
    return path


@contextlib.contextmanager
def in_use(path: Path) -> Iterator[None]:
    """Keep *path* from being removed while a host runs from it, and for a week after."""
    with open(f"{path}.used", "w") as mark:
        os.utime(mark.fileno())
        fcntl.flock(mark, fcntl.LOCK_SH)
        yield


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(path: Path, packages: list[str], prepare: tuple[str, ...]) -> None:
    print(
        f"building {path} ({len(packages)} packages asked for, takes a minute or two)", flush=True
    )
    unfinished = path.with_name(f".{path.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    mirror = machine_mirror()
    subprocess.run(
        [
            "mmdebstrap",
            "--mode=root",
            "--variant=minbase",
            # A machine whose clock is off, or a mirror that stood still, is no reason to fail.
            '--aptopt=Acquire::Check-Valid-Until "false"',
            # Manual pages and translations: half of the unpacking, read by no test. lintian's
            # own data lies in /usr/share/lintian and is not touched by this.
            "--dpkgopt=path-exclude=/usr/share/doc/*",
            "--dpkgopt=path-exclude=/usr/share/locale/*",
            *(f"--customize-hook={command}" for command in prepare),
            # mmdebstrap copies these two from this machine.
            '--customize-hook=echo debian >"$1/etc/hostname"',
            '--customize-hook=rm -f "$1/etc/resolv.conf"',
            f"--include={','.join(packages)}",
            SUITE,
            str(unfinished),
            *([mirror] if mirror else []),
        ],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
    )
    unfinished.rename(path)


def _remove_older(name: str, *, keep: Path) -> None:
    """Remove this tree's builds from other lists, once nobody has used them for a week."""
    for old in keep.parent.glob(f"{name}-{'[0-9a-f]' * 12}"):
        used = Path(f"{old}.used")
        if old == keep or (used.exists() and time.time() - used.stat().st_mtime < UNUSED_S):
            continue
        with used.open("w") as mark:
            try:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            shutil.rmtree(old)
            used.unlink()
