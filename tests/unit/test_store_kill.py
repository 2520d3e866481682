"""kill -9 in the middle of commits: what was acknowledged is there, and nothing is half there."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from healthd.model import IncidentId
from tests.unit.test_store import opened

#: Commits batches as fast as it can and writes the number of each that is durable. Every part of a
#: batch carries its number.
COMMIT = """
import asyncio, sys
from pathlib import Path
from healthd.model import Evidence, IncidentId, Story
from healthd.store.records import Batch, Meta
from healthd.store.store import Store
from tests.unit.test_store import NOW, incident, notice

async def main():
    store = await Store.open(Path(sys.argv[1]), now_at=NOW)
    number = (await store.load()).meta.next_incident
    while True:
        part = incident(number)
        await store.commit(Batch(
            stories=tuple(Story(f"u{n}.service", incidents=(part,)) for n in range(12)),
            incidents=(part,),
            evidence=(Evidence(IncidentId(number), NOW, log=("x" * 3000,)),),
            outbox_add=(notice(f"n{number}"),),
            outbox_drop=(f"n{number - 1}",),
            meta=Meta(next_incident=IncidentId(number + 1)),
        ))
        print(number, flush=True)
        number += 1

asyncio.run(main())
"""


def commit_and_be_killed(folder: Path, *, after: int) -> int:
    """Kill the committing process once it has acknowledged *after* commits; returns the last."""
    child = subprocess.Popen(
        [sys.executable, "-c", COMMIT, str(folder)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    acknowledged = [int(child.stdout.readline()) for _ in range(after)]
    child.kill()
    rest, _ = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    # The last line may have been cut in the middle of its digits.
    return max([*acknowledged, *map(int, rest.splitlines()[:-1])])


@pytest.mark.parametrize("kill_after", [1, 7, 40])
async def test_a_killed_daemon_loses_no_commit_and_keeps_none_by_half(
    kill_after: int, tmp_path: Path
) -> None:
    """An attempt that is half recorded would be made twice, a notice half recorded never."""
    folder = tmp_path / "store"
    for _ in range(2):
        acknowledged = commit_and_be_killed(folder, after=kill_after)
        store = await opened(folder)
        assert store.trouble == ""
        loaded = await store.load()
        last = loaded.meta.next_incident - 1
        assert last >= acknowledged
        assert {story.incidents[0].id for story in loaded.stories} == {last}
        assert len(loaded.stories) == 12
        assert [notice.id for notice in loaded.outbox] == [f"n{last}"]
        history = await store.incidents()
        assert [incident.id for incident in history] == list(range(last, 0, -1))
        assert await store.evidence(IncidentId(last)) is not None
        await store.close()
