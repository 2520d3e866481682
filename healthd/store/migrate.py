"""Bring an older store to the present schema, step by step, in one transaction.

A step sees bytes only, never today's nouns: it must read the same in ten years.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from healthd.errors import HealthdError
from healthd.store.records import SCHEMA, SCHEMA_KEY, Table


class Rows(Protocol):
    """The tables, inside one transaction that writes."""

    def get(self, table: Table, key: bytes) -> bytes | None: ...

    def put(self, table: Table, key: bytes, value: bytes) -> None: ...

    def drop(self, table: Table, key: bytes) -> None: ...

    def items(self, table: Table) -> Iterator[tuple[bytes, bytes]]: ...


Step = Callable[[Rows], None]

#: The step from each schema to the next: `STEPS[1]` makes a store of schema 1 one of schema 2.
STEPS: Mapping[int, Step] = {}


def migrate(rows: Rows, *, steps: Mapping[int, Step] = STEPS, target: int = SCHEMA) -> int:
    """Returns the schema that was found; 0 is a store that has just been made.

    Raises HealthdError "store-newer" for a schema above *target*, before anything is written, and
    "store-damaged" where none can be read.
    """
    found = schema_of(rows)
    if found > target:
        raise HealthdError(
            "store-newer",
            f"the store was written by a newer healthd (schema {found}, this one knows {target})",
            "install that version again, or move the store away to begin a new one",
        )
    if found == 0:
        rows.put(Table.META, SCHEMA_KEY, str(target).encode())
    for schema in range(found, target) if found else ():
        steps[schema](rows)
        rows.put(Table.META, SCHEMA_KEY, str(schema + 1).encode())
    return found


def schema_of(rows: Rows) -> int:
    """The schema that a store says it has, 0 = it is new."""
    value = rows.get(Table.META, SCHEMA_KEY)
    if value is not None:
        if value.isdigit() and int(value) > 0:
            return int(value)
        raise HealthdError("store-damaged", "its schema cannot be read")
    if any(next(rows.items(table), None) for table in Table):
        raise HealthdError("store-damaged", "its schema is missing")
    return 0
