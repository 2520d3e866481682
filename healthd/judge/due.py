"""When a check is looked at next. Pure; the daemon keeps the heap."""

from __future__ import annotations

from zlib import crc32

from healthd.model import READ_KINDS, Check, Idle, Incident, Now, Phase, Reason, State, Watch

# Beside those that systemd's signals call for: a remote check that fails does, a transient unit
# that fails, or whatever part of healthd has something to say of itself.
_CALLED = frozenset({*READ_KINDS, "network", "transient", "healthd"})


def is_called(check: Check) -> bool:
    """Whether something calls for the looks of this check, and no clock does while it is well."""
    return check.kind in _CALLED


def next_due(watch: Watch, incident: Incident | None, now: Now, until_us: int) -> int:
    """Steady instant of the next look, 0 = none of its own (a unit check at rest: signals and the
    reconcile serve it).
    """
    rules = watch.check.rules
    if brisk(watch, incident):
        due = now.steady_us + rules.retry_us
    elif is_called(watch.check):
        due = 0
    else:
        due = on_grid(watch.check.key, rules.every_us, now.steady_us)
    if until_us and (not due or until_us < due):
        due = max(until_us, now.steady_us)
    return due


def brisk(watch: Watch, incident: Incident | None) -> bool:
    """Whether looks come `retry` apart: while suspect, red or settling."""
    if watch.verdict.reason is Reason.SUSPECT or watch.verdict.state is State.RED:
        return True
    if incident is None or incident.phase is Phase.CLOSED:
        return False
    return incident.idle not in (Idle.STOPPED, Idle.WAITING, Idle.HELD)


def on_grid(key: str, every_us: int, after_us: int) -> int:
    """The first instant after *after_us* on this key's own grid, so that a thousand checks do not
    fire together. Two looks are never less than half an interval apart.
    """
    offset = crc32(key.encode()) % every_us
    due = ((after_us - offset) // every_us + 1) * every_us + offset
    return due if due - after_us >= every_us // 2 else due + every_us
