"""What is stored: tables, keys, and the bytes of each noun. Pure: bytes in, model out and back.

Values are JSON of model.py's nouns, read strictly: a record that does not fit is damage. Whoever
gives a stored noun a shape that old records do not fit (a field without default, another type, a
new value of a closed set) raises SCHEMA and writes its step into migrate.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from enum import StrEnum
from typing import TypeVar

import msgspec
from msgspec import Struct

from healthd.errors import HealthdError
from healthd.model import (
    AttemptId,
    Closing,
    Evidence,
    Gap,
    Hold,
    HoldId,
    Incident,
    IncidentId,
    Notice,
    Phase,
    Story,
)

SCHEMA = 1

# LMDB takes keys of 1 to 511 bytes; what is longer keeps its beginning and a hash.
_KEY_BYTES = 400

_Noun = TypeVar("_Noun")


class Table(StrEnum):
    """One named LMDB database each."""

    META = "meta"
    STORIES = "stories"
    INCIDENTS = "incidents"
    EVIDENCE = "evidence"
    OUTBOX = "outbox"
    HOLDS = "holds"
    GAPS = "gaps"


SCHEMA_KEY = b"schema"
META_KEY = b"meta"


class Meta(Struct, frozen=True):
    """What the daemon goes on with after a start.

    *sequence_mark*: no change has had a higher number. *steady_mark_us* and *wall_mark_at* are one
    instant on both clocks in the boot *boot_id*, so that the steady clock goes on over reboots;
    *steady_base_us* is what it adds to CLOCK_BOOTTIME in that boot. *watched_until_at*: the machine
    was watched until then at least. *stopped*: healthd was asked to stop, and did.
    """

    next_incident: IncidentId = IncidentId(1)
    next_attempt: AttemptId = AttemptId(1)
    sequence_mark: int = 0
    boot_id: str = ""
    steady_base_us: int = 0
    steady_mark_us: int = 0
    wall_mark_at: int = 0
    first_start_done: bool = False
    watched_until_at: int = 0
    stopped: bool = False
    next_hold: HoldId = HoldId(1)


class Loaded(Struct, frozen=True):
    """Everything that the daemon holds in memory, as it was committed last. Oldest notice first."""

    meta: Meta = Meta()
    stories: tuple[Story, ...] = ()
    outbox: tuple[Notice, ...] = ()
    holds: tuple[Hold, ...] = ()
    gaps: tuple[Gap, ...] = ()


class Batch(Struct, frozen=True):
    """What one transaction writes. *gone* names stories, *outbox_drop* ids of notices,
    *holds_drop* those of holds.

    An id or name that is in both lists of its kind is dropped.
    """

    stories: tuple[Story, ...] = ()
    gone: tuple[str, ...] = ()
    incidents: tuple[Incident, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    outbox_add: tuple[Notice, ...] = ()
    outbox_drop: tuple[str, ...] = ()
    holds_add: tuple[Hold, ...] = ()
    holds_drop: tuple[HoldId, ...] = ()
    gaps_add: tuple[Gap, ...] = ()
    gaps_drop: tuple[Gap, ...] = ()
    meta: Meta | None = None


class Query(Struct, frozen=True):
    """Which incidents are asked for; what is empty does not narrow.

    *since_at*: open at that instant or later.
    """

    open_only: bool = False
    key: str = ""
    unit: str = ""
    since_at: int = 0
    closing: Closing | None = None

    def matches(self, incident: Incident) -> bool:
        is_open = incident.phase is not Phase.CLOSED
        return (
            (is_open or (not self.open_only and incident.closed_at >= self.since_at))
            and self.key in ("", incident.key)
            and self.unit in ("", incident.unit)
            and self.closing in (None, incident.closing)
        )


Change = tuple[Table, bytes, bytes | None]


def changes(batch: Batch) -> Iterator[Change]:
    """Table, key and value of all that *batch* writes; a value of None is dropped."""
    for story in batch.stories:
        yield Table.STORIES, name_key(story.name), encode(story)
    for incident in batch.incidents:
        yield Table.INCIDENTS, number_key(incident.id), encode(incident)
    for evidence in batch.evidence:
        yield Table.EVIDENCE, number_key(evidence.incident), encode(evidence)
    for notice in batch.outbox_add:
        yield Table.OUTBOX, name_key(notice.id), encode(notice)
    for name in batch.gone:
        yield Table.STORIES, name_key(name), None
    for notice_id in batch.outbox_drop:
        yield Table.OUTBOX, name_key(notice_id), None
    for hold in batch.holds_add:
        yield Table.HOLDS, number_key(hold.id), encode(hold)
    for hold_id in batch.holds_drop:
        yield Table.HOLDS, number_key(hold_id), None
    for gap in batch.gaps_add:
        yield Table.GAPS, number_key(gap.from_at), encode(gap)
    for gap in batch.gaps_drop:
        yield Table.GAPS, number_key(gap.from_at), None
    if batch.meta is not None:
        yield Table.META, META_KEY, encode(batch.meta)


def number_key(number: int) -> bytes:
    """Big-endian, so that LMDB's order of keys is the order of numbers."""
    return number.to_bytes(8, "big")


def name_key(name: str) -> bytes:
    key = name.encode()
    if len(key) <= _KEY_BYTES:
        return key
    return key[:_KEY_BYTES] + hashlib.sha256(key).digest()


def encode(noun: Struct) -> bytes:
    return msgspec.json.encode(noun)


def decode(value: bytes, noun: type[_Noun]) -> _Noun:
    """Raises HealthdError "store-damaged" when *value* is not a *noun*."""
    try:
        return msgspec.json.decode(value, type=noun)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HealthdError(
            "store-damaged", f"a stored {noun.__name__} cannot be read: {error}"
        ) from error


#: What each table's values are, for whoever reads them all.
NOUNS: dict[Table, type[Struct]] = {
    Table.STORIES: Story,
    Table.INCIDENTS: Incident,
    Table.EVIDENCE: Evidence,
    Table.OUTBOX: Notice,
    Table.HOLDS: Hold,
    Table.GAPS: Gap,
}
