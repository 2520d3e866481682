"""What healthctl asks of healthd, and what it makes of answers, refusals and silence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from healthd.ctl.main import Exit, run
from tests.bus.healthctl.running import MAY_ASK, NO_AUTO_START, PROGRAM, said, said_json
from tests.bus.healthctl.stand_in import CHECK, NOW, StandIn

CHECK_NAMES = [
    *("key", "aspect", "kind", "unit", "state", "reason", "class", "summary", "since", "streak"),
    *("restarts", "waiting_on", "incident", "remedy", "takes_along", "next_look"),
]
INCIDENT_NAMES = [
    *("id", "key", "unit", "phase", "idle", "reason", "summary", "opened", "closed", "ending"),
    *("attempts", "notices", "tried", "told", "recent", "reopened", "found", "held_under"),
    *("remedy", "gaps"),
]


def test_exit_code_says_whether_something_asked_about_is_red(healthd: StandIn) -> None:
    """Scripts and monitoring ask by exit code alone."""
    assert run(["status", "--quiet"]) == Exit.NOT_WELL
    assert run(["show", "nginx", "--quiet"]) == Exit.WELL
    assert run(["show", "cron", "--quiet"]) == Exit.NOT_WELL
    assert run(["look", "nginx", "--quiet"]) == Exit.WELL
    assert run(["checks", "--quiet"]) == Exit.WELL
    healthd.checks = healthd.checks[1:]
    assert run(["status", "--quiet"]) == Exit.WELL


def test_quiet_prints_nothing(healthd: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code was asked for, nothing else."""
    del healthd
    for words in ("status", "checks", "incidents", "show 42", "look", "restart nginx", "version"):
        for json_too in ([], ["--json"]):
            assert said(capsys, *words.split(), "--quiet", *json_too)[1:] == ("", "")


def test_json_has_the_documented_names(
    healthd: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    """Programs are written against these names; one that is missing breaks them."""
    del healthd
    for row in said_json(capsys, "checks") + said_json(capsys, "look"):
        assert list(row) == CHECK_NAMES
    for row in said_json(capsys, "incidents"):
        assert list(row) == INCIDENT_NAMES
    shown = said_json(capsys, "show", "42", "nginx")
    assert [row["id"] for row in shown["incidents"]] == [41, 42]
    assert list(shown["incidents"][0]) == [*INCIDENT_NAMES, "evidence", "evidence_refused"]
    assert len(shown["checks"]) == 3
    assert said_json(capsys, "version")["healthd"] == "0.1.0"
    status = said_json(capsys, "status")
    assert (status["state"], status["counts"]["red"], status["sequence"]) == ("red", 1, 100)
    assert [row["key"] for row in status["checks"]] == ["liveness:cron.service"]
    assert [row["id"] for row in status["incidents"]] == [42]


def test_json_is_null_where_nothing_applies(
    healthd: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    """“0 = never” and “empty = none” are the bus's; a reader of JSON expects null."""
    del healthd
    open_one, closed = said_json(capsys, "incidents")
    assert (open_one["closed"], open_one["ending"], open_one["idle"]) == (None, None, None)
    assert (closed["ending"], closed["attempts"], closed["tried"]) == ("self_healed", 0, [])
    assert open_one["told"] == [{"at": NOW, "edition": "engaged", "channel": "journal"}]


def test_status_reads_all_in_one_call(healthd: StandIn) -> None:
    """What was read at two instants may contradict itself."""
    run(["status", "--quiet"])
    assert [member for member, _, _ in healthd.calls] == ["GetAll"]


def test_no_call_ever_starts_healthd(healthd: StandIn) -> None:
    """Who stopped healthd meant it; a reader must not undo that."""
    for words in ("status", "checks", "incidents", "show 42 nginx", "look", "restart cron"):
        run([*words.split(), "--quiet"])
    assert {flags & (NO_AUTO_START | MAY_ASK) for _, _, flags in healthd.calls} == {NO_AUTO_START}


@pytest.mark.parametrize(
    "words", ["status", "checks", "incidents", "show 42", "look", "restart nginx", "monitor"]
)
def test_healthd_that_does_not_run_is_said_with_the_way_to_start_it(
    words: str, bus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty page would read as “all is well”."""
    del bus
    assert said(capsys, *words.split()) == (
        Exit.UNREACHABLE,
        "",
        "healthctl: healthd is not running; start it with: systemctl start healthd\n",
    )


def test_version_is_told_without_healthd(bus: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is asked when something does not work."""
    del bus
    code, out, _ = said(capsys, "version")
    assert (code, out.splitlines()[1]) == (Exit.WELL, "healthd is not running")


@pytest.mark.parametrize("address", ["unix:path=/nowhere/bus", "tcp:host=localhost", "nonsense"])
def test_a_bus_that_cannot_be_reached_issaid(
    address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a container there is none."""
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
    code, out, err = said(capsys, "status")
    assert (code, out) == (Exit.UNREACHABLE, "")
    assert err.startswith("healthctl: cannot reach the system bus: ")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("org.freedesktop.DBus.Error.AccessDenied", Exit.REFUSED),
        ("org.healthd1.Error.NotAuthorized", Exit.REFUSED),
        ("org.healthd1.Error.NotAllowlisted", Exit.REFUSED),
        ("org.healthd1.Error.NeverRestart", Exit.REFUSED),
        ("org.healthd1.Error.RateLimited", Exit.NOT_WELL),
        ("org.healthd1.Error.SwitchedOff", Exit.NOT_WELL),
        ("org.freedesktop.DBus.Error.NoReply", Exit.UNREACHABLE),
        ("org.example.FromALaterHealthd", Exit.NOT_WELL),
    ],
)
def test_a_refusal_is_passed_on_with_its_words(
    error: str, code: Exit, healthd: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    """The daemon's message says what to do; the exit code says what kind it is."""
    healthd.refuse["RestartUnit"] = (error, "no\x1b[2J; put it on the list")
    assert said(capsys, "restart", "cron") == (
        code,
        "",
        "healthctl: no\\x1b[2J; put it on the list\n",
    )


def test_units_are_looked_at_by_their_keys(healthd: StandIn) -> None:
    """An empty list means *all*; a name that means nothing must never become one."""
    assert run(["look", "nginx", "liveness:cron.service", "-q"]) == Exit.NOT_WELL
    assert run(["look", "no-such-unit", "-q"]) == Exit.USAGE
    assert run(["look", "-q"]) == Exit.NOT_WELL
    assert [body for member, body, _ in healthd.calls if member == "Look"] == [
        (["liveness:nginx.service", "readiness:nginx.service", "liveness:cron.service"],),
        ([],),
    ]


def test_a_restart_says_where_it_is_recorded(
    healthd: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    """Queued is not healed: what became of it is read in the incident."""
    assert said(capsys, "restart", "cron")[:2] == (
        Exit.WELL,
        "cron.service: restart asked for, recorded in incident 42\nsee: healthctl show 42\n",
    )
    healthd.open_incidents = []
    assert said_json(capsys, "restart", "cron") == {"unit": "cron.service", "incident": None}


def test_limit_and_open_reach_the_daemon(healthd: StandIn) -> None:
    """A year of history must not be read for the last five."""
    run(["incidents", "--open", "--limit", "5", "-q"])
    assert healthd.calls[-1][1] == ({"open_only": ("b", True)}, 5)


def test_an_incident_is_found_by_its_number(
    healthd: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    """It alone is asked for, so its age does not matter."""
    code, out, _ = said(capsys, "show", "41")
    assert code == Exit.WELL
    assert out.startswith("○ incident 41: liveness:nginx.service - self_healed\n")
    assert [body for member, body, _ in healthd.calls if member == "ListIncidents"] == [
        ({"id": ("t", 41)}, 1)
    ]
    for number in ("40", "43", "0", "99999999999999999999999"):
        assert said(capsys, "show", number)[0] == Exit.USAGE


def test_evidence_that_may_not_be_read_leaves_the_rest_readable(
    healthd: StandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    """Logs are private; what happened is not. And `show` never asks for a password."""
    error = "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"
    healthd.refuse["GetEvidence"] = (error, "password needed")
    code, out, _ = said(capsys, "show", "42")
    assert code == Exit.NOT_WELL
    assert "  Evidence: not permitted; members of adm or systemd-journal may, or: sudo" in out
    assert said_json(capsys, "show", "42")["incidents"][0]["evidence_refused"] is not None


@pytest.mark.parametrize(
    ("member", "answer", "words"),
    [
        ("ListChecks", ("s", ("surprise",)), "show nginx"),
        ("GetSnapshot", (f"a{CHECK}", ([],)), "checks"),
        ("GetAll", ("a{sv}", ({"Snapshot": ("as", ["surprise"])},)), "status"),
    ],
)
def test_an_answer_of_another_shape_is_an_error_not_a_traceback(
    member: str,
    answer: Any,
    words: str,
    healthd: StandIn,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A later healthd may run while this healthctl is still installed."""
    healthd.answers[member] = answer
    code, out, err = said(capsys, *words.split())
    assert (code, out) == (Exit.NOT_WELL, "")
    assert "is not what this healthctl understands" in err


def test_fast_commands_load_nothing_heavy(healthd: StandIn) -> None:
    """Start to output is what people wait for; one careless import doubles it."""
    del healthd
    heavy = ("argparse", "asyncio", "dbus_next", "dbus_fast", "msgspec", "json", "subprocess")
    script = (
        "import sys\nbefore = set(sys.modules)\n"
        "from healthd.ctl.main import run\nrun([sys.argv[1], '-q'])\n"
        f"print(sorted(set({heavy!r}) & (set(sys.modules) - before)))"
    )
    for verb in ("status", "checks", "incidents"):
        ran = subprocess.run(
            [sys.executable, "-c", script, verb], capture_output=True, text=True, check=True
        )
        assert ran.stdout == "[]\n"


def test_a_reader_that_leaves_early_is_no_error(healthd: StandIn) -> None:
    """`healthctl checks | head -1` must end quietly."""
    healthd.checks *= 2000
    with subprocess.Popen([*PROGRAM, "checks"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as (
        process
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == Exit.WELL


def test_verify_needs_no_daemon(
    tmp_path: Path, bus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Settings are checked before they are put in force, on any machine."""
    del bus
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("repair: {allow_restart: [nginx.service]}\n")
    bad.write_text("chekcs: {}\n")
    assert said(capsys, "verify", str(good))[:2] == (Exit.WELL, "These settings hold.\n")
    code, out, _ = said(capsys, "verify", str(bad))
    assert code == Exit.NOT_WELL
    assert out.startswith(f"fault: {bad}:1:1: ")
    report = said_json(capsys, "verify", str(bad))
    assert (report["well"], report["faults"][0]["line"]) == (False, 1)
