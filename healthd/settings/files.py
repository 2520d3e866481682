"""Which settings files there are, in what order, and whether they can be trusted; reads them.

Whoever can write a settings file names what polkit lets healthd restart, so only root may. The
folder below /run is left out on purpose: that one belongs to healthd itself.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from msgspec import Struct

from healthd.settings.faults import Fault, Findings, Mark

MAIN_FILE = "etc/healthd/healthd.yaml"
#: Folders of drop-ins; a file in the later one hides that of the same name in the earlier one.
DROP_IN_FOLDERS = ("usr/lib/healthd/healthd.d", "etc/healthd/healthd.d")
LARGEST_BYTES = 1 << 20


class Source(Struct, frozen=True):
    """One settings file's text."""

    file: str
    text: str


def read_installed(root: Path = Path("/")) -> tuple[tuple[Source, ...], tuple[Fault, ...]]:
    """The files below *root* in the order in which they apply, and what is wrong with them.

    healthd.yaml first, then all drop-ins by file name, wherever they lie. A name in /etc hides the
    same name in /usr/lib; an empty file or a link to /dev/null hides it and says nothing itself.
    """
    findings = Findings()
    main = root / MAIN_FILE
    paths = [main] if _is_there(main, findings) else []
    paths += [path for _, path in sorted(_drop_ins(root, findings).items())]
    sources = []
    for path in paths:
        if not _is_link_to_null(path):
            text = _read(path, root, findings)
            if text:
                sources.append(Source(str(path), text))
    return tuple(sources), findings.faults


def read_named(paths: tuple[Path, ...]) -> tuple[tuple[Source, ...], tuple[Fault, ...]]:
    """The files that a person names, in that order; whose they are is not asked."""
    findings = Findings()
    texts = [(path, _read(path, None, findings)) for path in paths]
    return tuple(Source(str(path), text) for path, text in texts if text), findings.faults


def _drop_ins(root: Path, findings: Findings) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in (root / place for place in DROP_IN_FOLDERS):
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            continue
        except OSError as err:
            _unreadable(folder, err, findings)
            continue
        # Also an empty folder that others may write to: anybody could fill it.
        _judge_trust(folder, root, findings)
        found.update(
            (name, folder / name)
            for name in names
            if name.endswith(".yaml") and not name.startswith(".")
        )
    return found


def _is_there(path: Path, findings: Findings) -> bool:
    """Whether there is anything of that name; what may not even be asked is a fault."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as err:
        _unreadable(path, err, findings)
        return False
    return True


def _is_link_to_null(path: Path) -> bool:
    return path.is_symlink() and os.readlink(path) == os.devnull


def _read(path: Path, root: Path | None, findings: Findings) -> str:
    """The file's text; "" when it is empty or cannot be read. *root*: its owners are judged."""
    try:
        data = _bytes_of(path)
    except OSError as err:
        _unreadable(path, err, findings)
        return ""
    if data is None:
        findings.fault(Mark(str(path)), "no file", "a file with text")
        return ""
    if root is not None:
        _judge_trust(path, root, findings)
    if len(data) > LARGEST_BYTES:
        findings.fault(Mark(str(path)), "a file larger than 1 MiB", "at most 1 MiB")
        return ""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        before = data[: err.start]
        line, column = before.count(b"\n") + 1, err.start - (before.rfind(b"\n") + 1) + 1
        findings.fault(Mark(str(path), line, column), "a byte that is not UTF-8", "UTF-8")
        return ""


def _bytes_of(path: Path) -> bytes | None:
    """At most one byte more than a file may have; None when it is a folder, a pipe or a device."""
    # Not to hang on a pipe that somebody laid there.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        with open(fd, "rb", closefd=False) as file:
            return file.read(LARGEST_BYTES + 1)
    finally:
        os.close(fd)


def _unreadable(path: Path, err: OSError, findings: Findings) -> None:
    hint = ""
    if isinstance(err, PermissionError):
        hint = f"root can read it; healthd needs: chgrp healthd {path} && chmod g+r {path}"
    why = (err.strerror or "no reason given").lower()
    findings.fault(Mark(str(path)), f"what cannot be read ({why})", "", hint)


def _judge_trust(path: Path, root: Path, findings: Findings) -> None:
    """Fault whatever on the way from *root* to the file others than root may write or replace."""
    owners = {0} if root == Path("/") else {0, os.geteuid()}
    top, place = root.resolve(), path.resolve()
    for step in (place, *place.parents):
        if step == top and step != Path("/"):
            return
        try:
            status = step.stat()
        except OSError as err:
            _unreadable(step, err, findings)
            return
        _judge_owner(step, status, owners, findings)


def _judge_owner(path: Path, status: os.stat_result, owners: set[int], findings: Findings) -> None:
    what = "folder" if stat.S_ISDIR(status.st_mode) else "file"
    mark = Mark(str(path))
    if status.st_uid not in owners:
        found = f"a {what} of uid {status.st_uid}"
        findings.fault(mark, found, f"a {what} of root", f"chown root {path}")
    if status.st_mode & 0o022:
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        findings.fault(
            mark,
            f"a {what} that others than root may write to (mode {mode})",
            f"a {what} that only root may write to",
            f"chmod go-w {path}",
        )
