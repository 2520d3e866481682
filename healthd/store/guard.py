"""Keep a damaged store from taking the daemon with it, and two daemons from one store.

LMDB maps its file: a truncated or scrambled one ends the process by a signal that nothing can
catch. So a store that was not closed by us is read in a child process first. What cannot be read is
set aside, never deleted and never repaired.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from healthd.errors import HealthdError
from healthd.model import SECOND_US

DATA = "data.mdb"
LOCK = "lock.mdb"
_STAMP = "closed"
_CORRUPT = "data.mdb.corrupt-"
_CORRUPT_KEPT = 3
_SCAN = "scan-"
_SCAN_LIMIT_S = 30.0


def claim(folder: Path) -> int:
    """Make *folder* ours alone. Returns a descriptor that holds the claim until it is closed.

    Raises HealthdError "store-busy" when another process has it, "store-failed" when the folder
    cannot be used.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise HealthdError("store-failed", f"{folder}: {error.strerror}") from error
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(held)
        raise HealthdError("store-busy", f"another healthd uses {folder}") from error
    for left in folder.glob(f"{_SCAN}*"):
        shutil.rmtree(left, ignore_errors=True)
    return held


def data_bytes(folder: Path) -> int:
    """The size of the data; 0 where there is none, and an empty file is a new store to LMDB too."""
    try:
        return (folder / DATA).stat().st_size
    except FileNotFoundError:
        return 0


def write_stamp(folder: Path) -> None:
    """Say that the file as it is now was closed by us, durably."""
    held = os.open(folder / _STAMP, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(held, "w") as stamp:
        stamp.write(_face(folder))
        stamp.flush()
        os.fsync(held)
    sync_folder(folder)


def take_stamp(folder: Path) -> bool:
    """Whether the file is exactly the one that we closed. The stamp is gone afterwards, durably:
    until the next clean close a start begins with a scan.
    """
    try:
        said = (folder / _STAMP).read_text()
    except (FileNotFoundError, UnicodeDecodeError):
        said = ""
    (folder / _STAMP).unlink(missing_ok=True)
    sync_folder(folder)
    return bool(said) and said == _face(folder)


def _face(folder: Path) -> str:
    """What is another whenever somebody wrote to the file; "" where there is none."""
    try:
        seen = (folder / DATA).stat()
    except FileNotFoundError:
        return ""
    return f"{seen.st_ino} {seen.st_size} {seen.st_mtime_ns}\n"


def shorter_than_it_says(folder: Path, *, last_page: int, page_bytes: int) -> bool:
    """Whether pages that the store counts are not in the file: reading one would end us by SIGBUS.

    To be asked right after opening, before any transaction.
    """
    return data_bytes(folder) < (last_page + 1) * page_bytes


def find_damage(folder: Path, *, limit_s: float = _SCAN_LIMIT_S) -> str:
    """Why the store cannot be trusted, in a few words; "" when a child process read and wrote all
    of it. The child works on a copy, so that its writing proves something and harms nothing.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=_SCAN) as copied:
        try:
            shutil.copyfile(folder / DATA, Path(copied) / DATA)
        except OSError:
            # No room for a copy, as on a full disk: reading alone must do.
            return _scan(folder, limit_s, write=False)
        return _scan(Path(copied), limit_s, write=True)


def _scan(folder: Path, limit_s: float, *, write: bool) -> str:
    argv = [sys.executable, "-m", "healthd.store.env", str(folder), *(["--write"] if write else [])]
    root = Path(__file__).parents[2]
    try:
        child = subprocess.run(
            argv,
            cwd="/",
            env={**os.environ, "PYTHONPATH": str(root)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=limit_s,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"reading it did not end within {limit_s:.0f} s"
    if child.returncode < 0:
        return f"reading it ended by {signal.Signals(-child.returncode).name}"
    if child.returncode:
        lines = child.stderr.decode(errors="replace").strip().splitlines()
        # LMDB begins with the path, and that of a copy is gone by the time somebody reads this.
        said = lines[-1].replace(f"{folder}: ", "").replace(f"{folder}/", "") if lines else ""
        return said[:200] or f"reading it ended with exit code {child.returncode}"
    return ""


def set_aside(folder: Path, now_at: int) -> str:
    """Move the data away and return its new name; only the newest few such files are kept."""
    when = datetime.fromtimestamp(now_at / SECOND_US, UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{_CORRUPT}{when}"
    (folder / DATA).replace(folder / name)
    (folder / LOCK).unlink(missing_ok=True)
    for old in sorted(folder.glob(f"{_CORRUPT}*"))[:-_CORRUPT_KEPT]:
        old.unlink()
    sync_folder(folder)
    return name


def sync_folder(folder: Path) -> None:
    """Make what was created, renamed or removed in *folder* survive a power cut."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(held)
    finally:
        os.close(held)
