"""The first start: one digest of what was failing already, and never a word more of it."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge import found
from healthd.model import (
    Closing,
    Delivered,
    Edition,
    FoundTold,
    IncidentId,
    Looked,
    Now,
    Policy,
    Story,
    Urgency,
)
from tests.unit.histories import FAIL, OK, READINESS, Play

NOW = Now(1, 2)
HOUR = 3600


def _failing(seconds: float = 30) -> Play:
    """A check that has failed since the first start."""
    play = Play(policy=Policy(), first_start=True)
    for second in range(0, int(seconds) + 1, 15):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    return play


def _told(play: Play, channel: str = "journal") -> None:
    play.put(FoundTold())
    play.put(Delivered(IncidentId(0), Edition.FOUND, channel))


def _many(count: int) -> list[Story]:
    [incident] = _failing().story.incidents
    return [
        Story(
            name=f"u{number}.service",
            incidents=(replace(incident, id=IncidentId(number), unit=f"u{number}.service"),),
        )
        for number in range(1, count + 1)
    ]


def test_the_digest_waits_until_everything_is_confirmed() -> None:
    """One notice, so it must not leave what was only suspect when it was written."""
    play = _failing(15)
    assert found.unconfirmed([play.story])
    assert found.digest([play.story], NOW) is None
    play.at(30, Looked(READINESS, FAIL, "a1"))
    assert not found.unconfirmed([play.story])
    digest = found.digest([play.story], NOW)
    assert digest is not None
    assert (digest.edition, digest.urgency) == (Edition.FOUND, Urgency.NORMAL)
    assert digest.title == "Found at first start: 1 unit"
    assert "web.service does not answer" in digest.body
    assert digest.remedy == "healthctl incidents"


def test_nothing_failing_is_no_digest() -> None:
    """A healthy machine hears nothing from its first start."""
    play = Play(first_start=True)
    play.at(0, Looked(READINESS, OK, "a1"))
    assert not found.unconfirmed([play.story])
    assert found.digest([play.story], NOW) is None


def test_300_old_failures_are_one_bounded_notice() -> None:
    """386 warnings on the first day, and the watcher is switched off for good."""
    digest = found.digest(_many(300), NOW)
    assert digest is not None
    assert digest.title == "Found at first start: 300 units"
    assert len(digest.title) <= 60
    assert len(digest.body) < 1000
    assert "and 292 more" in digest.body


def test_each_found_incident_counts_the_digest_and_is_told_by_it() -> None:
    """Whoever reads an incident sees that the owner knows, and by which channel."""
    play = _failing()
    assert found.concerned([play.story]) == (play.story.name,)
    _told(play)
    [incident] = play.story.incidents
    assert [(t.edition, t.channel) for t in incident.tellings] == [(Edition.FOUND, "journal")]
    assert incident.told
    assert found.digest([play.story], NOW) is None
    assert not found.awaits_delivery(play.story)


def test_what_was_found_is_never_told_again_nor_cleared_aloud() -> None:
    """The digest is the only word about it, for days of red and when it is mended."""
    play = _failing()
    _told(play)
    for hour in range(1, 40):
        play.at(hour * HOUR, Looked(READINESS, FAIL, "a1"))
    for second in (0, 30):
        play.at(41 * HOUR + second, Looked(READINESS, OK, "a1"))
    assert play.told() == []
    assert play.endings() == [Closing.USER_FIXED]


def test_a_found_failure_that_was_mended_is_told_when_it_fails_anew() -> None:
    """It is news then, and not "again"."""
    play = _failing()
    _told(play)
    for second in (60, 75, 120, 135, 150):
        play.at(second, Looked(READINESS, OK if second < 100 else FAIL, "a1"))
    assert play.told() == [Edition.ENGAGED]


def test_what_turns_red_after_the_digest_is_an_ordinary_incident() -> None:
    """What waited on another while the digest was written would else never be told."""
    play = _failing(15)
    play.put(FoundTold())
    play.at(30, Looked(READINESS, FAIL, "a1"))
    incident = play.open()
    assert incident is not None
    assert not incident.found
    assert play.told() == [Edition.ENGAGED]


def test_with_the_watch_off_red_is_not_yet_confirmed_as_an_incident() -> None:
    """Switched on later, the machine's old troubles are still one digest."""
    play = Play(policy=Policy(watch_enabled=False), first_start=True)
    for second in (0, 15, 30):
        play.at(second, Looked(READINESS, FAIL, "a1"))
    assert found.unconfirmed([play.story])
    play.policy = Policy()
    play.at(45, Looked(READINESS, FAIL, "a1"))
    incident = play.open()
    assert incident is not None
    assert incident.found
    assert not found.unconfirmed([play.story])
