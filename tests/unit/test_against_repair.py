"""What speaks against a first attempt: none ever helped, it was put away, a limit is long."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from healthd.judge.repairing import Engage, Step, Try, Wait, next_step
from healthd.model import (
    HOUR_US,
    MINUTE_US,
    ActiveState,
    CheckKey,
    Closing,
    How,
    Incident,
    IncidentId,
    LoadState,
    PastIncident,
    Phase,
    Reason,
    Run,
    Scene,
    State,
    Story,
    UnitFacts,
    Verdict,
    Watch,
)
from tests.unit.histories import LISTED, LIVE_CHECK, LIVENESS, RUNNING, UNIT
from tests.unit.sights import NOW, end

DOWN = replace(
    RUNNING,
    active_state=ActiveState.FAILED,
    sub_state="failed",
    result="exit-code",
    start_limit_burst=0,
    inactive_enter_us=NOW.steady_us,
)
RED = Watch(LIVE_CHECK, Verdict(State.RED, Reason.FAILED, "exit code 1", 1))


def _next(
    facts: UnitFacts = DOWN, run: Run | None = None, closed: tuple[PastIncident, ...] = ()
) -> Step:
    story = Story(UNIT, (RED,), facts, run or Run(), closed=closed)
    incident = Incident(
        IncidentId(9), LIVENESS, UNIT, Phase.REPAIRING, Reason.FAILED, "exit code 1", 1, 1
    )
    return next_step(story, incident, RED, Scene(NOW, LISTED))


def _past(
    *endings: Closing, attempts: int = 1, key: CheckKey = LIVENESS
) -> tuple[PastIncident, ...]:
    return tuple(PastIncident(key, n, ending, attempts) for n, ending in enumerate(endings))


VAIN = (Closing.USER_FIXED,) * 3


@pytest.mark.parametrize(
    ("closed", "tried"),
    [
        ((), True),
        (_past(*VAIN), False),
        (_past(*VAIN[1:]), True),
        (_past(*VAIN, Closing.SELF_HEALED), True),
        (_past(Closing.SELF_HEALED, *VAIN), False),
        (_past(*VAIN, Closing.GONE), False),
        (_past(*VAIN, attempts=0), True),
        (_past(*VAIN, key=CheckKey("readiness:web.service")), True),
    ],
)
def test_what_never_helped_is_not_tried_first(
    closed: tuple[PastIncident, ...], tried: bool
) -> None:
    """Three incidents that a restart did not end: the fourth is the owner's at once."""
    step = _next(closed=closed)
    if tried:
        assert step == Try(UNIT)
    else:
        assert step == Engage("a restart did not help in its last 3 incidents")


def test_what_was_put_away_is_not_started_by_a_repair() -> None:
    """Masked, disabled, stopped or pushed out: a restart would start it against somebody's will."""
    rested = replace(DOWN, active_state=ActiveState.INACTIVE)
    assert _next(replace(DOWN, load_state=LoadState.MASKED)) == Engage("it is masked")
    disabled = replace(DOWN, unit_file_state="disabled", wanted=False)
    assert _next(disabled) == Engage("it is disabled, and was not seen running")
    # Started by hand and listed, it is meant to run as long as it does.
    assert _next(disabled, Run(last=end(DOWN.invocation))) == Try(UNIT)
    assert _next(replace(disabled, wanted=True)) == Try(UNIT)
    asked = Run(last=end(DOWN.invocation, how=How.ASKED))
    assert _next(rested, asked) == Engage(
        "it was stopped, and healthd starts nothing that was stopped"
    )
    rival = replace(end(DOWN.invocation, how=How.PUSHED_OUT), by="rival.service")
    assert _next(rested, Run(last=rival)) == Engage("rival.service took its place")
    # How an earlier invocation ended says nothing of this one.
    assert _next(DOWN, Run(last=end("before", how=How.ASKED))) == Try(UNIT)


def test_a_long_start_limit_is_the_owners() -> None:
    """An attempt that would wait for an hour helps nobody; one that waits a minute may."""
    limited = replace(DOWN, start_limit_burst=2, start_limit_interval_for_us=HOUR_US)
    assert _next(limited) == Engage("its start limit might refuse a start for another 1 h")
    short = replace(limited, start_limit_interval_for_us=MINUTE_US)
    assert _next(short) == Wait("the unit's own start limit", NOW.steady_us + MINUTE_US)
