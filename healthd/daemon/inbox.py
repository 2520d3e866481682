"""What waits to be judged, in order; a newer look of one check replaces its older one."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from msgspec.structs import replace

from healthd.model import Event, LinkSeen, Looked, ProviderMoved, UnitSeen

Slot = tuple[str, str, int]


class Inbox:
    """Events by story. Looks are at most one per check; the rest is as many as systemd says."""

    def __init__(self) -> None:
        self._events: OrderedDict[Slot, tuple[str, Event]] = OrderedDict()
        self._filled = asyncio.Event()
        self._count = 0

    def __len__(self) -> int:
        return len(self._events)

    def put(self, story: str, event: Event) -> None:
        slot: Slot
        match event:
            case Looked(key=key):
                slot = (story, str(key), 0)
            case UnitSeen():
                slot = (story, "unit", 0)
                event = _joined(self._events.get(slot), event)
            case LinkSeen():
                slot = (story, "link", 0)
            case ProviderMoved():
                slot = (story, "moved", 0)
            case _:
                self._count += 1
                slot = (story, "", self._count)
        self._events[slot] = (story, event)
        # A newer look is judged after all that came before it.
        self._events.move_to_end(slot)
        self._filled.set()

    def put_first(self, story: str, event: Event) -> None:
        """To be judged before all that waits: it says how the rest is to be taken."""
        self._count += 1
        slot: Slot = (story, "", self._count)
        self._events[slot] = (story, event)
        self._events.move_to_end(slot, last=False)
        self._filled.set()

    async def filled(self) -> None:
        """Wait for an event."""
        await self._filled.wait()

    def take(self, most: int) -> list[tuple[str, Event]]:
        """The oldest events."""
        taken = [self._events.popitem(last=False)[1] for _ in range(min(most, len(self._events)))]
        if not self._events:
            self._filled.clear()
        return taken


def _joined(older: tuple[str, Event] | None, newer: UnitSeen) -> UnitSeen:
    """The newer facts, with the older look's reasons to be a look."""
    if older is None or not isinstance(older[1], UnitSeen):
        return newer
    event = older[1]
    if event.fresh and not newer.fresh:
        # A read is not undone by a signal that was still on its way: both are kept in the facts.
        newer = replace(newer, fresh=event.facts == newer.facts)
    return replace(newer, due=event.due or newer.due, asked=event.asked or newer.asked)
