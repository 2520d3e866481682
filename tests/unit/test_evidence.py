"""Evidence is bounded, and a repair waits for what it would wipe out, but not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from healthd.daemon.clock import Clock
from healthd.daemon.evidence import LOG_BYTES, MOST_BYTES, Collector, Fleeting, bounded, facts_of
from healthd.host.traces import UnitTraces
from healthd.model import (
    ActiveState,
    Aspect,
    Check,
    CheckKey,
    Dated,
    Evidence,
    IncidentId,
    Neighbour,
    Reason,
    State,
    Story,
    TakeEvidence,
    UnitFacts,
    UnitName,
    Verdict,
    Watch,
)
from healthd.store.records import encode

UNIT = UnitName("a.service")
EFFECT = TakeEvidence(IncidentId(1), UNIT, "", "what the check said")
DEAD = UnitFacts(UNIT, active_state=ActiveState.FAILED, result="oom-kill", requires=("db.service",))


class Machine:
    """A systemd that answers when it is let."""

    def __init__(self) -> None:
        self.answers = asyncio.Event()
        self.asked = asyncio.Event()

    async def traces(self, unit: str) -> UnitTraces:
        self.asked.set()
        await self.answers.wait()
        return UnitTraces(id=unit, memory_peak_bytes=3 << 20)

    async def reloaded_at(self) -> int:
        return 0


def collector(
    machine: Machine | None, stories: Mapping[str, Story] | None = None, limit_s: float = 60.0
) -> Collector:
    """The part of the daemon that takes evidence, on a machine of the test's."""
    return Collector(
        lambda: machine,  # type: ignore[arg-type,return-value]
        stories or {},
        Clock(0),
        limit_s=limit_s,
    )


def text_bytes(evidence: Evidence) -> int:
    """What all texts of it take."""
    words = [*evidence.facts, *evidence.facts.values(), *evidence.log, evidence.look]
    words += [one.what for one in (*evidence.files, *evidence.changes)]
    words += [word for p in evidence.providers for word in (p.unit, p.summary)]
    return sum(len(word.encode()) for word in words)


async def test_a_repair_waits_until_what_it_would_wipe_out_is_read() -> None:
    """After the restart nobody could say how much memory it had."""
    machine = Machine()
    collects = collector(machine)
    collects.expect(EFFECT, "a.service")
    async with asyncio.TaskGroup() as group:
        taken = group.create_task(collects.take(EFFECT, Story("a.service", facts=DEAD)))
        repair = group.create_task(collects.seen("a.service"))
        await machine.asked.wait()
        assert not repair.done()
        # Other units' repairs have nothing to wait for.
        await collects.seen("b.service")
        machine.answers.set()
        await repair
        found = await taken
    assert found.facts["memory_peak"] == "3.0 MiB"
    assert found.facts["out_of_memory"].startswith("yes")
    assert found.look == "what the check said"


async def test_a_systemd_that_does_not_answer_holds_no_repair() -> None:
    """A service must come back even where nothing can be learned of it."""
    collects = collector(Machine(), limit_s=0.01)
    collects.expect(EFFECT, "a.service")
    found = await collects.take(EFFECT, Story("a.service", facts=DEAD))
    await collects.seen("a.service")
    assert found.facts["state"] == "failed (dead)"
    assert "memory_peak" not in found.facts


async def test_a_repair_is_let_go_when_taking_evidence_is_cancelled() -> None:
    """Whatever becomes of the evidence, nobody waits for it for ever."""
    machine = Machine()
    collects = collector(machine)
    collects.expect(EFFECT, "a.service")
    taken = asyncio.ensure_future(collects.take(EFFECT, Story("a.service", facts=DEAD)))
    await machine.asked.wait()
    taken.cancel()
    await asyncio.gather(taken, return_exceptions=True)
    collects.end(EFFECT.incident)
    await collects.seen("a.service")
    await collects.kept(EFFECT.incident)


async def test_what_it_needs_is_written_down_as_it_stood() -> None:
    """The provider may be well again when somebody reads this."""
    red = Verdict(State.RED, Reason.FAILED, "exit code 3", 0)
    check = Check(CheckKey("liveness:db.service"), Aspect.LIVENESS, "unit", UnitName("db.service"))
    stories = {"db.service": Story("db.service", (Watch(check, red, present=True),))}
    watch = Watch(Check(CheckKey("liveness:a.service"), Aspect.LIVENESS, "unit", UNIT), red)
    story = Story("a.service", (watch,), facts=DEAD)
    found = await collector(None, stories).take(EFFECT, story)
    assert found.providers == (
        Neighbour(UnitName("db.service"), State.RED, Reason.FAILED, "exit code 3"),
    )


async def test_of_a_timer_it_is_told_how_its_job_ended() -> None:
    """The timer is well and waits; what failed at night is the job."""
    timer = UnitFacts(UnitName("a.timer"), active_state=ActiveState.ACTIVE, sub_state="waiting")
    story = Story("a.timer", facts=timer, job=DEAD)
    found = await collector(None).take(EFFECT, story)
    assert (found.facts["state"], found.facts["ended"]) == ("failed (dead)", "out of memory")


def test_a_unit_that_runs_has_no_end_to_tell() -> None:
    """Its readiness is red; the result that systemd shows is that of another time."""
    runs = UnitFacts(UNIT, active_state=ActiveState.ACTIVE, sub_state="running")
    facts = facts_of(runs, "abc", Fleeting(), starved=False)
    assert facts == {"state": "active (running)", "restarts": "0", "invocation": "abc"}


_TEXTS = st.text(max_size=50) | st.integers(0, 30_000).map(lambda n: "ü" * n)
_DATED = st.builds(Dated, st.integers(0, 2**53), _TEXTS)


@given(
    st.builds(
        Evidence,
        incident=st.just(IncidentId(1)),
        taken_at=st.just(0),
        facts=st.dictionaries(_TEXTS, _TEXTS, max_size=4),
        log=st.lists(_TEXTS, max_size=30).map(tuple),
        look=_TEXTS,
        files=st.lists(_DATED, max_size=8).map(tuple),
        changes=st.lists(_DATED, max_size=8).map(tuple),
        providers=st.just(()),
    )
)
def test_evidence_never_takes_more_than_its_bound(evidence: Evidence) -> None:
    """A unit that writes novels must not fill the store, nor a message on the bus."""
    kept = bounded(evidence)
    assert text_bytes(kept) <= MOST_BYTES
    assert all("\0" not in line for line in kept.log)
    assert bounded(kept) == kept
    assert encode(kept)


def test_the_newest_lines_are_kept_and_the_log_has_room_of_its_own() -> None:
    """The last words count most, whatever else there is to say."""
    crowd = tuple(Dated(n, f"/etc/{n}/" + "x" * 900) for n in range(40))
    lines = tuple(f"line {n} " + "y" * 500 for n in range(60))
    kept = bounded(Evidence(IncidentId(1), 0, {}, lines, "z" * 9000, files=crowd, changes=crowd))
    assert kept.log == lines[-len(kept.log) :]
    assert sum(map(len, kept.log)) > LOG_BYTES // 2
    assert kept.changes == crowd[-len(kept.changes) :]
    assert len(kept.changes) > 0
    assert text_bytes(kept) <= MOST_BYTES
