"""What a hold does to a story: grey while it lasts, and a grace for each check after it. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge.turn import Turn
from healthd.model import Look, LookAt, Now, Outcome, Reason, Story, Watch


def held_names(story: Story) -> tuple[str, ...]:
    """The units whose hold is a hold on this story: its own, and of a timer the job."""
    return (story.name, story.timer.unit) if story.timer else (story.name,)


def under_hold(story: Story, watch: Watch, look: Look, now: Now) -> Look:
    """What *look* may say while the unit is held, and in the grace after that: not that it fails.

    A look other than failing is believed again as soon as the hold has ended.
    """
    if story.held:
        return Look(Outcome.NOT_JUDGED, Reason.HELD, story.held)
    lately = watch.released_from is Reason.HELD and now.steady_us < watch.released_until_us
    if look.outcome is Outcome.FAILING and lately:
        words = f"was held until lately: {look.summary}"
        return Look(Outcome.NOT_JUDGED, Reason.HELD, words, until_us=watch.released_until_us)
    return look


def released(turn: Turn) -> None:
    """The hold has ended: each check has its grace, and then is judged as any other.

    What the unit did under the hold is for the record, and counts for no crash loop.
    """
    now_us = turn.scene.now.steady_us
    run = replace(turn.story.run, excused_us=now_us)
    turn.story = replace(turn.story, run=run)
    for watch in turn.story.watches:
        until_us = now_us + watch.check.rules.grace_us
        verdict = replace(watch.verdict, streak=0)
        freed = replace(watch, released_until_us=until_us, released_from=Reason.HELD)
        turn.put_watch(replace(freed, verdict=verdict))
        turn.effects.append(LookAt(watch.check.key, now_us))
