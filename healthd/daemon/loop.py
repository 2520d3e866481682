"""The one writer: takes events in order, lets the judge decide, saves, and only then acts."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from healthd.daemon.clock import Clock
from healthd.daemon.inbox import Inbox
from healthd.daemon.saving import Saver, Step
from healthd.judge import found
from healthd.judge.dependents import Dependents
from healthd.judge.incident import is_open
from healthd.judge.judge import judge
from healthd.judge.repairing import HEALTHD
from healthd.model import (
    CheckKey,
    Declared,
    Delivered,
    Effect,
    Event,
    FoundTold,
    Incident,
    IncidentStep,
    Policy,
    Publish,
    Removed,
    Repair,
    Scene,
    Story,
    Tell,
)

log = logging.getLogger(__name__)

Act = Callable[[Step, bool], None]

_EVENTS_A_TURN = 256


class Loop:
    """Holds every story. Everyone else reads frozen values and puts events."""

    def __init__(
        self,
        saver: Saver,
        clock: Clock,
        policy: Policy,
        *,
        first_start: bool,
        broke: Callable[[str], None],
    ) -> None:
        self.inbox = Inbox()
        self.stories: dict[str, Story] = {}
        self.policy = policy
        self.first_start = first_start
        #: Whether all units have been looked at once; a first start lasts until then.
        self.passed = False
        self.sequence = saver.first_sequence
        #: Why nothing is judged now, "" = it is.
        self.frozen = ""
        #: The units that are held, and what each hold says.
        self.held: Mapping[str, str] = {}
        self._saver = saver
        self._clock = clock
        self._broke = broke
        self._machine_restarts_us: deque[int] = deque(maxlen=256)
        self._where: dict[CheckKey, str] = {}
        self._dependents = Dependents()
        self._judging = False
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

    def shown_anew(self) -> None:
        """Readers are shown something else than before, though no check has changed."""
        self.sequence += 1

    async def save(self, *, stopped: bool = False) -> bool:
        """Write the marks by which the next start carries on, and what is owed to the store.

        *stopped*: this is the end of a life that was asked to end.
        """
        if stopped:
            self._saver.meta = replace(self._saver.meta, stopped=True)
        return await self._saver.save((), self.stories)

    async def run(self, act: Act, ended: Callable[[], None], woke: Callable[[], None]) -> None:
        """Judge for ever. *act* starts a step's effects, told whether it is saved, and returns;
        *woke* is called before each turn, and *ended* after the steps of it.
        """
        while True:
            await self.inbox.filled()
            woke()
            events = self.inbox.take(_EVENTS_A_TURN)
            self._judging = True
            steps = self._steps(self._spread(events))
            steps += self._first_start_over()
            saved = await self._saver.save_changes(steps, self.stories)
            for step in steps:
                act(step, saved)
            ended()
            self._end_turn()

    async def turned(self) -> None:
        """Wait until the events of one more turn are judged and saved."""
        await asyncio.shield(self._turn)

    async def turn_ended(self) -> None:
        """Wait until what is judged by now is saved and its effects have begun."""
        if self._judging:
            await self.turned()

    async def caught_up(self) -> None:
        """Wait until nothing waits to be judged or saved."""
        while self._judging or len(self.inbox):
            await self.turned()

    def _end_turn(self) -> None:
        self._judging = False
        turn, self._turn = self._turn, asyncio.get_running_loop().create_future()
        turn.set_result(None)

    def first_pass_over(self) -> None:
        """All units were asked about once: what fails later is no old trouble of the machine."""
        self.passed = True
        # A turn in which that is seen, should nothing else happen.
        self.inbox.put(found.KEY, Declared(()))

    def _spread(self, events: list[tuple[str, Event]]) -> Iterator[tuple[str, Event]]:
        """*events*, with those that are of several stories given to each of them."""
        for name, event in events:
            yield name, event
            if isinstance(event, Delivered) and not event.incident:
                told = [s.name for s in self.stories.values() if found.awaits_delivery(s)]
                yield from ((other, replace(event, drop="")) for other in told)

    def _steps(self, events: Iterable[tuple[str, Event]]) -> list[Step]:
        return [s for name, event in events if (s := self._step(name, event)) is not None]

    def _first_start_over(self) -> list[Step]:
        """What ends a first start: one notice for all that was found, saved with its end."""
        if self._saver.meta.first_start_done or not self.passed:
            return []
        if not (self.first_start or self.policy.watch_enabled) or not self._all_looked_at():
            return []
        self.first_start = False
        stories = self.stories.values()
        if not self.policy.watch_enabled or found.unconfirmed(stories):
            return []
        notice = found.digest(stories, self._clock.now())
        steps = self._steps([(name, FoundTold()) for name in found.concerned(stories)])
        if notice is not None:
            self.sequence += 1
            nobody = Story(name=found.KEY)
            tell = ((Tell(notice), self.sequence),)
            steps.append(Step(found.KEY, FoundTold(), nobody, nobody, tell))
        self._saver.first_start_done()
        return steps

    def _all_looked_at(self) -> bool:
        watches = [w for s in self.stories.values() for w in s.watches]
        return bool(watches) and all(w.looked_us for w in watches)

    def _step(self, name: str, event: Event) -> Step | None:
        try:
            return self._judge(name, event)
        # One of the places where everything is caught: the judge is total, and should it not be,
        # one story must not end the watch over all others.
        except Exception:
            log.exception("judging %s broke", name)
            self._broke(f"judging {name}")
            return None

    def _judge(self, name: str, event: Event) -> Step:
        before = self.stories.get(name) or Story(name=name)
        scene = self.scene()
        after, effects = judge(before, event, scene)
        self._keep(after)
        self._give_back(before, after)
        self._tell_dependents(before, after, scene)
        numbered = []
        for effect in effects:
            self._count(effect, scene)
            numbered.append((effect, self.sequence))
        if not effects and _shown(before) != _shown(after):
            # Readers keep what they rendered until this number moves.
            self.sequence += 1
        return Step(name, event, before, after, tuple(numbered))

    def _tell_dependents(self, before: Story, after: Story, scene: Scene) -> None:
        """Those who need this unit are judged anew where that may change what is said of them."""
        for name, event in self._dependents.moved(before, after, self.stories, scene.now):
            self.inbox.put(name, event)

    def _give_back(self, before: Story, after: Story) -> None:
        """A restart that was overtaken is none, for the budget of the machine neither."""
        if before.restarts_us is after.restarts_us:
            return
        for at_us in set(before.restarts_us).difference(after.restarts_us):
            if at_us in self._machine_restarts_us:
                self._machine_restarts_us.remove(at_us)

    def scene(self) -> Scene:
        """What is the same for every story at this instant."""
        return Scene(
            now=self._clock.now(),
            policy=self.policy,
            stories=self.stories,
            held=self.held,
            frozen=self.frozen,
            first_start=self.first_start,
            machine_restarts_us=tuple(self._machine_restarts_us),
            next_incident=self._saver.meta.next_incident,
            next_attempt=self._saver.meta.next_attempt,
        )

    def _count(self, effect: Effect, scene: Scene) -> None:
        match effect:
            case IncidentStep(incident=incident) if incident.id == scene.next_incident:
                self._saver.meta = replace(self._saver.meta, next_incident=incident.id + 1)
            case Repair(attempt=attempt):
                self._saver.meta = replace(self._saver.meta, next_attempt=attempt.id + 1)
                if attempt.by == HEALTHD:
                    self._machine_restarts_us.append(attempt.at_us)
            case _:
                pass
        if isinstance(effect, Publish | Removed | IncidentStep | Tell):
            self.sequence += 1

    def _keep(self, story: Story) -> None:
        old = self.stories.get(story.name)
        self._dependents.keep(story)
        if old is None or old.watches is not story.watches:
            for watch in old.watches if old else ():
                self._where.pop(watch.check.key, None)
            for watch in story.watches:
                self._where[watch.check.key] = story.name
        if story.watches:
            self.stories[story.name] = story
        else:
            self.stories.pop(story.name, None)


def _shown(story: Story) -> tuple[object, ...]:
    """What of a story's checks readers see besides what is published."""
    return tuple(
        (w.verdict.summary, w.verdict.streak, w.verdict.failure_class) for w in story.watches
    )
