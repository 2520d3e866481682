"""What healthctl prints of time in which healthd did not watch."""

from __future__ import annotations

import pytest

from healthd.ctl.detail import incident_block
from healthd.ctl.layout import Screen
from healthd.ctl.overview import overview
from healthd.ctl.render import gap_words, incidents_page
from healthd.ctl.rows import Gap
from tests.unit import ctl_samples as samples
from tests.unit.ctl_samples import NOW, SECOND

HOUR = 3600 * SECOND
NARROW = Screen(width=80, now=NOW)


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    samples.use_utc(monkeypatch)


def gap(started: int, ended: int, why: str = "healthd was stopped") -> Gap:
    """One gap."""
    return {"started": started, "ended": ended, "why": why}


def test_a_gap_says_from_when_to_when_and_why() -> None:
    """The day is said once, where it is the same."""
    words = gap_words(gap(1_796_086_800 * SECOND, 1_796_105_520 * SECOND))
    assert words == "2026-12-01 01:00:00 to 06:12:00 (5 h 12 min): healthd was stopped"
    words = gap_words(gap(1_796_079_600 * SECOND, 1_796_105_520 * SECOND, "the machine slept"))
    assert words == ("2026-11-30 23:00:00 to 2026-12-01 06:12:00 (7 h 12 min): the machine slept")


def test_status_shows_the_newest_gaps_of_the_last_day() -> None:
    """A night that nobody watched is seen in the morning; one of last week is history."""
    gaps = [
        gap(NOW - (30 - n) * HOUR, NOW - (30 - n) * HOUR + 60 * SECOND) for n in range(0, 30, 5)
    ]
    manager = samples.manager([samples.check("liveness:nginx.service")], [], gaps=gaps)
    page = overview("web1", manager, NARROW)
    assert page.count("healthd was stopped") == 3
    assert "Not watched: " in page
    assert "and 1 more in the last day" in page
    assert "Not watched" not in overview("web1", manager._replace(gaps=gaps[:1]), NARROW)


def test_an_incident_says_what_of_it_nobody_watched() -> None:
    """How long it lasted is no more certain than what was seen of it."""
    incident = samples.incident(42, "liveness:nginx.service")
    incident["gaps"] = [gap(NOW - 2 * HOUR, NOW - HOUR, "the machine slept")]
    block = "\n".join(incident_block(incident, [], NARROW))
    assert "Not watched: " in block
    assert "the machine slept" in block
    page = incidents_page([incident, incident], NARROW)
    assert page.count("the machine slept") == 1


def test_what_another_healthd_says_of_a_gap_is_harmless_and_bounded() -> None:
    """The page may come from a machine whose healthd is not ours."""
    words = gap_words(gap(NOW, NOW + HOUR, "\x1b[2J" + "x" * 10_000))
    assert words.isprintable()
    assert len(words) < 150
