"""kind `exec`: a program that says by its exit status how something is.

What the program wrote, performance data included, goes to the private part only.
"""

from __future__ import annotations

import signal
from pathlib import Path

from healthd.checks.base import Ended, Tools, could_not_run, failing
from healthd.checks.words import how_long
from healthd.model import ExecProtocol, ExecSpec, FailureClass, Look, Outcome, Reason


async def look(spec: ExecSpec, tools: Tools) -> Look:
    ended = await tools.run(spec.command)
    program = Path(spec.command[0]).name
    if ended.not_run:
        return could_not_run(f"{program} could not be run: {ended.not_run}")
    if ended.late:
        limit = how_long(round(tools.limit_s * 1e6))
        summary = f"{program} did not end within {limit} and was killed"
        return failing(FailureClass.TIMEOUT, summary, ended.output, ended.took_us)
    if ended.signal:
        summary = f"{program} was killed by {_signal_name(ended.signal)}"
        return failing(FailureClass.EXIT, summary, ended.output, ended.took_us)
    if spec.protocol == ExecProtocol.NAGIOS:
        return _plugin_look(program, ended)
    if ended.exit_status:
        return _bad_status(program, ended)
    return _look(Outcome.OK, Reason.OK, f"{program} ended with exit status 0", ended)


def _plugin_look(program: str, ended: Ended) -> Look:
    """Source: monitoring-plugins.org, Development Guidelines, "Plugin Return Codes"."""
    match ended.exit_status:
        case 0:
            return _look(Outcome.OK, Reason.OK, f"{program} says ok", ended)
        case 1:
            summary = f"{program} says warning (exit status 1)"
            return _look(Outcome.DEGRADED, Reason.DEGRADED, summary, ended)
        case 2:
            summary = f"{program} says critical (exit status 2)"
            return failing(FailureClass.EXIT, summary, ended.output, ended.took_us)
        case 3:
            summary = f"{program} says unknown (exit status 3)"
            return _look(Outcome.NOT_JUDGED, Reason.UNKNOWN, summary, ended)
        case _:
            return _bad_status(program, ended)


def _bad_status(program: str, ended: Ended) -> Look:
    summary = f"{program} ended with exit status {ended.exit_status}"
    return failing(FailureClass.EXIT, summary, ended.output, ended.took_us)


def _look(outcome: Outcome, reason: Reason, summary: str, ended: Ended) -> Look:
    return Look(outcome, reason, summary, private=ended.output, took_us=ended.took_us)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
