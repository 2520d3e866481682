"""What must hold in a whole town after every event: of repairs, notices, and who waits on whom.

What one story alone must keep to is in laws.py. These laws know the needs of each unit and what
people did, and nothing of how the judge follows them.
"""

from __future__ import annotations

from collections.abc import Mapping

from healthd.judge.repairing import HEALTHD
from healthd.model import (
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    CheckKey,
    Edition,
    Effect,
    Event,
    IncidentStep,
    Notice,
    Outcome,
    Reason,
    Repair,
    State,
    Story,
    Tell,
    Watch,
)
from healthd.store.records import encode
from tests.unit.laws import LawfulPlay
from tests.unit.living_town import LivingTown

_BROKEN = (Edition.ENGAGED, Edition.AGAIN)
_WELL = (State.GREEN, State.YELLOW)
# What a story may weigh: 64 ends and starts, 50 past incidents, the open ones with their tellings.
_STORY_BYTES = 64 * 1024


class LawfulTown(LivingTown):
    """A living town in which every step is held against the laws."""

    def __init__(self, *arguments: object, **more: object) -> None:
        #: Checks that waited on a unit when that was well again, and since when it is.
        self.back_us: dict[CheckKey, int] = {}
        self.released_us: dict[str, int] = {}
        self.heaviest = 0
        super().__init__(*arguments, **more)  # type: ignore[arg-type]

    def judged(self, unit: str, before: Story, event: Event, effects: tuple[Effect, ...]) -> None:
        """All laws, one after the other."""
        self._follow(unit, before)
        for effect in effects:
            match effect:
                case Tell(notice=notice) if notice.edition in _BROKEN:
                    self._told_rightly(unit, notice)
                case Repair(attempt=attempt) if attempt.by == HEALTHD:
                    self._repaired_rightly(unit, effect)
                case _:
                    pass
        if any(isinstance(e, IncidentStep) for e in effects):
            self.heaviest = max(self.heaviest, len(encode(self.stories[unit])))
            assert self.heaviest < _STORY_BYTES, "a story grows for ever"

    # ---- what is needed

    def needs(self, watch: Watch) -> set[str]:
        """Every unit that a check depends on, without those that depend on its unit as well."""
        unit = watch.check.unit
        found = self._beneath(self._next(unit, watch), set())
        return {name for name in found if name != unit and unit not in self._closure(name)}

    def _closure(self, unit: str) -> set[str]:
        return self._beneath(self._of_unit(unit), set())

    def _beneath(self, names: set[str], seen: set[str]) -> set[str]:
        for name in names - seen:
            if name in self.plays and name not in seen:
                seen.add(name)
                self._beneath(self._of_unit(name), seen)
        return seen

    def _of_unit(self, unit: str) -> set[str]:
        return {n for w in self.stories[unit].watches for n in self._next(unit, w)}

    def _next(self, unit: str, watch: Watch) -> set[str]:
        if watch.check.needs == ():
            return set()
        return {*self.facts[unit].requires, *(watch.check.needs or ())}

    # ---- what is followed

    def _follow(self, unit: str, before: Story) -> None:
        """Keep who became well, and what waited for that."""
        was = {w.check.key: w.verdict for w in before.watches}
        for watch in self.stories[unit].watches:
            key, verdict = watch.check.key, watch.verdict
            if verdict.state is State.GREEN:
                self.back_us.pop(key, None)
                self.released_us.pop(key, None)
            old = was.get(key)
            if old is not None and verdict.waiting_on not in ("", old.waiting_on):
                # From now on it waits on another.
                self.back_us.pop(key, None)
            if old is None or (old.state in _WELL) == (verdict.state in _WELL):
                continue
            if old.reason is Reason.SUSPECT or verdict.reason is Reason.SUSPECT:
                continue
            for other in self.stories.values():
                for waiter in other.watches:
                    if other.name != unit and waiter.verdict.waiting_on == key:
                        self.back_us[waiter.check.key] = self.now_us

    def release(self, unit: str) -> None:
        for watch in self.stories[unit].watches:
            self.released_us[watch.check.key] = self.now_us
        super().release(unit)

    # ---- the laws

    def _told_rightly(self, unit: str, notice: Notice) -> None:
        watch = self.watch(notice.key)
        assert watch.verdict.state is State.RED, "told of what is not red"
        self._nothing_in_the_way(unit, watch)
        for name in self.needs(watch):
            since_us = self.put_away.get(name)
            assert since_us is None or self.now_us - since_us >= HOUR_US - SECOND_US, (
                f"told of {notice.key} within the hour after {name} was stopped"
            )

    def _repaired_rightly(self, unit: str, repair: Repair) -> None:
        watch = self.watch(repair.key)
        self._nothing_in_the_way(unit, watch)
        stopped = self.put_away.keys() & self.needs(watch)
        assert not stopped, f"repaired {repair.key} though {stopped} was stopped"

    def _nothing_in_the_way(self, unit: str, watch: Watch) -> None:
        """Neither a person, nor a hold, nor a freeze, nor a unit that the check needs."""
        key = watch.check.key
        assert not self.away
        assert not self.frozen_us, "acted in a freeze"
        assert unit not in self.held, "acted under a hold"
        assert unit not in self.put_away, f"acted on {unit}, which a person stopped"
        assert self.along.get(unit) not in self.put_away, f"acted on {unit}, which went along"
        # It runs from when systemd says that the provider was up; that is seen a little later.
        grace_us = watch.check.rules.grace_us - SECOND_US
        for since_us in (self.back_us.get(key, 0), self.released_us.get(key, 0)):
            assert self.now_us - since_us >= grace_us or not since_us, f"{key} acted on in a grace"
        for name in sorted(self.needs(watch)):
            assert name not in self.held, f"acted on {key} while {name}, which it needs, is held"
            for other in self.stories[name].watches:
                verdict = other.verdict
                unwell = verdict.state is State.RED or verdict.reason is Reason.SUSPECT
                assert not unwell, f"acted on {key} while {other.check.key} is {verdict.reason}"

    # ---- when nothing happens any more

    def all_is_said(self) -> None:
        """Hours after the last event: whatever is down has somebody who speaks for it."""
        for unit, story in self.stories.items():
            if unit in self.put_away or self.along.get(unit) in self.put_away:
                continue
            for watch in story.watches:
                if watch.verdict.reason is Reason.STARTING:
                    # Somebody else loops, and it is restarted along each time.
                    assert self.now_us - self.facts[unit].active_enter_us < 2 * MINUTE_US
                elif (
                    watch.last_outcome is Outcome.FAILING or watch.verdict.reason is Reason.WAITING
                ):
                    self._is_said(watch)

    def _is_said(self, watch: Watch) -> None:
        key, verdict = watch.check.key, watch.verdict
        speaker = self.watch(verdict.waiting_on) if verdict.waiting_on else watch
        if speaker.check.unit in self.put_away or speaker.verdict.reason is Reason.STOPPED:
            # Or nobody could say who stopped it, and that is what is said.
            return
        face = f"{key} is {verdict.reason} on {verdict.waiting_on}: {speaker.verdict.reason}"
        assert speaker.verdict.state is State.RED, f"nobody speaks: {face}"
        incident = self.plays[speaker.check.unit].open(speaker.check.key)
        assert incident is not None
        assert incident.found or incident.why_engaged, f"nobody was told: {face}"

    def all_is_over(self) -> None:
        """Everything ran well for a while: nothing is open, and no notice says that it is."""
        faces: Mapping[str, str] = {
            w.check.key: f"{w.verdict.state} {w.verdict.reason}: {w.verdict.summary}"
            for s in self.stories.values()
            for w in s.watches
            if w.verdict.state is not State.GREEN
        }
        assert not faces
        for unit, play in self.plays.items():
            assert not [i for i in play.story.incidents if i.phase != "closed"], unit
            assert isinstance(play, LawfulPlay)
            assert not [e for e in play.last_told.values() if e in _BROKEN], (
                f"a notice of {unit} stands"
            )
