"""Make durable what the judge decided, before any of it is acted on.

A store that cannot be written never stops the watch: what is owed is written with the next turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from healthd.daemon.clock import Clock
from healthd.errors import HealthdError
from healthd.model import (
    MINUTE_US,
    Effect,
    Incident,
    IncidentId,
    IncidentStep,
    Notice,
    Story,
    Tell,
)
from healthd.store.records import Batch, Meta
from healthd.store.store import Store

log = logging.getLogger(__name__)

# No reader sees a number twice: each start goes on this far above the last one's mark.
_SEQUENCE_STRIDE = 1_000_000
_SEQUENCE_MARGIN = 100_000


class Step(Struct, frozen=True):
    """What one event did to one story. *effects* in order, each with its number in the sequence."""

    name: str
    before: Story
    after: Story
    effects: tuple[tuple[Effect, int], ...]


class Saver:
    """The loop's pen. *meta* is what the next start goes on with; *on_trouble* hears each change of
    what is wrong with the store, "" = nothing.
    """

    def __init__(
        self, store: Store, clock: Clock, meta: Meta, on_trouble: Callable[[str], None]
    ) -> None:
        self.meta = replace(meta, sequence_mark=meta.sequence_mark + _SEQUENCE_STRIDE)
        self._store = store
        self._clock = clock
        self._on_trouble = on_trouble
        self._trouble = ""
        self._names: set[str] = set()
        self._incidents: dict[IncidentId, Incident] = {}
        self._notices: dict[str, Notice] = {}

    async def save_changes(self, steps: Sequence[Step], stories: Mapping[str, Story]) -> bool:
        """Whether all that a restart would miss is durable; nothing to write is well too."""
        self._owe(steps)
        if not (self._names or self._incidents or self._notices):
            return True
        return await self.save(steps, stories)

    async def save(self, steps: Sequence[Step], stories: Mapping[str, Story]) -> bool:
        """Write what is owed, and the marks. *steps*: the sequence has come as far as theirs."""
        self._mark(max((n for step in steps for _, n in step.effects), default=0))
        kept = [stories[name] for name in self._names if name in stories]
        incidents = {i.id: i for story in kept for i in story.incidents}
        batch = Batch(
            stories=tuple(kept),
            gone=tuple(name for name in self._names if name not in stories),
            incidents=tuple((self._incidents | incidents).values()),
            outbox_add=tuple(self._notices.values()),
            meta=self.meta,
        )
        try:
            await self._store.commit(batch)
        except HealthdError as err:
            self._say(err.message)
            return False
        self._names.clear()
        self._incidents.clear()
        self._notices.clear()
        self._say("")
        return True

    def _owe(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if _lasting(step.before) != _lasting(step.after):
                self._names.add(step.name)
            for effect, _ in step.effects:
                match effect:
                    case IncidentStep(incident=incident):
                        self._incidents[incident.id] = incident
                    case Tell(notice=notice):
                        self._notices[notice.id] = notice
                    case _:
                        pass

    def _mark(self, sequence: int) -> None:
        now = self._clock.now()
        mark = self.meta.sequence_mark
        if sequence + _SEQUENCE_MARGIN > mark:
            mark = sequence + _SEQUENCE_STRIDE
        self.meta = replace(
            self.meta, sequence_mark=mark, steady_mark_us=now.steady_us, wall_mark_at=now.wall_at
        )

    def _say(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            if trouble:
                log.error("the store cannot be written, watching goes on: %s", trouble)
            self._on_trouble(trouble)


def _lasting(story: Story) -> tuple[object, ...]:
    """What of a story must survive: not the facts, nor when the next look is."""
    watches = tuple(
        (
            w.check,
            w.verdict.state,
            w.verdict.reason,
            w.verdict.streak,
            w.verdict.waiting_on,
            w.invocation,
            w.grace_until_us // MINUTE_US,
            w.found,
            w.present,
        )
        for w in story.watches
    )
    return (watches, story.run, story.incidents, story.attempts, story.restarts_us, story.closed)
