"""Plays a recording of real systemd to the judge, as the daemon would, and lets time pass after."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from msgspec.structs import replace

from healthd.host.unit_facts import merge
from healthd.judge.dependents import Dependents
from healthd.judge.endings import Endings
from healthd.model import (
    SECOND_US,
    UNIT_RULES,
    ActiveState,
    Aspect,
    Check,
    CheckKey,
    LookAt,
    Policy,
    ReadUnit,
    Story,
    UnitChanged,
    UnitFacts,
    UnitName,
    UnitSeen,
)
from tests.transcripts import replay
from tests.transcripts.expected import BOUND, FOES, KNOWN, PROVIDERS
from tests.unit.histories import BEGIN_US
from tests.unit.laws import LawfulPlay

_READ_US = 3_000


class Recording:
    """All units of one recording, each with its liveness; one healthd over all of them."""

    def __init__(self, name: str, policy: Policy) -> None:
        self.plays: dict[UnitName, LawfulPlay] = {}
        self._facts: dict[UnitName, UnitFacts] = {}
        self._acted: dict[UnitName, int] = {}
        self._due: dict[UnitName, int] = {}
        self._reads: list[tuple[int, int, UnitName]] = []
        self._numbers = count()
        self._endings = Endings()
        self._stories: dict[str, Story] = {}
        self._dependents = Dependents()
        heard = replay.heard(name)
        # The recorder's clock began elsewhere; the plays all begin with BEGIN_US.
        self._offset_us = BEGIN_US - heard[0].now.steady_us
        self.now_us = BEGIN_US
        up = replay.was_up(name)
        units = {s.signal.unit for s in heard if isinstance(s.signal, UnitChanged)} | up.keys()
        for unit in sorted(units):
            if unit.endswith((".service", ".mount")):
                self._meet(unit, up.get(unit), policy)
        for one in heard:
            self.run_until(one.now.steady_us + self._offset_us)
            self._feed(one)

    def run(self, seconds: float) -> None:
        """Let time pass after the recording."""
        self.run_until(self.now_us + int(seconds * SECOND_US))

    def run_until(self, until_us: int) -> None:
        while True:
            read_us = self._reads[0][0] if self._reads else until_us + 1
            look_us = min(self._due.values(), default=until_us + 1)
            at_us = min(read_us, look_us)
            if at_us > until_us:
                break
            self.now_us = max(self.now_us, at_us)
            if read_us <= look_us:
                self._see(heapq.heappop(self._reads)[2], fresh=True)
            else:
                unit = next(u for u, us in self._due.items() if us == look_us)
                del self._due[unit]
                self._see(unit, fresh=True, due=True)
        self.now_us = max(self.now_us, until_us)

    def _meet(self, unit: UnitName, invocation: str | None, policy: Policy) -> None:
        check = Check(CheckKey(f"liveness:{unit}"), Aspect.LIVENESS, "unit", unit, UNIT_RULES)
        self._acted[unit] = 0
        self.plays[unit] = LawfulPlay(
            policy=policy, checks=(check,), story=Story(name=unit), stories=self._stories
        )
        facts = UnitFacts(
            unit,
            wanted=True,
            requires=PROVIDERS.get(unit, ()),
            providers=PROVIDERS.get(unit, ()),
            bound_to=BOUND.get(unit, ()),
            foes=FOES.get(unit, ()),
        )
        facts = replace(facts, **KNOWN.get(unit, {}))
        if invocation:
            facts = replace(
                facts,
                active_state=ActiveState.ACTIVE,
                sub_state="running",
                invocation=invocation,
                inactive_exit_us=BEGIN_US - 3600 * SECOND_US,
                active_enter_us=BEGIN_US - 3600 * SECOND_US,
            )
        self._facts[unit] = facts
        self._endings.prime(facts)
        self._see(unit, fresh=True, due=True)

    def _feed(self, one: replay.Heard) -> None:
        now = replay.at(self.now_us)
        for unit, event in self._endings.feed(one.signal, now):
            self._put(unit, lambda play, event=event: play.put(event))  # type: ignore[misc]
            if not isinstance(one.signal, UnitChanged):
                self._see(unit)
        match one.signal:
            case UnitChanged(unit=unit, interface=interface, properties=changed):
                if unit in self._facts:
                    self._facts[unit] = merge(
                        self._facts[unit], interface, changed, self._offset_us
                    )
                    self._see(unit)
            case _:
                pass

    def _see(self, unit: UnitName, *, fresh: bool = False, due: bool = False) -> None:
        if unit in self._facts:
            seen = UnitSeen(self._facts[unit], fresh=fresh, due=due)
            self._put(unit, lambda play: play.put(seen))

    def _put(self, unit: UnitName, put: Callable[[LawfulPlay], object]) -> None:
        play = self.plays.get(unit)
        if play is None:
            return
        play.now_us = self.now_us
        before = play.story
        put(play)
        self._dependents.keep(play.story)
        for name, event in self._dependents.moved(before, play.story, self._stories, play.now):
            self._put(UnitName(name), lambda play, event=event: play.put(event))  # type: ignore[misc]
        new, self._acted[unit] = play.effects[self._acted[unit] :], len(play.effects)
        for effect in new:
            match effect:
                case LookAt(at_us=at_us):
                    self._due.pop(unit, None)
                    if at_us:
                        self._due[unit] = max(at_us, self.now_us)
                case ReadUnit():
                    at_us = self.now_us + _READ_US
                    heapq.heappush(self._reads, (at_us, next(self._numbers), unit))
                case _:
                    pass
