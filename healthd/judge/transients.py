"""Failed transient units as one line: who asked for them sees each end; here only their number.

Pure. Never red: nobody can restart what its maker made for once.
"""

from __future__ import annotations

from healthd.judge.wording import end_in_words
from healthd.model import (
    Aspect,
    Check,
    CheckKey,
    Look,
    Outcome,
    Reason,
    Rules,
    UnitFacts,
)

KEY = CheckKey("host:transient-units")
CHECK = Check(key=KEY, aspect=Aspect.HOST, kind="transient", rules=Rules(settle=1))


def transient_look(count: int, example: UnitFacts | None, *, last: bool) -> Look:
    """What *count* failed ones come to, at least one. *last*: *example* is the one that failed
    last, else one of many.
    """
    words = "1 transient unit failed" if count == 1 else f"{count} transient units failed"
    if example is not None:
        which = ":" if count == 1 else ", last" if last else ", such as"
        words = f"{words}{which} {example.id} ({end_in_words(example)})"
        if example.slice:
            words = f"{words}, of {example.slice}"
    return Look(Outcome.DEGRADED, Reason.DEGRADED, words)
