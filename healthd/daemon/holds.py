"""Who holds which units, and until when: limits, records, descriptors. Judges nothing.

A hold is in force from the instant it is written down until its holder closes the descriptor or its
time is up. Our end lies in systemd's descriptor store too, so that it outlives this process.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Coroutine
from contextlib import suppress

from healthd.bus.message import Descriptor
from healthd.channels import own_entries
from healthd.channels.base import Entry
from healthd.daemon import fdstore
from healthd.daemon.clock import Clock
from healthd.daemon.loop import Loop
from healthd.daemon.saving import Saver
from healthd.errors import HealthdError
from healthd.judge.holding import held_names
from healthd.model import HOUR_US, SECOND_US, Hold, HoldId, HoldRow, HoldsChanged, UnitName

CEILING_US = 4 * HOUR_US
MOST = 32
MOST_EACH = 8
WHY_MOST = 200

# The loop's timers stand still while the machine sleeps; the time of a hold does not.
_AGAIN_S = 30.0
_READ_BYTES = 4096

_CLOSED = "its holder ended it"
_TIME_IS_UP = "its time is up"
_NOT_THERE = "its holder ended it, or systemd did not keep it, while healthd was away"


class Holds:
    """All holds that are in force. *changed* tells readers so; *write* is the journal."""

    def __init__(
        self,
        loop: Loop,
        saver: Saver,
        clock: Clock,
        *,
        changed: Callable[[], None],
        write: Callable[[Entry], None],
        spawn: Callable[[Coroutine[object, object, None]], object],
    ) -> None:
        self._loop = loop
        self._saver = saver
        self._clock = clock
        self._changed = changed
        self._write = write
        self._spawn = spawn
        self._holds: dict[HoldId, Hold] = {}
        self._ends: dict[HoldId, int] = {}
        self._one_at_a_time = asyncio.Lock()
        self._stirred = asyncio.Event()

    def rows(self) -> tuple[HoldRow, ...]:
        """What readers see of them, oldest first."""
        return tuple(
            HoldRow(
                id=h.id,
                units=h.units,
                why=h.why,
                pid=h.pid,
                uid=h.uid,
                since=h.at,
                until=h.at + h.until_us - h.at_us,
            )
            for h in self._holds.values()
        )

    async def begin(
        self, units: tuple[UnitName, ...], why: str, for_us: int, *, pid: int, uid: int
    ) -> Descriptor:
        """Hold *units* (Ids) for *for_us* at most, 0 = the ceiling; what the holder gets.

        Raises HealthdError "too-many", or the store's when it cannot be written down.
        """
        async with self._one_at_a_time:
            self._refuse_too_many(uid)
            now = self._clock.now()
            end, theirs = os.pipe()
            given = Descriptor(theirs)
            try:
                hold = await self._saver.keep_hold(
                    lambda number: Hold(
                        id=number,
                        units=units,
                        why=harmless(why),
                        pid=pid,
                        uid=uid,
                        at=now.wall_at,
                        at_us=now.steady_us,
                        until_us=now.steady_us + (for_us or CEILING_US),
                    )
                )
            except BaseException:
                os.close(end)
                raise
            fdstore.keep(_name(hold.id), end)
            self._take(hold, end)
            self._write(own_entries.hold_began(hold))
            self._tell(hold.units)
            return given

    def restore(self, holds: Collection[Hold], ends: dict[str, int]) -> None:
        """Go on with the stored *holds* whose descriptors came back, before the first event.

        The others are over. What systemd kept of no hold is let go.
        """
        for hold in holds:
            self._holds[hold.id] = hold
            end = ends.pop(_name(hold.id), None)
            if end is None:
                self._end(hold.id, _NOT_THERE)
            else:
                self._take(hold, end)
        for name, end in ends.items():
            fdstore.forget(name)
            os.close(end)
        self._tell(())

    async def run(self) -> None:
        """End what has lasted long enough."""
        while True:
            now_us = self._clock.steady_us()
            for hold in [h for h in self._holds.values() if h.until_us <= now_us]:
                self._end(hold.id, _TIME_IS_UP)
            left_s = [(h.until_us - now_us) / SECOND_US for h in self._holds.values()]
            self._stirred.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(min([_AGAIN_S, *left_s]) if left_s else None):
                    await self._stirred.wait()

    def _refuse_too_many(self, uid: int) -> None:
        mine = sum(hold.uid == uid for hold in self._holds.values())
        if mine >= MOST_EACH or len(self._holds) >= MOST:
            most = f"you have {mine} holds" if mine >= MOST_EACH else f"there are {MOST} holds"
            raise HealthdError("too-many", f"{most} already", "end one of them: healthctl status")

    def _take(self, hold: Hold, end: int) -> None:
        os.set_blocking(end, False)
        self._holds[hold.id] = hold
        self._ends[hold.id] = end
        asyncio.get_running_loop().add_reader(end, self._on_readable, hold.id)
        self._stirred.set()

    def _on_readable(self, number: HoldId) -> None:
        """The holder closed its end; what it may have written into it says nothing."""
        try:
            written = os.read(self._ends[number], _READ_BYTES)
        except BlockingIOError:
            return
        if not written:
            self._end(number, _CLOSED)

    def _end(self, number: HoldId, how: str) -> None:
        hold = self._holds.pop(number)
        end = self._ends.pop(number, None)
        if end is not None:
            asyncio.get_running_loop().remove_reader(end)
            os.close(end)
        fdstore.forget(_name(number))
        self._write(own_entries.hold_ended(hold, how))
        self._tell(hold.units)
        self._spawn(self._saver.drop_hold(number))

    def _tell(self, units: tuple[UnitName, ...]) -> None:
        """Have the stories of *units* judged by what is held now."""
        self._loop.held = in_words(self._holds.values())
        for name, story in self._loop.stories.items():
            if any(unit in units for unit in held_names(story)):
                self._loop.inbox.put(name, HoldsChanged())
        self._loop.shown_anew()
        self._changed()


def in_words(holds: Collection[Hold]) -> dict[str, str]:
    """What each held unit's checks say; of several holds on one unit the first is named."""
    by_unit: dict[str, list[Hold]] = {}
    for hold in holds:
        for unit in hold.units:
            by_unit.setdefault(unit, []).append(hold)
    return {
        unit: found[0].words + (f", and {len(found) - 1} more" if len(found) > 1 else "")
        for unit, found in by_unit.items()
    }


def harmless(why: str) -> str:
    """A caller's words as everybody may read them: one short line, no control characters."""
    words = "".join(c if c.isprintable() else " " for c in why[: 4 * WHY_MOST])
    line = " ".join(words.split())
    return line if len(line) <= WHY_MOST else line[: WHY_MOST - 1] + "…"


def _name(number: HoldId) -> str:
    return f"hold-{number}"
