"""Wait for what is heard: a list that wakes whoever waits for an item that fits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

LIMIT_S = 40.0

T = TypeVar("T")


class Heard(Generic[T]):
    """All that was heard, in order. Used in one event loop only."""

    def __init__(self) -> None:
        self.items: list[T] = []
        self._news = asyncio.Event()

    def add(self, item: T) -> None:
        """Something was heard."""
        self.items.append(item)
        self.rouse()

    def rouse(self) -> None:
        """Whoever waits looks again."""
        self._news.set()

    async def until(self, fits: Callable[[T], bool], *, count: int = 1, after: int = 0) -> T:
        """The *count*th item that *fits*, among those from the index *after* on."""
        found: list[T] = []

        def enough() -> bool:
            found[:] = [item for item in self.items[after:] if fits(item)]
            return len(found) >= count

        await self.until_true(enough)
        return found[count - 1]

    async def until_true(self, holds: Callable[[], bool]) -> None:
        """Wait until *holds*, looked at after each item."""
        with _within_limit(self.items):
            async with asyncio.timeout(LIMIT_S):
                while not holds():
                    self._news.clear()
                    await self._news.wait()


@contextmanager
def _within_limit(items: list[T]) -> Iterator[None]:
    try:
        yield
    except TimeoutError:
        heard = "\n".join(str(item) for item in items[-40:])
        raise AssertionError(f"not heard within {LIMIT_S:g} s; heard at last:\n{heard}") from None
