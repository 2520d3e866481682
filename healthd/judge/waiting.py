"""Whom a failing check waits on: its own unit, what that needs, or what it fell with. Pure.

While it waits it is grey, its streak stands still, and the notice of the root speaks for it.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from healthd.judge.network import fell_short
from healthd.judge.providers import (
    Root,
    came_up_unwatched,
    liveness_of,
    network_root,
    root,
    roots_below,
    stopped_need,
    story_of,
)
from healthd.judge.wording import subject
from healthd.model import (
    Aspect,
    CheckKey,
    How,
    Look,
    Outcome,
    Reason,
    Scene,
    State,
    Story,
    Verdict,
    Watch,
)

_NOT_WELL = frozenset(
    {
        Reason.SUSPECT,
        Reason.STARTING,
        Reason.STOPPED,
        Reason.NOT_CONFIGURED,
        Reason.HELD,
        Reason.WAITING,
    }
)
_PUT_AWAY = frozenset({Reason.STOPPED, Reason.NOT_CONFIGURED})


class Waiting(Struct, frozen=True):
    """*unseen*: only until its provider has been looked at. *until_us*: when it ends by time alone,
    0 = never. *grace_until_us*: until when the check may still come up, once its provider is well
    again; 0 = that is not so yet.
    """

    key: CheckKey
    summary: str
    unseen: bool = False
    until_us: int = 0
    grace_until_us: int = 0


def waiting(story: Story, watch: Watch, look: Look, scene: Scene) -> Waiting | None:
    """Whom *watch* waits on by this look, None = it stands on its own."""
    if look.reason is Reason.WAITING:
        return _fell_with(story, look, scene)
    if look.outcome is not Outcome.FAILING:
        return None
    now_us = scene.now.steady_us
    holds = _own_unit(story, watch) or root(story, watch, scene.stories, scene.now)
    if holds is None and watch.check.remote and fell_short(look):
        holds = network_root(story, scene.stories, scene.now)
    if holds is not None:
        # What has only not been looked at yet was never away: no grace for its return.
        grace_until_us = now_us if holds.unseen else 0
        said = f"waits on {holds.key}: {look.summary}"
        return Waiting(holds.key, said, holds.unseen, holds.until_us, grace_until_us)
    key = watch.verdict.waiting_on
    if not key or not _came_back(story, key, scene.stories):
        return None
    until_us = watch.wait_until_us or now_us + watch.check.rules.grace_us
    lately = came_up_unwatched(story, watch, scene.stories)
    if lately is not None and lately.until_us > until_us:
        key, until_us = lately.key, lately.until_us
    said = f"{subject(key)} is well again, it is not yet: {look.summary}"
    return Waiting(key, said, False, until_us, until_us) if now_us < until_us else None


def _own_unit(story: Story, watch: Watch) -> Root | None:
    """A unit's liveness that is suspect, red, starting, stopped or itself waiting holds its
    readiness and function; so does one that healthd has not looked at since its own start.
    """
    live = liveness_of(story)
    if live is None or watch.check.aspect not in (Aspect.READINESS, Aspect.FUNCTION):
        return None
    verdict, key = live.verdict, live.verdict.waiting_on or live.check.key
    if not live.looked_us or live.looked_us < story.run.watched_since_us:
        return Root(key, unseen=True)
    if verdict.state is State.RED or verdict.reason in _NOT_WELL:
        return Root(key)
    return None


def _fell_with(story: Story, look: Look, scene: Scene) -> Waiting:
    by = story.run.last.by if story.run.last else ""
    beneath = roots_below(by, story, scene.stories, scene.now)
    key = beneath.key if beneath else CheckKey(f"{Aspect.LIVENESS}:{by}")
    return Waiting(key, look.summary, False, look.until_us, look.until_us)


def _came_back(story: Story, key: CheckKey, stories: Mapping[str, Story]) -> bool:
    """Whether the provider of another unit is well: its consumers get their grace then."""
    provider = story_of(stories, key)
    if provider is None or provider.name == story.name:
        return False
    watch = next((w for w in provider.watches if w.check.key == key), None)
    return watch is not None and watch.verdict.state in (State.GREEN, State.YELLOW)


def named(story: Story, watch: Watch, look: Look, scene: Scene) -> Look:
    """A failing *look* with the unit named that it needs and that somebody stopped."""
    if look.outcome is not Outcome.FAILING:
        return look
    stopped = stopped_need(story, watch, scene.stories)
    if not stopped:
        return look
    return replace(look, summary=f"{look.summary}; {stopped}, which it needs, is stopped")


def as_its_unit(story: Story, verdict: Verdict, stories: Mapping[str, Story]) -> Verdict:
    """*verdict* as an incident takes it: who waits on a unit that was put away, or was stopped
    along with it, is put away too.
    """
    live = liveness_of(story)
    if verdict.reason is not Reason.WAITING or live is None:
        return verdict
    if verdict.waiting_on == live.check.key:
        put_away = live.verdict.reason
    else:
        last, root_story = story.run.last, story_of(stories, verdict.waiting_on)
        over = liveness_of(root_story) if root_story else None
        if over is None or last is None or last.how is not How.TAKEN_ALONG:
            return verdict
        put_away = over.verdict.reason
    return replace(verdict, reason=put_away) if put_away in _PUT_AWAY else verdict


def waiters(story: Story, stories: Mapping[str, Story]) -> tuple[str, ...]:
    """The subjects of other units' checks that wait on one of *story*'s."""
    mine = {w.check.key for w in story.watches}
    found = {
        other.name
        for other in stories.values()
        if other.name != story.name
        for w in other.watches
        if w.verdict.waiting_on in mine
    }
    return tuple(sorted(found))
