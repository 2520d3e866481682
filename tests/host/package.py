"""Build healthd's Debian packages in a Debian tree of their own, and have lintian judge them.

Run as a program it leaves them in dist/, and does nothing when they are of these sources already.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

from tests.host import trees

CHECKOUT = Path(__file__).parents[2]
DIST = CHECKOUT / "dist"
LOG = CHECKOUT / "build/deb.log"
#: What no package is made of; a change here needs no new package.
NOT_PACKAGED = ("tests", ".ci", "Makefile", ".gitignore", "*.md")

# Inside the tree. Errors and warnings fail the build; hints are shown.
BUILD = """
set -eu
cp -a /source /tmp/healthd
cd /tmp/healthd
dpkg-buildpackage --build=binary --no-sign
lintian --display-info --allow-root --fail-on error,warning ../*.changes
cp ../*.deb /dist/
"""


def packages() -> list[Path]:
    """The packages that `make deb` left. Raises FileNotFoundError when there are none."""
    found = sorted(DIST.glob("*.deb"))
    if not found:
        raise FileNotFoundError(f"no package in {DIST}: run `make deb` first")
    return found


def dependencies(package: Path) -> tuple[str, ...]:
    """What *package* depends on and recommends, the first of alternatives, without versions."""
    fields = subprocess.run(
        ["dpkg-deb", "--show", "--showformat=${Depends},${Recommends}", str(package)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return _names(fields)


def machine_tree(name: str, *more: str, prepare: tuple[str, ...] = ()) -> Path:
    """The tree *name*: bootable, with *more* and all that our packages depend on, not with them.

    *prepare*: as in `trees.tree`.
    """
    needed = [dependency for package in packages() for dependency in dependencies(package)]
    return trees.tree(name, (*trees.BOOTABLE, *needed, *more), prepare)


def _names(relations: str) -> tuple[str, ...]:
    names = (re.match(r"\s*([a-z0-9][a-z0-9+.-]*)", part) for part in relations.split(","))
    return tuple(name[1] for name in names if name)


def _sources() -> list[Path]:
    """The files that a package is made of: those of the checkout that git does not ignore."""
    listed = subprocess.run(
        [
            *("git", "-c", "safe.directory=*", "ls-files", "-z"),
            *("--cached", "--others", "--exclude-standard", "--", "."),
            *(f":!{pattern}" for pattern in NOT_PACKAGED),
        ],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    files = (Path(name) for name in sorted(set(listed.split("\0"))) if name)
    return [file for file in files if (CHECKOUT / file).is_file()]


def _fingerprint(files: list[Path]) -> str:
    digest = hashlib.sha256(trees.SUITE.encode() + BUILD.encode())
    for file in files:
        whole = CHECKOUT / file
        digest.update(f"{file} {whole.stat().st_mode:o}\0".encode() + whole.read_bytes())
    return digest.hexdigest()


def _build_dependencies() -> tuple[str, ...]:
    control = (CHECKOUT / "debian/control").read_text()
    field = re.search(r"^Build-Depends:((?:.|\n[ \t])*)", control, re.MULTILINE)
    return _names(field[1]) if field else ()


def build() -> list[Path]:
    """Build dist/*.deb unless they are there already. Raises CalledProcessError."""
    files = _sources()
    mark, fingerprint = DIST / ".built-from", _fingerprint(files)
    if mark.is_file() and mark.read_text() == fingerprint:
        return packages()
    tree = trees.tree("build", (*trees.BUILDER, *_build_dependencies()))
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    LOG.parent.mkdir(exist_ok=True)
    with trees.in_use(tree), tempfile.TemporaryDirectory() as source, LOG.open("w") as log:
        for file in files:
            (Path(source) / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / file, Path(source) / file)
        _run_inside(tree, Path(source), log)
    mark.write_text(fingerprint)
    return packages()


def _run_inside(tree: Path, source: Path, log: IO[str]) -> None:
    subprocess.run(
        [
            *("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--private-network"),
            *(f"--directory={tree}", "--volatile=overlay", "--console=pipe"),
            *(f"--bind-ro={source}:/source", f"--bind={DIST}:/dist"),
            *("--setenv=LC_ALL=C.UTF-8", "sh", "-c", BUILD),
        ],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
    )


if __name__ == "__main__":
    try:
        print("\n".join(str(package) for package in build()))
    except subprocess.CalledProcessError as err:
        print("\n".join(LOG.read_text().splitlines()[-60:]) if LOG.is_file() else "")
        sys.exit(f"the package was not built: {err.cmd[0]} ended with {err.returncode}; see {LOG}")
