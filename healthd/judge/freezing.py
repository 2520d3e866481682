"""What a freeze does to a story: no verdict moves in it, each check has its grace after it. Pure.

A frozen check keeps its last verdict, untouched. That it is frozen is one fact of the machine,
which readers see as a projection (snapshot.py): nobody writes it into a thousand stories, and no
thousand signals tell of it. Only open incidents are told, for the clock of `again` stands still.
"""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge.due import on_grid
from healthd.judge.turn import Turn
from healthd.model import (
    MINUTE_US,
    READ_KINDS,
    Change,
    Idle,
    Incident,
    Look,
    LookAt,
    Now,
    Outcome,
    Reason,
    Watch,
)

# After a freeze everything is due at once: the first looks are spread over this, or an interval.
_SPREAD_US = MINUTE_US


def froze(turn: Turn) -> None:
    """Open incidents rest from now on; one that rests already, for a reason of its own, goes on."""
    for incident in turn.open_incidents():
        if incident.idle is Idle.NO:
            now_us = turn.scene.now.steady_us
            rests = replace(incident, idle=Idle.FROZEN, idle_since_us=now_us)
            turn.put_incident(rests, Change.CHANGED)


def thawed(turn: Turn, away_us: int) -> None:
    """The machine is watched again: nothing is known of it until the next looks.

    An incident that was frozen rests until its check has been looked at.
    """
    now_us = turn.scene.now.steady_us
    turn.story = replace(turn.story, run=replace(turn.story.run, watched_since_us=now_us))
    skip_gap(turn, away_us)
    for watch in turn.story.watches:
        rules = watch.check.rules
        turn.put_watch(
            replace(
                watch,
                released_until_us=now_us + rules.grace_us,
                released_from=Reason.FROZEN,
                unwatched=True,
            )
        )
        # The reconcile reads every unit anew.
        if watch.check.kind not in READ_KINDS:
            within_us = min(rules.every_us, _SPREAD_US)
            at_us = on_grid(watch.check.key, within_us, now_us)
            turn.effects.append(LookAt(watch.check.key, at_us))


def skip_gap(turn: Turn, away_us: int) -> None:
    """Time in which nobody watched counts neither for an incident nor against it."""
    for incident in turn.open_incidents():
        turn.put_incident(_later(incident, away_us), Change.CHANGED)


def _later(incident: Incident, by_us: int) -> Incident:
    def moved(instant_us: int) -> int:
        return instant_us + by_us if instant_us else 0

    runs = incident.idle is Idle.NO
    return replace(
        incident,
        # While it rests the clock of `again` is moved on when the rest is over.
        again_from_us=moved(incident.again_from_us) if runs else incident.again_from_us,
        good_since_us=moved(incident.good_since_us),
        degraded_since_us=moved(incident.degraded_since_us),
    )


def after_freeze(watch: Watch, look: Look, now: Now, *, open_incident: bool) -> Look:
    """What *look* may say after a freeze: the first one counts for nothing, and a failing one says
    nothing while the grace lasts. A hold is no look: it is in force at once.
    """
    if look.reason is Reason.HELD:
        return look
    if watch.unwatched and (_failing(look) or open_incident or watch.verdict.streak):
        return Look(
            Outcome.KEEP,
            look.reason,
            look.summary,
            until_us=now.steady_us + watch.check.rules.retry_us,
        )
    thawed_lately = watch.released_from is Reason.FROZEN and now.steady_us < watch.released_until_us
    if _failing(look) and thawed_lately:
        words = f"not watched until lately: {look.summary}"
        until_us = watch.released_until_us
        return Look(Outcome.NOT_JUDGED, Reason.FROZEN, words, until_us=until_us)
    return look


def _failing(look: Look) -> bool:
    return look.outcome is Outcome.FAILING
