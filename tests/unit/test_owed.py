"""What the store does not have yet is neither lost nor written twice."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.daemon.saving import Owed, Step
from healthd.model import (
    CheckKey,
    Delivered,
    Edition,
    Effect,
    Event,
    IncidentId,
    Notice,
    Story,
    Tell,
    UnitName,
    Urgency,
    Woken,
)

NOTICE = Notice(
    "incident-1",
    IncidentId(1),
    CheckKey("liveness:a.service"),
    UnitName("a.service"),
    Edition.ENGAGED,
    Urgency.CRITICAL,
    "a.service failed",
    "",
    "",
    1,
)
CLEARED = replace(NOTICE, edition=Edition.CLEARED)
DELIVERED = Delivered(IncidentId(1), Edition.ENGAGED, "journal", NOTICE.id)


def step(event: Event, *effects: Effect) -> Step:
    """What one event of one story came to."""
    story = Story("a.service")
    return Step("a.service", event, story, story, tuple((e, 1) for e in effects))


def owed(*steps: Step) -> Owed:
    """What these steps leave to be written."""
    found = Owed()
    for one in steps:
        found.add(one)
    return found


def test_a_delivery_drops_its_notice_in_the_same_transaction() -> None:
    """A crash in between would leave an owner who was told and a healthd that does not know."""
    found = owed(step(DELIVERED))
    assert (found.drops, found.notices) == ({NOTICE.id}, {})


def test_a_newer_edition_is_not_dropped_by_the_delivery_of_an_older() -> None:
    """Both have one id, so that one replaces the other on a screen."""
    found = owed(step(DELIVERED), step(Woken(), Tell(CLEARED)))
    assert (found.drops, found.notices) == (set(), {NOTICE.id: CLEARED})


def test_what_could_not_be_written_is_owed_with_what_has_come_since() -> None:
    """A save that fails while another is being prepared forgets nothing."""
    newer = owed(step(Woken(), Tell(CLEARED)))
    newer.with_older(owed(step(Woken(), Tell(NOTICE))))
    assert newer.notices == {NOTICE.id: CLEARED}
    newer = owed(step(DELIVERED))
    newer.with_older(owed(step(Woken(), Tell(NOTICE))))
    assert (newer.notices, newer.drops) == ({}, {NOTICE.id})


def test_nothing_owed_is_nothing_to_write() -> None:
    """A look that changes nothing costs no disk."""
    assert not owed(step(Woken()))
