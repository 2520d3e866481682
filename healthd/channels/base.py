"""What every channel stands on: a journal entry, and what the daemon hands a channel to work with.

Nouns and seams only. Nothing here opens a socket.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from healthd.model import Notice

#: Fields of one journal entry, in order. A name may stand twice: an attempt that belongs to two
#: incidents is found under each.
Entry = tuple[tuple[str, str], ...]


class EntryWriter(Protocol):
    """Where structured entries go: the journal, or a list in a test."""

    async def send(self, entry: Entry) -> None:
        """Write *entry* after all that were sent before it. Raises HealthdError if it cannot."""


class Tools(Protocol):
    """What the daemon hands a channel."""

    @property
    def journal(self) -> EntryWriter: ...


#: Delivers one notice. Returning means delivered; HealthdError means that it has to be tried again.
Deliver = Callable[[Notice, Tools], Awaitable[None]]
