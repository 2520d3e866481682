"""Show long output page by page, in the pager that systemd's tools would take.

Only ever for a terminal. Source: systemctl(1), "Environment".
"""

from __future__ import annotations

import os
import signal

#: Not when it fits, colours, no folding, ^C quits, left on the screen, tell the place.
_LESS = "FRSXMK"


def wanted() -> bool:
    """Whether the environment wants a pager: `SYSTEMD_PAGER=` and `=cat` say no."""
    return bool(_candidates())


def page(text: str) -> bool:
    """Show *text* and wait until the person has read it; False when no pager could be started."""
    read, write = os.pipe()
    pid = _start(read)
    os.close(read)
    if pid is None:
        os.close(write)
        return False
    # ^C is the pager's: it ends by it (K), and takes us with it through the pipe.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        # The reader may leave before the end.
        with open(write, "w", encoding="utf-8", errors="backslashreplace") as pipe:
            pipe.write(text)
    except BrokenPipeError:
        pass
    finally:
        os.waitpid(pid, 0)
        signal.signal(signal.SIGINT, before)
    return True


def _start(stdin: int) -> int | None:
    environment = _environment()
    for argv in _candidates():
        try:
            return os.posix_spawnp(
                argv[0], argv, environment, file_actions=[(os.POSIX_SPAWN_DUP2, stdin, 0)]
            )
        except OSError:
            continue
    return None


def _candidates() -> list[list[str]]:
    chosen = os.environ.get("SYSTEMD_PAGER", os.environ.get("PAGER"))
    if chosen is None:
        return [["less"], ["more"]]
    argv = chosen.split()
    if not argv or argv == ["cat"]:
        return []
    return [argv, ["less"], ["more"]]


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    environment["LESS"] = os.environ.get("SYSTEMD_LESS", _LESS)
    environment["LESSCHARSET"] = os.environ.get("SYSTEMD_LESSCHARSET", "utf-8")
    # As systemd does: a pager that runs as root for somebody else must not offer a shell.
    if os.environ.get("SYSTEMD_PAGERSECURE", "1") not in ("0", "no", "false", "off"):
        environment["LESSSECURE"] = "1"
    return environment
