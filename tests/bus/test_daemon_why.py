"""The running daemon is asked why: who may know what, and what is kept for those who may not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthd.bus.connection import BusError
from healthd.model import Phase
from tests.bus.daemon import Healthd
from tests.bus.polkit import MockPolkit

UNIT = "noisy.service"
KEY = f"readiness:{UNIT}"
SECRET = "correct-horse-battery-staple"


def settings(broken: Path) -> str:
    """A check whose program tells a secret and fails once *broken* is there."""
    script = f"test ! -e {broken} || {{ echo {SECRET}; exit 3; }}"
    spec = f"exec: {{command: [/bin/sh, -c, {json.dumps(script)}]}}"
    times = "every: 11s, retry: 10s, timeout: 4s, after: 2, grace: 0s"
    return f"checks: {{{UNIT}: {{{spec}, {times}}}}}\n"


async def test_why_tells_everybody_the_rule_and_nobody_what_a_program_said(
    healthd: Healthd, polkit: MockPolkit, tmp_path: Path
) -> None:
    """The answer is public, so what an exec check printed must be in evidence only."""
    broken = tmp_path / "broken"
    healthd.settings(settings(broken))
    # The settings are read below a root of their own, where this program must be too.
    (healthd.root / "bin").mkdir()
    (healthd.root / "bin/sh").touch(mode=0o755)
    healthd.systemd.unit(UNIT)
    await polkit.allow("org.healthd1.look", "org.healthd1.read-evidence")
    await healthd.start()
    client = await healthd.client()
    await client.look()
    broken.touch()
    await client.look(KEY)
    opened = await client.until_step("IncidentChanged", KEY, Phase.ENGAGED)
    (found,) = await client.call("Why", "s", KEY)
    assert isinstance(found, dict)
    assert SECRET not in json.dumps(found, default=str)
    assert found["state"] == "red"
    assert found["judged"] == "2 failing looks in a row, red from 2 on"
    assert found["rule"].startswith("a look of kind exec every 11 s")
    assert "not listed in repair.allow_restart" in found["tried"]
    assert [look[6] for look in found["looks"]] == ["ok", "suspect", "unready"]
    (evidence,) = await client.call("GetEvidence", "t", opened.id)
    assert isinstance(evidence, dict)
    assert SECRET in evidence["look"]


async def test_why_of_nothing_says_that_there_is_no_such_check(healthd: Healthd) -> None:
    """A typing error is not an empty answer."""
    await healthd.start()
    client = await healthd.client()
    with pytest.raises(BusError) as refused:
        await client.call("Why", "s", "liveness:nothing.service")
    assert refused.value.name == "org.healthd1.Error.NoSuchCheck"
