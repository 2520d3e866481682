"""What a person reads: one plain sentence each, the same everywhere."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from healthd.judge.notices import notice
from healthd.judge.wording import duration, end_in_words, remedy, subject
from healthd.model import (
    ActiveState,
    Aspect,
    Attempt,
    AttemptId,
    AttemptResult,
    Check,
    CheckKey,
    Closing,
    Edition,
    Incident,
    IncidentId,
    LoadState,
    Now,
    PastIncident,
    Phase,
    Reason,
    Telling,
    UnitFacts,
    UnitName,
)

NGINX = UnitName("nginx.service")
# 2026-11-30 14:03 UTC
T = 1_796_047_380_000_000
NOW = Now(steady_us=0, wall_at=T)


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


def incident(**fields: Any) -> Incident:
    """nginx.service, killed at 14:03 UTC and engaged."""
    base = Incident(
        id=IncidentId(42),
        key=CheckKey("liveness:nginx.service"),
        unit=NGINX,
        phase=Phase.ENGAGED,
        reason=Reason.FAILED,
        summary="killed by SIGKILL",
        opened_at=T,
        opened_us=0,
        remedy="systemctl restart nginx.service",
        why_engaged="nginx.service is not on the list of units that healthd may restart",
    )
    return replace(base, **fields)


def attempt(number: int, result: AttemptResult, **fields: Any) -> Attempt:
    """One of healthd's restarts of nginx, a minute apart."""
    base = Attempt(
        AttemptId(number), T + number * 60_000_000, 0, "restart-unit", "healthd", NGINX, result
    )
    return replace(base, **fields)


def test_an_engaged_notice_says_what_since_when_what_was_tried_and_the_command() -> None:
    """The owner acts on this text alone, perhaps at night."""
    title, body = notice(incident(), Edition.ENGAGED, NOW)
    assert title == "nginx.service failed: killed by SIGKILL"
    assert body.splitlines() == [
        "nginx.service failed: killed by SIGKILL, since 2026-11-30 14:03 UTC.",
        "Nothing was tried: nginx.service is not on the list of units that healthd may restart.",
        "To fix it: systemctl restart nginx.service",
    ]


def test_attempts_are_told_with_their_times_and_what_spoiled_them() -> None:
    """Whoever repairs next must know what has been done already."""
    tried = incident(
        attempts=(
            attempt(1, AttemptResult.DONE),
            attempt(2, AttemptResult.FAILED, detail="polkit says no"),
            attempt(3, AttemptResult.UNKNOWN),
            attempt(4, AttemptResult.OVERTAKEN),
            attempt(5, AttemptResult.DONE, by="uid 1000"),
            attempt(6, AttemptResult.DONE, unit=UnitName("fix-web.service")),
        ),
        why_engaged="2 restarts did not help",
    )
    _, body = notice(tried, Edition.ENGAGED, NOW)
    assert body.splitlines()[1] == (
        "Tried: restart at 14:04, restart (failed) at 14:05, perhaps a restart at 14:06, "
        "restart (overtaken) at 14:07, restart by uid 1000 at 14:08, "
        "restart of fix-web.service at 14:09 UTC. Given up: 2 restarts did not help."
    )


@pytest.mark.parametrize(
    ("recent", "healed", "last", "words"),
    [
        (2, 1, Closing.SELF_HEALED, "3rd time in 7 days, last ended self-healed."),
        (1, 0, Closing.USER_FIXED, "2nd time in 7 days, last ended fixed by hand."),
        (10, 3, None, "11th time in 7 days."),
        (20, 20, None, "21st time in 7 days, last ended self-healed."),
    ],
)
def test_a_notice_tells_recurrence(
    recent: int, healed: int, last: Closing | None, words: str
) -> None:
    """What heals itself every day is broken all the same."""
    past = [PastIncident(CheckKey("readiness:nginx.service"), T, Closing.GONE)]
    if last:
        past.insert(0, PastIncident(CheckKey("liveness:nginx.service"), T, last))
    again = incident(recent=recent, recent_healed=healed)
    _, body = notice(again, Edition.ENGAGED, NOW, past=tuple(past))
    assert words in body.splitlines()


def test_a_first_time_is_not_numbered() -> None:
    """ "1st time" says nothing."""
    assert "time in" not in notice(incident(), Edition.ENGAGED, NOW)[1]


def test_a_provider_names_who_waits_on_it() -> None:
    """The consumers are told nowhere else."""
    names = tuple(f"app{n:02}.service" for n in range(43))
    _, body = notice(incident(), Edition.ENGAGED, NOW, waiting=names)
    named = ", ".join(names[:40])
    assert f"43 others wait on it: {named} and 3 more." in body
    assert (
        "1 other waits on it: app00.service."
        in notice(incident(), Edition.ENGAGED, NOW, waiting=names[:1])[1]
    )


def test_cleared_says_working_again_and_names_no_command() -> None:
    """Nothing is left to do, so nothing may look as if it were."""
    title, body = notice(incident(closed_at=T + 3_780_000_000), Edition.CLEARED, NOW)
    assert title == "nginx.service is working again"
    assert body.splitlines() == [
        "nginx.service is working again since 2026-11-30 15:06 UTC, after 1 h 3 min.",
        "Before: nginx.service failed: killed by SIGKILL.",
    ]


def test_cleared_while_degraded_does_not_promise_health() -> None:
    """Ten minutes of degraded close an incident; "working again" alone would be a lie."""
    _, body = notice(incident(closed_at=T, degraded_since_us=9), Edition.CLEARED, NOW)
    assert "works again, though not yet well" in body


def test_again_says_that_it_is_not_new() -> None:
    """Two equal titles twelve hours apart would read as two failures."""
    assert notice(incident(), Edition.AGAIN, NOW)[0] == (
        "Still: nginx.service failed: killed by SIGKILL"
    )
    flapped = incident(tellings=(Telling(T, 0, Edition.CLEARED), Telling(T, 0, Edition.AGAIN)))
    assert notice(flapped, Edition.AGAIN, NOW)[0] == (
        "nginx.service fails on and off: killed by SIGKILL"
    )


@pytest.mark.parametrize("edition", list(Edition))
@pytest.mark.parametrize("reason", list(Reason))
def test_a_title_fits_a_desktop_bubble(edition: Edition, reason: Reason) -> None:
    """Past 60 characters shells cut, and they cut the end."""
    key = CheckKey("function:a-" + "very-" * 40 + "long-name.service/and-more")
    title, body = notice(incident(key=key, reason=reason), edition, NOW)
    assert len(title) <= 60
    assert "…" in title
    assert "\n\n" not in body


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("liveness:nginx.service", "nginx.service"),
        ("readiness:nginx.service/admin", "nginx.service (admin)"),
        ("heartbeat:backup.timer", "backup.timer"),
        ("host:disk:/home", "disk /home"),
        ("host:healthd/store", "healthd/store"),
        ("credential:gmail#1a2b3c4d", "credential gmail"),
        ("reported:backup.service/tape", "backup.service/tape"),
    ],
)
def test_a_subject_is_named_as_people_name_it(key: str, words: str) -> None:
    """Keys are for programs; and a keyed hash helps nobody."""
    assert subject(CheckKey(key)) == words


def check(**fields: Any) -> Check:
    """The liveness of nginx."""
    base = Check(CheckKey("liveness:nginx.service"), Aspect.LIVENESS, "unit", NGINX)
    return replace(base, **fields)


@pytest.mark.parametrize(
    ("asked", "facts", "command"),
    [
        (check(), None, "systemctl restart nginx.service"),
        (
            check(),
            UnitFacts(NGINX, active_state=ActiveState.FAILED),
            "systemctl restart nginx.service",
        ),
        (
            check(aspect=Aspect.READINESS),
            UnitFacts(NGINX, active_state=ActiveState.ACTIVE),
            "systemctl restart nginx.service",
        ),
        (check(), UnitFacts(NGINX), "systemctl start nginx.service"),
        (
            check(),
            UnitFacts(NGINX, load_state=LoadState.NOT_FOUND),
            "systemctl status nginx.service",
        ),
        (
            check(),
            UnitFacts(
                NGINX,
                active_state=ActiveState.FAILED,
                result="start-limit-hit",
                start_limit_interval_for_us=3_600_000_000,
            ),
            "systemctl reset-failed nginx.service && systemctl restart nginx.service",
        ),
        (check(repair_unit=UnitName("fix-web.service")), None, "systemctl start fix-web.service"),
        (
            check(unit=UnitName(r"cryptsetup@a\x2db.service")),
            None,
            r"systemctl restart 'cryptsetup@a\x2db.service'",
        ),
        (check(unit=UnitName("-odd.service")), None, "systemctl restart -- -odd.service"),
        (
            check(key=CheckKey("host:disk:/my home's"), unit=UnitName("")),
            None,
            r"healthctl show 'host:disk:/my home'\''s'",
        ),
    ],
)
def test_a_remedy_is_the_command_that_works_now(
    asked: Check, facts: UnitFacts | None, command: str
) -> None:
    """It is pasted into a root shell: right for the state the unit is in, and quoted."""
    assert remedy(asked, facts) == command
