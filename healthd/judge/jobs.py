"""systemd's jobs, as far back as one still matters: which came before which, and overlapped it.

Pure: knows ids and order, never a job's type, which cannot be read.
"""

from __future__ import annotations

from collections import deque

from msgspec import Struct

from healthd.model import UnitName

# What a lost JobRemoved, or one job that waits for days, may make us keep.
_OPEN_KEPT = 4096
_DONE_KEPT = 1024


class Job(Struct, frozen=True):
    """One job. *order* counts signals; *gone* likewise, 0 = unfinished.

    *fallen*: the provider that had left `active` just before this job was queued, or "".
    """

    id: int
    unit: UnitName
    order: int
    gone: int = 0
    fallen: UnitName = UnitName("")


class Jobs:
    """The machine's unfinished jobs, and the finished ones that overlapped with one of them."""

    def __init__(self) -> None:
        self._open: dict[int, Job] = {}
        self._done: deque[Job] = deque(maxlen=_DONE_KEPT)
        self._count = 0

    def __len__(self) -> int:
        return len(self._open) + len(self._done)

    def begin(self, job: int, unit: UnitName, fallen: UnitName) -> None:
        """JobNew; one that is sent again (daemon-reexec) is the same job."""
        if job in self._open:
            return
        self._count += 1
        self._open[job] = Job(job, unit, self._count, fallen=fallen)
        if len(self._open) > _OPEN_KEPT:
            del self._open[next(iter(self._open))]

    def end(self, job: int) -> None:
        """JobRemoved: the job is kept while one that was queued in its life is unfinished."""
        ended = self._open.pop(job, None)
        self._count += 1
        if ended is not None:
            self._done.append(Job(ended.id, ended.unit, ended.order, self._count))
        oldest = next(iter(self._open.values()), None)
        while self._done and (oldest is None or self._done[0].gone < oldest.order):
            self._done.popleft()

    def fallen(self, job: int) -> UnitName:
        """The provider whose fall queued this job, or ""."""
        known = self._open.get(job)
        return known.fallen if known else UnitName("")

    def ahead(self, job: int) -> dict[UnitName, Job]:
        """By unit: the job with a lower id that was not finished when *job* was queued.

        One transaction gives ids in order, what was asked for first.
        """
        known = self._open.get(job)
        since = known.order if known else self._count
        done = (one for one in self._done if one.id < job and one.gone > since)
        unfinished = (one for one in self._open.values() if one.id < job)
        return {one.unit: one for one in (*done, *unfinished)}
