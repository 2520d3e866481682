"""What happened to a unit while nobody looked: healthd was away, or deaf. The journal is asked."""

from __future__ import annotations

import asyncio
import logging

from healthd.errors import HealthdError
from healthd.host import journal
from healthd.judge.run import crash_before_stop, gap_end, unseen_end
from healthd.model import Began, Ended, JobStop, Now, Run, UnitFacts

log = logging.getLogger(__name__)

_JOURNAL_LIMIT_S = 5.0


async def bridged(run: Run, facts: UnitFacts, now: Now) -> tuple[Ended | Began, ...]:
    """How the invocation ended whose end no signal told, and which one has begun since."""
    events: list[Ended | Began] = []
    invocation = unseen_end(run, facts)
    if invocation:
        said = await _written_of(invocation, facts.providers)
        ends = (crash_before_stop(run, facts, said, now), gap_end(run, facts, said, now))
        events += [Ended(end) for end in ends if end is not None]
    if facts.invocation and facts.invocation != run.invocation:
        started_us = facts.inactive_exit_us or now.steady_us
        events.append(Began(facts.invocation, started_us, n_restarts=facts.n_restarts))
    return tuple(events)


async def _written_of(invocation: str, providers: tuple[str, ...]) -> JobStop | None:
    try:
        async with asyncio.timeout(_JOURNAL_LIMIT_S):
            return await asyncio.to_thread(journal.how_it_ended, invocation, providers)
    except TimeoutError:
        log.warning("the journal did not answer within %g s", _JOURNAL_LIMIT_S)
        return None
    except HealthdError as err:
        log.warning("%s", err)
        return None
