"""Stores of earlier healthds are read for ever; one step takes each schema to the next."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from healthd.errors import HealthdError
from healthd.model import IncidentId, Phase, Reason, State
from healthd.store.migrate import STEPS, Rows, migrate
from healthd.store.records import SCHEMA, SCHEMA_KEY, Table
from tests.unit.test_store import opened

STORES = Path(__file__).parents[1] / "stores"


class FakeRows:
    """Tables in memory."""

    def __init__(self, schema: bytes | None = None) -> None:
        self.rows: dict[tuple[Table, bytes], bytes] = {}
        if schema is not None:
            self.rows[Table.META, SCHEMA_KEY] = schema

    def get(self, table: Table, key: bytes) -> bytes | None:
        return self.rows.get((table, key))

    def put(self, table: Table, key: bytes, value: bytes) -> None:
        self.rows[table, key] = value

    def drop(self, table: Table, key: bytes) -> None:
        self.rows.pop((table, key), None)

    def items(self, table: Table) -> Iterator[tuple[bytes, bytes]]:
        return iter([(k, v) for (t, k), v in sorted(self.rows.items()) if t is table])


def reworded(rows: Rows) -> None:
    """A step of some future: a word of every story changes."""
    for key, value in rows.items(Table.STORIES):
        rows.put(Table.STORIES, key, value.replace(b"old", b"new"))


def dropped(rows: Rows) -> None:
    """A later step: one story is no more."""
    rows.drop(Table.STORIES, b"b")


def test_steps_run_in_order_from_the_schema_that_was_found() -> None:
    """A machine may skip releases; each step knows only its neighbour."""
    rows = FakeRows(b"1")
    rows.put(Table.STORIES, b"a", b"old a")
    rows.put(Table.STORIES, b"b", b"old b")
    assert migrate(rows, steps={1: reworded, 2: dropped}, target=3) == 1
    assert list(rows.items(Table.STORIES)) == [(b"a", b"new a")]
    assert rows.get(Table.META, SCHEMA_KEY) == b"3"
    assert migrate(rows, steps={1: reworded, 2: dropped}, target=3) == 3


def test_a_new_store_gets_the_present_schema_and_no_step() -> None:
    """There is nothing to bring along."""
    rows = FakeRows()
    assert migrate(rows, steps={1: reworded}, target=2) == 0
    assert rows.get(Table.META, SCHEMA_KEY) == b"2"


def test_every_schema_has_its_step() -> None:
    """A schema that was raised without one would leave every installed store behind."""
    assert set(STEPS) == set(range(1, SCHEMA))


@pytest.mark.parametrize("schema", [b"", b"0", b"one", b"-1"])
def test_a_schema_that_cannot_be_read_is_damage(schema: bytes) -> None:
    """Guessing one would read every record wrongly."""
    with pytest.raises(HealthdError) as caught:
        migrate(FakeRows(schema))
    assert caught.value.code == "store-damaged"


def test_records_without_a_schema_are_damage() -> None:
    """Only an empty store is new."""
    rows = FakeRows()
    rows.put(Table.STORIES, b"a", b"{}")
    with pytest.raises(HealthdError) as caught:
        migrate(rows)
    assert caught.value.code == "store-damaged"


async def test_a_store_of_schema_1_is_read(tmp_path: Path) -> None:
    """tests/stores/v1 was written by the healthd of that schema and is never made again."""
    folder = tmp_path / "store"
    folder.mkdir()
    shutil.copy(STORES / "v1" / "data.mdb", folder)
    store = await opened(folder)
    assert store.trouble == ""
    assert not store.is_new
    loaded = await store.load()
    assert loaded.meta.next_incident == 3
    assert loaded.meta.first_start_done
    (story,) = loaded.stories
    assert story.name == "nginx.service"
    assert story.watches[0].verdict.state is State.RED
    assert story.facts is not None
    assert story.run.last is not None
    assert story.attempts[0].detail == "polkit says no"
    assert [notice.id for notice in loaded.outbox] == ["incident-2"]
    engaged, closed = await store.incidents()
    assert (engaged.id, engaged.phase, engaged.told) == (2, Phase.ENGAGED, True)
    assert (closed.id, closed.reason) == (1, Reason.CRASH_LOOP)
    evidence = await store.evidence(IncidentId(2))
    assert evidence is not None
    assert evidence.log == ("a line",)
    await store.close()
