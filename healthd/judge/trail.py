"""Keep what the last looks of a check found, for whoever asks why. Pure; decides nothing."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.model import Look, Now, Observed, Verdict

#: Looks that came to the same are one of these, however many they were.
KEPT = 8


def noted(
    trail: tuple[Observed, ...], look: Look, said: Verdict, now: Now, *, counts: bool
) -> tuple[Observed, ...]:
    """*trail* with one more look, of which healthd *said* this; oldest first, at most KEPT.

    One that came to the same as the last is another of those, if it counts.
    """
    last = trail[-1] if trail else None
    if last is None or _face(last) != (look.outcome, look.reason, said.state, said.reason):
        one = Observed(
            first_at=now.wall_at,
            last_at=now.wall_at,
            times=1,
            outcome=look.outcome,
            found=look.reason,
            state=said.state,
            reason=said.reason,
            summary=said.summary,
            rule=look.rule,
        )
        return (*trail, one)[-KEPT:]
    if not counts:
        return trail
    # The wall clock may have been set back in between.
    again = replace(
        last,
        last_at=max(now.wall_at, last.first_at),
        times=last.times + 1,
        summary=said.summary,
        rule=look.rule,
    )
    return (*trail[:-1], again)


def _face(one: Observed) -> tuple[object, ...]:
    return (one.outcome, one.found, one.state, one.reason)
