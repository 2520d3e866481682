"""Let a person on a terminal type the password that polkit asks for, as systemctl does.

It speaks for this process only, and leaves the question to the desktop's own agent where one runs.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from healthd.errors import HealthdError

#: How long the agent may take to be ready.
READY_S = 10.0


def can_ask() -> bool:
    """Whether a person sits at the other end."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def asking(flags: frozenset[str]) -> Callable[[], AbstractContextManager[None]] | None:
    """How the person may be asked for a password; None: nobody is there, or wants to be."""
    return running if "--no-ask-password" not in flags and can_ask() else None


@contextmanager
def running() -> Iterator[None]:
    """Have pkttyagent registered with polkit inside the `with` block.

    Raises HealthdError "needs-password" where it is not installed.
    """
    read, write = os.pipe()
    os.set_inheritable(write, True)
    # Without --process the agent answers for its parent: this process.
    argv = ["pkttyagent", "--notify-fd", str(write), "--fallback"]
    try:
        pid = os.posix_spawnp(argv[0], argv, os.environ)
    except OSError as err:
        os.close(read)
        raise HealthdError(
            "needs-password",
            "a password is needed and pkttyagent, which would ask for it, is not installed",
            "run it as root",
        ) from err
    finally:
        os.close(write)
    try:
        # The agent closes its end when it is registered, or when it dies.
        select.select([read], [], [], READY_S)
        yield
    finally:
        os.close(read)
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
