"""The command line of healthctl: what is understood, and what is said of what is not."""

from __future__ import annotations

import pytest

from healthd.ctl.arguments import VERBS, parse
from healthd.ctl.main import Exit, run
from healthd.ctl.names import all_named, unit_name
from healthd.errors import HealthdError
from tests.unit.ctl_samples import broken_checks


def test_options_stand_anywhere() -> None:
    """As with systemctl, nobody has to remember an order."""
    first = parse(["--json", "incidents", "--limit", "5", "--open"])
    last = parse(["incidents", "--open", "--limit=5", "--json"])
    assert first == last
    assert first.number("--limit", 1) == 5


def test_no_command_is_status() -> None:
    """The question asked most needs no word."""
    assert parse([]).verb == "status"
    assert parse(["-q"]).flags == {"--quiet"}


def test_after_two_dashes_everything_is_a_name() -> None:
    """A unit's name may begin with a dash (`-.mount`)."""
    assert parse(["show", "--", "-.mount", "--json"]).names == ("-.mount", "--json")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["statsu"], "unknown command 'statsu'; did you mean status?"),
        (["xyzzy"], "unknown command 'xyzzy'; see: healthctl --help"),
        (["checks", "--jsno"], "unknown option '--jsno'; did you mean --json?"),
        (["checks", "--limit", "3"], "checks has no option --limit; usage: healthctl checks"),
        (["incidents", "--limit"], "--limit needs a value; see: healthctl --help"),
        (["status", "--json=yes"], "--json takes no value; see: healthctl --help"),
        (["show"], "show needs a name; usage: healthctl show KEY|UNIT|ID…"),
        (["restart", "a", "b"], "restart takes no 'b'; usage: healthctl restart UNIT"),
        (["version", "x"], "version takes no 'x'; usage: healthctl version"),
    ],
)
def test_a_wrong_command_line_says_what_would_be_right(words: list[str], said: str) -> None:
    """Nobody reads a manual for a typing error."""
    with pytest.raises(HealthdError) as raised:
        parse(words)
    assert raised.value.code == "usage"
    assert str(raised.value) == said


@pytest.mark.parametrize("number", ["0", "-1", "many", "4294967296", "٣"])
def test_a_number_out_of_range_is_an_error(number: str) -> None:
    """It travels as 32 bits; what does not fit must not be sent."""
    with pytest.raises(HealthdError):
        parse(["incidents", f"--limit={number}"]).number("--limit", 50)


def test_usage_errors_end_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    """Scripts tell a typing error from an unwell machine by the exit code."""
    assert run(["nonsense\x1b[31m"]) == Exit.USAGE
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("healthctl: unknown command")
    assert "\x1b" not in said.err


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["show", "--help"]])
def test_help_needs_no_daemon(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It is asked for when something is wrong already."""
    assert run(words) == Exit.WELL
    said = capsys.readouterr().out
    assert said.startswith("usage: healthctl")
    assert "--no-pager" in said


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """A command that is not listed does not exist for most people."""
    run(["--help"])
    said = capsys.readouterr().out
    assert all(f"\n  {verb} " in said for verb in VERBS)


def test_no_line_of_help_is_longer_than_80(capsys: pytest.CaptureFixture[str]) -> None:
    """It is read on consoles."""
    for words in ([], *([verb] for verb in VERBS)):
        run([*words, "--help"])
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_unit_is_named_as_with_systemctl() -> None:
    """Without a suffix it is a service."""
    assert unit_name("nginx") == "nginx.service"
    assert unit_name("backup.timer") == "backup.timer"
    assert unit_name("php8.4-fpm") == "php8.4-fpm.service"


def test_a_unit_means_all_of_its_checks_and_a_key_one() -> None:
    """A person knows units, a program knows keys."""
    found = all_named(("nginx", "readiness:nginx.service"), broken_checks())
    assert [row["key"] for row in found] == [
        "liveness:nginx.service",
        "readiness:nginx.service",
        "readiness:nginx.service/admin",
    ]


def test_an_unknown_name_says_the_nearest() -> None:
    """An empty answer would read as health."""
    with pytest.raises(HealthdError, match=r"of 'ngnix'; did you mean nginx\.service\?"):
        all_named(("ngnix",), broken_checks())
