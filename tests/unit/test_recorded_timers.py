"""Real timers, recorded: what their signals and PID 1's entries make of the runs of their jobs."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from healthd.host.journal_runs import runs_in
from healthd.host.timer_facts import INTERFACE, merge_timer
from healthd.host.unit_facts import merge
from healthd.judge.endings import Endings
from healthd.judge.ledger import run_of
from healthd.model import (
    HEARTBEAT_RULES,
    Aspect,
    Check,
    CheckKey,
    Ended,
    JobRan,
    RunResult,
    Story,
    TimerFacts,
    TimerSeen,
    UnitChanged,
    UnitFacts,
    UnitName,
)
from tests.transcripts import replay
from tests.unit.histories import BEGIN_US, Play


def watched(name: str, timer: str) -> Play:
    """The story of a timer after everything that a recording holds."""
    job = UnitName(timer.replace(".timer", ".service"))
    check = Check(
        CheckKey(f"heartbeat:{timer}"),
        Aspect.HEARTBEAT,
        "heartbeat",
        UnitName(timer),
        HEARTBEAT_RULES,
    )
    play = Play(checks=(check,), story=Story(name=timer))
    facts = UnitFacts(UnitName(timer), sub_state="dead", wanted=True)
    shown, job_facts = TimerFacts(unit=job), UnitFacts(job, service_type="oneshot")
    endings = Endings()
    for known in (facts, job_facts):
        endings.prime(known)
    begun_us = replay.heard(name)[0].now.steady_us
    offset_us = BEGIN_US - begun_us
    for one in replay.heard(name):
        play.now_us = one.now.steady_us + offset_us
        signal = one.signal
        if isinstance(signal, UnitChanged):
            if signal.unit == timer:
                facts = merge(facts, signal.interface, signal.properties, offset_us)
                if signal.interface == INTERFACE:
                    shown = merge_timer(shown, signal.properties, offset_us)
            elif signal.unit == job:
                job_facts = merge(job_facts, signal.interface, signal.properties, offset_us)
        for unit, event in endings.feed(signal, play.now):
            if unit == timer:
                play.put(event)
            elif isinstance(event, Ended):
                play.put(JobRan(run_of(event.end, job_facts)))
        play.put(TimerSeen(facts, shown, job_facts))
    play.put(TimerSeen(facts, shown, job_facts, fresh=True, due=True))
    return play


@pytest.mark.parametrize(
    ("name", "timer", "result"),
    [
        ("r6-t5-timer-ok", "job-ok.timer", RunResult.SUCCESS),
        ("r6-t6-timer-fails", "job-bad.timer", RunResult.FAILED),
        ("r7-u1-timer-stopped", "k-beat.timer", RunResult.SUCCESS),
        ("r7-u2-timer-skipped", "k-skip.timer", None),
        ("r7-u3-timer-reload", "k-beat.timer", RunResult.SUCCESS),
    ],
)
def test_signals_and_journal_tell_the_same_of_a_run(
    name: str, timer: str, result: RunResult | None
) -> None:
    """What is filled in after a gap must be what would have been seen."""
    last = watched(name, timer).story.ledger.last
    lines = (replay.FOLDER / f"{name}.journal.jsonl").read_text().splitlines()
    job = timer.replace(".timer", ".service")
    entries = [e for e in map(json.loads, lines) if e.get("UNIT") == job]
    written = runs_in(entries, oneshot=True)
    assert (last.result if last else None) is result
    assert [run.result for run in written] == ([result] if result else [])
    if last is not None:
        assert (last.invocation, last.words) == (written[0].invocation, written[0].words)


@pytest.mark.parametrize(
    ("name", "timer", "face", "says"),
    [
        ("r7-u1-timer-stopped", "k-beat.timer", ("grey", "stopped"), "stopped"),
        (
            "r7-u3-timer-reload",
            "k-beat.timer",
            ("green", "ok"),
            "ran 2026-11-30 00:53 UTC, next run 2026-12-01 00:53 UTC",
        ),
    ],
)
def test_a_recorded_timer_ends_in_the_right_words(
    name: str, timer: str, face: tuple[str, str], says: str
) -> None:
    """Stopped by a person; and reloads while its job runs, and after it."""
    play = watched(name, timer)
    key = CheckKey(f"heartbeat:{timer}")
    assert play.face(key) == face
    assert play.watch(key).verdict.summary == says


def test_a_skipped_job_is_no_run() -> None:
    """The timer fired, LastTriggerUSec moved, and nothing ran."""
    play = watched("r7-u2-timer-skipped", "k-skip.timer")
    assert play.story.timer is not None
    assert play.story.timer.trigger_at
    assert play.face(CheckKey("heartbeat:k-skip.timer"))[0] == "grey"
    # The condition's result is in no recording: it stands in what is read.
    assert play.story.job is not None
    skipped = replace(play.story.job, condition_checked=True, condition_met=False)
    assert play.story.facts is not None
    play.put(TimerSeen(play.story.facts, play.story.timer, skipped, fresh=True))
    verdict = play.watch(CheckKey("heartbeat:k-skip.timer")).verdict
    assert (verdict.reason, verdict.summary) == (
        "not-configured",
        "its job was skipped: a condition not met",
    )
