"""A real systemd and a real journal, through healthd's doors, with each D-Bus library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.host.machine import Host

SCRIPT = Path(__file__).with_name("doors.py")


@pytest.fixture(name="said", params=["next", "fast"])
def _said(fresh_host: Host, request: pytest.FixtureRequest) -> dict[str, Any]:
    # What other tests leave behind is loaded and unloaded while this reads.
    host, unit = fresh_host, f"door-{request.param}.service"
    script = "echo hello; systemd-notify --ready; exec sleep infinity"
    host.unit(unit, f"[Service]\nType=notify\nNotifyAccess=all\nExecStart=sh -c '{script}'\n")
    host.put(SCRIPT, "/run/doors.py")
    ended = host.run(
        *("env", f"HEALTHD_DBUS={request.param}", "python3", "/run/doors.py", unit), timeout_s=120
    )
    answers: dict[str, Any] = json.loads(ended.out)
    return answers


def test_systemd_and_journal_answer_as_they_were_recorded(said: dict[str, Any]) -> None:
    """The fakes of the other tests are only as true as this."""
    read = said["read"]
    assert read["services"] > 20
    assert read["wanted"] > 0
    assert read["unnamed"] == []
    assert read["booted"]
    # Reading loads what is not loaded: two watchers would feed each other for ever.
    assert read["loaded_by_reading"] == []
    ends = said["ends"]
    assert (ends["job"], ends["new_invocation"]) == ("done", True)
    assert ends["killed"]
    assert ends["stopped"] == "stop"
    assert ends["removed"] == ["done"]
    assert any(line.endswith("hello") for line in ends["lines"])
    assert any("status=9/KILL" in line for line in ends["lines"])
    assert said["reads_in_reexec"] > 0
    assert said["missing"] == "unit-missing"
