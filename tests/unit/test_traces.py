"""What a restart would wipe out: properties, files and cgroups, all of which may be hostile."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from healthd.host.traces import (
    MOST_FILES,
    UnitTraces,
    decode,
    files_of,
    memory_peak_bytes,
    out_of_memory_kills,
)

PROPERTIES = {
    "Id": "a.service",
    "FragmentPath": "/usr/lib/systemd/system/a.service",
    "DropInPaths": ["/etc/systemd/system/a.service.d/x.conf"],
    "SourcePath": "",
    "EnvironmentFiles": [("/etc/default/a", True), ["/etc/a.d/*.env", False], ("-", 1), 7],
    "ControlGroup": "/system.slice/a.service",
    "MemoryPeak": 1 << 20,
    "NeedDaemonReload": True,
}


def put(path: Path, at: int) -> None:
    """A file that was made elsewhere at *at*."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("SECRET=1\n")
    os.utime(path, (at, at))


def test_the_files_of_a_unit_are_told_by_name_and_by_when_they_came(tmp_path: Path) -> None:
    """A package's file keeps the time at which it was built; it came when it was put there."""
    for name in ("usr/lib/systemd/system/a.service", "etc/a.d/one.env", "etc/a.d/two.env"):
        put(tmp_path / name, 1_000_000)
    put(tmp_path / "etc/systemd/system/a.service.d/x.conf", 1_000_000)
    found = files_of(decode(PROPERTIES), root=tmp_path)
    assert [one.what for one in found] == [
        "/usr/lib/systemd/system/a.service",
        "/etc/systemd/system/a.service.d/x.conf",
        "/etc/systemd/system/a.service.d",
        "/etc/a.d/one.env",
        "/etc/a.d/two.env",
    ]
    came = (tmp_path / "usr/lib/systemd/system/a.service").stat().st_ctime_ns // 1000
    assert found[0].at == came > 1_000_000_000_000
    assert "SECRET" not in repr(found)


def test_a_pattern_that_matches_everything_is_bounded(tmp_path: Path) -> None:
    """`EnvironmentFile=/*` must not make a list of the disk."""
    for number in range(100):
        put(tmp_path / f"etc/{number}.env", 1)
    traces = UnitTraces(environment=tuple(f"/etc/*{n}.env" for n in range(10)))
    assert 0 < len(files_of(traces, root=tmp_path)) <= MOST_FILES


def test_memory_is_read_from_the_cgroup_where_systemd_does_not_say(tmp_path: Path) -> None:
    """systemd before 256 forgets the peak with the cgroup, so it is read at once."""
    group = tmp_path / "system.slice/a.service"
    group.mkdir(parents=True)
    (group / "memory.peak").write_text("4096\n")
    (group / "memory.events").write_text("low 0\nhigh 3\noom 2\noom_kill 2\noom_group_kill 0\n")
    traces = UnitTraces(control_group="/system.slice/a.service")
    assert memory_peak_bytes(traces, tmp_path) == 4096
    assert out_of_memory_kills(traces, tmp_path) == 2
    said = UnitTraces(control_group="/system.slice/a.service", memory_peak_bytes=5)
    assert memory_peak_bytes(said, tmp_path) == 5
    gone = UnitTraces(control_group="/system.slice/gone.service")
    assert (memory_peak_bytes(gone, tmp_path), out_of_memory_kills(gone, tmp_path)) == (0, 0)
    # The root's own counters are not the unit's.
    assert out_of_memory_kills(UnitTraces(control_group="/"), tmp_path) == 0


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=6,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(PROPERTIES, _VALUES)))
def test_no_property_can_break_the_evidence(properties: dict[str, object]) -> None:
    """A newer systemd may send another type; an incident is written down all the same."""
    traces = decode(properties)
    assert traces.memory_peak_bytes >= 0
    assert all(name.startswith("/") for name in traces.environment)
