"""`healthctl monitor`: print each change as it comes, until it is interrupted.

What changed while healthd was away is read when it is back, so that a check's last line is true.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

from healthd.ctl import changes, client, rows
from healthd.ctl.arguments import Arguments
from healthd.ctl.output import Output
from healthd.errors import HealthdError


def run(arguments: Arguments, output: Output) -> bool:
    """Follow healthd. HealthdError "not-running" when it is not there at the start."""
    del arguments
    # main.py switched it off for those who live a moment.
    gc.enable()
    daemon = client.connect()
    for change in _Follower(daemon).records():
        at = time.time_ns() // 1000
        if output.json:
            output.record({"at": at, **change})
        else:
            output.line(changes.line(change, at, output.screen))
    return True


class _Follower:
    """What is known of the checks, kept by snapshots and signals."""

    def __init__(self, daemon: client.Client) -> None:
        self._daemon = daemon
        self._checks: dict[str, rows.Check] = {}
        self._sequence = 0
        self._met = False

    def records(self) -> Iterator[changes.Record]:
        """Each change once, in order; never ends."""
        for signal in self._daemon.follow():
            if signal.member:
                yield from self._taken(changes.record(signal.member, signal.arguments))
            elif signal.owner:
                yield from self._read()
            elif not self._met:
                raise client.not_running()
            else:
                yield {"event": "healthd_gone"}

    def _read(self) -> Iterator[changes.Record]:
        try:
            sequence, found = self._daemon.snapshot()
        except HealthdError as err:
            # It left again; its name changing hands is the next thing that comes.
            if err.code in ("not-running", "unreachable") and self._met:
                return
            raise
        before, self._checks = self._checks, {row["key"]: row for row in found}
        is_return, self._met = self._met, True
        self._sequence = sequence
        counts: dict[str, int] = {}
        for row in found:
            counts[row["state"]] = counts.get(row["state"], 0) + 1
        yield {"event": "healthd_here", "sequence": sequence, "counts": counts}
        if is_return:
            yield from changes.differences(before, self._checks, sequence)

    def _taken(self, change: changes.Record) -> Iterator[changes.Record]:
        """Note *change*, unless the snapshot already held it."""
        if change["event"] != "notice" and change["sequence"] <= self._sequence:
            return
        if change["event"] == "check_changed":
            self._checks[change["key"]] = change["check"]
        elif change["event"] == "check_removed":
            self._checks.pop(change["key"], None)
        yield change
