"""What one liveness look stands on, and the four kinds of answer. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from healthd.judge.life import DOWN, restarts_by_itself
from healthd.judge.watched import is_service
from healthd.model import (
    SECOND_US,
    ActiveState,
    End,
    Look,
    Now,
    Outcome,
    Policy,
    Reason,
    Run,
    Story,
    UnitFacts,
)

# systemd acts at a limit itself; only what is past it by this much is stuck.
LATE_US = 10 * SECOND_US

NO_CHECK = Look(Outcome.KEEP, Reason.UNKNOWN, "no check")


class Sight(Struct, frozen=True):
    """One unit at one instant. *declared*: a check, `needs` or `allow_restart` names it.

    *stories*: all others, for what this one needs or fell with.
    """

    facts: UnitFacts
    run: Run
    now: Now
    policy: Policy
    declared: bool
    grace_us: int
    stories: Mapping[str, Story] = {}

    @property
    def last(self) -> End | None:
        """How the invocation that systemd shows ended; what ended before it says nothing here."""
        last = self.run.last
        if last is None or not last.invocation or not self.facts.invocation:
            return last
        return last if last.invocation == self.facts.invocation else None

    @property
    def lives(self) -> bool:
        """Whether the invocation that systemd shows has begun, and no end of it was told yet."""
        run = self.run
        return run.last is None and run.invocation == self.facts.invocation != ""

    @property
    def rests(self) -> bool:
        """Down, and nothing is under way that would start it."""
        return (
            self.facts.active_state in DOWN
            and not restarts_by_itself(self.facts.sub_state)
            and self.facts.job == 0
        )

    @property
    def serves(self) -> bool:
        """Whether it is a service, with a process of its own; else a mount, a socket, …"""
        return is_service(self.facts.id)

    @property
    def inactive(self) -> bool:
        return self.facts.active_state is ActiveState.INACTIVE

    @property
    def meant_to_run(self) -> bool:
        return self.facts.wanted or self.declared

    def for_us(self, since_us: int) -> int:
        """How long it is since *since_us*, never below 0."""
        return max(0, self.now.steady_us - since_us)


def words_of(row: Callable[..., Look | None]) -> str:
    """A row's own words, for whoever asks by which rule a look found what it did."""
    return " ".join((row.__doc__ or row.__name__).split())


def ok(summary: str) -> Look:
    return Look(Outcome.OK, Reason.OK, summary)


def degraded(reason: Reason, summary: str, until_us: int = 0) -> Look:
    return Look(Outcome.DEGRADED, reason, summary, until_us=until_us)


def failing(reason: Reason, summary: str, until_us: int = 0) -> Look:
    return Look(Outcome.FAILING, reason, summary, until_us=until_us)


def grey(reason: Reason, summary: str, until_us: int = 0) -> Look:
    return Look(Outcome.NOT_JUDGED, reason, summary, until_us=until_us)


def keep(summary: str, until_us: int = 0) -> Look:
    """This look says nothing; the last verdict stands."""
    return Look(Outcome.KEEP, Reason.UNKNOWN, summary, until_us=until_us)
