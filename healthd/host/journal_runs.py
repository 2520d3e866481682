"""How the runs of a timer's job ended, by what PID 1 wrote of them. Blocking, for a thread.

Decides nothing of what counts; of an invocation that is not over it says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from healthd.host.journal import (
    DEACTIVATED,
    FAILED,
    STOPPED,
    STOPPING,
    Entry,
    entries_of,
    said,
    written_at,
)
from healthd.model import JobRun, RunResult

# systemd's message ids; sd-messages.h.
STARTED = "39f53479d3a045ac8e11786248231fbf"
START_FAILED = "be02cf6855d2428ba40df7e9d022f03d"
PROCESS_EXIT = "98e322203f7a4ed290d09fe03c09fe15"

KINDS = (STARTED, START_FAILED, PROCESS_EXIT, STOPPING, STOPPED, DEACTIVATED, FAILED)


def runs_of(unit: str, since_at: int, *, oneshot: bool) -> tuple[JobRun, ...]:
    """The runs of *unit* that ended since a wall instant, oldest first."""
    return runs_in(entries_of(unit, KINDS, since_at), oneshot=oneshot)


class _Told(Struct):
    """What the entries of one invocation have said so far."""

    result: RunResult | None = None
    at: int = 0
    words: str = ""
    stopping: bool = False


def runs_in(entries: Iterable[Entry], *, oneshot: bool) -> tuple[JobRun, ...]:
    """The runs that *entries* tell of, oldest first. *oneshot*: its start is its whole run."""
    told: dict[str, _Told] = {}
    for entry in entries:
        invocation = said(entry, "INVOCATION_ID")
        if invocation:
            _hear(told.setdefault(invocation, _Told()), entry, oneshot=oneshot)
    return tuple(
        JobRun(invocation, t.result, t.at, 0, t.words if t.result is RunResult.FAILED else "")
        for invocation, t in told.items()
        if t.result is not None
    )


def _hear(told: _Told, entry: Entry, *, oneshot: bool) -> None:
    kind, job_result = entry.get("MESSAGE_ID"), entry.get("JOB_RESULT")
    if kind == STOPPING:
        told.stopping = True
    elif kind == PROCESS_EXIT:
        told.words = _exit_in_words(entry) or told.words
    elif kind == STOPPED:
        _over(told, RunResult.STOPPED, entry)
    elif kind == DEACTIVATED or (kind == STARTED and oneshot and job_result == "done"):
        _over(told, RunResult.SUCCESS, entry)
    elif kind == FAILED or (kind == START_FAILED and job_result == "failed"):
        told.words = told.words or f"systemd says “{said(entry, 'UNIT_RESULT')}”"
        _over(told, RunResult.FAILED, entry)


def _over(told: _Told, result: RunResult, entry: Entry) -> None:
    """The first entry of an end decides, unless it tells of somebody who stopped the job."""
    if told.result is None or result is RunResult.STOPPED:
        told.result = RunResult.STOPPED if told.stopping else result
        told.at = written_at(entry)


def _exit_in_words(entry: Entry) -> str:
    status = said(entry, "EXIT_STATUS")
    match entry.get("EXIT_CODE"):
        case "exited":
            # 0 of a command that went well, before another one failed.
            return f"exit code {status}" if status not in ("", "0") else ""
        case "killed" | "dumped":
            return f"killed by SIG{status}"
        case _:
            return ""
