"""The units that another unit needs, and which of them is at the root of what is wrong. Pure.

What a unit needs is what systemd says (Requires=, Requisite=, BindsTo=) and what the settings add,
followed from unit to unit. A cycle is cut: nobody waits on who waits on him.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from healthd.judge.life import UP, restarts_by_itself
from healthd.judge.network import NETWORK
from healthd.model import (
    HOUR_US,
    Aspect,
    Check,
    CheckKey,
    Incident,
    Now,
    Phase,
    Reason,
    State,
    Story,
    UnitName,
    Watch,
)

# Who a person stopped is missed on purpose; after this long its consumers stand on their own.
_STOPPED_HOLDS_US = HOUR_US

# Results of a socket or path that could not start what it triggers; systemd.socket(5).
_GAVE_UP_ON = frozenset({"service-start-limit-hit", "unit-start-limit-hit"})


class Root(Struct, frozen=True):
    """The check that others wait on. *until_us*: when that ends by time alone, 0 = never.

    *unseen*: it is not known to be unwell; healthd has not looked at it since its own start.
    """

    key: CheckKey
    red: bool = False
    unseen: bool = False
    until_us: int = 0


def liveness_of(story: Story) -> Watch | None:
    """The story's liveness watch, if it has one."""
    return next((w for w in story.watches if w.check.aspect is Aspect.LIVENESS), None)


def needs_of(story: Story, check: Check) -> tuple[str, ...]:
    """The units that *check* of *story* depends on, those that systemd says first."""
    if check.needs == ():
        return ()
    facts = story.facts
    said = facts.requires if facts else ()
    if facts is not None and facts.result in _GAVE_UP_ON:
        # A socket or path that fails because what it starts does: one cause, one notice.
        said = (*said, *facts.triggers)
    return (*said, *(check.needs or ()))


def needs_of_story(story: Story) -> frozenset[str]:
    """Whatever any check of *story* depends on, or that it fell with."""
    needs = {name for watch in story.watches for name in needs_of(story, watch.check)}
    if any(watch.check.remote for watch in story.watches):
        needs.add(NETWORK)
    last = story.run.last
    return frozenset({*needs, last.by} if last is not None and last.by else needs)


def story_of(stories: Mapping[str, Story], key: CheckKey) -> Story | None:
    """The story of a check: that of its unit, or its own."""
    unit = key.partition(":")[2].partition("/")[0]
    return stories.get(unit) or stories.get(key)


def open_incident_of(stories: Mapping[str, Story], key: CheckKey) -> Incident | None:
    """The open incident of any check."""
    story = story_of(stories, key)
    incidents = story.incidents if story else ()
    return next((i for i in incidents if i.key == key and i.phase is not Phase.CLOSED), None)


def root(story: Story, watch: Watch, stories: Mapping[str, Story], now: Now) -> Root | None:
    """The check at the root of what *watch* suffers from: the furthest down each chain, a red one
    before all others.
    """
    seen = {story.name}
    found: list[Root] = []
    for name in needs_of(story, watch.check):
        found += _below(name, story, stories, now, seen)
    return next((r for r in found if r.red), found[0] if found else None)


def roots_below(name: str, waiter: Story, stories: Mapping[str, Story], now: Now) -> Root | None:
    """The root at the unit *name* or beneath it."""
    return next(iter(_below(name, waiter, stories, now, {waiter.name})), None)


def network_root(waiter: Story, stories: Mapping[str, Story], now: Now) -> Root | None:
    """The check of the machine's network, while that keeps those waiting who need it."""
    network = stories.get(NETWORK)
    if network is None:
        return None
    return next(
        (r for w in network.watches if (r := _holds(network, w, waiter, stories, now))), None
    )


def _below(
    name: str, waiter: Story, stories: Mapping[str, Story], now: Now, seen: set[str]
) -> list[Root]:
    """The roots at *name* and beneath it."""
    provider = stories.get(name)
    if name in seen or provider is None:
        return []
    seen.add(name)
    beneath: list[Root] = []
    for needed in dict.fromkeys(n for w in provider.watches for n in needs_of(provider, w.check)):
        beneath += _below(needed, waiter, stories, now, seen)
    if beneath:
        return beneath
    roots = [r for w in provider.watches if (r := _holds(provider, w, waiter, stories, now))]
    return sorted(roots, key=lambda r: not r.red)[:1]


def _holds(
    provider: Story, watch: Watch, waiter: Story, stories: Mapping[str, Story], now: Now
) -> Root | None:
    """Whether this check of a provider keeps those who need it waiting."""
    key, verdict = watch.check.key, watch.verdict
    if not watch.looked_us or watch.looked_us < provider.run.watched_since_us:
        return Root(key, unseen=True)
    if verdict.state is State.RED:
        return Root(key, red=True)
    match verdict.reason:
        case Reason.SUSPECT | Reason.HELD | Reason.FROZEN:
            return Root(key)
        case Reason.WAITING:
            if _speaker(provider, watch) is not watch:
                return None
            return _waits(provider, watch, waiter, stories, now)
        case Reason.STARTING:
            return _starting(provider, watch, now)
        case Reason.STOPPED if watch.check.aspect is Aspect.LIVENESS:
            last = provider.run.last
            until_us = (last.at_us if last else 0) + _STOPPED_HOLDS_US
            return Root(key, until_us=until_us) if now.steady_us < until_us else None
        case Reason.CHURNED:
            waits = provider.facts is not None and restarts_by_itself(provider.facts.sub_state)
            return Root(key) if waits else None
        case _:
            return None


def _speaker(provider: Story, watch: Watch) -> Watch:
    """The check that says why *watch* waits: where that is its own unit, the unit's liveness."""
    on, live = watch.verdict.waiting_on, liveness_of(provider)
    if not on or live is None or on not in (live.check.key, live.verdict.waiting_on):
        return watch
    return live


def _waits(
    provider: Story, watch: Watch, waiter: Story, stories: Mapping[str, Story], now: Now
) -> Root | None:
    """Whom those wait on who need one that waits: the one that all of these wait on, while that is
    unwell; else the last that waits, which is looked at soon. Nobody, where that is the waiter.
    """
    seen = {w.check.key for w in waiter.watches}
    while True:
        on = watch.verdict.waiting_on
        if on in seen:
            return None
        seen.add(watch.check.key)
        over = story_of(stories, on)
        beneath = next((w for w in over.watches if w.check.key == on), None) if over else None
        if over is not None and beneath is not None:
            beneath = _speaker(over, beneath)
        if over is None or beneath is None or beneath.verdict.reason is not Reason.WAITING:
            break
        provider, watch = over, beneath
    held = _holds(over, beneath, waiter, stories, now) if over and beneath else None
    if held is not None:
        return held
    until_us = watch.wait_until_us
    if watch.last_reason is not Reason.WAITING:
        return Root(watch.check.key, until_us=until_us if now.steady_us < until_us else 0)
    last = provider.run.last
    if beneath is None and last is not None:
        # It fell with what nobody watches, as if that had been stopped.
        until_us = last.at_us + _STOPPED_HOLDS_US
    return Root(watch.check.key, until_us=until_us) if now.steady_us < until_us else None


def _starting(provider: Story, watch: Watch, now: Now) -> Root | None:
    facts = provider.facts
    began_us = max(facts.inactive_exit_us, provider.run.started_us) if facts else 0
    until_us = (began_us or now.steady_us) + watch.check.rules.grace_us
    return Root(watch.check.key, until_us=until_us) if now.steady_us < until_us else None


def came_up_unwatched(story: Story, watch: Watch, stories: Mapping[str, Story]) -> Root | None:
    """A unit that *watch* needs and that came up while healthd did not watch: whether it had been
    away nobody knows, so its consumers have their grace from then on.
    """
    name = _first(story, watch, stories, _came_up_in_a_gap)
    provider = stories.get(name)
    if provider is None or provider.facts is None:
        return None
    until_us = provider.facts.active_enter_us + watch.check.rules.grace_us
    return Root(CheckKey(f"{Aspect.LIVENESS}:{name}"), until_us=until_us)


def _came_up_in_a_gap(provider: Story) -> bool:
    facts, since_us = provider.facts, provider.run.watched_since_us
    if facts is None or facts.active_state not in UP:
        return False
    return since_us - HOUR_US < facts.active_enter_us < since_us


def stopped_need(story: Story, watch: Watch, stories: Mapping[str, Story]) -> UnitName:
    """A unit that *watch* needs and that somebody stopped, or ""."""
    return _first(story, watch, stories, _is_stopped)


def _first(
    story: Story, watch: Watch, stories: Mapping[str, Story], is_it: Callable[[Story], bool]
) -> UnitName:
    """The nearest unit that *watch* needs of which *is_it* is true, or ""."""
    seen: set[str] = {story.name}
    waiting = list(needs_of(story, watch.check))
    while waiting:
        name = waiting.pop(0)
        provider = stories.get(name)
        if name in seen or provider is None:
            continue
        seen.add(name)
        if is_it(provider):
            return UnitName(name)
        live = liveness_of(provider)
        waiting += needs_of(provider, live.check) if live else ()
    return UnitName("")


def _is_stopped(provider: Story) -> bool:
    live = liveness_of(provider)
    return live is not None and live.verdict.reason is Reason.STOPPED


def holding(
    story: Story, stories: Mapping[str, Story], now: Now
) -> tuple[tuple[CheckKey, bool, bool], ...]:
    """What of a story those who need it go by."""
    nobody = Story(name="")
    roots = [r for w in story.watches if (r := _holds(story, w, nobody, stories, now))]
    return tuple((r.key, r.red, r.unseen) for r in roots)


def is_up(story: Story) -> bool:
    return story.facts is not None and story.facts.active_state in UP


def taken_along(unit: str, stories: Mapping[str, Story]) -> tuple[str, ...]:
    """What a restart of *unit* would restart too, of what healthd watches: followed through active
    units only, as systemd does.
    """
    found, waiting = dict.fromkeys((unit,)), [unit]
    while waiting:
        story = stories.get(waiting.pop(0))
        for name in story.facts.taken_along if story and story.facts else ():
            other = stories.get(name)
            if name not in found and other is not None and is_up(other):
                found[name] = None
                waiting.append(name)
    return tuple(found)[1:]
