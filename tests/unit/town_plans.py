"""Random towns and what happens in them: as data, so that a history can be played again, or cut.

A plan is the town; a deed is a verb and a number, which picks a unit or a length of time.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from healthd.model import (
    HOUR_US,
    MINUTE_US,
    AttemptResult,
    Budget,
    Check,
    Declared,
    Policy,
    Rules,
    UnitName,
)
from tests.unit.histories import FAIL, OK, SLOW
from tests.unit.town import live, ready
from tests.unit.town_laws import LawfulTown

Deed = tuple[str, int]

_HOUR_S = 3600.0
# Seldom enough that hours of nothing cost little.
_EVERY_US = 3 * MINUTE_US
_PAUSES_S = (0.002, 0.5, 2.0, 5.0, 6.0, 12.0, 30.0, 61.0, 90.0, 180.0, 600.0, 1200.0)
_DELAYS_S = (0.1, 0.1, 2.0, 12.0)


class Plan(Struct, frozen=True):
    """A town before anything happens. *requires*: by number; *needs*: what settings add to a check,
    None = nothing is said.
    """

    requires: tuple[tuple[int, ...], ...]
    bound: tuple[int, ...]
    ready: tuple[int, ...]
    needs: tuple[tuple[int, tuple[int, ...]], ...]
    restart_s: tuple[tuple[int, float], ...]
    listed: tuple[int, ...]
    max_attempts: int = 2
    unit_budget: int = 4
    renotify_us: int = 12 * HOUR_US
    self_healed: bool = False

    def names(self) -> list[str]:
        return [f"u{number:02}.service" for number in range(len(self.requires))]

    def policy(self) -> Policy:
        """What its settings say."""
        names = self.names()
        return Policy(
            allow_restart=frozenset(names[n] for n in self.listed),
            max_attempts=self.max_attempts,
            unit_budget=Budget(self.unit_budget, HOUR_US),
            renotify_us=self.renotify_us,
            self_healed=self.self_healed,
        )

    def checks(self) -> tuple[Check, ...]:
        """The liveness of each unit, and the readiness of some."""
        names, needs = self.names(), dict(self.needs)
        found = []
        for number, name in enumerate(names):
            said = needs.get(number)
            more = None if said is None else tuple(names[n] for n in said)
            found.append(live(name, more))
            if number in self.ready:
                found.append(replace(ready(name, more), rules=Rules(every_us=_EVERY_US)))
        return tuple(found)

    def build(self, *, saves: bool = False) -> LawfulTown:
        """The town, a minute after all of it came up."""
        names = self.names()
        return LawfulTown(
            {name: tuple(names[n] for n in self.requires[i]) for i, name in enumerate(names)},
            checks=self.checks(),
            bound=frozenset(names[n] for n in self.bound),
            restart_s={names[n]: delay_s for n, delay_s in self.restart_s},
            policy=self.policy(),
            saves=saves,
        )


def plan(seed: int, most: int = 12) -> Plan:
    """A town of 2 to *most* units that need each other in any way."""
    random = Random(seed)
    size = random.randint(2, most)
    shape = random.choice(("chain", "star", "sparse", "dense", "ring"))
    some = [n for n in range(size) if random.random() < 0.4]
    return Plan(
        requires=tuple(tuple(_required(random, shape, n, size)) for n in range(size)),
        bound=tuple(n for n in range(size) if random.random() < 0.2),
        ready=tuple(some[:4]),
        needs=tuple(_said(random, size)),
        restart_s=tuple(
            (n, random.choice(_DELAYS_S)) for n in range(size) if random.random() < 0.25
        ),
        listed=tuple(n for n in range(size) if random.random() < 0.5),
        max_attempts=random.choice((0, 1, 2, 2, 2, 3)),
        unit_budget=random.choice((1, 4, 4, 4)),
        renotify_us=random.choice((1, 12)) * HOUR_US,
        self_healed=random.random() < 0.2,
    )


def tame(seed: int) -> Plan:
    """A town of services alone, without cycles: who is looked at first decides nothing in it."""
    wild = plan(seed)
    upwards = tuple(tuple(n for n in r if n < i) for i, r in enumerate(wild.requires))
    return replace(wild, requires=upwards, ready=(), needs=())


def _required(random: Random, shape: str, number: int, size: int) -> list[int]:
    match shape:
        case "chain":
            return [number - 1] if number else []
        case "star":
            return [0] if number else []
        case "ring":
            return [(number + 1) % size]
        case _:
            chance = 0.15 if shape == "sparse" else 0.4
            # Mostly upwards; an edge back makes a cycle.
            return [
                n
                for n in range(size)
                if n != number and random.random() < (chance if n < number else chance / 8)
            ]


def _said(random: Random, size: int) -> list[tuple[int, tuple[int, ...]]]:
    """`needs`: of some checks nothing at all, of some one or two units more."""
    said: list[tuple[int, tuple[int, ...]]] = []
    for number in range(size):
        match random.random():
            case chance if chance < 0.1:
                said.append((number, ()))
            case chance if chance < 0.25:
                others = [n for n in range(size) if n != number]
                said.append((number, tuple(random.sample(others, min(2, len(others))))))
            case _:
                pass
    return said


def deeds(seed: int, how_many: int, verbs: tuple[str, ...]) -> list[Deed]:
    """A random history."""
    random = Random(seed)
    return [(random.choice(verbs), random.randrange(1 << 16)) for _ in range(how_many)]


class Chronicle:
    """Does one deed after the other in a town."""

    def __init__(self, town: LawfulTown) -> None:
        self.town = town
        self._names = list(town.plays)

    def do(self, deeds: list[Deed]) -> None:
        for verb, number in deeds:
            unit = self._names[number % len(self._names)]
            _VERBS[verb](self, unit, number)
            self.town.run(0.004)

    def wait(self, unit: str, number: int) -> None:
        self.town.run(_PAUSES_S[number % len(_PAUSES_S)])

    def wait_long(self, unit: str, number: int) -> None:
        self.town.run((0.5, 1.0, 3.0)[number % 3] * _HOUR_S)

    def kill(self, unit: str, number: int) -> None:
        self.town.kill(unit)

    def kill_with_needs(self, unit: str, number: int) -> None:
        """A unit and all that it requires, in one second, in any order."""
        names = [unit, *self.town.needed(unit)]
        Random(number).shuffle(names)
        for name in names:
            self.town.kill(name)

    def terminate(self, unit: str, number: int) -> None:
        self.town.terminate(unit)

    def exit(self, unit: str, number: int) -> None:
        self.town.exit(unit)

    def finish(self, unit: str, number: int) -> None:
        self.town.finish(unit)

    def stop(self, unit: str, number: int) -> None:
        if unit in self.town.bound:
            # A stop right after the fall of what it is bound to looks like one by PID 1.
            self.town.run(2.1)
        self.town.stop(unit)

    def start(self, unit: str, number: int) -> None:
        self.town.start(unit)

    def start_all(self, unit: str, number: int) -> None:
        """Whatever was stopped is wanted again."""
        for name in self._names:
            if self.town.rests(name):
                self.town.start(name)

    def restart(self, unit: str, number: int) -> None:
        self.town.restart(unit)

    def ask(self, unit: str, number: int) -> None:
        self.town.ask(unit)

    def sick(self, unit: str, number: int) -> None:
        self.town.serves[unit] = lambda: FAIL

    def slow(self, unit: str, number: int) -> None:
        self.town.serves[unit] = lambda: SLOW

    def well(self, unit: str, number: int) -> None:
        self.town.serves[unit] = lambda: OK

    def frail(self, unit: str, number: int) -> None:
        self.town.frail[unit] = (0.05, 3.0, 40.0)[number % 3]

    def robust(self, unit: str, number: int) -> None:
        self.town.frail.pop(unit, None)

    def late(self, unit: str, number: int) -> None:
        self.town.slow[unit] = (1.0, 20.0)[number % 2]

    def quick(self, unit: str, number: int) -> None:
        self.town.slow.pop(unit, None)

    def hold(self, unit: str, number: int) -> None:
        if unit not in self.town.held:
            self.town.hold(unit)

    def release(self, unit: str, number: int) -> None:
        if unit in self.town.held:
            self.town.release(unit)

    def freeze(self, unit: str, number: int) -> None:
        if not self.town.frozen_us and not self.town.away:
            self.town.freeze()

    def thaw(self, unit: str, number: int) -> None:
        if self.town.frozen_us and not self.town.away:
            self.town.thaw()

    def away(self, unit: str, number: int) -> None:
        if not self.town.away and not self.town.frozen_us:
            self.town.goes_away()

    def back(self, unit: str, number: int) -> None:
        if self.town.away:
            names = list(self._names)
            Random(number).shuffle(names)
            self.town.comes_back(names)

    def end_healthd(self, unit: str, number: int) -> None:
        """Killed, and there again at once."""
        self.away(unit, number)
        self.back(unit, number)

    def refuse(self, unit: str, number: int) -> None:
        results = (AttemptResult.FAILED, AttemptResult.FINAL, AttemptResult.UNKNOWN)
        self.town.refusal = results[number % 3]

    def allow(self, unit: str, number: int) -> None:
        self.town.refusal = None

    def read_settings(self, unit: str, number: int) -> None:
        """The same settings, or others, are read again."""
        policy = self.town.plays[unit].policy
        policy = replace(policy, max_attempts=(policy.max_attempts, 1, 2)[number % 3])
        for name, play in self.town.plays.items():
            play.policy = policy
            self.town.put(name, Declared(tuple(w.check for w in play.story.watches)))

    def stranger(self, unit: str, number: int) -> None:
        """A unit that is needed, and that nobody knows."""
        checks = [w.check for w in self.town.plays[unit].story.watches]
        more = UnitName("stranger.service")
        checks[0] = replace(checks[0], needs=(*(checks[0].needs or ()), more))
        self.town.put(unit, Declared(tuple(checks)))

    def calm(self) -> None:
        """Nobody does anything any more: what is done stays."""
        self.back("", 1)
        self.thaw("", 1)
        for unit in tuple(self.town.held):
            self.town.release(unit)

    def mend(self) -> None:
        """Everything is put right by hand, and stays so."""
        self.calm()
        town = self.town
        town.refusal = None
        town.frail.clear()
        town.slow.clear()
        for unit in self._names:
            town.serves[unit] = lambda: OK
        town.run(130)
        for unit in self._names:
            town.start(unit)
        town.run(2)
        for unit in self._names:
            town.restart(unit)
        town.run(0.7 * _HOUR_S)


_VERBS: dict[str, Callable[[Chronicle, str, int], None]] = {
    name: getattr(Chronicle, name)
    for name in (
        *("wait", "wait_long", "kill", "kill_with_needs", "terminate", "exit", "finish", "stop"),
        *("start", "restart", "ask", "sick", "slow", "well", "frail", "robust", "late", "quick"),
        *("hold", "release", "freeze", "thaw", "away", "back", "end_healthd", "refuse", "allow"),
        *("read_settings", "stranger", "start_all"),
    )
}
#: What people ask for, which is nobody's alarm.
ASKED = (
    *("stop", "start_all", "restart", "wait", "wait", "wait", "end_healthd", "read_settings"),
    *("late", "quick", "hold", "release", "freeze", "thaw"),
)
#: Everything, in the measure in which it happens.
ANY = (
    *(*_VERBS, *_VERBS),
    *(8 * ("wait",)),
    *(3 * ("kill", "kill_with_needs", "start", "stop", "sick", "well", "robust")),
    *(2 * ("thaw", "back", "release")),
)
