"""What readers see is made of the stories and of nothing else."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge.snapshot import (
    alerts,
    check_row,
    check_rows,
    counts,
    incident_row,
    worst,
)
from healthd.model import (
    Aspect,
    Attempt,
    AttemptId,
    AttemptResult,
    Check,
    CheckKey,
    Edition,
    End,
    FailureClass,
    How,
    Incident,
    IncidentId,
    Now,
    Phase,
    Reason,
    Run,
    State,
    Story,
    Telling,
    UnitName,
    Verdict,
    Watch,
)

NOW = Now(steady_us=1_000, wall_at=5_000_000)
NGINX = UnitName("nginx.service")
LIVENESS = CheckKey("liveness:nginx.service")
READINESS = CheckKey("readiness:nginx.service")

RED = Watch(
    Check(LIVENESS, Aspect.LIVENESS, "unit", NGINX),
    Verdict(State.RED, Reason.FAILED, "killed by SIGKILL", since_at=77, streak=2),
    due_us=3_000,
    present=True,
)
WAITING = Watch(
    Check(READINESS, Aspect.READINESS, "http", NGINX),
    Verdict(
        State.GREY,
        Reason.WAITING,
        "waits on nginx.service",
        since_at=78,
        failure_class=FailureClass.CONNECT,
        waiting_on=LIVENESS,
    ),
    present=True,
)
OPEN = Incident(
    id=IncidentId(42),
    key=LIVENESS,
    unit=NGINX,
    phase=Phase.ENGAGED,
    reason=Reason.FAILED,
    summary="killed by SIGKILL",
    opened_at=80,
    opened_us=8,
    attempts=(
        Attempt(
            AttemptId(1),
            90,
            9,
            "restart-unit",
            "healthd",
            NGINX,
            AttemptResult.DONE,
            "job done",
        ),
    ),
    tellings=(Telling(95, 9, Edition.ENGAGED, "mail"),),
    recent=1,
    remedy="systemctl restart nginx.service",
)
CLOSED = replace(OPEN, id=IncidentId(41), phase=Phase.CLOSED, remedy="an old remedy")
STORY = Story(name=NGINX, watches=(WAITING, RED), incidents=(CLOSED, OPEN))


def _end(invocation: str, how: How = How.BY_ITSELF) -> End:
    return End(invocation, at_us=1, at=1, how=how)


def test_a_row_holds_the_verdict_and_the_open_incident() -> None:
    """A reader needs one row to know what is wrong, since when, and what to run."""
    row = check_row(STORY, RED, NOW)
    assert (row.key, row.unit, row.state, row.reason) == (LIVENESS, NGINX, "red", "failed")
    assert (row.since, row.streak) == (77, 2)
    assert (row.incident, row.remedy) == (42, "systemctl restart nginx.service")


def test_a_closed_incident_is_not_the_check_s() -> None:
    """An incident that is over must not make a healthy check look troubled."""
    row = check_row(replace(STORY, incidents=(CLOSED,)), RED, NOW)
    assert (row.incident, row.remedy) == (0, "")


def test_the_next_look_is_told_in_wall_time() -> None:
    """People and other programs do not have our steady clock."""
    assert check_row(STORY, RED, NOW).next_look == 5_000_000 + 3_000 - 1_000
    assert check_row(STORY, WAITING, NOW).next_look == 0


def test_a_waiting_check_names_its_provider_and_its_class() -> None:
    """ "Waiting" without a name would send the reader searching."""
    row = check_row(STORY, WAITING, NOW)
    assert (row.waiting_on, row.failure_class) == (LIVENESS, "connect")


def test_rows_are_ordered_by_key_over_all_stories() -> None:
    """Two reads of an unchanged machine are equal, whatever order the stories are kept in."""
    other = Story("a", watches=(replace(RED, check=replace(RED.check, key=CheckKey("host:a"))),))
    keys = [row.key for row in check_rows((STORY, other), NOW)]
    assert keys == ["host:a", LIVENESS, READINESS]


def test_restarts_belong_to_the_unit_s_own_check() -> None:
    """Told at every check of a unit they would be counted several times."""
    story = replace(STORY, run=Run(ends=(_end("a"),)))
    assert check_row(story, RED, NOW).restarts == 1
    assert check_row(story, WAITING, NOW).restarts == 0


def test_an_incident_row_counts_what_it_lists() -> None:
    """`attempts` and `notices` are the lengths of the lists behind them."""
    row = incident_row(OPEN)
    assert (row.attempts, row.notices) == (len(row.tried), len(row.told)) == (1, 1)
    assert (row.tried[0].by, row.tried[0].result, row.tried[0].detail) == (
        "healthd",
        "done",
        "job done",
    )
    assert (row.told[0].edition, row.told[0].channel) == ("engaged", "mail")


def test_grey_never_makes_the_machine_worse() -> None:
    """A stopped service is nobody's alarm."""
    assert worst(counts((WAITING,))) is State.GREEN
    assert worst(counts(())) is State.GREEN
    assert worst(counts((WAITING, RED))) is State.RED
    yellow = replace(RED, verdict=replace(RED.verdict, state=State.YELLOW))
    assert worst(counts((WAITING, yellow))) is State.YELLOW


def test_an_alert_is_red_and_has_a_remedy() -> None:
    """Without a remedy there is nothing that the reader could do."""
    rows = check_rows((STORY,), NOW)
    assert [row.key for row in alerts(rows)] == [LIVENESS]
    assert alerts(replace(row, remedy="") for row in rows) == ()


def test_a_check_that_was_never_looked_at_is_not_shown() -> None:
    """A grey row for what nobody has seen yet would read as a finding."""
    unseen = replace(STORY, watches=(replace(RED, present=False),))
    assert check_rows((unseen,), NOW) == ()
    assert set(counts(unseen.watches).values()) == {0}
