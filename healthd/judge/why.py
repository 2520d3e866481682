"""Why a check stands as it does, and why nobody was told more than was. Pure, in public words.

A projection, computed when somebody asks: nothing of it is stored, and nothing decides by it.
"""

from __future__ import annotations

from msgspec import Struct

from healthd.judge.due import is_called
from healthd.judge.incident import is_open, notice_stands, was_engaged
from healthd.judge.repairing import Engage, Try, Wait
from healthd.judge.rerunning import next_repair
from healthd.judge.snapshot import open_incident, shown
from healthd.judge.verdict import FLAPPING_AT, LOOKS_KEPT
from healthd.judge.wording import duration
from healthd.model import (
    MINUTE_US,
    READ_KINDS,
    Check,
    Closing,
    Idle,
    Incident,
    Outcome,
    Phase,
    Reason,
    Scene,
    State,
    Story,
    Verdict,
    Watch,
    WhyRow,
)

# An incident that closed lately is the answer to "was there not something?".
_LATELY_US = 24 * 60 * MINUTE_US

_IDLE = {
    Idle.HELD: "it is held, and nothing is told of what a hold may have done",
    Idle.FROZEN: "the machine was not watched, and nothing is told until it is looked at again",
    Idle.STOPPED: "somebody stopped it, and who stops a unit knows",
    Idle.DEGRADED: "it works again, though not well",
}

_GREY = {
    Reason.STARTING: "it is starting, and failing looks do not count in that time",
    Reason.STOPPED: "somebody stopped it, and who stops a unit knows",
    Reason.HELD: "it is held, and nothing is told of what a hold may have done",
    Reason.FROZEN: "the machine is not watched, or was not until lately",
    Reason.NETWORK_OFF: "it is at another machine, and `network` is off in the settings",
    Reason.NOT_CONFIGURED: "it is not meant to run",
    Reason.UNKNOWN: "it could not be looked at",
    Reason.STALE: "it was not looked at for too long",
}


class Word(Struct, frozen=True):
    """What the owner was told, or why nothing; with the instants of the last and the next."""

    words: str
    told_at: int = 0
    again_at: int = 0


def why(story: Story, watch: Watch, scene: Scene) -> WhyRow:
    """All that stands behind what healthd says of one check."""
    check, now = watch.check, scene.now
    said = shown(story, watch, now, scene.frozen)
    incident = open_incident(story, check.key)
    word = _notice(story, watch, incident, scene)
    if said.reason in (Reason.FROZEN, Reason.STALE) and not word.told_at:
        word = Word(_GREY[said.reason])
    return WhyRow(
        key=check.key,
        unit=check.unit,
        state=said.state.value,
        reason=said.reason.value,
        summary=said.summary,
        since=said.since_at,
        judged=_judged(watch, incident) if said is watch.verdict else _unwatched(said),
        rule=_rule(watch),
        waiting_on=said.waiting_on if said.reason is Reason.WAITING else "",
        incident=incident.id if incident else 0,
        tried=_tried(story, watch, incident, scene) if incident else "",
        notice=word.words,
        told=word.told_at,
        again=word.again_at,
        looked=now.wall_at - (now.steady_us - watch.looked_us) if watch.looked_us else 0,
        next_look=now.wall_at + watch.due_us - now.steady_us if watch.due_us else 0,
        looks=watch.trail,
    )


def _rule(watch: Watch) -> str:
    """What the last look went by: its row of the table, or what its kind promises."""
    last = watch.trail[-1] if watch.trail else None
    if last is not None and last.rule:
        return last.rule
    return _of_kind(watch.check) if watch.check.kind not in READ_KINDS else ""


def _of_kind(check: Check) -> str:
    rules = check.rules
    if is_called(check):
        return f"a look of kind {check.kind}, whenever something calls for it"
    return (
        f"a look of kind {check.kind} every {duration(rules.every_us)}, which may take "
        f"{duration(rules.timeout_us)}; red after {_times(rules.after, 'failing look')} in a row, "
        f"{duration(rules.retry_us)} apart"
    )


def _unwatched(shown_now: Verdict) -> str:
    return f"the last verdict is kept, and nobody looks: {_GREY[shown_now.reason]}"


def _judged(watch: Watch, incident: Incident | None) -> str:
    """How the verdict came of the looks; semantics.md, "From look to verdict"."""
    said, rules = watch.verdict, watch.check.rules
    match said.state:
        case State.GREEN:
            return "the last look was ok"
        case State.YELLOW if said.reason is Reason.SUSPECT:
            return f"{_times(said.streak, 'failing look')} in a row, red from {rules.after} on"
        case State.YELLOW:
            return "the last look found it at work, but not well"
        case State.GREY:
            return _not_judged(watch)
        case State.RED:
            return _red(watch, incident)


def _not_judged(watch: Watch) -> str:
    said, rules = watch.verdict, watch.check.rules
    if said.reason is Reason.WAITING:
        return f"it waits on {said.waiting_on or 'what it needs'}, and says nothing of its own"
    if said.reason is Reason.STARTING and watch.last_outcome is Outcome.FAILING:
        return f"it failed within {duration(rules.grace_us)} of its start, which does not count"
    return "the last look found nothing that could be judged"


def _red(watch: Watch, incident: Incident | None) -> str:
    said, rules = watch.verdict, watch.check.rules
    if said.reason is Reason.REPAIRING:
        return "a restart of it is under way or being judged; failing looks do not count meanwhile"
    if said.reason is Reason.FLAPPING:
        failing = watch.recent.bit_count()
        return f"{failing} of the last {LOOKS_KEPT} looks failed, red from {FLAPPING_AT} on"
    if said.streak >= rules.after:
        return f"{_times(said.streak, 'failing look')} in a row, red from {rules.after} on"
    if incident is not None:
        return f"a failing look while incident {incident.id} is open"
    return "failing looks"


def _tried(story: Story, watch: Watch, incident: Incident, scene: Scene) -> str:
    """What becomes of the open incident next."""
    rules = watch.check.rules
    if incident.idle is not Idle.NO:
        return "nothing while the incident rests"
    if watch.verdict.state is not State.RED:
        good = f"{incident.good_looks} of {rules.settle}"
        return f"it is settling: {good} looks without failure, then the incident closes"
    if incident.found:
        return "nothing: it was failing when healthd first saw this machine"
    if was_engaged(incident):
        return f"nothing more: {incident.why_engaged}"
    if not scene.policy.watch_enabled:
        return "nothing: watching is off"
    match next_repair(story, incident, watch, scene):
        case Wait(why=words):
            return f"a repair waits: {words}"
        case Engage(why=words):
            return f"no repair: {words}"
        case Try(unit=unit):
            return f"a restart of {unit} is next"


def _notice(story: Story, watch: Watch, incident: Incident | None, scene: Scene) -> Word:
    if incident is None:
        return Word(_untold(story, watch, scene))
    if not scene.policy.watch_enabled:
        return Word("nothing is told: watching is off in the settings (watch.enabled)")
    if incident.tellings:
        return _told(story, watch, incident, scene)
    return Word(_not_told(story, watch, incident, scene))


def _untold(story: Story, watch: Watch, scene: Scene) -> str:
    """Why there is nothing to tell of a check without an open incident."""
    said = watch.verdict
    if not scene.policy.watch_enabled:
        return "nothing is told: watching is off in the settings (watch.enabled)"
    match said.state:
        case State.RED:
            return "its incident opens with the next look"
        case State.YELLOW if said.reason is Reason.SUSPECT:
            return "not confirmed: the owner hears of what is red, after repairs have failed"
        case State.YELLOW:
            return "yellow is shown, never told"
        case State.GREY if said.reason is Reason.WAITING:
            return _waits(said.waiting_on, "", scene)
        case State.GREY:
            return _GREY.get(said.reason, "what is not judged is not told")
        case _:
            return _closed_lately(story, watch, scene) or "nothing is wrong"


def _closed_lately(story: Story, watch: Watch, scene: Scene) -> str:
    """What became of an incident that somebody may still remember, "" = there was none."""
    since_at = scene.now.wall_at - _LATELY_US
    past = [i for i in story.incidents if i.key == watch.check.key and not is_open(i)]
    if past and past[-1].tellings and past[-1].closed_at > since_at:
        return f"incident {past[-1].id} was told, and is over"
    gone = [p for p in story.closed if p.key == watch.check.key and p.closed_at > since_at]
    if gone and gone[-1].closing is Closing.SELF_HEALED:
        return "its last incident healed by itself before it was the owner's turn"
    return ""


def _told(story: Story, watch: Watch, incident: Incident, scene: Scene) -> Word:
    last = incident.tellings[-1]
    if not any(t.channel for t in incident.tellings):
        return Word(f"{last.edition} is written, and no channel has delivered it yet", last.at)
    words = f"told ({last.edition})"
    if incident.withdrawn:
        return Word(f"{words}, and taken back", last.at)
    if incident.found:
        return Word(f"{words} with all that failed at the first start, never again", last.at)
    if incident.idle is Idle.WAITING:
        return Word(f"{words}; it waits now on what it needs, so nothing more is said", last.at)
    if incident.idle is not Idle.NO:
        return Word(f"{words}; {_IDLE[incident.idle]}", last.at)
    if incident.phase is Phase.SETTLING:
        return Word(f"{words}; that it works again is told when the incident closes", last.at)
    now = scene.now
    again_us = incident.again_from_us + scene.policy.renotify_us
    again_at = now.wall_at + max(0, again_us - now.steady_us)
    return Word(f"{words}; again only while it stays red", last.at, again_at)


def _waits(on: str, under: str, scene: Scene) -> str:
    """Who speaks for a check that waits: nobody where a person stopped what it waits on."""
    _, _, unit = on.partition(":")
    provider = scene.stories.get(unit)
    stopped = provider and any(w.verdict.reason is Reason.STOPPED for w in provider.watches)
    speaks = (
        "which somebody stopped: so far there is nothing to tell"
        if stopped
        else "whose notice speaks for it"
    )
    return f"it waits on {on or 'what it needs'}{under}, {speaks}"


def _not_told(story: Story, watch: Watch, incident: Incident, scene: Scene) -> str:
    if incident.idle is Idle.WAITING:
        under = f" (incident {incident.held_under})" if incident.held_under else ""
        return _waits(watch.verdict.waiting_on, under, scene)
    if incident.idle is not Idle.NO:
        return _IDLE[incident.idle]
    if incident.found:
        return "it was failing at the first start, and is told once, in one digest for all"
    if was_engaged(incident):
        others = (i for i in story.incidents if i.id != incident.id and notice_stands(i))
        sibling = next(others, None)
        of = f"incident {sibling.id}" if sibling else "another incident"
        return f"told with {of} of the same unit: one notice for one unit"
    if incident.phase is Phase.SETTLING:
        return "it works again: if that lasts, it healed itself before it was the owner's turn"
    return "it is not the owner's turn before repairs have failed"


def _times(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
