"""Show healthd at work: on this machine where systemd runs, else on a throw-away Debian.

There it watches real services, heals one that is killed, gives up on one that is broken for
good, and says what it did. The story fails when it does not come as it is told here.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from tests.host import cgroups, machine, package
from tests.host.machine import Host

#: Real services of the throw-away machine; on a tree of their own, the tests' machine has none.
SERVICES = ("nginx", "postgresql")
DATABASE = "postgresql@17-main.service"
WEB = "nginx.service"
DATABASE_CONFIGURATION = "/etc/postgresql/17/main/postgresql.conf"

SETTINGS = f"""\
listens:
  web: {{address: "127.0.0.1:80"}}
checks:
  {WEB}:
    - http: {{endpoint: web, path: /}}
      every: 10s
repair:
  allow_restart: [{WEB}, {DATABASE}]
"""

BACKUP_SERVICE = """\
[Unit]
Description=Dump of the database

[Service]
Type=oneshot
User=postgres
ExecStart=/bin/sh -c 'pg_dumpall >/var/tmp/dump'
"""
BACKUP_TIMER = """\
[Unit]
Description=Dump of the database every minute

[Timer]
OnCalendar=minutely

[Install]
WantedBy=timers.target
"""

HEAL_LIMIT_S = 60
ENGAGE_LIMIT_S = 180
#: A unit that ended by itself counts as churned for two minutes before it can settle.
CLOSE_LIMIT_S = 300


class Story:
    """Prints what is done on *host* and what comes of it, with the seconds since the beginning."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._began = time.monotonic()
        # healthd's signals are printed by a thread of their own, between two lines of ours.
        self._print = threading.Lock()

    def say(self, text: str) -> None:
        """One line of the story in the teller's words."""
        self._line(f"\n== {text}")

    def shows(self, *argv: str) -> None:
        """Run *argv* on the machine and print it as a terminal would show it."""
        self._line(f"# {' '.join(argv)}")
        result = self.host.run(*argv, check=False)
        for line in (result.out + result.err).splitlines():
            self._line(f"  {line}")

    @contextlib.contextmanager
    def follows(self, *argv: str) -> Iterator[None]:
        """Print what *argv* says, as it says it, for the length of the `with` block."""
        self._line(f"# {' '.join(argv)} &")
        process = self.host.start(*argv)
        listening = threading.Event()
        reader = threading.Thread(target=self._repeat, args=(process, listening), daemon=True)
        reader.start()
        try:
            # Its first line says that it is there: what comes after is not missed.
            listening.wait(10)
            yield
        finally:
            machine.end(process)
            reader.join(5)

    def _repeat(self, process: subprocess.Popen[str], listening: threading.Event) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._line(f"    | {line.rstrip()}")
            listening.set()

    def _line(self, text: str) -> None:
        with self._print:
            for line in text.splitlines() or [""]:
                stamp = f"{time.monotonic() - self._began:6.1f} " if line else ""
                print(f"{stamp}{line}", flush=True)


def set_up(story: Story) -> None:
    """Install healthd beside the services that the machine runs already, and give it its list."""
    host = story.host
    host.unit("backup.service", BACKUP_SERVICE)
    host.unit("backup.timer", BACKUP_TIMER)
    host.run("systemctl", "start", "backup.timer")
    for unit in (WEB, DATABASE):
        host.wait_until("systemctl", "is-active", "--quiet", unit, limit_s=60)
    story.say("a Debian 13 with a web server, a database and a timer; healthd is installed")
    host.install(*package.packages())
    story.shows("healthctl", "status")
    story.say("its owner lists what may be restarted, and declares a look at the web server")
    story.shows("sh", "-c", f"cat >{machine.SETTINGS} <<'EOF'\n{SETTINGS}EOF")
    host.settings(SETTINGS)
    host.wait_for(lambda: _check(host, f"readiness:{WEB}").get("state") == "green", HEAL_LIMIT_S)
    story.shows("healthctl", "checks")


def kills(story: Story) -> None:
    """The web server is killed, and healthd has systemd start it again."""
    host = story.host
    story.say("the web server is killed; nothing but healthd would start it again")
    story.shows("sh", "-c", f"kill -9 $(systemctl show --value -p MainPID {WEB})")
    host.wait_for(lambda: _incident(host, WEB, phase="settling"), HEAL_LIMIT_S)
    story.say("it serves again; its incident stays open until it has held still for a while")
    story.shows("curl", "--silent", "--show-error", "--head", "http://127.0.0.1/")


def breaks(story: Story) -> None:
    """The database is broken for good: restarts do not help, and the owner is told what would."""
    host = story.host
    story.say("meanwhile the database's configuration is broken, and its process killed")
    story.shows("sh", "-c", f"echo 'not a setting' >>{DATABASE_CONFIGURATION}")
    story.shows("sh", "-c", f"kill -9 $(systemctl show --value -p MainPID {DATABASE})")
    engaged = host.wait_for(lambda: _incident(host, DATABASE, phase="engaged"), ENGAGE_LIMIT_S)
    story.say(f"incident {engaged['id']}: {engaged['attempts']} restarts did not help; it is told")
    story.shows("healthctl", "show", str(engaged["id"]))
    story.shows("healthctl", "status")
    if not engaged["remedy"]:
        raise machine.NotSeen("the database's notice names no remedy")


def mends(story: Story) -> None:
    """The owner mends the configuration and follows the remedy."""
    story.say("its owner mends the configuration and does what the notice says")
    story.shows("sed", "-i", "/not a setting/d", DATABASE_CONFIGURATION)
    story.shows("systemctl", "restart", DATABASE)


def ends(story: Story) -> None:
    """Both incidents close: one healed before anybody was told, one fixed by who was told."""
    for unit, ending in ((WEB, "self_healed"), (DATABASE, "user_fixed")):
        closed = story.host.wait_for(partial(_incident, story.host, unit), CLOSE_LIMIT_S)
        story.say(f"incident {closed['id']} of {unit} is closed: {closed['ending']}")
        story.shows("healthctl", "show", str(closed["id"]))
        story.shows("journalctl", "--no-pager", f"HEALTHD_INCIDENT={closed['id']}")
        if closed["ending"] != ending:
            raise machine.NotSeen(f"the incident of {unit} ended {closed['ending']}")
    story.shows("healthctl", "status")
    story.shows("healthctl", "incidents")


def tell(host: Host) -> None:
    """The whole story on *host*. Raises NotSeen where it does not come as told."""
    story = Story(host)
    set_up(story)
    with story.follows("healthctl", "monitor"):
        kills(story)
        breaks(story)
        mends(story)
        ends(story)


def _check(host: Host, key: str) -> dict[str, Any]:
    """The check *key* as healthctl knows it; empty while it does not."""
    checks: list[dict[str, Any]] = host.healthctl("checks")
    return next((check for check in checks if check["key"] == key), {})


def _incident(host: Host, unit: str, *, phase: str = "closed") -> dict[str, Any] | None:
    """The newest incident of the unit's liveness, once it is in *phase*."""
    incidents: list[dict[str, Any]] = host.healthctl("incidents")
    newest = next((one for one in incidents if one["key"] == f"liveness:{unit}"), None)
    return newest if newest and newest["phase"] == phase else None


def _on_this_machine() -> None:
    """Install the packages here, with apt so that it brings what they depend on."""
    debs = [str(deb) for deb in package.packages()]
    subprocess.run(["apt-get", "install", "--yes", *debs], check=True)
    subprocess.run(["healthctl", "status"], check=False)


def _shell(host: Host) -> None:
    """Leave the machine to a person until the shell ends."""
    set_up(Story(host))
    print("\nA shell on the machine; it is gone when the shell ends. Try: healthctl monitor\n")
    # `script` gives the shell a terminal of the machine's own; ours does not exist inside.
    argv = host.command("script", "--quiet", "--command", "bash --login", "/dev/null")
    subprocess.run(argv, check=False)


def main() -> int:
    """What `make run` and `make shell` do."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--shell", action="store_true", help="leave it running, with a shell")
    shell = options.parse_args().shell
    if cgroups.under_systemd() and not shell:
        _on_this_machine()
        return 0
    with machine.boot(package.machine_tree("story", *SERVICES), "story") as host:
        try:
            _shell(host) if shell else tell(host)
        except (machine.NotSeen, machine.CommandFailed) as err:
            print(f"\nthe story did not come as told: {err}", file=sys.stderr)
            print(host.journal_tail(), file=sys.stderr)
            return 1
    print("\nThe machine is powered off and gone.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
