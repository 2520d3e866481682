"""Whether healthd watches the machine, why not, and when it did not.

A machine that is about to stop or sleep, a sleep that nobody announced, a clock that jumped, a loop
that stood still: each becomes the same words for the judge, and none of them ever a time-out.
Nothing is polled: who wakes up anyway looks around. Decides about no check.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from healthd.daemon.clock import Clock
from healthd.daemon.loop import Loop
from healthd.judge.incident import is_open
from healthd.model import GAP_FROM_US, SECOND_US, Froze, Gap, Now, Thawed

# What clocks may run apart between two wake-ups without time having been lost.
_SLEPT_US = SECOND_US
# The wall clock is steered by half a thousandth at the most; a step of this is one.
_STEPPED_US = 10 * SECOND_US
# A loop that wakes up so much later than it meant to did not run.
_STOOD_US = 10 * SECOND_US


class Cause(StrEnum):
    """Why the machine is frozen; of several the first is told."""

    SHUTDOWN = "the machine is shutting down"
    SLEEP = "the machine is going to sleep"
    JOBS = "systemd stops the machine"
    STATE = "systemd says that the machine is stopping or in rescue mode"
    OURSELVES = "healthd is being stopped"


_WHILE = {
    Cause.SHUTDOWN: "the machine was being shut down",
    Cause.SLEEP: "the machine slept",
    Cause.JOBS: "the machine was being stopped",
    Cause.STATE: "the machine was being stopped, or in rescue mode",
    Cause.OURSELVES: "healthd was stopped",
}
SLEPT = _WHILE[Cause.SLEEP]
STOOD = "healthd did not run"


class Vigil:
    """One for the life of the process. *spoil*: looks under way say nothing. *reread*: every unit
    is to be read anew. *note*: remember a gap. *shown*: readers see something else than before.
    """

    def __init__(
        self,
        clock: Clock,
        loop: Loop,
        *,
        spoil: Callable[[], None],
        reread: Callable[[], None],
        note: Callable[[Gap], None],
        shown: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._loop = loop
        self._spoil = spoil
        self._reread = reread
        self._note = note
        self._shown = shown
        self._causes: set[Cause] = set()
        #: The cause by which it began, and when that was; None = it is not frozen.
        self._since: tuple[Cause, Now] | None = None
        self._seen = clock.reading()
        self._expected: dict[str, int] = {}

    @property
    def why(self) -> str:
        """Why nothing is watched now; "" = it is."""
        return next((cause.value for cause in Cause if cause in self._causes), "")

    @property
    def watched_until_at(self) -> int:
        """Until when the machine was watched: now, if it still is."""
        return self._since[1].wall_at if self._since else self._clock.now().wall_at

    def set(self, cause: Cause, on: bool) -> None:
        """*cause* holds from now on, or holds no more."""
        if on == (cause in self._causes):
            return
        # What was slept through before this word came is told first.
        self.look_around()
        before = self.why
        self._causes ^= {cause}
        self._loop.frozen = self.why
        if not before:
            self._begin(cause)
        elif not self.why:
            self._end()
        if self.why != before:
            self._shown()

    def expect(self, who: str, at_us: int) -> None:
        """*who* means to wake up at this steady instant; 0 = for nothing."""
        self._expected.pop(who, None)
        if at_us:
            self._expected[who] = at_us

    def look_around(self) -> None:
        """Somebody woke up: hold all clocks against the last time, and against what was meant."""
        seen, before = self._clock.reading(), self._seen
        self._seen = seen
        passed_us = seen.boottime_us - before.boottime_us
        slept_us = passed_us - (seen.monotonic_us - before.monotonic_us)
        stepped_us = seen.wall_at - before.wall_at - passed_us
        late_us = self._clock.steady_us() - min(self._expected.values()) if self._expected else 0
        if self._since is not None:
            # The end of the freeze tells of all of it.
            return
        if slept_us >= _SLEPT_US:
            # With suspend to idle CLOCK_MONOTONIC may run on for a part of it.
            self._missed(max(slept_us, late_us), SLEPT)
        elif late_us >= _STOOD_US:
            self._missed(late_us, STOOD)
        elif abs(stepped_us) >= _STEPPED_US:
            self._wake(0)

    def _begin(self, cause: Cause) -> None:
        self._since = cause, self._clock.now()
        self._spoil()
        # A stop of healthd alone is the end of nothing: no incident has a rest of its own for it.
        if cause is Cause.OURSELVES:
            return
        for name, story in self._loop.stories.items():
            if any(map(is_open, story.incidents)):
                self._loop.inbox.put(name, Froze())

    def _end(self) -> None:
        assert self._since is not None
        (cause, since), self._since = self._since, None
        now = self._clock.now()
        self._wake(now.steady_us - since.steady_us)
        self._remember(since.wall_at, now.wall_at, _WHILE[cause])

    def _missed(self, away_us: int, why: str) -> None:
        self._wake(away_us)
        now_at = self._clock.now().wall_at
        self._remember(now_at - away_us, now_at, why)
        self._shown()

    def _wake(self, away_us: int) -> None:
        """The judge hears of it before anything that was seen since."""
        self._expected.clear()
        self._spoil()
        for name in self._loop.stories:
            self._loop.inbox.put_first(name, Thawed(away_us))
        self._reread()

    def _remember(self, from_at: int, to_at: int, why: str) -> None:
        # The wall clock may have been set back meanwhile.
        if to_at - from_at >= GAP_FROM_US:
            self._note(Gap(from_at, to_at, why))
