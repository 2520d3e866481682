"""Run programs for exec checks: a session and an enclosure each, output bounded, all of it killed.

Nothing that is started here outlives its look. No shell, no terminal, nothing of healthd's own
environment.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec

from healthd.checks.base import PRIVATE_BYTES, Ended, excerpt
from healthd.checks.cgroup import ENTRY_FAILURES, SHELL, Enclosure, error_name

#: How many programs run at one time; the others wait, and waiting is not counted as their time.
AT_ONCE = 8
#: What a killed program gets to be gone; longer, and the kernel holds it (a dead disk, a dead NFS).
GONE_S = 2.0
#: Only what a program needs: no socket, descriptor or credential that systemd gave to healthd.
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
}
#: A program that writes without end is read this often, so that it waits and the loop does not.
_FLOOD_PAUSE_S = 0.01
_PIECE_BYTES = 64 * 1024
#: What Python ignores, or whoever started healthd, and a program expects to be as usual.
_USUAL_SIGNALS = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGHUP,
)
_NOT_STARTED = {
    errno.ENOENT: ENTRY_FAILURES[127],
    errno.ENOTDIR: ENTRY_FAILURES[127],
    errno.EACCES: ENTRY_FAILURES[126],
    errno.EPERM: ENTRY_FAILURES[126],
    errno.ENOEXEC: "it is no program",
}


class Runner:
    """Runs programs, a few at a time, each in an enclosure. One object serves all looks."""

    def __init__(
        self,
        enclosure: Callable[[], Enclosure],
        *,
        at_once: int = AT_ONCE,
        gone_s: float = GONE_S,
    ) -> None:
        """*enclosure* makes one, `Enclosures.make`."""
        self._enclosure = enclosure
        self._slots = asyncio.Semaphore(at_once)
        self._gone_s = gone_s
        self._left: set[Enclosure] = set()
        self._undead: dict[tuple[str, ...], _Program] = {}

    async def run(self, command: tuple[str, ...], limit_s: float) -> Ended:
        """Run *command* and wait for its end; *limit_s* after its start everything is killed.

        Cancelled, it kills everything too, and waits until that is gone.
        """
        async with self._slots:
            if (undead := self._undead.pop(command, None)) and not undead.gone:
                self._undead[command] = undead
                return Ended(not_run="its last run was killed and is still there")
            self._left = {each for each in self._left if not each.remove()}
            enclosure = self._enclosure()
            try:
                program = _Program(command, enclosure)
            except OSError as err:
                enclosure.remove()
                return Ended(not_run=_NOT_STARTED.get(err.errno or 0, error_name(err)))
            try:
                await program.gone_within(limit_s)
                late = not program.gone
            finally:
                await self._end(command, program, enclosure)
            return program.ended(late=late)

    async def _end(self, command: tuple[str, ...], program: _Program, enclosure: Enclosure) -> None:
        """Nothing is left after this, but for what the kernel itself does not let go."""
        self._left.add(enclosure)
        if not program.gone:
            program.kill()
            await program.gone_within(self._gone_s)
        if not program.gone:
            self._undead[command] = program
        if not enclosure.remove():
            await enclosure.emptied(self._gone_s)
        if enclosure.remove():
            self._left.discard(enclosure)


class _Program:
    """A running program. Callbacks drain its output and see its end, whoever waits for it."""

    def __init__(self, command: tuple[str, ...], enclosure: Enclosure) -> None:
        """Start it. Raises OSError."""
        self._loop = asyncio.get_running_loop()
        self._command = command
        self._enclosure = enclosure
        self._kept = bytearray()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._ended = Ended()
        self._output, written = os.pipe()
        try:
            os.set_blocking(self._output, False)
            self._pid = _spawn(enclosure.entrance(command), written)
            self._end = _end_of(self._pid)
        except OSError:
            os.close(self._output)
            raise
        finally:
            os.close(written)
        self._began_s = self._loop.time()
        self._loop.add_reader(self._end, self._on_end)
        self._loop.add_reader(self._output, self._on_output)

    @property
    def gone(self) -> bool:
        """Whether it has ended and is reaped."""
        return self._gone.done()

    async def gone_within(self, limit_s: float) -> None:
        await asyncio.wait((self._gone,), timeout=limit_s)

    def kill(self) -> None:
        if not self.gone:
            self._enclosure.kill(self._pid)

    def ended(self, *, late: bool) -> Ended:
        """How it ended, and what it said."""
        said = excerpt(bytes(self._kept))
        if late:
            return Ended(late=True, output=said, took_us=self._took_us())
        return msgspec.structs.replace(self._ended, output=said)

    def _on_output(self) -> None:
        if not self._take_output():
            self._close_output()
        elif len(self._kept) >= PRIVATE_BYTES:
            self._loop.remove_reader(self._output)
            self._loop.call_later(_FLOOD_PAUSE_S, self._resume_output)

    def _resume_output(self) -> None:
        if self._output >= 0:
            self._loop.add_reader(self._output, self._on_output)

    def _take_output(self) -> bool:
        """Keep the beginning, drop the rest; False at the end of the output."""
        try:
            piece = os.read(self._output, _PIECE_BYTES)
        except BlockingIOError:
            return True
        self._kept += piece[: PRIVATE_BYTES - len(self._kept)]
        return bool(piece)

    def _close_output(self) -> None:
        if self._output >= 0:
            self._loop.remove_reader(self._output)
            os.close(self._output)
            self._output = -1

    def _on_end(self) -> None:
        self._loop.remove_reader(self._end)
        # Before it is reaped: until then its number is nobody else's.
        self._enclosure.kill(self._pid)
        try:
            self._ended = self._how()
            os.waitid(os.P_PIDFD, self._end, os.WEXITED)
        except ChildProcessError:
            self._ended = Ended(not_run="its end was seen by another")
        os.close(self._end)
        if self._output >= 0:
            self._take_output()
            self._close_output()
        self._gone.set_result(None)

    def _took_us(self) -> int:
        return int((self._loop.time() - self._began_s) * 1e6)

    def _how(self) -> Ended:
        took_us = self._took_us()
        seen = os.waitid(os.P_PIDFD, self._end, os.WEXITED | os.WNOWAIT)
        if seen is None:
            raise ChildProcessError
        if seen.si_code != os.CLD_EXITED:
            return Ended(signal=seen.si_status, took_us=took_us)
        # The shell of the entrance speaks, when it could not become the program.
        if seen.si_status in ENTRY_FAILURES and self._is_still_entering():
            return Ended(not_run=ENTRY_FAILURES[seen.si_status])
        return Ended(exit_status=seen.si_status, took_us=took_us)

    def _is_still_entering(self) -> bool:
        shell = Path(SHELL).name
        if self._enclosure.entrance(self._command) == self._command:
            return False
        if Path(self._command[0]).name == shell:
            return False
        return Path(f"/proc/{self._pid}/comm").read_text().strip() == shell


def _spawn(command: tuple[str, ...], output: int) -> int:
    return os.posix_spawn(
        command[0],
        command,
        ENVIRONMENT,
        file_actions=(
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output, 1),
            (os.POSIX_SPAWN_DUP2, output, 2),
        ),
        setsid=True,
        setsigmask=(),
        setsigdef=_USUAL_SIGNALS,
    )


def _end_of(pid: int) -> int:
    """A descriptor that is readable when the child has ended. Raises OSError; then it is gone."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
