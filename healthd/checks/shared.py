"""Fetch in a thread what several looks want at the same time, once for all of them, and keep it.

For calls that block and cannot be given up (getaddrinfo, files of authorities). A fetch that hangs
holds its own thread and those who ask for the same thing; never the loop, never the daemon's end.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar, cast

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

#: Threads of one kind at one time: a resolver that is down must not cost one for each check.
THREADS = 16


class Shared(Generic[Key, Value]):
    """What *fetch* says of each key, for *keep_s* after it was asked for; its errors too."""

    def __init__(self, fetch: Callable[[Key], Value], *, keep_s: float) -> None:
        self._fetch = fetch
        self._keep_s = keep_s
        self._known: dict[Key, tuple[float, asyncio.Future[Value]]] = {}
        self._waiting: deque[tuple[Key, asyncio.Future[Value]]] = deque()
        self._threads = 0

    def get(self, key: Key) -> asyncio.Future[Value]:
        """The value of *key*, there or still to come. It belongs to others too: never cancel it."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        asked_s, value = self._known.get(key, (0.0, None))
        if value is not None and (not value.done() or now_s - asked_s < self._keep_s):
            return value
        self._forget_old(now_s)
        value = loop.create_future()
        # An error that nobody waited for is no news.
        value.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._known[key] = (now_s, value)
        self._waiting.append((key, value))
        self._start(loop)
        return value

    def _forget_old(self, now_s: float) -> None:
        self._known = {
            key: (asked_s, value)
            for key, (asked_s, value) in self._known.items()
            if not value.done() or now_s - asked_s < self._keep_s
        }

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting and self._threads < THREADS:
            key, value = self._waiting.popleft()
            self._threads += 1
            # Not an executor: Python waits for the threads of one before it ends.
            threading.Thread(
                target=self._in_thread, args=(loop, key, value), name="fetch", daemon=True
            ).start()

    def _in_thread(
        self, loop: asyncio.AbstractEventLoop, key: Key, value: asyncio.Future[Value]
    ) -> None:
        fetched: Value | None = None
        error: Exception | None = None
        try:
            fetched = self._fetch(key)
        except (OSError, ValueError) as err:
            error = err
        # The loop may be gone when a name is found at last.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._ended, loop, value, fetched, error)

    def _ended(
        self,
        loop: asyncio.AbstractEventLoop,
        value: asyncio.Future[Value],
        fetched: Value | None,
        error: Exception | None,
    ) -> None:
        self._threads -= 1
        if not value.done():
            if error is None:
                value.set_result(cast("Value", fetched))
            else:
                value.set_exception(error)
        self._start(loop)
