"""Units as a liveness look finds them: facts, what is remembered of their runs, and the look."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge.liveness import liveness
from healthd.model import (
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    ActiveState,
    End,
    How,
    Look,
    Now,
    Policy,
    Run,
    UnitFacts,
    UnitName,
)

T0_US = 100 * HOUR_US
NOW = Now(T0_US, 10 * T0_US)
WEB = UnitName("web.service")
#: Ran from two hours ago until ten seconds ago, and its main process ended with code 0.
RESTED = UnitFacts(
    WEB,
    wanted=True,
    invocation="a",
    exit_code=1,
    inactive_exit_us=T0_US - 2 * HOUR_US,
    active_enter_us=T0_US - 2 * HOUR_US,
    main_start_us=T0_US - 2 * HOUR_US,
    main_exit_us=T0_US - 10 * SECOND_US,
    active_exit_us=T0_US - 10 * SECOND_US,
    inactive_enter_us=T0_US - 10 * SECOND_US,
    state_change_us=T0_US - 10 * SECOND_US,
)
FAILED = replace(
    RESTED, active_state=ActiveState.FAILED, sub_state="failed", result="exit-code", exit_status=3
)
RUNS = replace(RESTED, active_state=ActiveState.ACTIVE, sub_state="running", exit_code=0)
STARTS = replace(
    RESTED,
    active_state=ActiveState.ACTIVATING,
    sub_state="start",
    inactive_exit_us=T0_US - SECOND_US,
)
WAITS = replace(
    FAILED,
    active_state=ActiveState.ACTIVATING,
    sub_state="auto-restart",
    restart="on-failure",
    restart_delay_for_us=22 * SECOND_US,
)


def end(
    run: str = "a", ago_us: int = 10 * SECOND_US, how: How = How.BY_ITSELF, **more: object
) -> End:
    """How an invocation ended, unclean."""
    ended = End(run, T0_US - ago_us, 10 * T0_US - ago_us, how, clean=False)
    return replace(ended, **more)


def after(last: End) -> Run:
    """The run of a unit whose invocation ended so, and no other before."""
    return Run(last=last, ends=(last,) if last.how is How.BY_ITSELF else ())


def crashed(*ago_us: int, down: bool = False) -> Run:
    """Ends so long ago, each followed by a start but the last where the unit is *down*."""
    ends = tuple(end(f"{i}", ago) for i, ago in enumerate(ago_us))
    return Run(ends=ends, last=ends[-1] if down else None)


def seen(
    facts: UnitFacts,
    run: Run | None = None,
    *,
    later_us: int = 0,
    declared: bool = False,
) -> Look:
    """The look at the unit, some time after its facts."""
    now = Now(NOW.steady_us + later_us, NOW.wall_at + later_us)
    found = liveness(
        facts, run or Run(), now, Policy(), declared=declared, grace_us=MINUTE_US, stories={}
    )
    assert found is not None
    return found


def says(facts: UnitFacts, run: Run | None = None, **more: object) -> str:
    """The look in one line."""
    found = seen(facts, run, **more)  # type: ignore[arg-type]
    return f"{found.outcome} {found.reason}: {found.summary}"
