"""`healthctl hold`: the command runs under the hold, its end is ours, and nothing else keeps it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from pathlib import Path

import pytest

from healthd.ctl.hold import NOT_EXECUTABLE, NOT_FOUND
from healthd.ctl.main import Exit
from tests.bus.healthctl.running import MAY_ASK, PROGRAM, said, said_json
from tests.bus.healthctl.stand_in import NOW, StandIn

LIMIT_S = 30.0


def hold(*words: str) -> subprocess.CompletedProcess[str]:
    """Run it as a process of its own, to its end."""
    return subprocess.run(
        [*PROGRAM, "hold", *words], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def begun(*words: str) -> subprocess.Popen[str]:
    """Start it with a command that says a line, and wait for that line."""
    pipe = subprocess.PIPE
    holder = subprocess.Popen(
        [*PROGRAM, "hold", *words], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "here\n"
    return holder


def is_held(healthd: StandIn) -> bool:
    """Whether somebody still has the other end of the last hold."""
    return not select.select([healthd.held[-1]], [], [], 0)[0]


def ends(healthd: StandIn) -> bool:
    """Whether the last hold ends within the limit."""
    return bool(select.select([healthd.held[-1]], [], [], LIMIT_S)[0])


def test_the_command_runs_under_the_hold_and_its_status_is_ours(healthd: StandIn) -> None:
    """A script puts it before what it runs anyway, and nothing else changes for it."""
    done = hold("nginx", "db.service", "nginx.service", "--", "sh", "-c", "echo out; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "out\n", "")
    ((_, (units, why, for_us), flags),) = [call for call in healthd.calls if call[0] == "Hold"]
    # Not the command's arguments: everybody can read what a hold is for.
    assert (units, why, for_us) == (["nginx.service", "db.service"], "sh", 0)
    assert flags & MAY_ASK == 0
    assert ends(healthd)


def test_options_say_what_for_and_how_long(healthd: StandIn) -> None:
    """After `--` nothing is an option of ours."""
    done = hold("nginx", "--why", "new kernel", "--for=1h 30min", "--", "echo", "--for", "--json")
    assert (done.returncode, done.stdout) == (0, "--for --json\n")
    assert healthd.calls[-1][1] == (["nginx.service"], "new kernel", 5_400_000_000)


def test_what_the_command_leaves_behind_keeps_no_hold(healthd: StandIn) -> None:
    """A daemon that was started under a hold would hold its unit until the ceiling."""
    holder = begun("nginx", "--", "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo here; echo $!")
    assert holder.stdout is not None
    left = int(holder.stdout.readline())
    assert holder.wait(LIMIT_S) == 0
    assert ends(healthd)
    os.kill(left, signal.SIGKILL)


def test_killed_it_holds_no_longer(healthd: StandIn) -> None:
    """The kernel closes what it had, and healthd needs no word from it."""
    holder = begun("nginx", "--", "sh", "-c", "echo here; exec sleep 60")
    assert is_held(healthd)
    (child,) = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
    holder.kill()
    assert ends(healthd)
    os.kill(int(child), signal.SIGKILL)
    holder.wait(LIMIT_S)


def test_a_signal_reaches_the_command_and_comes_back_as_its_status(healthd: StandIn) -> None:
    """`systemctl stop` of a script's unit must not leave the command behind; 143 is SIGTERM."""
    del healthd
    said_so = "trap 'exit 9' TERM; echo here; while :; do sleep 0.05; done"
    holder = begun("nginx", "--", "sh", "-c", said_so)
    holder.terminate()
    assert holder.wait(LIMIT_S) == 9
    holder = begun("nginx", "--", "sh", "-c", "echo here; exec sleep 60")
    holder.terminate()
    assert holder.wait(LIMIT_S) == 128 + signal.SIGTERM


def test_an_interrupt_is_the_command_s_to_heed(healthd: StandIn) -> None:
    """On a terminal it gets one of its own; a hold that ended first would be an alarm."""
    holder = begun("nginx", "--", "sh", "-c", "echo here; read line; exit 5")
    holder.send_signal(signal.SIGINT)
    assert is_held(healthd)
    # Only now has the command what it waits for.
    holder.communicate("go on\n", timeout=LIMIT_S)
    assert holder.returncode == 5


def test_the_command_s_own_signals_are_as_they_were(healthd: StandIn) -> None:
    """Python ignores SIGPIPE, and so would `yes | head` for ever."""
    del healthd
    done = hold("nginx", "--", "sh", "-c", "grep -E '^Sig(Ign|Blk)' /proc/self/status")
    # Without the C library's own two, 32 and 33.
    sets = [int(line.split()[1], 16) & 0x7FFF_FFFF for line in done.stdout.splitlines()]
    assert sets == [0, 0]


@pytest.mark.parametrize(
    ("command", "code"), [("no-such-program", NOT_FOUND), ("/etc/passwd", NOT_EXECUTABLE)]
)
def test_a_command_that_cannot_be_run_ends_as_in_a_shell(
    healthd: StandIn, command: str, code: int
) -> None:
    """And the hold ends with it."""
    done = hold("nginx", "--", command)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"healthctl: {command}: ")
    assert ends(healthd)


REFUSALS = [
    ("org.healthd1.Error.NotAuthorized", Exit.REFUSED),
    ("org.healthd1.Error.NoSuchUnit", Exit.USAGE),
    ("org.freedesktop.DBus.Error.InvalidArgs", Exit.USAGE),
    ("org.freedesktop.DBus.Error.LimitsExceeded", Exit.NOT_WELL),
]


@pytest.mark.parametrize(("name", "code"), REFUSALS)
def test_refused_nothing_is_run(healthd: StandIn, name: str, code: Exit) -> None:
    """Whoever asked for a hold counts on it."""
    healthd.refuse["Hold"] = (name, "no hold for you")
    done = hold("nginx", "--", "echo", "run")
    assert (done.returncode, done.stdout, done.stderr) == (
        code,
        "",
        "healthctl: no hold for you\n",
    )


def test_without_healthd_nothing_is_run(bus: str) -> None:
    """It says so, and a script that wants to go on all the same can."""
    del bus
    done = hold("nginx", "--", "echo", "run")
    assert (done.returncode, done.stdout) == (Exit.UNREACHABLE, "")
    assert done.stderr.startswith("healthctl: healthd is not running; ")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nginx"], "hold needs a command after --; usage: healthctl hold UNIT…"),
        (["nginx", "--"], "hold needs a command after --; usage: healthctl hold UNIT…"),
        (["--", "ls"], "hold needs a name; usage: healthctl hold UNIT…"),
        (["nginx", "--for", "5", "--", "ls"], "--for is a bare number: write 5s, 5min or 5h"),
        (["nginx", "--for", "0s", "--", "ls"], "--for takes a time above 0; write it as"),
    ],
)
def test_a_wrong_line_shows_the_right_one(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody is asked for a hold by a line that cannot be followed."""
    code, out, err = said(capsys, "hold", *words)
    assert (code, out) == (Exit.USAGE, "")
    assert err.startswith(f"healthctl: {complaint}")


def test_status_shows_what_is_held(healthd: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    """Grey without a reason that a person can go and ask about would be a riddle."""
    more = {"uid": ("u", 0), "since": ("t", NOW)}
    healthd.holds = [(7, ["nginx.service", "db.service"], "pg\x1b[2J", 812, NOW, more)]
    shown = said(capsys, "status")[1]
    line = next(line for line in shown.splitlines() if "Held" in line)
    assert line.strip().startswith(
        "Held: db.service, nginx.service by pid 812: pg\\x1b[2J; until Mon 2026-11-30"
    )
    assert said_json(capsys, "status")["holds"] == [
        {
            "id": 7,
            "units": ["nginx.service", "db.service"],
            "why": "pg\x1b[2J",
            "pid": 812,
            "uid": 0,
            "since": NOW,
            "until": NOW,
        }
    ]
