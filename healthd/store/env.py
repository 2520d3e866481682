"""The only door to LMDB: one environment, its transactions, and its errors in healthd's words.

Knows bytes, never nouns. One thread at a time; run as a program it scans a store and ends by the
exit code, or by the signal that the scan was made for.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import lmdb

from healthd.errors import HealthdError
from healthd.store import guard
from healthd.store.records import NOUNS, SCHEMA, SCHEMA_KEY, Table, decode

FIRST_MAP_BYTES = 64 * 1024 * 1024

_T = TypeVar("_T")

_DAMAGED = (lmdb.InvalidError, lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.PanicError)


class Transaction:
    """Rows by table, while the transaction lives. Implements migrate.Rows."""

    def __init__(self, txn: Any, tables: dict[Table, Any]) -> None:
        self._txn = txn
        self._tables = tables

    def open_tables(self, env: Any, *, create: bool) -> None:
        """Once an environment; without *create* those that are missing stay so, and are empty."""
        for table in Table:
            with contextlib.suppress(lmdb.NotFoundError):
                self._tables[table] = env.open_db(table.encode(), txn=self._txn, create=create)

    def get(self, table: Table, key: bytes) -> bytes | None:
        value: bytes | None = self._txn.get(key, db=self._tables[table])
        return value

    def put(self, table: Table, key: bytes, value: bytes) -> None:
        self._txn.put(key, value, db=self._tables[table])

    def drop(self, table: Table, key: bytes) -> None:
        self._txn.delete(key, db=self._tables[table])

    def items(self, table: Table) -> Iterator[tuple[bytes, bytes]]:
        """In the order of keys."""
        if table not in self._tables:
            return
        with self._txn.cursor(db=self._tables[table]) as cursor:
            yield from cursor.iternext(keys=True, values=True)

    def items_before(self, table: Table, key: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Against the order of keys, from the last below *key*; None = from the very last."""
        with self._txn.cursor(db=self._tables[table]) as cursor:
            if key is not None and cursor.set_range(key):
                if not cursor.prev():
                    return
            elif not cursor.last():
                return
            yield from cursor.iterprev(keys=True, values=True)

    def used_bytes(self) -> int:
        """What the rows take up; the file itself never shrinks."""
        used = 0
        for table in self._tables.values():
            seen = self._txn.stat(table)
            pages = seen["branch_pages"] + seen["leaf_pages"] + seen["overflow_pages"]
            used += pages * seen["psize"]
        return used


class Env:
    """An open environment. Every method may block: it belongs on the store's own thread."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self._tables: dict[Table, Any] = {}

    @classmethod
    def open(cls, folder: Path, *, map_bytes: int, prepare: Callable[[Transaction], None]) -> Env:
        """Open or create; *prepare* runs in the first transaction, and if it raises, nothing at all
        has been written. Raises HealthdError "store-damaged", or "store-failed".
        """
        size_bytes = guard.data_bytes(folder)
        with _in_our_words():
            env = lmdb.open(
                str(folder),
                # Room to write every page once more, should *prepare* have to.
                map_size=max(map_bytes, 2 * size_bytes),
                max_dbs=len(Table),
                max_readers=8,
                mode=0o600,
                metasync=True,
                sync=True,
            )
        try:
            _refuse_a_short_file(folder, env)
            opened = cls(env)
            with _in_our_words(), env.begin(write=True) as txn:
                rows = Transaction(txn, opened._tables)
                rows.open_tables(env, create=True)
                prepare(rows)
            opened._resize(max(map_bytes, size_bytes))
        except BaseException:
            env.close()
            raise
        return opened

    @property
    def map_bytes(self) -> int:
        size: int = self._env.info()["map_size"]
        return size

    def read(self, work: Callable[[Transaction], _T]) -> _T:
        with _in_our_words(), self._env.begin() as txn:
            return work(Transaction(txn, self._tables))

    def write(self, work: Callable[[Transaction], _T], *, cap_bytes: int) -> _T:
        """Run *work* in one transaction, durable on return; nothing of it is kept if it raises.

        The map doubles while it is too small; *work* is then run again from the beginning.
        Raises HealthdError "store-full" when *cap_bytes* do not suffice.
        """
        while True:
            try:
                with _in_our_words(), self._env.begin(write=True) as txn:
                    return work(Transaction(txn, self._tables))
            except HealthdError as error:
                if error.code != "store-full" or self.map_bytes >= cap_bytes:
                    raise
                self._resize(min(self.map_bytes * 2, cap_bytes))

    def _resize(self, map_bytes: int) -> None:
        # Only this process has the store, and this thread no transaction, as LMDB demands.
        with _in_our_words():
            self._env.set_mapsize(map_bytes)

    def used_bytes(self) -> int:
        return self.read(Transaction.used_bytes)

    def free_dead_readers(self) -> int:
        """A reader that was killed keeps old pages alive and the file grows; returns how many."""
        with _in_our_words():
            freed: int = self._env.reader_check()
        return freed

    def close(self) -> None:
        self._env.close()


def _refuse_a_short_file(folder: Path, env: Any) -> None:
    last_page, page_bytes = env.info()["last_pgno"], env.stat()["psize"]
    if guard.shorter_than_it_says(folder, last_page=last_page, page_bytes=page_bytes):
        raise HealthdError("store-damaged", "the file is shorter than it says")


@contextmanager
def _in_our_words() -> Iterator[None]:
    try:
        yield
    except lmdb.MapFullError as error:
        raise HealthdError("store-full", "the store has reached its size") from error
    except _DAMAGED as error:
        raise HealthdError("store-damaged", str(error)) from error
    except lmdb.Error as error:
        raise HealthdError("store-failed", f"the store cannot be used: {error}") from error


def scan(folder: Path, *, write: bool) -> None:
    """Read every row of every table, as its noun where the schema is ours; with *write*, write too.

    Raises HealthdError; or ends the process by a signal, which is what it is for.
    """
    with _in_our_words():
        env = lmdb.open(
            str(folder),
            map_size=FIRST_MAP_BYTES + 2 * guard.data_bytes(folder),
            max_dbs=len(Table),
            readonly=not write,
            lock=False,
            create=False,
            sync=False,
        )
        _refuse_a_short_file(folder, env)
        with env.begin(write=write) as txn:
            rows = Transaction(txn, {})
            rows.open_tables(env, create=write)
            ours = (SCHEMA_KEY, str(SCHEMA).encode()) in rows.items(Table.META)
            for table in Table:
                for _, value in rows.items(table):
                    if ours and table in NOUNS:
                        decode(value, NOUNS[table])
            if write:
                # Takes pages from the free list, which reading never touches.
                rows.put(Table.META, b"scan", bytes(4 * env.stat()["psize"]))
        env.close()


def main() -> int:
    """`python -m healthd.store.env FOLDER [--write]`: exit code 0, or 1 with the reason."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    # A scan that ends by a signal is expected; it needs no core file.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        scan(asked.folder, write=asked.write)
    except HealthdError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
