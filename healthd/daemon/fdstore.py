"""Keep descriptors in systemd's store, where they outlive this process, and get them back.

systemd itself drops one whose other end is closed. Without a notify socket nothing is kept.
Source: sd_pid_notify_with_fds(3), FDSTORE=1; sd_listen_fds_with_names(3).
"""

from __future__ import annotations

import logging
import os
import socket
from contextlib import suppress

log = logging.getLogger(__name__)

_FIRST = 3


def taken_back() -> dict[str, int]:
    """The descriptors that systemd passed to this process, by name; closed on exec.

    To be called once, early. The environment is cleaned: no child shall take them for its own.
    """
    pid, count = os.environ.pop("LISTEN_PID", ""), os.environ.pop("LISTEN_FDS", "")
    names = os.environ.pop("LISTEN_FDNAMES", "").split(":")
    if pid != str(os.getpid()) or not count.isdecimal():
        return {}
    found: dict[str, int] = {}
    for index in range(int(count)):
        number = _FIRST + index
        os.set_inheritable(number, False)
        name = names[index] if index < len(names) else ""
        if name in found:
            os.close(number)
        else:
            found[name] = number
    return found


def keep(name: str, number: int) -> None:
    """Have systemd keep a duplicate of the descriptor *number* under *name*."""
    _tell(f"FDSTORE=1\nFDNAME={name}", (number,))


def forget(name: str) -> None:
    """Have systemd close what it keeps under *name*; nothing happens where there is none."""
    _tell(f"FDSTOREREMOVE=1\nFDNAME={name}", ())


def _tell(words: str, numbers: tuple[int, ...]) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.connect(address)
        socket.send_fds(notify, [words.encode()], list(numbers))
        return
    log.warning("systemd's descriptor store could not be reached")
