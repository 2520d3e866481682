"""Turn one look into what healthd says of a check. Pure: no clock, no I/O, no logging."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from healthd.model import CheckKey, Look, Now, Outcome, Reason, Rules, State, Verdict

LOOKS_KEPT = 20
FLAPPING_AT = 10


class Standing(Struct, frozen=True):
    """What besides the look decides.

    *open*: the check has an open incident. *in_grace*: its unit started lately, failing looks do
    not count. *counts*: this look may add to the streak (the last that did is at least `retry`
    ago). *failing_of_last*: failing looks among the last 20, this one included, once 20 are known.
    """

    open: bool = False
    in_grace: bool = False
    counts: bool = True
    failing_of_last: int = 0


def verdict(previous: Verdict, look: Look, now: Now, rules: Rules, standing: Standing) -> Verdict:
    """Semantics: "From look to verdict". *since_at* moves when state or reason does."""
    if look.outcome is Outcome.KEEP:
        return previous
    state, reason, streak = _face(previous, look, rules, standing)
    same = (state, reason) == (previous.state, previous.reason)
    return Verdict(
        state=state,
        reason=reason,
        summary=look.summary,
        since_at=previous.since_at if same and previous.since_at else now.wall_at,
        streak=streak,
        failure_class=look.failure_class,
    )


def _face(
    previous: Verdict, look: Look, rules: Rules, standing: Standing
) -> tuple[State, Reason, int]:
    match look.outcome:
        case Outcome.FAILING:
            return _failing(previous, look, rules, standing)
        case Outcome.DEGRADED:
            return State.YELLOW, look.reason, 0
        case Outcome.NOT_JUDGED:
            return State.GREY, look.reason, previous.streak
        case _:
            return State.GREEN, Reason.OK, 0


def _failing(
    previous: Verdict, look: Look, rules: Rules, standing: Standing
) -> tuple[State, Reason, int]:
    if standing.in_grace:
        if standing.open:
            return State.RED, Reason.REPAIRING, previous.streak
        return State.GREY, Reason.STARTING, previous.streak
    streak = previous.streak + (1 if standing.counts else 0)
    if streak >= rules.after:
        return State.RED, look.reason, streak
    if standing.failing_of_last >= FLAPPING_AT:
        return State.RED, Reason.FLAPPING, streak
    if standing.open:
        return State.RED, look.reason, streak
    return State.YELLOW, Reason.SUSPECT, max(streak, 1)


def waits_on(verdict: Verdict, provider: CheckKey, now: Now, summary: str) -> Verdict:
    """The same check while its provider is not well: grey, the streak stands still."""
    waiting = (State.GREY, Reason.WAITING, provider)
    same = waiting == (verdict.state, verdict.reason, verdict.waiting_on)
    return replace(
        verdict,
        state=State.GREY,
        reason=Reason.WAITING,
        waiting_on=provider,
        summary=summary,
        since_at=verdict.since_at if same else now.wall_at,
    )


def remember(recent: int, looks: int, outcome: Outcome) -> tuple[int, int]:
    """Add one look to the last 20, as bits (1 = failing); looks that judge nothing are not kept."""
    if outcome in (Outcome.KEEP, Outcome.NOT_JUDGED):
        return recent, looks
    failing = 1 if outcome is Outcome.FAILING else 0
    mask = (1 << LOOKS_KEPT) - 1
    return ((recent << 1) | failing) & mask, min(looks + 1, LOOKS_KEPT)
