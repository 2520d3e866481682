"""The store: what is committed stays, whole, private, and within its size."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from healthd.errors import HealthdError
from healthd.model import (
    Aspect,
    Attempt,
    AttemptId,
    Check,
    CheckKey,
    Closing,
    Edition,
    Evidence,
    Incident,
    IncidentId,
    Notice,
    Phase,
    Reason,
    State,
    Story,
    UnitFacts,
    UnitName,
    Urgency,
    Verdict,
    Watch,
)
from healthd.store.env import Env, Transaction
from healthd.store.records import Batch, Meta, Table, name_key, number_key
from healthd.store.store import Store

NGINX = UnitName("nginx.service")
NOW = 1_796_047_380_000_000
DAY = 86_400_000_000


def incident(number: int, **fields: Any) -> Incident:
    """An incident of nginx, opened *number* seconds after NOW."""
    base = Incident(
        id=IncidentId(number),
        key=CheckKey("liveness:nginx.service"),
        unit=NGINX,
        phase=Phase.ENGAGED,
        reason=Reason.FAILED,
        summary="killed by SIGKILL",
        opened_at=NOW + number * 1_000_000,
        opened_us=0,
        attempts=(Attempt(AttemptId(1), NOW, 0, "restart-unit", "healthd", NGINX),),
    )
    return replace(base, **fields)


def closed(number: int, **fields: Any) -> Incident:
    """One that healed itself a second later."""
    at = NOW + number * 1_000_000 + 1_000_000
    said: dict[str, Any] = {"closed_at": at, "closing": Closing.SELF_HEALED, **fields}
    return incident(number, phase=Phase.CLOSED, **said)


def story(name: str, *incidents: Incident) -> Story:
    """A unit with one watch."""
    unit = UnitName(name)
    check = Check(CheckKey(f"liveness:{name}"), Aspect.LIVENESS, "unit", unit)
    verdict = Verdict(State.RED, Reason.FAILED, "killed by SIGKILL", NOW, 2)
    return Story(name, (Watch(check, verdict),), UnitFacts(unit), incidents=incidents)


def notice(name: str, at: int = NOW) -> Notice:
    """A notice in the outbox."""
    key = CheckKey("liveness:nginx.service")
    text = ("nginx.service failed", "…", "systemctl restart nginx.service")
    return Notice(name, IncidentId(1), key, NGINX, Edition.ENGAGED, Urgency.CRITICAL, *text, at)


async def opened(folder: Path, **how: Any) -> Store:
    """The store in *folder*."""
    return await Store.open(folder, now_at=NOW, **how)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A new store."""
    made = await opened(tmp_path / "store")
    yield made
    await made.close()


async def test_what_is_committed_is_there_after_a_restart(tmp_path: Path) -> None:
    """Streaks, attempts and open incidents must survive any restart."""
    folder = tmp_path / "store"
    store = await opened(folder)
    assert store.is_new
    assert store.trouble == ""
    evidence = Evidence(IncidentId(7), NOW, {"exit": "9"}, ("line",), "look")
    meta = Meta(IncidentId(8), AttemptId(2), 99, "boot", 5, NOW, first_start_done=True)
    await store.commit(
        Batch(
            stories=(story("nginx.service", incident(7)), story("redis.service")),
            incidents=(incident(7),),
            evidence=(evidence,),
            outbox_add=(notice("b", NOW + 1), notice("a", NOW + 2)),
            meta=meta,
        )
    )
    await store.close()

    again = await opened(folder)
    loaded = await again.load()
    assert not again.is_new
    assert loaded.meta == meta
    assert loaded.stories == (story("nginx.service", incident(7)), story("redis.service"))
    assert [n.id for n in loaded.outbox] == ["b", "a"]
    assert await again.incident(IncidentId(7)) == incident(7)
    assert await again.incident(IncidentId(8)) is None
    assert await again.evidence(IncidentId(7)) == evidence
    await again.close()


async def test_a_batch_drops_what_is_gone(store: Store) -> None:
    """A removed unit must not come back with the next start, nor a delivered notice."""
    await store.commit(
        Batch(stories=(story("a.service"), story("b.service")), outbox_add=(notice("n"),))
    )
    await store.commit(Batch(gone=("a.service", "never.service"), outbox_drop=("n",)))
    loaded = await store.load()
    assert [s.name for s in loaded.stories] == ["b.service"]
    assert loaded.outbox == ()


async def test_a_long_name_is_its_own_story(store: Store) -> None:
    """LMDB refuses keys over 511 bytes; a disk check may be named by a long path."""
    names = tuple("host:disk:/" + "x" * 600 + end for end in "ab")
    await store.commit(Batch(stories=tuple(Story(name) for name in names)))
    assert {s.name for s in (await store.load()).stories} == set(names)
    assert len(name_key(names[0])) <= 511


async def test_history_is_read_newest_first_and_narrowed(store: Store) -> None:
    """`healthctl incidents` shows what is new on top."""
    other = UnitName("redis.service")
    await store.commit(
        Batch(
            incidents=(
                closed(1),
                closed(2, closing=Closing.USER_FIXED),
                incident(3, unit=other, key=CheckKey("readiness:redis.service")),
                closed(300),
            )
        )
    )

    async def ids(**query: Any) -> list[int]:
        return [i.id for i in await store.incidents(**query)]

    assert await ids() == [300, 3, 2, 1]
    assert await ids(limit=2) == [300, 3]
    assert await ids(open_only=True) == [3]
    assert await ids(unit="redis.service") == [3]
    assert await ids(key="liveness:nginx.service", limit=2) == [300, 2]
    assert await ids(closing=Closing.USER_FIXED) == [2]
    assert await ids(since_at=NOW + 100_000_000) == [300, 3]
    assert await ids(unit="nobody.service") == []


async def test_a_history_longer_than_one_slice_is_read_whole(store: Store) -> None:
    """Slices keep commits quick and must neither lose nor repeat a row."""
    await store.commit(Batch(incidents=tuple(closed(n) for n in range(1, 514))))
    assert [i.id for i in await store.incidents()] == list(range(513, 0, -1))


async def test_retention_drops_old_closed_incidents_with_their_evidence(store: Store) -> None:
    """Evidence is private: it must not outlive its incident. An open incident stays for ever."""
    await store.commit(
        Batch(
            incidents=(incident(1), closed(2), closed(3, closed_at=NOW + 401 * DAY), closed(4)),
            evidence=(Evidence(IncidentId(2), NOW), Evidence(IncidentId(3), NOW)),
        )
    )
    assert await store.prune(NOW + 401 * DAY) == 2
    assert [i.id for i in await store.incidents()] == [3, 1]
    assert await store.evidence(IncidentId(2)) is None
    assert await store.evidence(IncidentId(3)) is not None
    assert await store.prune(NOW + 401 * DAY) == 0


def test_the_map_grows_when_it_is_full(tmp_path: Path) -> None:
    """A small map to begin with is a detail; nothing may be lost when it is outgrown."""
    env = Env.open(tmp_path, map_bytes=256 * 1024, prepare=lambda rows: None)

    def put(rows: Transaction, first: int) -> None:
        for number in range(first, first + 100):
            rows.put(Table.EVIDENCE, number_key(number), b"x" * 1500)

    for first in range(0, 1000, 100):
        env.write(partial(put, first=first), cap_bytes=8 * 1024 * 1024)
    assert env.map_bytes > 256 * 1024
    rows = env.read(lambda rows: list(rows.items(Table.EVIDENCE)))
    assert rows == [(number_key(number), b"x" * 1500) for number in range(1000)]
    env.close()


async def test_at_its_size_the_store_drops_the_oldest_history(tmp_path: Path) -> None:
    """A full store must never stop the watch, nor lose what is open."""
    folder = tmp_path / "store"
    store = await opened(folder, size_cap_bytes=1024 * 1024)
    log = tuple("x" * 80 for _ in range(20))
    await store.commit(Batch(incidents=(incident(1),), stories=(story("nginx.service"),)))
    for n in range(2, 1500):
        evidence = Evidence(IncidentId(n), NOW, log=log)
        await store.commit(Batch(incidents=(closed(n),), evidence=(evidence,)))
    kept = [i.id for i in await store.incidents()]
    assert kept[0] == 1499
    assert kept[-1] == 1
    assert 50 < len(kept) < 1000
    assert [s.name for s in (await store.load()).stories] == ["nginx.service"]
    assert (folder / "data.mdb").stat().st_size < 2.2 * 1024 * 1024
    await store.close()


async def test_tending_a_sound_store_changes_nothing(store: Store) -> None:
    """It is called each minute for as long as the machine runs."""
    await store.commit(Batch(incidents=(closed(1),)))
    await store.tend()
    assert await store.incidents() == (closed(1),)


async def test_what_cannot_fit_is_refused_and_the_rest_stays(tmp_path: Path) -> None:
    """Open stories alone over the cap: an error with a code, and the store as it was."""
    store = await opened(tmp_path / "store", size_cap_bytes=1024 * 1024)
    await store.commit(Batch(stories=(story("nginx.service"),)))
    huge = Evidence(IncidentId(1), NOW, log=("x" * 4_000_000,))
    with pytest.raises(HealthdError) as caught:
        await store.commit(Batch(stories=(story("redis.service"),), evidence=(huge,)))
    assert caught.value.code == "store-full"
    assert [s.name for s in (await store.load()).stories] == ["nginx.service"]
    await store.close()


async def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    """Evidence holds log lines; a lax folder of before is made strict."""
    folder = tmp_path / "store"
    folder.mkdir(mode=0o755)
    store = await opened(folder)
    await store.commit(Batch(stories=(story("nginx.service"),)))
    assert folder.stat().st_mode & 0o777 == 0o700
    await store.close()
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == {"data.mdb": 0o600, "lock.mdb": 0o600, "closed": 0o600}


async def test_a_second_daemon_is_refused(store: Store, tmp_path: Path) -> None:
    """Two writers, one of which may set the file aside, would destroy it."""
    with pytest.raises(HealthdError) as caught:
        await opened(tmp_path / "store")
    assert caught.value.code == "store-busy"


async def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """ "Not a directory" alone would leave the owner searching."""
    (tmp_path / "file").write_text("")
    with pytest.raises(HealthdError) as caught:
        await opened(tmp_path / "file" / "store")
    assert caught.value.code == "store-failed"
    assert str(tmp_path / "file" / "store") in caught.value.message
