"""Write polkit's rule from the settings, or remove it: the one thing here that runs as root.

Reads the settings with healthd's own eyes (its user and groups), so that root's list and the
daemon's cannot differ. A fault never widens the list: at start it is empty, at reload the old one.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from healthd.daemon.rendered import LIST_FILE, encode
from healthd.repairs.allowlist import render_rule
from healthd.settings.faults import Faults
from healthd.settings.load import load

USER = "healthd"
RULE_FILE = "etc/polkit-1/rules.d/49-healthd.rules"
USAGE = "usage: render-rule [--start | --reload | --remove]\n"


def main(arguments: list[str]) -> int:
    """What healthd.service calls: nothing or --start, --reload, --remove. The exit status."""
    match arguments:
        case [] | ["--start"]:
            return write(Path("/"), os.environ, is_reload=False)
        case ["--reload"]:
            return write(Path("/"), os.environ, is_reload=True)
        case ["--remove"]:
            return remove(Path("/"))
    sys.stderr.write(USAGE)
    return 2


def write(root: Path, environ: Mapping[str, str], *, is_reload: bool) -> int:
    """Put the rule in force below *root*, and its list beside it; 1 when the old one was left.

    Faults go to standard error, which is the journal. At start they make a rule that allows
    nothing, and the daemon, which finds the same faults, starts and tells its owner.
    """
    try:
        # Below another root (a test's) there is no healthd whose eyes would matter.
        with eyes_of(USER) if root == Path("/") else contextlib.nullcontext():
            allow = load(environ, root).allow_restart
    except Faults as faults:
        # The journal is no place for what was found: `healthctl verify` shows it.
        sys.stderr.writelines(f"{fault.public()}\n" for fault in faults.faults)
        if is_reload:
            sys.stderr.write("the settings are faulty: the rule for polkit stays as it was\n")
            if root == Path("/"):
                _let_the_daemon_say_so()
            return 1
        sys.stderr.write("the settings are faulty: nothing may be restarted\n")
        allow = ()
    try:
        _replace(root / RULE_FILE, render_rule(allow))
        # The rule first: the daemon must not believe in a list that polkit does not know.
        _replace(root / LIST_FILE, encode(allow))
    except OSError as err:
        sys.stderr.write(f"cannot write the rule for polkit: {err}\n")
        return 1
    return 0


def _let_the_daemon_say_so() -> None:
    """Have the daemon meet the same faults: systemd's own call to it does not come any more.

    It refuses them too, and shows that to whoever asks how the machine is.
    """
    call = ("org.healthd1", "/org/healthd1", "org.healthd1.Manager", "Reload")
    subprocess.run(
        ["/usr/bin/busctl", "--quiet", "--auto-start=no", "--timeout=10", "call", *call],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        timeout=15,
    )


def remove(root: Path) -> int:
    """Take the rule away; none is as good."""
    try:
        for file in (RULE_FILE, LIST_FILE):
            (root / file).unlink(missing_ok=True)
    except OSError as err:
        sys.stderr.write(f"cannot remove the rule for polkit: {err}\n")
        return 1
    return 0


@contextlib.contextmanager
def eyes_of(user: str) -> Iterator[None]:
    """See files as *user* does; as we do when we are not root or there is no such user."""
    try:
        person = pwd.getpwnam(user)
    except KeyError:
        person = None
    if person is None or os.geteuid() != 0:
        yield
        return
    groups = os.getgroups()
    os.setgroups([g.gr_gid for g in grp.getgrall() if user in g.gr_mem])
    os.setegid(person.pw_gid)
    os.seteuid(person.pw_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def _replace(path: Path, text: str) -> None:
    """Write by renaming, so that polkit never reads half a rule; not when nothing changed."""
    with contextlib.suppress(FileNotFoundError):
        if path.read_text() == text:
            return
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(fd, "w") as file:
            file.write(text)
            # polkitd and the daemon read it as their own users, and our unit's UMask is 0077.
            os.fchmod(fd, 0o644)
            file.flush()
            os.fsync(fd)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
