"""The store as the daemon sees it: commits that are durable on return, and history to read.

Every touch of LMDB happens on one thread of its own. History is a cache of what the machine went
through: losing it must never stop the watch.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from healthd.errors import HealthdError
from healthd.model import (
    HOUR_US,
    Closing,
    Evidence,
    Gap,
    Hold,
    Incident,
    IncidentId,
    Notice,
    Phase,
    Story,
)
from healthd.store import guard
from healthd.store.env import FIRST_MAP_BYTES, Env, Transaction
from healthd.store.migrate import migrate
from healthd.store.records import (
    META_KEY,
    Batch,
    Loaded,
    Meta,
    Query,
    Table,
    changes,
    decode,
    number_key,
)

KEEP_US = 400 * 24 * HOUR_US
SIZE_CAP_BYTES = 256 * 1024 * 1024

_OPEN_LIMIT_S = 80.0
_LIMIT_S = 60.0
# Rows read, or pruned, before the next commit gets its turn.
_SLICE = 256
# Incidents dropped at a time to make room: few, as each page they stand on is written anew.
_DROPPED = 32
# Of the cap: from where history is dropped, down to where, and what dropping may borrow.
_FULL, _ENOUGH, _BORROWED = 3 / 4, 5 / 8, 1 / 8
# What is not the file's fault needs no scan at the next start.
_HARMLESS = ("store-full", "store-slow", "store-newer")

_T = TypeVar("_T")


class _Opened(Struct, frozen=True):
    env: Env
    claim: int
    loaded: Loaded
    is_new: bool
    trouble: str


class Store:
    """One open store. *is_new*: nothing was there, so this is a first start. *trouble*: why what
    was there could not be used and where it is now, "" when all is well.
    """

    def __init__(
        self, opened: _Opened, thread: ThreadPoolExecutor, folder: Path, cap_bytes: int
    ) -> None:
        self.is_new = opened.is_new
        self.trouble = opened.trouble
        self._env = opened.env
        self._claim = opened.claim
        self._loaded: Loaded | None = opened.loaded
        self._thread = thread
        self._folder = folder
        self._cap_bytes = cap_bytes
        self._sound = True
        # One history is read at a time: a flood of readers puts one slice before a commit, no more.
        self._history = asyncio.Lock()

    @classmethod
    async def open(
        cls, folder: Path, *, now_at: int, size_cap_bytes: int = SIZE_CAP_BYTES
    ) -> Store:
        """Open or create the store in *folder*; a damaged one is set aside and a new one begun.

        Raises HealthdError: "store-newer" (written by a newer healthd, left untouched),
        "store-busy" (another healthd has it), "store-failed" (the folder or disk cannot be used).
        """
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store")
        try:
            work = partial(_claim_and_open, folder, size_cap_bytes, now_at)
            opened = await _on(thread, work, limit_s=_OPEN_LIMIT_S)
        except BaseException:
            thread.shutdown(wait=False)
            raise
        return cls(opened, thread, folder, size_cap_bytes)

    async def load(self) -> Loaded:
        """Everything that was committed last and is not history."""
        if self._loaded is not None:
            loaded, self._loaded = self._loaded, None
            return loaded
        return await self._run(partial(self._env.read, _load))

    async def commit(self, batch: Batch) -> None:
        """One transaction, durable on return; all of it or nothing.

        Raises HealthdError "store-full" when not even dropping history makes room, "store-failed"
        (a full or failing disk), "store-slow" (no answer within a minute: it may yet be written).
        """
        self._loaded = None
        if batch != Batch():
            await self._run(partial(self._write, batch))

    async def incidents(
        self,
        *,
        open_only: bool = False,
        key: str = "",
        unit: str = "",
        since_at: int = 0,
        closing: Closing | None = None,
        limit: int = 0,
    ) -> tuple[Incident, ...]:
        """Newest first, at most *limit* (0 = all). *since_at*: open at that instant or later.

        Read in slices, so that a long history never delays a commit: what is committed meanwhile
        may or may not be seen.
        """
        query = Query(open_only, key, unit, since_at, closing)
        found: list[Incident] = []
        before: bytes | None = None
        async with self._history:
            while True:
                some, before = await self._run(
                    partial(self._env.read, partial(_matching, query=query, before=before))
                )
                found += some
                if before is None or 0 < limit <= len(found):
                    return tuple(found[:limit] if limit > 0 else found)

    async def incident(self, number: IncidentId) -> Incident | None:
        return await self._run(partial(self._one, Table.INCIDENTS, number, Incident))

    async def evidence(self, number: IncidentId) -> Evidence | None:
        return await self._run(partial(self._one, Table.EVIDENCE, number, Evidence))

    async def prune(self, now_at: int, *, keep_us: int = KEEP_US) -> int:
        """Drop incidents that closed longer than *keep_us* ago, with their evidence; returns how
        many. Never an open one.
        """
        pruned = 0
        while True:
            work = partial(_drop_closed, before_at=now_at - keep_us, count=_SLICE)
            some = await self._run(partial(self._env.write, work, cap_bytes=self._borrowing))
            pruned += some
            if some < _SLICE:
                return pruned

    async def tend(self) -> None:
        """Once a minute: free what dead readers hold, or the file would grow for ever."""
        await self._run(self._env.free_dead_readers)

    async def close(self) -> None:
        """Close it and say so on disk: the next start then needs no scan."""
        try:
            await self._run(self._close)
        finally:
            self._thread.shutdown(wait=False)

    @property
    def _borrowing(self) -> int:
        """LMDB writes pages anew even to drop rows: what that may take when the map is full."""
        return self._cap_bytes + max(1024 * 1024, int(self._cap_bytes * _BORROWED))

    async def _run(self, work: Callable[[], _T]) -> _T:
        try:
            return await _on(self._thread, work, limit_s=_LIMIT_S)
        except HealthdError as error:
            self._sound = self._sound and error.code in _HARMLESS
            raise

    def _one(self, table: Table, number: int, noun: type[_T]) -> _T | None:
        value = self._env.read(lambda rows: rows.get(table, number_key(number)))
        return None if value is None else decode(value, noun)

    def _write(self, batch: Batch) -> None:
        def put(rows: Transaction) -> int:
            for table, key, value in changes(batch):
                if value is None:
                    rows.drop(table, key)
                else:
                    rows.put(table, key, value)
            return rows.used_bytes()

        try:
            used_bytes = self._env.write(put, cap_bytes=self._cap_bytes)
        except HealthdError as error:
            if error.code != "store-full":
                raise
            self._make_room(self._env.used_bytes() // 2)
            used_bytes = self._env.write(put, cap_bytes=self._borrowing)
        if used_bytes > self._cap_bytes * _FULL:
            self._make_room(int(self._cap_bytes * _ENOUGH))

    def _make_room(self, enough_bytes: int) -> None:
        """Drop the oldest history until *enough_bytes* at most are used, or nothing is left."""
        work = partial(_drop_closed, before_at=None, count=_DROPPED)
        while self._env.used_bytes() > enough_bytes:
            if not self._env.write(work, cap_bytes=self._borrowing):
                return

    def _close(self) -> None:
        self._env.close()
        if self._sound:
            # On a full disk there is no stamp, and the next start scans.
            with contextlib.suppress(OSError):
                guard.write_stamp(self._folder)
        os.close(self._claim)


async def _on(thread: ThreadPoolExecutor, work: Callable[[], _T], *, limit_s: float) -> _T:
    try:
        async with asyncio.timeout(limit_s):
            return await asyncio.get_running_loop().run_in_executor(thread, work)
    except TimeoutError as error:
        raise HealthdError("store-slow", f"the store did not answer in {limit_s:.0f} s") from error


def _claim_and_open(folder: Path, cap_bytes: int, now_at: int) -> _Opened:
    claim = guard.claim(folder)
    try:
        return _open(folder, claim, cap_bytes, now_at)
    except OSError as error:
        os.close(claim)
        raise HealthdError("store-failed", f"{folder}: {error.strerror or error}") from error
    except BaseException:
        os.close(claim)
        raise


def _open(folder: Path, claim: int, cap_bytes: int, now_at: int) -> _Opened:
    clean = guard.take_stamp(folder)
    trouble = ""
    if guard.data_bytes(folder) and not clean:
        trouble = guard.find_damage(folder)
    if not trouble:
        try:
            return _open_sound(folder, claim, cap_bytes, trouble)
        except HealthdError as error:
            if error.code == "store-newer" and clean:
                guard.write_stamp(folder)
            if error.code != "store-damaged":
                raise
            trouble = error.message
    name = guard.set_aside(folder, now_at)
    return _open_sound(folder, claim, cap_bytes, f"{trouble}; kept as {name}")


def _open_sound(folder: Path, claim: int, cap_bytes: int, trouble: str) -> _Opened:
    found: list[int] = []
    env = Env.open(
        folder,
        map_bytes=min(FIRST_MAP_BYTES, cap_bytes),
        prepare=lambda rows: found.append(migrate(rows)),
    )
    try:
        guard.sync_folder(folder)
        # Read here, so that what cannot be read is set aside like any other damage.
        loaded = env.read(_load)
    except BaseException:
        env.close()
        raise
    return _Opened(env, claim, loaded, is_new=found == [0], trouble=trouble)


def _load(rows: Transaction) -> Loaded:
    meta = rows.get(Table.META, META_KEY)
    outbox = [decode(value, Notice) for _, value in rows.items(Table.OUTBOX)]
    return Loaded(
        meta=decode(meta, Meta) if meta is not None else Meta(),
        stories=tuple(decode(value, Story) for _, value in rows.items(Table.STORIES)),
        outbox=tuple(sorted(outbox, key=lambda notice: (notice.at, notice.id))),
        holds=tuple(decode(value, Hold) for _, value in rows.items(Table.HOLDS)),
        gaps=tuple(decode(value, Gap) for _, value in rows.items(Table.GAPS)),
    )


def _matching(
    rows: Transaction, *, query: Query, before: bytes | None
) -> tuple[list[Incident], bytes | None]:
    """One slice of incidents, newest first, and where the next begins; None = there is none."""
    found = []
    for read, (key, value) in enumerate(rows.items_before(Table.INCIDENTS, before), start=1):
        incident = decode(value, Incident)
        if query.matches(incident):
            found.append(incident)
        if read == _SLICE:
            return found, key
    return found, None


def _drop_closed(rows: Transaction, *, before_at: int | None, count: int) -> int:
    """Drop up to *count* of the oldest closed incidents, those closed before *before_at* only."""
    old: list[bytes] = []
    for key, value in rows.items(Table.INCIDENTS):
        incident = decode(value, Incident)
        if before_at is not None and incident.opened_at >= before_at:
            # Numbers rise with time: none that follows can have closed before it was opened.
            break
        if incident.phase is not Phase.CLOSED:
            continue
        if before_at is None or incident.closed_at < before_at:
            old.append(key)
            if len(old) == count:
                break
    for key in old:
        rows.drop(Table.INCIDENTS, key)
        rows.drop(Table.EVIDENCE, key)
    return len(old)
