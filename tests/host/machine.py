"""Boot a throw-away Debian and talk to it: what a person with a root shell on it could do.

Works as root where PID 1 is systemd and where it is not, with cgroup v2 alone or beside v1.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from tests.host import cgroups
from tests.host.trees import in_use

Seen = TypeVar("Seen")

BOOT_LIMIT_S = 60.0
POWEROFF_LIMIT_S = 30.0
#: What `systemctl is-system-running` says once a boot has nothing left to start.
BOOTED = ("running\n", "degraded\n")
SETTINGS = "/etc/healthd/healthd.yaml"
#: How long between two looks while waiting; the one place in these tests that polls.
POLL_S = 0.05

ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "TERM": "xterm",
    "DEBIAN_FRONTEND": "noninteractive",
}


#: Tells the machines of one process apart.
_numbers = itertools.count(1)


class Result(msgspec.Struct, frozen=True):
    """How a command inside ended."""

    rc: int
    out: str
    err: str


class CommandFailed(AssertionError):
    """A command inside did not end with 0, or not in time."""


class NotSeen(AssertionError):
    """What was waited for did not come within the limit."""


def wait_for(seen: Callable[[], Seen | None], limit_s: float = 30) -> Seen:
    """Call *seen* until it returns something true, and return that. Raises NotSeen."""
    ends = time.monotonic() + limit_s
    while not (value := seen()):
        if time.monotonic() > ends:
            raise NotSeen(f"not within {limit_s} s: {_words(seen)}; last seen: {value!r}")
        time.sleep(POLL_S)
    return value


def end(process: subprocess.Popen[str]) -> None:
    """End what `Host.start` started, inside too, and wait until it is gone."""
    # The command inside is a grandchild of which only its process group is known here.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    process.wait()


def _words(function: Callable[[], object]) -> str:
    code = function.__code__ if hasattr(function, "__code__") else None
    return (
        f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})" if code else repr(function)
    )


class Host:
    """A running machine; `boot` makes one."""

    def __init__(self, name: str, leader_pid: int) -> None:
        self.name = name
        self.leader_pid = leader_pid
        # Commands start in the machine's own init.scope: logind and systemd refuse a caller
        # whose cgroup lies outside of what they see.
        self._entry = cgroups.of(leader_pid) / "cgroup.procs"
        self._units: list[str] = []
        self._has_settings = False
        self.up_at = int(time.time())

    def command(self, *argv: str, user: str | None = None) -> list[str]:
        """The argument list that, run outside, runs *argv* inside as *user* (default root)."""
        environment = [f"{key}={value}" for key, value in ENVIRONMENT.items()]
        become = ["runuser", "-u", user, "--"] if user else []
        return [
            *("sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self._entry)),
            *("nsenter", "--target", str(self.leader_pid), "--all", "--"),
            *("env", "-i", *environment, *become, *argv),
        ]

    def start(self, *argv: str, user: str | None = None) -> subprocess.Popen[str]:
        """Start *argv* inside and return at once; all its output comes on its `stdout`.

        `end` ends it; to terminate the process itself leaves the command inside running.
        """
        return subprocess.Popen(
            self.command(*argv, user=user),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def run(
        self,
        *argv: str,
        check: bool = True,
        user: str | None = None,
        input: str | bytes = b"",
        timeout_s: float = 30,
    ) -> Result:
        """Run *argv* inside and wait for its end.

        Raises CommandFailed when it takes longer than *timeout_s* or, with *check*, when it
        does not end with 0.
        """
        process = subprocess.Popen(
            self.command(*argv, user=user),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        data = input.encode() if isinstance(input, str) else input
        try:
            out, err = process.communicate(data, timeout=timeout_s)
        except subprocess.TimeoutExpired as expired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise CommandFailed(f"{shlex.join(argv)}: not ended after {timeout_s} s") from expired
        result = Result(
            process.returncode, out.decode(errors="replace"), err.decode(errors="replace")
        )
        if check and result.rc != 0:
            raise CommandFailed(
                f"{shlex.join(argv)} ended with {result.rc}\n{result.out}{result.err}"
            )
        return result

    def put(self, local: Path, path: str) -> None:
        """Copy the file *local* to *path* inside."""
        self.run("sh", "-c", 'cat >"$0"', path, input=local.read_bytes(), timeout_s=60)

    def write(self, path: str, text: str, *, mode: int = 0o644, owner: str = "root") -> None:
        """Make the file *path*, and its folder; it appears whole, with its mode and owner."""
        script = (
            'mkdir -p "${1%/*}" && cat >"$1.new" && chown "$2" "$1.new" && chmod "$3" "$1.new"'
            ' && mv -f "$1.new" "$1"'
        )
        self.run("sh", "-c", script, "write", path, owner, f"{mode:o}", input=text)

    def read(self, path: str) -> str:
        """What the file *path* holds."""
        return self.run("cat", path).out

    def unit(self, name: str, text: str) -> None:
        """Write the unit file *name* and have systemd read it. Starts nothing."""
        self._units.append(name)
        self.write(f"/etc/systemd/system/{name}", text)
        self.run("systemctl", "daemon-reload")

    def remove_units(self, *names: str) -> None:
        """Stop the units, a template's instances too, and take their files away."""
        loaded = [name.replace("@.", "@*.") for name in names]
        self.run("systemctl", "stop", *loaded, check=False, timeout_s=120)
        files = [f"/etc/systemd/system/{name}" for name in names]
        self.run("rm", "-rf", *files, *(f"{file}.d" for file in files))
        self.run("systemctl", "daemon-reload")
        self.run("systemctl", "reset-failed", *loaded, check=False)

    def settings(self, yaml: str) -> None:
        """Make *yaml* healthd's settings and have it read them. Raises CommandFailed if refused."""
        self._has_settings = True
        self.write(SETTINGS, yaml, mode=0o640, owner="root:healthd")
        self.run("systemctl", "reload", "healthd.service")

    def tidy(self) -> None:
        """Take away the units and settings that were written here, and have healthd run."""
        if self._units:
            self.remove_units(*self._units)
            self._units.clear()
        if self._has_settings:
            self.run("rm", "-f", SETTINGS)
            self.run("systemctl", "reload-or-restart", "healthd.service", timeout_s=120)
            self._has_settings = False
        self.run("systemctl", "start", "healthd.service", timeout_s=120)

    def boot_anew(self) -> None:
        """End all services and start what a boot starts; what was written stays, as on a disk."""
        count = ("systemctl", "show", "--value", "--property=SoftRebootsCount")
        before = int(self.run(*count).out)
        self.run("systemctl", "soft-reboot", check=False)
        self.wait_for(lambda: self.run(*count, check=False).out == f"{before + 1}\n", 120)
        state = ("systemctl", "is-system-running")
        self.wait_for(lambda: self.run(*state, check=False).out in BOOTED, 120)

    def unit_property(self, unit: str, name: str) -> str:
        """One property of *unit*, in the words of `systemctl show`."""
        return self.run("systemctl", "show", "--value", "-p", name, unit).out.strip()

    def wait_for(self, seen: Callable[[], Seen | None], limit_s: float = 30) -> Seen:
        """Wait until *seen* returns something true and return that. Raises NotSeen."""
        return wait_for(seen, limit_s)

    def wait_until(self, *argv: str, limit_s: float = 30) -> None:
        """Wait until *argv*, run inside, ends with 0. Raises NotSeen with what it said last."""
        last = Result(1, "", "")
        ends = time.monotonic() + limit_s
        while time.monotonic() < ends:
            try:
                last = self.run(*argv, check=False)
            except CommandFailed as slow:
                # A machine on its way up may take a call and not answer it.
                last = Result(1, "", str(slow))
            if last.rc == 0:
                return
            time.sleep(POLL_S)
        raise NotSeen(f"not within {limit_s} s: {shlex.join(argv)}\n{last.out}{last.err}")

    def journal(self, *matches: str) -> list[dict[str, str]]:
        """The journal's entries that match, oldest first. A field that is no text is left out."""
        self.run("journalctl", "--sync")
        lines = self.run(
            "journalctl", "--output=json", "--all", "--no-pager", *matches, check=False
        )
        entries = [json.loads(line) for line in lines.out.splitlines() if line.startswith("{")]
        return [
            {field: value for field, value in entry.items() if isinstance(value, str)}
            for entry in entries
        ]

    def journal_tail(self, lines: int = 80) -> str:
        """What healthd, systemd and polkit wrote last since the boot was done: for a person."""
        shown = self.run(
            *("journalctl", "--no-pager", "--output=short-precise", f"--since=@{self.up_at}"),
            *(f"--lines={lines}", "--unit=healthd.service", "--unit=init.scope"),
            "--unit=polkit.service",
            check=False,
        )
        return shown.out + shown.err

    def healthctl(self, *args: str, user: str | None = None, timeout_s: float = 30) -> Any:
        """What `healthctl … --json` says, decoded. Its exit code says how the machine is."""
        result = self.run("healthctl", *args, "--json", check=False, user=user, timeout_s=timeout_s)
        try:
            return json.loads(result.out)
        except ValueError as err:
            raise CommandFailed(
                f"healthctl {shlex.join(args)} ended with {result.rc}\n{result.out}{result.err}"
            ) from err

    def install(self, *packages: Path) -> Result:
        """Install .deb files whose dependencies the machine already has, as a person would."""
        for package in packages:
            self.put(package, f"/root/{package.name}")
        inside = (f"/root/{package.name}" for package in packages)
        return self.run("dpkg", "--install", *inside, timeout_s=180)


@contextlib.contextmanager
def boot(tree: Path, purpose: str, *nspawn_arguments: str) -> Iterator[Host]:
    """A pristine machine booted from *tree*, up for the length of the `with` block.

    What it writes lies in memory and is gone with it; its only network is its own loopback.
    """
    name = f"healthd-{purpose}-{os.getpid()}-{next(_numbers)}"
    with in_use(tree), tempfile.TemporaryFile() as console:
        nspawn = _start_nspawn(name, tree, nspawn_arguments, console)
        try:
            host = _wait_for_boot(name, nspawn, console)
            yield host
            # Straight to PID 1: `systemctl poweroff` asks logind first, which answers after 25 s
            # where the bus was restarted.
            host.run("systemctl", "start", "--no-block", "poweroff.target", check=False)
            with contextlib.suppress(subprocess.TimeoutExpired):
                nspawn.wait(POWEROFF_LIMIT_S)
        finally:
            nspawn.kill()
            nspawn.wait()
            if not cgroups.under_systemd():
                wait_for(lambda: cgroups.remove(name), 5)


def _start_nspawn(
    name: str, tree: Path, arguments: tuple[str, ...], console: IO[bytes]
) -> subprocess.Popen[bytes]:
    if cgroups.under_systemd():
        scope = ("systemd-run", "--scope", "--quiet", "--collect", "-p", "Delegate=yes")
        enter = [*scope, f"--unit={name}", "--"]
    else:
        places = [str(place) for place in cgroups.make(name)]
        moves = " && ".join(f"echo $$ >{shlex.quote(place)}" for place in places)
        enter = ["sh", "-c", f'{moves} && exec "$@"', "enter"]
    return subprocess.Popen(
        [
            *enter,
            # Whatever becomes of the tests, no machine stays behind: with us dies unshare, with
            # it the first process of the namespace, and with that all that is in it. Killing
            # systemd-nspawn alone leaves the machine running.
            *("setpriv", "--pdeathsig", "KILL", "--"),
            *("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--"),
            *("sh", "-c", '"$@"; exit $?', "first"),
            *("systemd-nspawn", "--quiet", "--register=no", "--keep-unit"),
            *(f"--directory={tree}", "--volatile=overlay", "--private-network"),
            *(f"--machine={name}", "--boot", "--console=pipe", *arguments),
        ],
        stdin=subprocess.DEVNULL,
        stdout=console,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={"PATH": os.environ["PATH"], "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"},
    )


def _wait_for_boot(name: str, nspawn: subprocess.Popen[bytes], console: IO[bytes]) -> Host:
    """The machine, once its systemd has nothing left to start. Raises NotSeen with its console."""

    def up() -> Host | None:
        if nspawn.poll() is not None:
            raise NotSeen(f"systemd-nspawn ended with {nspawn.returncode}")
        if (leader := _leader(nspawn.pid)) is None:
            return None
        host = Host(name, leader)
        return (
            host if host.run("systemctl", "is-system-running", check=False).out in BOOTED else None
        )

    try:
        return wait_for(up, BOOT_LIMIT_S)
    except (NotSeen, OSError) as err:
        console.seek(0)
        raise NotSeen(f"{name} did not come up: {err}\n{console.read().decode()}") from err


def _leader(nspawn_pid: int) -> int | None:
    """The machine's PID 1: below *nspawn_pid*, number 1 of a namespace inside of unshare's."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        children = Path(f"/proc/{nspawn_pid}/task/{nspawn_pid}/children").read_text().split()
        for child in map(int, children):
            status = Path(f"/proc/{child}/status").read_text()
            if re.search(r"^NSpid:\t\d+(\t\d+)*\t\d+\t1$", status, re.MULTILINE):
                return child
            if (found := _leader(child)) is not None:
                return found
    return None
