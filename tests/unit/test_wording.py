"""What a person reads: one plain sentence each, the same everywhere."""

from __future__ import annotations

import pytest

from healthd.judge.wording import duration, end_in_words
from healthd.model import ActiveState, UnitFacts, UnitName

NGINX = UnitName("nginx.service")


@pytest.mark.parametrize(
    ("us", "words"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (1, "1 ms"),
        (400_000, "400 ms"),
        (12_900_000, "12 s"),
        (90_000_000, "1 min 30 s"),
        (120_000_000, "2 min"),
        (7_200_000_000, "2 h"),
        (9_000_000_000, "2 h 30 min"),
        (86_400_000_000, "1 day"),
        (273_600_000_000, "3 days 4 h"),
    ],
)
def test_a_duration_has_at_most_two_units(us: int, words: str) -> None:
    """A person reads it at a glance; more digits say nothing more."""
    assert duration(us) == words


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (UnitFacts(NGINX, result="signal", exit_code=2, exit_status=9), "killed by SIGKILL"),
        (
            UnitFacts(NGINX, result="core-dump", exit_code=3, exit_status=11),
            "killed by SIGSEGV, core dumped",
        ),
        (UnitFacts(NGINX, result="signal", exit_code=2, exit_status=63), "killed by signal 63"),
        (UnitFacts(NGINX, result="success", exit_code=2, exit_status=15), "ended by SIGTERM"),
        (UnitFacts(NGINX, result="success", exit_code=1, exit_status=0), "exit code 0"),
        (UnitFacts(NGINX, result="exit-code", exit_code=1, exit_status=3), "exit code 3"),
        (
            UnitFacts(NGINX, result="exit-code", exit_code=1, exit_status=203),
            "exit code 203 (could not execute the program)",
        ),
        (
            UnitFacts(NGINX, result="exit-code", exit_code=1, exit_status=137),
            "exit code 137 (128 + SIGKILL)",
        ),
        (UnitFacts(NGINX, result="exit-code"), "a start command failed"),
        (UnitFacts(NGINX, result="oom-kill", exit_code=2, exit_status=9), "out of memory"),
        (UnitFacts(NGINX, result="watchdog", exit_code=2, exit_status=6), "watchdog timeout"),
        (UnitFacts(NGINX, result="protocol"), "ended before it was ready"),
        (
            UnitFacts(NGINX, result="timeout", active_enter_us=5, inactive_exit_us=9),
            "start timed out",
        ),
        (UnitFacts(NGINX, result="timeout", active_enter_us=9, inactive_exit_us=5), "timed out"),
        (UnitFacts(NGINX, result="start-limit-hit"), "systemd gave up after 5 starts in 10 s"),
        (UnitFacts(NGINX), "not running"),
        (UnitFacts(NGINX, result="quota"), "systemd says “quota”"),
    ],
)
def test_an_end_is_said_in_words(facts: UnitFacts, words: str) -> None:
    """ "Result=signal Status=9" is for programs."""
    assert end_in_words(facts) == words


def test_a_start_limit_that_257_does_not_name_is_told() -> None:
    """Recorded on 257 (r1-q1-always): Result stays exit-code, and the limit is why nothing runs."""
    facts = UnitFacts(
        NGINX,
        active_state=ActiveState.FAILED,
        sub_state="failed",
        restart="always",
        result="exit-code",
        exit_code=1,
        exit_status=1,
        n_restarts=4,
        main_start_us=4157816240,
        main_exit_us=4158053205,
        inactive_exit_us=4158054300,
    )
    assert end_in_words(facts) == "exit code 1; systemd gave up after 5 starts in 10 s"


def test_a_failure_that_systemd_does_not_restart_is_not_called_a_start_limit() -> None:
    """RestartPreventExitStatus= also leaves a restarted unit failed; nothing gave up there."""
    facts = UnitFacts(
        NGINX,
        active_state=ActiveState.FAILED,
        sub_state="failed",
        restart="on-failure",
        result="exit-code",
        exit_code=1,
        exit_status=42,
        n_restarts=9,
        main_start_us=200,
        main_exit_us=300,
        inactive_exit_us=100,
    )
    assert end_in_words(facts) == "exit code 42"
