"""The one writer: takes events in order, lets the judge decide, saves, and only then acts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

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
    Notice,
    Policy,
    Publish,
    Removed,
    Repair,
    Scene,
    Story,
    Tell,
)
from healthd.store.env import Store
from healthd.store.records import Batch, Meta

Act = Callable[[str, Effect], None]

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
        """Judge for ever. *act* starts an effect and returns at once."""
        while True:
            events = await self.inbox.take(_EVENTS_A_TURN)
            before: dict[str, Story | None] = {}
            effects: list[tuple[str, Effect]] = []
            for name, event in events:
                before.setdefault(name, self.stories.get(name))
                effects += [(name, effect) for effect in self._judge(name, event)]
            batch = self._batch(before, effects)
            if batch is not None:
                await self._store.commit(batch)
            for name, effect in effects:
                if isinstance(effect, Publish | Removed | IncidentStep | Tell):
                    self.sequence += 1
                act(name, effect)
            if self.first_start:
                self.first_start = any(
                    not w.looked_us for s in self.stories.values() for w in s.watches
                )

    def _judge(self, name: str, event: Event) -> tuple[Effect, ...]:
        story = self.stories.get(name) or Story(name=name)
        scene = self._scene()
        after, effects = judge(story, event, scene)
        self._keep(after)
        for effect in effects:
            self._count(effect, scene)
        return effects

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

    def _batch(
        self, before: dict[str, Story | None], effects: list[tuple[str, Effect]]
    ) -> Batch | None:
        """What must be durable before these effects start; None when nothing a restart would miss
        has changed.
        """
        changed = [
            story
            for name, old in before.items()
            if (story := self.stories.get(name)) is not None
            and (old is None or _lasting(old) != _lasting(story))
        ]
        gone = [name for name, old in before.items() if old and name not in self.stories]
        incidents = {e.incident.id: e.incident for _, e in effects if isinstance(e, IncidentStep)}
        for story in changed:
            incidents |= {i.id: i for i in story.incidents}
        notices: list[Notice] = [e.notice for _, e in effects if isinstance(e, Tell)]
        if not (changed or gone or incidents or notices):
            return None
        now = self._clock.now()
        if self.sequence + _EVENTS_A_TURN * 16 > self._meta.sequence_mark:
            mark = self._meta.sequence_mark + _SEQUENCE_STRIDE
            self._meta = replace(self._meta, sequence_mark=mark)
        self._meta = replace(self._meta, steady_mark_us=now.steady_us, wall_mark_at=now.wall_at)
        return Batch(
            stories=tuple(changed),
            gone=tuple(gone),
            incidents=tuple(incidents.values()),
            outbox_add=tuple(notices),
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
