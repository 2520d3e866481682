"""Real systemd, recorded, judged to the end: who is told and what is repaired, and who is not."""

from __future__ import annotations

import pytest

from healthd.model import Edition, Policy, UnitName
from tests.transcripts import replay
from tests.unit.recorded import Recording

#: What ended without anybody's wish and stayed down, in the words of its verdict. In all other
#: recordings people asked, or systemd put it right by itself.
BROKEN = {
    "b4-provider-sigterm-exits-clean": {"prov.service": "exited"},
    "d-kill-term": {"plain.service": "exited"},
    "d2-systemctl-kill": {"plain.service": "exited"},
    "d3-kill-term-forking": {"forky.service": "exited"},
    "p-dependency-failed": {"badprov.service": "failed"},
    "q1-always": {"r-always.service": "crash-loop"},
    "q2-onfailure": {"r-on-failure.service": "crash-loop"},
    "q3-onabnormal": {"r-on-abnormal.service": "failed"},
    "s3-runtime-max": {"runtimemax.service": "failed"},
    "s5-restart-whose-start-fails": {"badrestart.service": "failed"},
    "s8-dbus-name-lost": {"dn.service": "exited"},
    "t1-reload-crashes": {"mortal.service": "failed"},
    "t2-reexec-crashes": {"mortal.service": "failed"},
    "t3-collect": {"collected.service": "failed"},
    "t4-watchdog": {"hung.service": "failed"},
    "t6-timer-fails": {"job-bad.service": "failed"},
    "t11-mount-fails": {"mnt-bad.mount": "failed"},
}
# Enough for the confirming look, too little for a crash loop to calm down.
_AFTER_S = 20


@pytest.mark.parametrize("name", replay.names())
def test_who_is_told_of_a_recording(name: str) -> None:
    """No alarm for what someone meant, and no silence where something is broken."""
    recording = Recording(name, Policy())
    recording.run(_AFTER_S)
    told = {unit: play.told() for unit, play in recording.plays.items() if play.told()}
    broken = BROKEN.get(replay.scenario(name), {})
    assert told == {unit: [Edition.ENGAGED] for unit in broken}
    for unit, reason in broken.items():
        (watch,) = recording.plays[UnitName(unit)].story.watches
        assert (watch.verdict.state.value, watch.verdict.reason.value) == ("red", reason)


@pytest.mark.parametrize("name", replay.names())
def test_what_is_repaired_of_a_recording(name: str) -> None:
    """With every unit on the list, exactly what rests broken is restarted, once."""
    heard = Recording(name, Policy())
    recording = Recording(name, Policy(allow_restart=frozenset(heard.plays)))
    recording.run(_AFTER_S)
    repaired = {
        unit: len(play.repairs()) for unit, play in recording.plays.items() if play.repairs()
    }
    assert repaired == dict.fromkeys(BROKEN.get(replay.scenario(name), {}), 1)
