"""Make the looks of declared checks: one at a time of each, and none in another's way."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Coroutine

from healthd.checks.kinds import look as look_at
from healthd.checks.tools import Toolbox
from healthd.daemon.inbox import Inbox
from healthd.daemon.lateness import Lateness
from healthd.errors import HealthdError
from healthd.judge.network import fell_short
from healthd.model import (
    SECOND_US,
    CheckKey,
    DeclaredCheck,
    FailureClass,
    Look,
    Looked,
    Outcome,
    Reason,
    Story,
)

log = logging.getLogger(__name__)

Spawn = Callable[[Coroutine[object, object, None]], object]

# A look that our own lateness may have spoiled is made again; so often, and then it is said.
_TRIES = 3

NETWORK_OFF = Look(
    Outcome.NOT_JUDGED, Reason.NETWORK_OFF, "its endpoint is not on this machine; `network: true`"
)


class Looks:
    """Holds what is declared and which looks are under way. *doubt_network* is called when another
    machine was not reached."""

    def __init__(
        self,
        inbox: Inbox,
        story_of: Callable[[CheckKey], Story | None],
        tools: Toolbox,
        network: Callable[[], bool],
        spawn: Spawn,
        broke: Callable[[str], None],
        doubt_network: Callable[[], None],
        lateness: Lateness,
        woke: Callable[[], None],
        again: Callable[[CheckKey], None],
    ) -> None:
        """*woke* is called when a look is over, before what it found is believed. *again* has a
        check looked at once more.
        """
        self.declared: dict[CheckKey, DeclaredCheck] = {}
        self._inbox = inbox
        self._story_of = story_of
        self._tools = tools
        self._network = network
        self._spawn = spawn
        self._broke = broke
        self._doubt_network = doubt_network
        self._lateness = lateness
        self._woke = woke
        self._again = again
        self._spoilt: Counter[CheckKey] = Counter()
        self._era = 0
        self._under_way: set[CheckKey] = set()

    def spoil(self) -> None:
        """What looks under way will find says nothing: the machine slept in their middle."""
        self._era += 1

    def begin(self, key: CheckKey, *, asked: bool = False) -> None:
        """Look at a declared check now; nothing if a look at it is under way already."""
        declared = self.declared.get(key)
        if declared is None or key in self._under_way:
            return
        if declared.check.remote and not self._network():
            self._put(key, NETWORK_OFF, asked=asked)
            return
        self._under_way.add(key)
        self._spawn(self._look(declared, asked=asked))

    async def _look(self, declared: DeclaredCheck, *, asked: bool) -> None:
        key = declared.check.key
        invocation, era, begun_us = self._invocation(key), self._era, self._lateness.begin()
        try:
            look = await self._found(declared)
        finally:
            self._under_way.discard(key)
            late_us = self._lateness.end(begun_us)
        self._woke()
        if era != self._era:
            return
        if look.outcome is Outcome.FAILING and late_us > declared.check.rules.timeout_us:
            self._spoilt[key] += 1
            if self._spoilt[key] < _TRIES:
                self._again(key)
                return
            look = _could_not("healthd is overloaded and came too late for every look")
        del self._spoilt[key]
        self._put(key, look, invocation, asked=asked)
        if declared.check.remote and fell_short(look):
            self._doubt_network()

    async def _found(self, declared: DeclaredCheck) -> Look:
        key, limit_s = declared.check.key, declared.check.rules.timeout_us / SECOND_US
        try:
            return await look_at(declared.spec, self._tools.for_look(limit_s))
        except HealthdError as err:
            return _could_not(str(err))
        # One of the places where everything is caught: a look that breaks is our fault,
        # and must not end the daemon.
        except Exception:
            log.exception("looking at %s broke", key)
            self._broke(f"looking at {key}")
            return _could_not("healthd could not look: a fault of healthd, see its journal")

    def _invocation(self, key: CheckKey) -> str:
        story = self._story_of(key)
        return story.facts.invocation if story and story.facts else ""

    def _put(
        self, key: CheckKey, look: Look, invocation: str | None = None, *, asked: bool
    ) -> None:
        story = self._story_of(key)
        if story is not None:
            began_in = self._invocation(key) if invocation is None else invocation
            self._inbox.put(story.name, Looked(key, look, began_in, asked))


def _could_not(summary: str) -> Look:
    return Look(
        Outcome.NOT_JUDGED,
        Reason.UNKNOWN,
        summary,
        failure_class=FailureClass.COULD_NOT_RUN,
    )
