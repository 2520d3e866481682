"""Make durable what the judge decided, before any of it is acted on.

A store that cannot be written never stops the watch: what is owed is written with the next turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from healthd.daemon.clock import Clock
from healthd.errors import HealthdError
from healthd.model import (
    MINUTE_US,
    Delivered,
    Effect,
    Event,
    Gap,
    Hold,
    HoldId,
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
    event: Event
    before: Story
    after: Story
    effects: tuple[tuple[Effect, int], ...]


class Owed:
    """What the store does not have yet."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.incidents: dict[IncidentId, Incident] = {}
        self.notices: dict[str, Notice] = {}
        self.drops: set[str] = set()
        self.gaps: list[Gap] = []
        self.old_gaps: list[Gap] = []

    def __bool__(self) -> bool:
        return bool(
            self.names or self.incidents or self.notices or self.drops or self.gaps or self.old_gaps
        )

    def add(self, step: Step) -> None:
        """What of one step a restart would miss."""
        if _lasting(step.before) != _lasting(step.after):
            self.names.add(step.name)
        if isinstance(step.event, Delivered) and step.event.drop:
            self.notices.pop(step.event.drop, None)
            self.drops.add(step.event.drop)
        for effect, _ in step.effects:
            match effect:
                case IncidentStep(incident=incident):
                    self.incidents[incident.id] = incident
                case Tell(notice=notice):
                    self.notices[notice.id] = notice
                    self.drops.discard(notice.id)
                case _:
                    pass

    def with_older(self, older: Owed) -> None:
        """Take back what could not be written; what has come since is newer."""
        self.names |= older.names
        self.incidents = older.incidents | self.incidents
        self.drops |= older.drops - self.notices.keys()
        kept = {i: n for i, n in older.notices.items() if i not in self.drops}
        self.notices = kept | self.notices
        self.gaps = older.gaps + self.gaps
        self.old_gaps = older.old_gaps + self.old_gaps


class Saver:
    """The loop's pen. *meta* is what the next start goes on with; *on_trouble* hears each change of
    what is wrong with the store, "" = nothing.
    """

    def __init__(
        self, store: Store, clock: Clock, meta: Meta, on_trouble: Callable[[str], None]
    ) -> None:
        # With a new store the numbers go on above those of the one that is gone.
        mark = meta.sequence_mark or clock.now().wall_at // 1000
        self.meta = replace(meta, sequence_mark=mark + _SEQUENCE_STRIDE)
        self.first_sequence = mark + 1
        self._store = store
        self._clock = clock
        self._on_trouble = on_trouble
        self._trouble = ""
        self._owed = Owed()
        self._pen = asyncio.Lock()
        #: Until when the machine was watched, for the next start to know.
        self.watched_until: Callable[[], int] = lambda: clock.now().wall_at

    def first_start_done(self) -> None:
        """What the next start finds failing is new; written with what is saved next."""
        self.meta = replace(self.meta, first_start_done=True)

    async def save_changes(self, steps: Sequence[Step], stories: Mapping[str, Story]) -> bool:
        """Whether all that a restart would miss is durable; nothing to write is well too."""
        for step in steps:
            self._owed.add(step)
        return not self._owed or await self.save(steps, stories)

    async def save(self, steps: Sequence[Step], stories: Mapping[str, Story]) -> bool:
        """Write what is owed, and the marks. *steps*: the sequence has come as far as theirs."""
        async with self._pen:
            owed, self._owed = self._owed, Owed()
            self._mark(max((n for step in steps for _, n in step.effects), default=0))
            try:
                await self._store.commit(self._batch(owed, stories))
            except HealthdError as err:
                self._owed.with_older(owed)
                self._say(err.message)
                return False
            self._say("")
            return True

    def note_gap(self, gap: Gap, forget: Sequence[Gap]) -> None:
        """Write a gap with what is saved next, and *forget* others."""
        self._owed.gaps.append(gap)
        self._owed.old_gaps += forget

    async def keep_hold(self, make: Callable[[HoldId], Hold]) -> Hold:
        """Give a hold its number and write it down; raises HealthdError when that cannot be."""
        number = self.meta.next_hold
        self.meta = replace(self.meta, next_hold=HoldId(number + 1))
        hold = make(number)
        await self._store.commit(Batch(holds_add=(hold,), meta=self.meta))
        return hold

    async def drop_hold(self, number: HoldId) -> None:
        """A hold has ended. One that could not be dropped is found without its holder later."""
        try:
            await self._store.commit(Batch(holds_drop=(number,)))
        except HealthdError as err:
            log.error("the end of hold %d is not stored: %s", number, err)

    def _batch(self, owed: Owed, stories: Mapping[str, Story]) -> Batch:
        kept = [stories[name] for name in owed.names if name in stories]
        incidents = {i.id: i for story in kept for i in story.incidents}
        return Batch(
            stories=tuple(kept),
            gone=tuple(name for name in owed.names if name not in stories),
            incidents=tuple((owed.incidents | incidents).values()),
            outbox_add=tuple(owed.notices.values()),
            outbox_drop=tuple(owed.drops),
            gaps_add=tuple(owed.gaps),
            gaps_drop=tuple(owed.old_gaps),
            meta=self.meta,
        )

    def _mark(self, sequence: int) -> None:
        now = self._clock.now()
        mark = self.meta.sequence_mark
        if sequence + _SEQUENCE_MARGIN > mark:
            mark = sequence + _SEQUENCE_STRIDE
        self.meta = replace(
            self.meta,
            sequence_mark=mark,
            steady_mark_us=now.steady_us,
            wall_mark_at=now.wall_at,
            watched_until_at=self.watched_until(),
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
            w.released_until_us // MINUTE_US,
            w.wait_until_us,
            w.found,
            w.present,
        )
        for w in story.watches
    )
    return (
        watches,
        story.run,
        story.incidents,
        story.attempts,
        story.restarts_us,
        story.closed,
        story.held,
        story.ledger,
    )
