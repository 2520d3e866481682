"""What happened to a unit, or to the job of a timer, while nobody looked: the journal is asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from msgspec.structs import replace

from healthd.errors import HealthdError
from healthd.host import journal
from healthd.host.journal_runs import runs_of
from healthd.judge.ledger import dated, unseen_runs
from healthd.judge.run import (
    DAY_US,
    called_off,
    crash_before_stop,
    gap_end,
    unheard_ends,
    unseen_end,
)
from healthd.model import Began, End, Ended, JobRun, JobStop, Ledger, Now, Run, UnitFacts

log = logging.getLogger(__name__)

_JOURNAL_LIMIT_S = 5.0
# Of a job never seen before, the journal is asked for so long: a monthly one ran in it.
_FIRST_LOOK_US = 32 * DAY_US

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


async def bridged(run: Run, facts: UnitFacts, now: Now) -> tuple[Ended | Began, ...]:
    """How the invocation ended whose end no signal told, and which one has begun since."""
    events: list[Ended | Began] = []
    ends: tuple[End | None, ...]
    invocation = unseen_end(run, facts)
    if invocation:
        said = await _written_of(invocation, facts)
        ends = (crash_before_stop(run, facts, said, now), gap_end(run, facts, said, now))
    else:
        ends = (called_off(run, facts, now),)
    events += [Ended(end) for end in ends if end is not None]
    if facts.invocation and facts.invocation != run.invocation:
        started_us = facts.inactive_exit_us or now.steady_us
        unheard_us = unheard_ends(run, facts, await _restarts_written(run, facts, now), now)
        began = Began(facts.invocation, started_us, n_restarts=facts.n_restarts)
        events.append(replace(began, unheard_us=unheard_us))
    return tuple(events)


async def runs_meanwhile(ledger: Ledger, job: UnitFacts, now: Now) -> tuple[JobRun, ...]:
    """The runs of a timer's job that ended meanwhile, oldest first."""
    since_at = ledger.last.at if ledger.last else now.wall_at - _FIRST_LOOK_US
    oneshot = job.service_type == "oneshot"
    written = await _read(runs_of, job.id, since_at, oneshot=oneshot) or ()
    return tuple(dated(run, now) for run in unseen_runs(ledger, job, written))


async def _restarts_written(run: Run, facts: UnitFacts, now: Now) -> tuple[int, ...]:
    """When PID 1 restarted the unit since the invocation began that healthd knew last."""
    if not run.invocation or not run.started_us:
        return ()
    since_us = min(now.steady_us - run.started_us, DAY_US)
    return await _read(journal.crash_times, str(facts.id), since_us) or ()


async def _written_of(invocation: str, facts: UnitFacts) -> JobStop | None:
    return await _read(journal.how_it_ended, invocation, facts.providers, facts.bound_to)


async def _read(
    question: Callable[Asked, Answer], *about: Asked.args, **more: Asked.kwargs
) -> Answer | None:
    """The journal's answer; None: it does not answer, or cannot be read."""
    try:
        async with asyncio.timeout(_JOURNAL_LIMIT_S):
            return await asyncio.to_thread(question, *about, **more)
    except TimeoutError:
        log.warning("the journal did not answer within %g s", _JOURNAL_LIMIT_S)
    except HealthdError as err:
        log.warning("%s", err)
    return None
