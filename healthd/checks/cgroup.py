"""Keep what one program starts together, so that all of it can be ended at once.

A control group of its own where the service's is delegated; else a process group, from which a
child can leave. Touches nothing outside of healthd's own control group.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import select
import signal
from itertools import count
from pathlib import Path
from typing import Protocol

_CGROUPS = Path("/sys/fs/cgroup")
#: The folder that DelegateSubgroup= gives healthd itself.
_MAIN = "main"
#: Enters the group, then becomes the program: what is moved after its start may have forked before.
_ENTER = 'echo 0 >"$0/cgroup.procs" || exit 125; exec "$@"'
#: What a shell ends with when it could not become the program: POSIX, 2.8.2, and our own 125.
ENTRY_FAILURES = {
    125: "its control group cannot be entered",
    126: "no permission to run it",
    127: "there is no such program",
}
SHELL = "/bin/sh"

_log = logging.getLogger(__name__)


class Enclosure(Protocol):
    """Where one program runs, with all that it starts."""

    def entrance(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """What to run so that *command* runs inside."""

    def kill(self, leader_pid: int) -> None:
        """End everything inside. *leader_pid* is the program's own, not yet reaped."""

    def remove(self) -> bool:
        """Take the enclosure away; False while something is left inside."""

    async def emptied(self, limit_s: float) -> None:
        """Wait until nothing is left inside, or for *limit_s*."""


def delegated_home(own: Path = Path("/proc/self/cgroup"), root: Path = _CGROUPS) -> Path | None:
    """The folder in which healthd may make groups beside its own; None when there is none.

    Source: systemd's CGROUP_DELEGATION, "Delegation": the service's own processes live in a folder
    inside (DelegateSubgroup=main), and everything beside it is the service's to make.
    """
    unified = [line[3:] for line in own.read_text().splitlines() if line.startswith("0::")]
    if not unified or Path(unified[0]).name != _MAIN:
        return None
    home = root / unified[0].lstrip("/").removesuffix(_MAIN)
    # A unit that was moved to another slice has its group outside of what its sandbox may write.
    writable = os.access(home, os.W_OK) and os.access(home / "cgroup.procs", os.W_OK)
    # cgroup.kill came with Linux 5.14.
    return home if writable and (home / _MAIN / "cgroup.kill").exists() else None


class ProcessGroup:
    """The program's own session: its children stay in it unless they leave."""

    def entrance(self, command: tuple[str, ...]) -> tuple[str, ...]:
        return command

    def kill(self, leader_pid: int) -> None:
        # The unreaped leader keeps the number, so it cannot have become another group's.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader_pid, signal.SIGKILL)

    def remove(self) -> bool:
        return True

    async def emptied(self, limit_s: float) -> None:
        return


class ControlGroup:
    """A group of its own: whatever the program starts stays in it."""

    def __init__(self, path: Path) -> None:
        """Make the group. Raises OSError."""
        path.mkdir()
        self._path = path

    def entrance(self, command: tuple[str, ...]) -> tuple[str, ...]:
        return (SHELL, "-c", _ENTER, str(self._path), *command)

    def kill(self, leader_pid: int) -> None:
        with contextlib.suppress(FileNotFoundError):
            (self._path / "cgroup.kill").write_text("1")
        # Until its first write the program is not inside.
        ProcessGroup().kill(leader_pid)

    def remove(self) -> bool:
        try:
            self._path.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    async def emptied(self, limit_s: float) -> None:
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + limit_s
        # Another look may have taken it away already; what cannot be watched is tried again later.
        with (
            contextlib.suppress(OSError),
            (self._path / "cgroup.events").open() as events,
            select.epoll() as changes,
        ):
            changes.register(events, select.EPOLLPRI)
            # Reading is what arms the next change.
            while _populated(events.read()) and (left_s := ends_s - loop.time()) > 0:
                await _readable(changes.fileno(), left_s)
                events.seek(0)


class Enclosures:
    """Makes an enclosure for each program.

    *home*: the folder of control groups that is healthd's to fill (`delegated_home`); None =
    process groups only, which is logged once.
    """

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self._numbers = count(1)
        self._warned = False

    def make(self) -> Enclosure:
        why = "no control group is delegated to healthd"
        while self._home:
            try:
                return ControlGroup(self._home / f"exec-{next(self._numbers)}")
            except FileExistsError:
                continue
            except OSError as err:
                why = f"a control group cannot be made ({error_name(err)})"
                break
        if not self._warned:
            self._warned = True
            _log.warning("exec checks are ended by their process group only: %s", why)
        return ProcessGroup()


def error_name(err: OSError) -> str:
    """ENOENT and the like: the same in every language."""
    return errno.errorcode.get(err.errno or 0, "unknown error")


def _populated(events: str) -> bool:
    return "populated 1" in events.splitlines()


async def _readable(fd: int, at_most_s: float) -> None:
    loop = asyncio.get_running_loop()
    waiting = loop.create_future()

    def wake() -> None:
        if not waiting.done():
            waiting.set_result(None)

    loop.add_reader(fd, wake)
    timer = loop.call_later(at_most_s, wake)
    try:
        await waiting
    finally:
        timer.cancel()
        loop.remove_reader(fd)
