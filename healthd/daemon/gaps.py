"""The gaps that are remembered: time in which healthd did not watch, and why it did not.

The newest of them are kept over all starts. Says nothing of what happened in one.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from healthd.daemon.saving import Saver
from healthd.model import GAP_FROM_US, GAPS_KEPT, Gap
from healthd.store.records import Meta

_DIED = "healthd had died"
_STOPPED = "healthd was stopped"
_OFF = "the machine was off or restarting"
_SOFT = "the machine was soft-rebooting"


class Gaps:
    """*kept*: those of before, oldest first. *changed* is called for each new one."""

    def __init__(self, kept: tuple[Gap, ...], saver: Saver, changed: Callable[[Gap], None]) -> None:
        self._kept: deque[Gap] = deque(kept)
        self._saver = saver
        self._changed = changed

    def rows(self) -> tuple[Gap, ...]:
        """All that are remembered, oldest first."""
        return tuple(self._kept)

    def within(self, from_at: int, to_at: int) -> tuple[Gap, ...]:
        """Those that reach into this stretch; *to_at* 0 = it is not over."""
        return tuple(
            g for g in self._kept if g.to_at > from_at and (not to_at or g.from_at < to_at)
        )

    def note(self, gap: Gap) -> None:
        """One more; the oldest of too many is forgotten."""
        self._kept.append(gap)
        forget = [self._kept.popleft() for _ in range(len(self._kept) - GAPS_KEPT)]
        self._saver.note_gap(gap, forget)
        self._changed(gap)


def before_start(
    meta: Meta, alive_at: int, now_at: int, *, same_kernel: bool, same_boot: bool
) -> Gap | None:
    """The gap between the last life of healthd and this one; None = there was no life, or no gap.

    *alive_at*: when the last one was seen to live, 0 = not known.
    """
    from_at = meta.watched_until_at or meta.wall_mark_at
    if same_kernel and not meta.stopped:
        from_at = max(from_at, alive_at)
    if not from_at or now_at - from_at < GAP_FROM_US:
        return None
    if not same_kernel:
        why = _OFF
    elif not same_boot:
        why = _SOFT
    else:
        why = _STOPPED if meta.stopped else _DIED
    return Gap(from_at, now_at, why)


class Pulse:
    """A file in memory whose time says when healthd was last seen to live, should it be killed."""

    def __init__(self, folder: str) -> None:
        self._file = Path(folder, "alive") if folder else None

    def last_at(self) -> int:
        """The last beat of the life before, 0 = not known."""
        try:
            return self._file.stat().st_mtime_ns // 1000 if self._file else 0
        except OSError:
            return 0

    def beat(self, now_at: int) -> None:
        """healthd lives and watches."""
        if self._file is None:
            return
        try:
            self._file.touch(mode=0o600)
            os.utime(self._file, ns=(now_at * 1000, now_at * 1000))
        except OSError:
            # Only the beginning of a gap is known less well then.
            return
