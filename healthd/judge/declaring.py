"""Which checks a story has: new ones begin unseen, those no longer declared are gone. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge.due import is_called, on_grid
from healthd.judge.incident import close
from healthd.judge.telling import closed
from healthd.judge.turn import Turn
from healthd.model import (
    SECOND_US,
    Check,
    Closing,
    Declared,
    LookAt,
    Reason,
    Removed,
    Scene,
    State,
    Verdict,
    Watch,
)

# A new check is first looked at within this, not after a whole interval.
_FIRST_LOOK_WITHIN_US = 5 * SECOND_US


def declared(turn: Turn, event: Declared) -> None:
    """The story has exactly these checks from now on; what is known of those that stay is kept."""
    known = {w.check.key: w for w in turn.story.watches}
    keys = {c.key for c in event.checks}
    watches = tuple(
        replace(known[c.key], check=c) if c.key in known else _unseen(c, turn.scene)
        for c in event.checks
    )
    turn.story = replace(turn.story, watches=watches)
    for watch in known.values():
        if watch.check.key not in keys:
            _gone(turn, watch)
    for check in event.checks:
        new = check.key not in known or known[check.key].check != check
        if new and not is_called(check):
            turn.effects.append(LookAt(check.key, first_look(check, turn.scene)))


def first_look(check: Check, scene: Scene) -> int:
    within_us = min(_FIRST_LOOK_WITHIN_US, check.rules.every_us)
    return on_grid(check.key, within_us, scene.now.steady_us)


def _unseen(check: Check, scene: Scene) -> Watch:
    verdict = Verdict(State.GREY, Reason.UNKNOWN, "not looked at yet", scene.now.wall_at)
    return Watch(check=check, verdict=verdict, found=scene.first_start)


def _gone(turn: Turn, watch: Watch) -> None:
    incident = turn.open_incident(watch.check.key)
    if incident is not None:
        closed(turn, close(incident, Closing.GONE, turn.scene.now))
    turn.effects.append(Removed(watch.check.key))
