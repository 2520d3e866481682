"""One unit's life as its signals tell it: when an invocation began, and what brought it down.

Pure transitions over a frozen value: no clock, no I/O. Reads no job's type (it cannot be read in
time) and no timestamp of systemd's (they do not decide).
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from healthd.model import ActiveState, Began, End, How, Now, UnitFacts

UP = frozenset({ActiveState.ACTIVE, ActiveState.RELOADING, ActiveState.REFRESHING})
DOWN = frozenset({ActiveState.INACTIVE, ActiveState.FAILED})

# ExecCondition= said no: systemd shows a Result of its own for it, and means no failure.
CLEAN_RESULTS = frozenset({"success", "exec-condition"})

# A restart whose stop half was done and whose start half systemd refused. An open set: what a newer
# systemd adds decides nothing.
_START_REFUSED = frozenset({"failed", "dependency", "timeout", "assert", "invalid", "unsupported"})


class Leaving(Struct, frozen=True):
    """A way down that has begun. *job*: the job that may have caused it, 0 = none.

    *ordered*: the job was there first, so it began it; else it came in on the way, and only its end
    tells whether it was a stop. *fell*: the end as it was seen, once the unit is down.
    """

    job: int = 0
    ordered: bool = False
    fell: End | None = None


class Life(Struct, frozen=True):
    """What signals have shown of one unit.

    *living*: the invocation has not ended. *ended*: the invocation that ended last. *called_off*:
    its automatic restart was, too. *upkeep_job* starts or reloads the invocation, or is systemd's
    own automatic restart: no stop. *kept_up_job* was queued in the same breath as the end
    (Upholds=). *automatic*: NRestarts rose since the last start. *left_us*: when it was last seen
    to leave `active`. *changed_us*: the last signal that told something new.
    """

    active: ActiveState
    sub: str = ""
    job: int = 0
    invocation: str = ""
    result: str = "success"
    n_restarts: int = -1
    living: bool = False
    ended: str = ""
    called_off: bool = False
    leaving: Leaving | None = None
    upkeep_job: int = 0
    kept_up_job: int = 0
    automatic: bool = False
    left_us: int = 0
    changed_us: int = 0
    providers: tuple[str, ...] = ()
    bound_to: tuple[str, ...] = ()
    foes: tuple[str, ...] = ()
    on_demand: str = ""


class Fall(Struct, frozen=True):
    """An invocation's end; *job* brought it down, 0 = none did."""

    end: End
    job: int = 0


Step = Fall | Began


def restarts_by_itself(sub: str) -> bool:
    """Whether a substate says that systemd waits to restart the unit, or is about to."""
    return "auto-restart" in sub


def first_read(facts: UnitFacts) -> Life:
    """The life of a unit of which no signal was seen."""
    active, down = facts.active_state, facts.active_state in DOWN
    waiting = restarts_by_itself(facts.sub_state)
    leaving = active is ActiveState.DEACTIVATING and facts.job != 0
    return Life(
        active=active,
        sub=facts.sub_state,
        job=facts.job,
        invocation=facts.invocation,
        result=facts.result,
        n_restarts=facts.n_restarts,
        living=not down and not waiting and active is not ActiveState.UNKNOWN,
        # With a job, the invocation may be one that is just being started.
        ended=facts.invocation if waiting or (down and not facts.job) else "",
        leaving=Leaving(facts.job, ordered=True) if leaving else None,
        upkeep_job=facts.job if active is ActiveState.ACTIVATING and not waiting else 0,
        changed_us=facts.state_change_us,
        providers=facts.providers,
        bound_to=facts.bound_to,
        foes=facts.foes,
        on_demand=facts.on_demand,
    )


def of_kind(life: Life, properties: Mapping[str, object]) -> Life:
    """The properties of the unit's kind (Service, Socket, …), which come before those of Unit."""
    result = _text(properties, "Result", life.result)
    restarts = _number(properties, "NRestarts", life.n_restarts)
    automatic = life.automatic
    if restarts != life.n_restarts:
        automatic = 0 <= life.n_restarts < restarts
    return replace(life, result=result, n_restarts=restarts, automatic=automatic)


def of_unit(
    life: Life | None, properties: Mapping[str, object], now: Now
) -> tuple[Life, tuple[Step, ...]]:
    """The properties of Unit, in the order in which they came."""
    before = life or Life(active=ActiveState.UNKNOWN)
    after = _shown(before, properties, now)
    if before.active is ActiveState.UNKNOWN:
        return _first_signal(after, now)
    if after.invocation and after.invocation != before.invocation:
        return _next_invocation(before, after, now)
    if before.living:
        return _on_its_way(before, after, now)
    if _rose(before, after) and (after.invocation != after.ended or not after.invocation):
        return _begin(after, now)
    return _at_rest(before, after, now), ()


def job_removed(life: Life, job: int, result: str, now: Now) -> tuple[Life, tuple[Step, ...]]:
    """A job of the unit ended; with `done` while the unit is down, it brought it there."""
    down, leaving = life.active in DOWN, life.leaving
    if down and leaving is not None and leaving.job == job:
        return _leaving_job_removed(life, leaving, result, now)
    if down and not life.living and leaving is None and result == "dependency":
        # Its start never began, because that of what it needs did not succeed.
        refused = End("", now.steady_us, now.wall_at, How.BY_ITSELF, clean=False)
        return life, (Fall(refused),)
    if down and life.living and leaving is None and job == life.upkeep_job and result != "canceled":
        # Started and ended within one breath of the bus: no state in between was shown.
        return _over(life, How.BY_ITSELF, now)
    return life, ()


def _leaving_job_removed(
    life: Life, leaving: Leaving, result: str, now: Now
) -> tuple[Life, tuple[Step, ...]]:
    if not life.living:
        if result != "done":
            return replace(life, leaving=None), ()
        return _over(replace(life, called_off=True), How.ASKED, now, leaving.job)
    if not leaving.ordered:
        if result == "done":
            return _over(life, How.ASKED, now, leaving.job)
        return _over(life, How.BY_ITSELF, now)
    over, steps = _over(life, How.ASKED, now, leaving.job)
    if result in _START_REFUSED:
        # The start that was part of it never became an invocation: the unit is down for that.
        refused = End("", now.steady_us, now.wall_at, How.BY_ITSELF, clean=False)
        steps = (*steps, Fall(refused))
    return over, steps


def _shown(before: Life, properties: Mapping[str, object], now: Now) -> Life:
    """*before* with what the signal shows; a state that we do not know changes nothing."""
    active = _state(properties, before.active)
    known = "ActiveState" not in properties or active == properties["ActiveState"]
    sub = _text(properties, "SubState", before.sub) if known else before.sub
    if active in UP and restarts_by_itself(sub):
        # What runs does not wait to be restarted: the two contradict, the state decides.
        sub = ""
    after = replace(
        before,
        active=active,
        sub=sub,
        job=_number(properties, "Job", before.job),
        # It is empty once systemd has unloaded the unit, which tells nothing.
        invocation=_text(properties, "InvocationID", "") or before.invocation,
    )
    if after == before:
        return before
    left = _runs(before) and not _runs(after)
    return replace(
        after,
        left_us=now.steady_us if left else before.left_us,
        changed_us=now.steady_us,
    )


def _first_signal(after: Life, now: Now) -> tuple[Life, tuple[Step, ...]]:
    """A unit that was not loaded when all were read: what it does now is its beginning."""
    if _starts(after):
        return _begin(after, now)
    return replace(after, living=after.active not in DOWN and not restarts_by_itself(after.sub)), ()


def _next_invocation(before: Life, after: Life, now: Now) -> tuple[Life, tuple[Step, ...]]:
    """A new InvocationID: systemd gives it when the start begins, before the state shows it."""
    steps: tuple[Step, ...] = ()
    if before.living:
        steps = _unseen_end(before, now)
    begun, beginning = _begin(replace(after, leaving=None), now)
    return begun, (*steps, *beginning)


def _unseen_end(before: Life, now: Now) -> tuple[Step, ...]:
    """The end of an invocation whose successor is there already."""
    leaving = before.leaving
    if leaving is None:
        job = before.job if before.job != before.upkeep_job else 0
        if not job and not before.automatic:
            return (Fall(replace(_end(before, now), how=How.UNDECIDED, after_gap=True)),)
        leaving = Leaving(job, ordered=True)
    return _no_job_left(before, leaving, now)[1]


def _on_its_way(before: Life, after: Life, now: Now) -> tuple[Life, tuple[Step, ...]]:
    """The same invocation, which lived until now."""
    if restarts_by_itself(after.sub):
        return _over(after, How.BY_ITSELF, now)
    if after.active is before.active:
        if after.active in DOWN and after.leaving and after.job != after.leaving.job:
            return _no_job_left(after, after.leaving, now)
        return after, ()
    if after.active is ActiveState.DEACTIVATING:
        if after.leaving is None:
            job = _ordering_job(before, after)
            after = replace(after, leaving=Leaving(job, ordered=job != 0))
        return after, ()
    if after.active in UP:
        reloads = after.active is not ActiveState.ACTIVE
        job = after.job if reloads else after.upkeep_job
        return replace(after, upkeep_job=job, leaving=None), ()
    if after.active not in DOWN:
        return after, ()
    return _down(before, after, now)


def _down(before: Life, after: Life, now: Now) -> tuple[Life, tuple[Step, ...]]:
    """The invocation has come to `inactive` or `failed`: wait for the job that may have done it."""
    leaving = after.leaving
    if leaving is None or not leaving.ordered:
        job = _ordering_job(before, after) if leaving is None else 0
        came_in = after.job if after.job != after.upkeep_job else 0
        leaving = Leaving(job or came_in, ordered=job != 0)
        kept_up_job = came_in if before.job != came_in else 0
        after = replace(after, kept_up_job=kept_up_job)
    leaving = replace(leaving, fell=_end(after, now))
    after = replace(after, leaving=leaving)
    if leaving.job and leaving.job == after.job:
        return after, ()
    return _no_job_left(after, leaving, now)


def _no_job_left(after: Life, leaving: Leaving, now: Now) -> tuple[Life, tuple[Step, ...]]:
    """Down, and no job is left to wait for: cancelled on the way, or there never was one."""
    job = leaving.job if leaving.ordered else 0
    return _over(after, How.ASKED if job else How.BY_ITSELF, now, job)


def _ordering_job(before: Life, after: Life) -> int:
    """The job that was there before the change, and may be a stop; 0 = none."""
    there_before = after.job == before.job and after.job != after.upkeep_job
    return after.job if there_before else 0


def _at_rest(before: Life, after: Life, now: Now) -> Life:
    """No invocation lives. What may still happen: a pending automatic restart is called off."""
    if not restarts_by_itself(before.sub):
        return after
    if after.automatic and after.job and not before.job:
        # NRestarts rises with the automatic restart's own job.
        return replace(after, upkeep_job=after.job)
    stopped = after.active in DOWN and not restarts_by_itself(after.sub)
    job = _ordering_job(before, after)
    if not stopped:
        return after
    pending = job and not after.called_off
    leaving = Leaving(job, ordered=True, fell=_end(after, now)) if pending else None
    return replace(after, leaving=leaving, automatic=False)


def _begin(after: Life, now: Now) -> tuple[Life, tuple[Step, ...]]:
    kept_up = after.kept_up_job != 0 and after.kept_up_job == after.job
    began = Began(
        invocation=after.invocation,
        at_us=now.steady_us,
        automatic=after.automatic,
        n_restarts=max(0, after.n_restarts),
        asked=not (after.automatic or kept_up or after.on_demand),
    )
    begun = replace(
        after,
        living=True,
        called_off=False,
        leaving=None,
        upkeep_job=after.job,
        kept_up_job=0,
        automatic=False,
    )
    return begun, (began,)


def _over(life: Life, how: How, now: Now, job: int = 0) -> tuple[Life, tuple[Step, ...]]:
    fell = life.leaving.fell if life.leaving else None
    end = replace(fell or _end(life, now), how=how)
    over = replace(life, living=False, ended=life.invocation, leaving=None, upkeep_job=0)
    return over, (Fall(end, job),)


def _end(life: Life, now: Now) -> End:
    clean = life.result in CLEAN_RESULTS
    return End(life.invocation, now.steady_us, now.wall_at, How.BY_ITSELF, clean=clean)


def _runs(life: Life) -> bool:
    """Whether it is up, or on its way up."""
    return life.active in UP or _starts(life)


def _starts(life: Life) -> bool:
    return life.active is ActiveState.ACTIVATING and not restarts_by_itself(life.sub)


def _rose(before: Life, after: Life) -> bool:
    """Whether a unit at rest, or one that waited for its automatic restart, came to life."""
    rested = before.active in DOWN or restarts_by_itself(before.sub)
    return rested and _runs(after)


def _state(properties: Mapping[str, object], default: ActiveState) -> ActiveState:
    try:
        state = ActiveState(_text(properties, "ActiveState", default))
    except ValueError:
        return default
    # UNKNOWN is our word for what systemd may say one day, and none of its own.
    return default if state is ActiveState.UNKNOWN else state


def _text(properties: Mapping[str, object], name: str, default: str) -> str:
    value = properties.get(name, default)
    return value if isinstance(value, str) else default


def _number(properties: Mapping[str, object], name: str, default: int) -> int:
    value = properties.get(name, default)
    return value if isinstance(value, int) and not isinstance(value, bool) else default
