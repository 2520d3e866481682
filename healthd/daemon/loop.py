"""The one writer: takes events in order, lets the judge decide, saves, and only then acts."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from healthd.daemon.clock import Clock
from healthd.daemon.inbox import Inbox
from healthd.judge.incident import is_open
from healthd.judge.judge import judge
from healthd.model import (
    MINUTE_US,
    AttemptId,
    CheckKey,
    Effect,
    Event,
    Incident,
    IncidentId,
    IncidentStep,
    Policy,
    Publish,
    Removed,
    Repair,
    Scene,
    Story,
    Tell,
)
from healthd.store.records import Batch, Meta
from healthd.store.store import Store


class Step(Struct, frozen=True):
    """What one event did to one story. *effects* in order, each with its number in the sequence."""

    name: str
    before: Story
    after: Story
    effects: tuple[tuple[Effect, int], ...]


Act = Callable[[Step], None]

_EVENTS_A_TURN = 256
# A reader never sees a sequence number twice: each start goes on this far above the last one's mark.
_SEQUENCE_STRIDE = 1_000_000


class Loop:
    """Holds every story. Everyone else reads frozen values and puts events."""

    def __init__(
        self, store: Store, clock: Clock, meta: Meta, policy: Policy, *, first_start: bool
    ) -> None:
        self.inbox = Inbox()
        self.stories: dict[str, Story] = {}
        self.policy = policy
        self.first_start = first_start
        self.sequence = meta.sequence_mark + 1
        self._meta = replace(meta, sequence_mark=meta.sequence_mark + _SEQUENCE_STRIDE)
        self._store = store
        self._clock = clock
        self._machine_restarts_us: deque[int] = deque(maxlen=256)
        self._where: dict[CheckKey, str] = {}
        self._turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def restore(self, stories: tuple[Story, ...]) -> None:
        """Take over what the store held, before the first event."""
        for story in stories:
            self._keep(story)
            self._machine_restarts_us.extend(story.restarts_us)

    def story_of(self, key: CheckKey) -> Story | None:
        """The story that holds a check."""
        return self.stories.get(self._where.get(key, ""))

    def open_incidents(self) -> list[Incident]:
        return [i for s in self.stories.values() for i in s.incidents if is_open(i)]

    async def save_meta(self) -> None:
        """Write the marks by which the next start carries on."""
        now = self._clock.now()
        self._meta = replace(self._meta, steady_mark_us=now.steady_us, wall_mark_at=now.wall_at)
        await self._store.commit(Batch(meta=self._meta))

    async def run(self, act: Act) -> None:
        """Judge for ever. *act* starts a step's effects and returns at once."""
        while True:
            events = await self.inbox.take(_EVENTS_A_TURN)
            steps = [self._judge(name, event) for name, event in events]
            batch = self._batch(steps)
            if batch is not None:
                await self._store.commit(batch)
            for step in steps:
                act(step)
            self._end_turn()

    async def turned(self) -> None:
        """Wait until the events of one more turn are judged and saved."""
        await asyncio.shield(self._turn)

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, asyncio.get_running_loop().create_future()
        turn.set_result(None)
        if self.first_start:
            self.first_start = any(
                not w.looked_us for s in self.stories.values() for w in s.watches
            )

    def _judge(self, name: str, event: Event) -> Step:
        before = self.stories.get(name) or Story(name=name)
        scene = self._scene()
        after, effects = judge(before, event, scene)
        self._keep(after)
        numbered = []
        for effect in effects:
            self._count(effect, scene)
            numbered.append((effect, self.sequence))
        return Step(name, before, after, tuple(numbered))

    def _scene(self) -> Scene:
        return Scene(
            now=self._clock.now(),
            policy=self.policy,
            first_start=self.first_start,
            machine_restarts_us=tuple(self._machine_restarts_us),
            next_incident=IncidentId(self._meta.next_incident),
            next_attempt=AttemptId(self._meta.next_attempt),
        )

    def _count(self, effect: Effect, scene: Scene) -> None:
        match effect:
            case IncidentStep(incident=incident) if incident.id == scene.next_incident:
                self._meta = replace(self._meta, next_incident=incident.id + 1)
            case Repair(attempt=attempt):
                self._meta = replace(self._meta, next_attempt=attempt.id + 1)
                self._machine_restarts_us.append(attempt.at_us)
            case _:
                pass
        if isinstance(effect, Publish | Removed | IncidentStep | Tell):
            self.sequence += 1

    def _keep(self, story: Story) -> None:
        old = self.stories.get(story.name)
        if old is None or old.watches is not story.watches:
            for watch in old.watches if old else ():
                self._where.pop(watch.check.key, None)
            for watch in story.watches:
                self._where[watch.check.key] = story.name
        if story.watches:
            self.stories[story.name] = story
        else:
            self.stories.pop(story.name, None)

    def _batch(self, steps: list[Step]) -> Batch | None:
        """What must be durable before these steps' effects start; None when nothing that a restart
        would miss has changed.
        """
        names = {s.name for s in steps if _lasting(s.before) != _lasting(s.after)}
        stories = tuple(self.stories[n] for n in names if n in self.stories)
        gone = tuple(n for n in names if n not in self.stories)
        effects = [effect for step in steps for effect, _ in step.effects]
        incidents = {e.incident.id: e.incident for e in effects if isinstance(e, IncidentStep)}
        for story in stories:
            incidents |= {i.id: i for i in story.incidents}
        notices = tuple(e.notice for e in effects if isinstance(e, Tell))
        if not (names or incidents or notices):
            return None
        now = self._clock.now()
        if self.sequence + _EVENTS_A_TURN * 16 > self._meta.sequence_mark:
            mark = self._meta.sequence_mark + _SEQUENCE_STRIDE
            self._meta = replace(self._meta, sequence_mark=mark)
        self._meta = replace(self._meta, steady_mark_us=now.steady_us, wall_mark_at=now.wall_at)
        return Batch(
            stories=stories,
            gone=gone,
            incidents=tuple(incidents.values()),
            outbox_add=notices,
            meta=self._meta,
        )


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
        )
        for w in story.watches
    )
    return (watches, story.run, story.incidents, story.attempts, story.restarts_us, story.closed)
