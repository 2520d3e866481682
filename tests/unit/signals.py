"""Histories of systemd's signals: a few words for each, and a bus that plays them.

One that comes in a breath of its own is a microsecond later.
"""

from __future__ import annotations

from typing import NamedTuple

from healthd.judge.endings import Endings
from healthd.model import (
    SECOND_US,
    ActiveState,
    Began,
    Ended,
    JobNew,
    JobRemoved,
    Now,
    SystemdSignal,
    UnitChanged,
    UnitFacts,
    UnitName,
)
from tests.transcripts.replay import in_words

WEB, DB, RIVAL = UnitName("web.service"), UnitName("db.service"), UnitName("rival.service")
UP, DOWN, FAILED, GOING = "active", "inactive", "failed", "deactivating"


class Pause(NamedTuple):
    """Time that passes."""

    seconds: float


class Bus:
    """Feeds a history and collects what it means."""

    def __init__(self, *facts: UnitFacts) -> None:
        self.endings = Endings()
        self.steady_us = 1000 * SECOND_US
        for one in facts:
            self.endings.prime(one)

    @property
    def now(self) -> Now:
        """The present instant."""
        return Now(self.steady_us, self.steady_us)

    def play(self, *history: SystemdSignal | Pause) -> list[str]:
        """What the history means, in words."""
        return [f"{unit.split('.')[0]} {in_words(event)}" for unit, event in self.events(*history)]

    def events(self, *history: SystemdSignal | Pause) -> list[tuple[UnitName, Ended | Began]]:
        """What the history means."""
        news: list[tuple[UnitName, Ended | Began]] = []
        for one in history:
            if isinstance(one, Pause):
                self.steady_us += int(one.seconds * SECOND_US)
            else:
                self.steady_us += 1
                news += self.endings.feed(one, self.now)
        return news


def shows(
    state: str, job: int = 0, run: str = "a", unit: UnitName = WEB, sub: str = ""
) -> UnitChanged:
    """PropertiesChanged of the unit's state."""
    properties = {"ActiveState": state, "SubState": sub, "Job": job, "InvocationID": run}
    return UnitChanged(unit, "Unit", properties)


def counts(restarts: int = 0, result: str = "success", unit: UnitName = WEB) -> UnitChanged:
    """PropertiesChanged of the service: it comes before that of its state."""
    return UnitChanged(unit, "Service", {"NRestarts": restarts, "Result": result})


def queued(job: int, unit: UnitName = WEB) -> JobNew:
    """JobNew."""
    return JobNew(job, unit)


def over(job: int, result: str = "done", unit: UnitName = WEB) -> JobRemoved:
    """JobRemoved."""
    return JobRemoved(job, unit, result)


def running(
    unit: UnitName = WEB,
    run: str = "a",
    providers: tuple[str, ...] = (),
    foes: tuple[str, ...] = (),
    bound_to: tuple[str, ...] = (),
) -> UnitFacts:
    """A first reading of a unit that runs."""
    return UnitFacts(
        unit,
        active_state=ActiveState.ACTIVE,
        sub_state="running",
        invocation=run,
        providers=providers,
        foes=foes,
        bound_to=bound_to,
    )


CONSUMER = running(providers=(DB,))
BOUND = running(providers=(DB,), bound_to=(DB,))
