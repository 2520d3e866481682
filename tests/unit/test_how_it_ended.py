"""PID 1's entries tell how an invocation ended, in the order in which they were written."""

from __future__ import annotations

import msgspec
import pytest

from healthd.host.journal import (
    DEACTIVATED,
    FAILED,
    LINE_BYTES,
    RESTART_SCHEDULED,
    STOPPED,
    STOPPING,
    line_of,
    provider_of,
    stop_of,
)
from healthd.model import SECOND_US, JobStop

INVOCATION = "a" * 32


def entry(kind: str, at: int, **fields: str) -> dict[str, object]:
    """One entry of PID 1."""
    return {"MESSAGE_ID": kind, "__REALTIME_TIMESTAMP": at, **fields}


def stopped(at: int, job_type: str = "stop", result: str = "done") -> dict[str, object]:
    """PID 1's "Stopped …"."""
    return entry(STOPPED, at, JOB_ID="17", JOB_TYPE=job_type, JOB_RESULT=result)


@pytest.mark.parametrize("down", [DEACTIVATED, FAILED])
@pytest.mark.parametrize("job_type", ["stop", "restart"])
def test_a_job_took_it_down(down: str, job_type: str) -> None:
    """A service that dislikes SIGTERM shows "failed" and was stopped all the same."""
    written = [entry(STOPPING, 1), entry(down, 2), stopped(3, job_type)]
    assert stop_of(INVOCATION, written) == JobStop(
        INVOCATION, by_job=True, job=17, job_type=job_type, job_result="done", at=3, begun_at=1
    )


@pytest.mark.parametrize("down", [DEACTIVATED, FAILED])
def test_it_ended_by_itself(down: str) -> None:
    """Without a job nobody asked for it."""
    assert stop_of(INVOCATION, [entry(down, 2)]) == JobStop(INVOCATION, by_itself=True, at=2)


def test_a_job_called_off_the_restart_of_what_had_crashed() -> None:
    """Stopped by a person, but the crash before it counts as a crash."""
    said = stop_of(INVOCATION, [entry(FAILED, 2), stopped(9)])
    assert said is not None
    assert (said.by_job, said.ended_before, said.at, said.ended_at) == (True, True, 9, 2)


def test_an_automatic_restart_is_no_stop() -> None:
    """systemd 252 writes "Stopped" at each automatic restart, as if a job had done it."""
    written = [entry(FAILED, 2), entry(RESTART_SCHEDULED, 3), stopped(4, "restart")]
    assert stop_of(INVOCATION, written) == JobStop(INVOCATION, by_itself=True, at=2)


def test_a_job_that_did_not_end_well_proves_nothing() -> None:
    """Only a stop that was done took the unit down."""
    assert stop_of(INVOCATION, [stopped(3, result="canceled")]) is None
    assert stop_of(INVOCATION, [stopped(3, job_type="start")]) is None


def test_nothing_written_says_nothing() -> None:
    """LogLevelMax= can silence PID 1 about a unit."""
    assert stop_of(INVOCATION, []) is None


def of_db(kind: str, at: int, job: int = 0) -> dict[str, object]:
    """One entry of PID 1 about a provider."""
    fields = {"JOB_ID": str(job), "JOB_TYPE": "stop", "JOB_RESULT": "done"} if job else {}
    return entry(kind, at, UNIT="db.service", **fields)


BOUND = ("db.service",)
# Our unit's stop job 17 began at 10 s and was done at 11 s.
TAKEN = JobStop(INVOCATION, by_job=True, job=17, at=11 * SECOND_US, begun_at=10 * SECOND_US)


def test_a_provider_that_was_stopped_first_and_ended_last_took_it_along() -> None:
    """`systemctl stop db` stops those who need it before it, by younger jobs."""
    assert provider_of(TAKEN, [of_db(STOPPED, 12 * SECOND_US, job=16)], ()) == "db.service"


def test_a_provider_that_died_just_before_took_it_along() -> None:
    """PID 1 itself stops the consumers of what crashed: no job of the provider is older."""
    assert provider_of(TAKEN, [of_db(FAILED, 9 * SECOND_US)], BOUND) == "db.service"
    along = msgspec.structs.replace(TAKEN, job_type="restart")
    assert provider_of(along, [of_db(FAILED, 9 * SECOND_US)], ()) == "db.service"


def test_a_stop_right_after_a_providers_crash_is_a_persons_where_requires_is_all() -> None:
    """PID 1 stops only what is bound to what crashed; the rest runs on until somebody stops it."""
    assert provider_of(TAKEN, [of_db(FAILED, 9 * SECOND_US)], ()) == ""


@pytest.mark.parametrize(
    "written",
    [
        of_db(STOPPED, 12 * SECOND_US, job=18),
        of_db(STOPPED, 9 * SECOND_US, job=16),
        of_db(FAILED, 7 * SECOND_US),
        of_db(DEACTIVATED, 12 * SECOND_US),
        of_db(STOPPED, 3600 * SECOND_US, job=16),
    ],
)
def test_what_else_a_provider_did_took_nothing_along(written: dict[str, object]) -> None:
    """Two stops one after the other are two decisions."""
    assert provider_of(TAKEN, [written], BOUND) == ""


def test_a_line_is_harmless_and_bounded() -> None:
    """A log line can hold terminal escapes, bytes and megabytes."""
    line = line_of(
        {
            "__REALTIME_TIMESTAMP": 1_796_081_726_000_000,
            "SYSLOG_IDENTIFIER": "ng\x1binx",
            "_PID": "12",
            "MESSAGE": b"\xff\x1b[31mred\nnext " + b"x" * 5000,
        }
    )
    assert line.isprintable()
    assert len(line.encode()) <= LINE_BYTES
    assert " ng inx[12]: " in line
    assert "[31mred next xxx" in line
