"""A damaged store is set aside and reported; it never takes the daemon with it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec import Struct

from healthd.errors import HealthdError
from healthd.model import Evidence, IncidentId, Story
from healthd.store import guard
from healthd.store.env import Env
from healthd.store.records import SCHEMA_KEY, Batch, Meta, Table
from healthd.store.store import Store
from tests.unit.test_store import NOW, incident, opened, story

#: Opens the store in argv[1] as the daemon does, in a process that may end by a signal.
OPEN = """
import asyncio, json, sys
from pathlib import Path
from healthd.store.store import Store
from healthd.store.records import Batch
from tests.unit.test_store import NOW, incident, story

async def main():
    store = await Store.open(Path(sys.argv[1]), now_at=NOW)
    loaded = await store.load()
    history = await store.incidents()
    await store.commit(Batch(stories=(story("new.service"),), incidents=(incident(999),)))
    await store.close()
    said = {"new": store.is_new, "trouble": store.trouble, "stories": len(loaded.stories)}
    print(json.dumps({**said, "incidents": len(history)}))

asyncio.run(main())
"""


class Seen(Struct, frozen=True):
    """What the process that opened the store found; *code* is how it ended."""

    code: int = 0
    new: bool = False
    trouble: str = ""
    stories: int = 0
    incidents: int = 0


def open_elsewhere(folder: Path) -> Seen:
    """Open, read, write and close the store in a process of its own."""
    child = subprocess.run(
        [sys.executable, "-c", OPEN, str(folder)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    if child.returncode:
        return Seen(child.returncode)
    return msgspec.json.decode(child.stdout, type=Seen)


async def filled(folder: Path) -> Path:
    """A closed store of 40 stories and 300 incidents; returns its data file."""
    store = await opened(folder)
    await store.commit(
        Batch(
            stories=tuple(story(f"u{n}.service", incident(n)) for n in range(1, 41)),
            incidents=tuple(incident(n) for n in range(1, 301)),
            evidence=tuple(Evidence(IncidentId(n), NOW, log=("x" * 900,)) for n in range(1, 301)),
            meta=Meta(next_incident=IncidentId(301)),
        )
    )
    await store.close()
    return folder / guard.DATA


def truncate_by_half(data: Path) -> None:
    """A copy that was cut short."""
    os.truncate(data, data.stat().st_size // 2)


def truncate_by_a_page(data: Path) -> None:
    """Reads well, and ends the first writer."""
    os.truncate(data, data.stat().st_size - 4096)


def garbage_in_the_middle(data: Path) -> None:
    """Another program's blocks."""
    size = data.stat().st_size
    with data.open("r+b") as file:
        file.seek(size // 2 // 4096 * 4096)
        file.write(os.urandom(65536))


def zeros_in_the_middle(data: Path) -> None:
    """A hole that a crash left."""
    size = data.stat().st_size
    with data.open("r+b") as file:
        file.seek(size // 2 // 4096 * 4096)
        file.write(bytes(65536))


def garbage_everywhere(data: Path) -> None:
    """Not even LMDB's own first page."""
    data.write_bytes(os.urandom(data.stat().st_size))


def another_file(data: Path) -> None:
    """Somebody's text under our name."""
    data.write_text("dear diary\n" * 1000)


def a_word_of_a_record(data: Path) -> None:
    """LMDB is content, the record is not."""
    data.write_bytes(data.read_bytes().replace(b'"phase":"engaged"', b'"phase":"engorge"'))


DAMAGE = [
    truncate_by_half,
    truncate_by_a_page,
    garbage_in_the_middle,
    zeros_in_the_middle,
    garbage_everywhere,
    another_file,
    a_word_of_a_record,
]


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_damaged_store_is_set_aside(damage: Callable[[Path], None], tmp_path: Path) -> None:
    """LMDB maps its file, so that most of these would end the daemon at every start, for ever."""
    data = await filled(tmp_path / "store")
    damage(data)
    spoiled = data.read_bytes()
    seen = open_elsewhere(tmp_path / "store")
    assert seen.code == 0
    assert seen.new
    assert (seen.stories, seen.incidents) == (0, 0)
    assert seen.trouble.endswith("kept as data.mdb.corrupt-20261130T140300Z")
    kept = data.with_name("data.mdb.corrupt-20261130T140300Z")
    assert kept.read_bytes() == spoiled
    again = open_elsewhere(tmp_path / "store")
    assert again == Seen(0, new=False, trouble="", stories=1, incidents=1)


async def test_damage_behind_a_valid_stamp_is_found_at_the_start_after(tmp_path: Path) -> None:
    """A disk that rots changes no time stamp: that start may die, the next must heal."""
    data = await filled(tmp_path / "store")
    before = data.stat()
    truncate_by_a_page(data)
    zeros_in_the_middle(data)
    os.truncate(data, before.st_size)
    os.utime(data, ns=(before.st_atime_ns, before.st_mtime_ns))
    seen = open_elsewhere(tmp_path / "store")
    if seen.code:
        seen = open_elsewhere(tmp_path / "store")
    assert seen.code == 0
    assert seen.new
    assert "kept as" in seen.trouble


async def test_a_store_that_was_closed_is_not_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scan costs a process; an ordinary start needs none."""
    await filled(tmp_path / "store")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    store = await opened(tmp_path / "store")
    assert not store.is_new
    await store.close()


async def test_a_copy_from_a_backup_is_scanned_and_used(tmp_path: Path) -> None:
    """Nobody knows who else wrote to it, and what is sound is kept."""
    data = await filled(tmp_path / "store")
    copied = data.with_name("copy")
    copied.write_bytes(data.read_bytes())
    copied.replace(data)
    assert open_elsewhere(tmp_path / "store") == Seen(0, stories=40, incidents=300)


async def test_a_full_disk_does_not_make_a_sound_store_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no room for a copy then, and history must not be lost for it."""
    data = await filled(tmp_path / "store")
    data.with_name("closed").unlink()

    def no_room(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", no_room)
    store = await opened(tmp_path / "store")
    assert store.trouble == ""
    assert len((await store.load()).stories) == 40
    await store.close()


async def test_a_scan_without_an_end_is_damage(tmp_path: Path) -> None:
    """Pages that point in a circle would hold the start for ever."""
    data = await filled(tmp_path / "store")
    assert "did not end" in guard.find_damage(data.parent, limit_s=0.0)


async def test_the_words_name_no_folder_that_is_gone(tmp_path: Path) -> None:
    """The scan's copy is removed before anybody reads why; its path would lead nowhere."""
    data = await filled(tmp_path / "store")
    another_file(data)
    said = guard.find_damage(data.parent)
    assert said
    assert str(tmp_path) not in said
    assert "scan-" not in said


async def test_only_the_newest_damaged_files_are_kept(tmp_path: Path) -> None:
    """A bad disk must not fill itself with copies."""
    for second in range(5):
        data = await filled(tmp_path / "store")
        another_file(data)
        store = await Store.open(tmp_path / "store", now_at=NOW + second * 1_000_000)
        await store.close()
    kept = sorted(p.name for p in (tmp_path / "store").glob("*.corrupt-*"))
    assert kept == [f"data.mdb.corrupt-20261130T14030{second}Z" for second in (2, 3, 4)]


async def test_a_newer_store_is_left_untouched(tmp_path: Path) -> None:
    """Going back to an older healthd must not cost the history."""
    folder = tmp_path / "store"
    data = await filled(folder)

    env = Env.open(
        folder,
        map_bytes=1 << 20,
        prepare=lambda rows: rows.put(Table.META, SCHEMA_KEY, b"99"),
    )
    env.close()
    guard.write_stamp(folder)
    before, stamp = data.read_bytes(), data.with_name("closed").read_text()
    with pytest.raises(HealthdError) as caught:
        await opened(folder)
    assert caught.value.code == "store-newer"
    assert "schema 99" in caught.value.message
    assert caught.value.hint
    assert data.read_bytes() == before
    assert data.with_name("closed").read_text() == stamp


async def test_a_newer_store_whose_records_are_strange_is_left_untouched(tmp_path: Path) -> None:
    """After a crash it is scanned first, and words of a newer schema are not damage."""
    folder = tmp_path / "store"
    data = await filled(folder)
    a_word_of_a_record(data)

    env = Env.open(
        folder,
        map_bytes=1 << 20,
        prepare=lambda rows: rows.put(Table.META, SCHEMA_KEY, b"99"),
    )
    env.close()
    before = data.read_bytes()
    with pytest.raises(HealthdError) as caught:
        await opened(folder)
    assert caught.value.code == "store-newer"
    assert data.read_bytes() == before


async def test_an_empty_file_is_a_first_start(tmp_path: Path) -> None:
    """That is what a crash in the first millisecond leaves."""
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / guard.DATA).write_bytes(b"")
    store = await opened(folder)
    assert store.is_new
    assert store.trouble == ""
    await store.commit(Batch(stories=(Story("a.service"),)))
    await store.close()


async def test_damage_seen_while_running_is_scanned_for_at_the_next_start(tmp_path: Path) -> None:
    """A record that cannot be read means that the file is not what was written."""
    folder = tmp_path / "store"
    store = await opened(folder)
    await store.commit(Batch(incidents=(incident(1),)))
    store._env.write(
        lambda rows: rows.put(Table.INCIDENTS, (1).to_bytes(8, "big"), b"{}"), cap_bytes=1 << 20
    )
    with pytest.raises(HealthdError) as caught:
        await store.incident(IncidentId(1))
    assert caught.value.code == "store-damaged"
    await store.close()
    again = await opened(folder)
    assert again.is_new
    assert "Incident cannot be read" in again.trouble
    await again.close()
