"""Real systemd, recorded: how each invocation ended, and what its unit looks like afterwards."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from healthd.host.unit_facts import decode
from healthd.judge import run as runs
from healthd.judge.endings import Endings
from healthd.judge.liveness import liveness
from healthd.judge.watched import is_watched
from healthd.model import (
    MINUTE_US,
    ActiveState,
    Began,
    Ended,
    Look,
    Policy,
    Run,
    UnitFacts,
    UnitName,
)
from tests.transcripts import replay
from tests.transcripts.expected import (
    BOUND,
    ENDS,
    ENDS_OF_ONE_HOST,
    FOES,
    KNOWN,
    LOOKS,
    LOOKS_OF_ONE_HOST,
    PROVIDERS,
    Words,
)


def play(name: str) -> tuple[dict[str, Words], dict[str, Run]]:
    """Every unit's ends and beginnings in a recording, in words and as healthd remembers them."""
    endings = Endings()
    for unit, invocation in replay.was_up(name).items():
        endings.prime(
            known(UnitFacts(unit, active_state=ActiveState.ACTIVE, invocation=invocation))
        )
    for idle, kept in KNOWN.items():
        if "on_demand" in kept and idle in replay.late(name):
            endings.prime(known(UnitFacts(UnitName(idle))))
    words: dict[str, Words] = defaultdict(tuple)
    run: dict[str, Run] = defaultdict(Run)
    for one in replay.heard(name):
        for unit, event in endings.feed(one.signal, one.now):
            words[unit] += (replay.in_words(event),)
            match event:
                case Ended(end=end):
                    run[unit] = runs.ended(run[unit], end, one.now)
                case Began():
                    run[unit] = runs.began(run[unit], event, one.now)
    return dict(words), run


def known(facts: UnitFacts) -> UnitFacts:
    """*facts* with what a reading would have shown, and the recorder did not keep."""
    return replace(
        facts,
        wanted=facts.unit_file_state == "enabled",
        providers=PROVIDERS.get(facts.id, ()),
        bound_to=BOUND.get(facts.id, ()),
        foes=FOES.get(facts.id, ()),
        **KNOWN.get(facts.id, {}),
    )


def look(name: str, unit: str, run: Run, later_us: int = 0) -> str:
    """The unit's look after the recording, in one line without durations."""
    facts = known(replay.late(name)[unit])
    now = replay.at(replay.last_instant(name).steady_us + later_us)
    found = liveness(facts, run, now, Policy(), declared=False, grace_us=MINUTE_US, stories={})
    assert found is not None
    words = f"{found.outcome} {found.reason}: {found.summary}"
    return re.sub(r"\b\d+ (ms|s)(?= ago|$)", "…", words)


def test_every_recording_has_its_expected_ends() -> None:
    """A recording that nobody wrote the right words for would prove nothing."""
    names = replay.names()
    assert len(names) == 98
    expected = ENDS.keys() | {replay.scenario(name) for name in ENDS_OF_ONE_HOST}
    assert {replay.scenario(name) for name in names} == expected


@pytest.mark.parametrize("name", replay.names())
def test_every_invocation_ends_as_it_did(name: str) -> None:
    """Intent decides everything: one end named wrongly is a false alarm or a missed outage."""
    expected = ENDS_OF_ONE_HOST.get(name) or ENDS[replay.scenario(name)]
    words, _ = play(name)
    assert words == expected


@pytest.mark.parametrize("name", [n for n in replay.names() if replay.scenario(n) in LOOKS])
def test_the_unit_looks_as_it_is_afterwards(name: str) -> None:
    """What people stopped is grey, what died is red, what came back is not."""
    _, run = play(name)
    expected = LOOKS[replay.scenario(name)]
    assert {unit: look(name, unit, run[unit]) for unit in expected} == expected


@pytest.mark.parametrize("name", LOOKS_OF_ONE_HOST)
def test_a_start_limit_is_a_crash_loop_and_then_a_failure(name: str) -> None:
    """The unit is red all the while; only the reason changes once it holds still."""
    _, run = play(name)
    for unit, words in LOOKS_OF_ONE_HOST[name].items():
        loop = f"failing crash-loop: 3 ends in 10 min, last: {words}"
        assert look(name, unit, run[unit]) == re.sub(r"\b\d+ s$", "…", loop)
        late = look(name, unit, run[unit], 3 * MINUTE_US)
        assert late == re.sub(r"\b\d+ s$", "…", f"failing failed: {words}")


def test_all_that_was_looked_at_has_an_expectation() -> None:
    """Every recording with a reading afterwards is judged."""
    judged = {name for name in replay.names() if replay.scenario(name) in LOOKS}
    judged |= LOOKS_OF_ONE_HOST.keys()
    assert {name for name in replay.names() if replay.late(name)} == judged


def test_upholding_and_sockets_restart_a_crash_loop() -> None:
    """NRestarts never rises there, and their start jobs look as if somebody had asked."""
    for name, unit in (("r1-q10-upheld", "upheld.service"), ("r1-q11-socket", "sa.service")):
        _, run = play(name)
        assert len(run[unit].ends) == 6
        # The person who stopped it at last took it in hand.
        assert run[unit].excused_us > run[unit].ends[-1].at_us


def test_a_stock_machine_has_no_false_alarm() -> None:
    """Some 75 service packages of Debian 13: red are three that really failed.

    nginx and dnsmasq found their ports taken, freshclam had no network. `no check` are 33 names
    that are loaded only as references, a user's manager and its directory, and 58 oneshots at rest.
    """
    seen: Counter[str] = Counter()
    for facts in _stock_services():
        if not is_watched(facts, named=False, ignored=False):
            seen["not watched"] += 1
            continue
        found = _stock_look(facts)
        seen[f"{found.outcome} {found.reason}" if found else "oneshot at rest"] += 1
    assert seen == {
        "ok ok": 50 + 20 + 1 + 12,
        "not watched": 33 + 2,
        "oneshot at rest": 58,
        # 6 whose condition is not met, 9 that nothing wants, 2 that the boot did not start.
        "not-judged not-configured": 6 + 9 + 2,
        "failing failed": 3,
    }


def test_a_stock_machine_in_the_words_of_the_table() -> None:
    """Each row of rest is met on a real machine, by the units that it was made for."""
    words: dict[str, set[str]] = defaultdict(set)
    for facts in _stock_services():
        found = _stock_look(facts) if is_watched(facts, named=False, ignored=False) else None
        if found:
            words[found.summary].add(facts.id)
    on_demand = {w.removeprefix("started on demand by ") for w in words if "on demand" in w}
    assert {"snapd.socket", "iscsid.socket", "org.freedesktop.network1"} <= on_demand
    assert words["nothing wants it"] >= {"nfsdcld.service", "rescue.service"}
    assert words["condition not met"] >= {"chrony.service", "smartmontools.service"}
    assert words["not started in this boot"] == {"nfs-blkmap.service", "getty@tty1.service"}
    assert words["active; systemd does not watch its processes"] == {"rpc-statd-notify.service"}


def _stock_services() -> list[UnitFacts]:
    """The services of the machine with every package, without their timers (heartbeats judge)."""
    shown = {unit["Id"]: unit for unit in replay.every_unit("fat-trixie-all-units")}
    activatable = (replay.FOLDER / "fat-trixie-activatable.txt").read_text().split()
    up = {name for name, unit in shown.items() if unit["ActiveState"] in ("active", "activating")}
    return [
        _stock_facts(unit, up, activatable)
        for name, unit in shown.items()
        if name.endswith(".service")
    ]


def _stock_facts(unit: Mapping[str, str], up: set[str], activatable: list[str]) -> UnitFacts:
    wanters = " ".join(unit[kind] for kind in ("WantedBy", "RequiredBy", "UpheldBy", "BoundBy"))
    active = [name for name in unit["TriggeredBy"].split() if name in up]
    bus_name = unit["BusName"] if unit["BusName"] in activatable else ""
    return replace(
        decode({key: replay.typed(key, text) for key, text in unit.items()}, 0),
        wanted=any(w in up for w in wanters.split() if not w.endswith((".scope", ".device"))),
        on_demand=active[0] if active else bus_name,
    )


def _stock_look(facts: UnitFacts) -> Look | None:
    now = replay.at(4_200_000_000)
    return liveness(facts, Run(), now, Policy(), declared=False, grace_us=MINUTE_US, stories={})
