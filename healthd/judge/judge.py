"""Judge one event of one story. Pure and total: no clock, no I/O, no logging, no randomness.

The same history in gives the same effects out.
"""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from healthd.judge import beats, found, telling
from healthd.judge import run as runs
from healthd.judge.declaring import declared, first_look
from healthd.judge.dependents import hangs_on_others
from healthd.judge.due import is_called
from healthd.judge.freezing import froze, skip_gap, thawed
from healthd.judge.holding import held_names, released
from healthd.judge.incident import close
from healthd.judge.liveness import liveness
from healthd.judge.looking import at_rest, take
from healthd.judge.network import NETWORK, asked_again, network_look, remote_watches
from healthd.judge.providers import liveness_of, root
from healthd.judge.recording import give_up_on_pending, repair_finished, restart_asked
from healthd.judge.turn import Turn
from healthd.judge.watched import is_service
from healthd.model import (
    SECOND_US,
    Began,
    Closing,
    Declared,
    Delivered,
    Effect,
    Ended,
    Event,
    FoundTold,
    Froze,
    HoldsChanged,
    Idle,
    JobRan,
    LinkSeen,
    Look,
    LookAt,
    Looked,
    Outcome,
    PackageRunOver,
    ProviderMoved,
    ReadUnit,
    Reason,
    RepairFinished,
    RestartAsked,
    Scene,
    State,
    Story,
    Thawed,
    TimerSeen,
    UnitFacts,
    UnitName,
    UnitSeen,
    Watch,
    Woken,
)

_DECIDING = (
    "load_state",
    "active_state",
    "sub_state",
    "result",
    "exit_code",
    "exit_status",
    "n_restarts",
    "invocation",
    "unit_file_state",
    "condition_met",
    "wanted",
    "on_demand",
)


def judge(story: Story, event: Event, scene: Scene) -> tuple[Story, tuple[Effect, ...]]:
    """The story after *event*, and what must be done: saved first, then acted on, in this order."""
    if scene.frozen and isinstance(event, Looked | UnitSeen | TimerSeen | LinkSeen):
        # What is seen of a machine that stops says nothing of it.
        return story, ()
    turn = Turn(story, scene)
    _follow_holds(turn)
    _take_in(turn, event)
    turn.tidy()
    return turn.story, tuple(turn.effects)


def _take_in(turn: Turn, event: Event) -> None:
    match event:
        case Looked():
            _looked(turn, event)
        case UnitSeen() | TimerSeen():
            _read(turn, event)
        case Ended() | Began() | JobRan():
            _lived(turn, event)
        case RestartAsked():
            restart_asked(turn, event)
        case RepairFinished():
            repair_finished(turn, event)
        case Delivered():
            telling.delivered(turn, event)
        case Woken() | Froze() | Thawed():
            _paused(turn, event)
        case Declared():
            declared(turn, event)
        case FoundTold():
            found.tell(turn)
        case HoldsChanged():
            pass
        case LinkSeen() | ProviderMoved() | PackageRunOver():
            _around_it(turn, event)
        case _:
            assert_never(event)


def _read(turn: Turn, event: UnitSeen | TimerSeen) -> None:
    _watched_from_now_on(turn)
    match event:
        case UnitSeen():
            _unit_seen(turn, event)
        case TimerSeen():
            beats.timer_seen(turn, event)


def _lived(turn: Turn, event: Ended | Began | JobRan) -> None:
    """The unit, or a timer's job, began or ended a run."""
    now, story = turn.scene.now, turn.story
    match event:
        case Ended(end=end):
            own = end if is_service(story.name) else runs.of_a_resource(end)
            own = replace(own, excused=_is_excused(turn))
            turn.story = replace(story, run=runs.ended(story.run, own, now))
            if end.in_package_run:
                _look_again(turn)
        case Began():
            turn.story = replace(story, run=runs.began(story.run, event, now))
        case JobRan():
            beats.job_ran(turn, event)


def _is_excused(turn: Turn) -> bool:
    """Whether what the unit needs is not well: how it ends without that is no loop of its own."""
    story, scene = turn.story, turn.scene
    live = liveness_of(story)
    needed = root(story, live, scene.stories, scene.now) if live else None
    return needed is not None and not needed.unseen


def _paused(turn: Turn, event: Woken | Froze | Thawed) -> None:
    match event:
        case Woken():
            _woken(turn, event)
            beats.paused(turn, event)
        case Froze():
            froze(turn)
        case Thawed():
            thawed(turn, event.away_us)
            beats.paused(turn, event)


def _around_it(turn: Turn, event: LinkSeen | ProviderMoved | PackageRunOver) -> None:
    match event:
        case PackageRunOver():
            _package_run_over(turn)
        case LinkSeen():
            _link_seen(turn, event)
        case ProviderMoved():
            _provider_moved(turn)


def _follow_holds(turn: Turn) -> None:
    """A hold is in force from the first event after it began, whatever that is."""
    names = held_names(turn.story)
    held = next((turn.scene.held[name] for name in names if name in turn.scene.held), "")
    before = turn.story.held
    if held == before or turn.scene.frozen:
        return
    turn.story = replace(turn.story, held=held)
    if not held:
        released(turn)
        return
    for watch in turn.story.watches:
        if watch.present:
            take(turn, watch, Look(Outcome.NOT_JUDGED, Reason.HELD, held))


def _package_run_over(turn: Turn) -> None:
    now = turn.scene.now
    turn.story = replace(turn.story, run=runs.package_run_over(turn.story.run, now))
    _look_again(turn)


def _look_again(turn: Turn) -> None:
    """What is known of the unit's last end has changed, and no signal will say so."""
    watch = liveness_of(turn.story)
    if watch is not None:
        turn.effects.append(LookAt(watch.check.key, turn.scene.now.steady_us))


def _looked(turn: Turn, event: Looked) -> None:
    watch = turn.watch(event.key)
    if watch is None:
        return
    facts = turn.story.facts
    if facts is not None and event.invocation != facts.invocation:
        # The unit was restarted while this look was under way: it says nothing of the new one.
        due_us = turn.scene.now.steady_us + watch.check.rules.retry_us
        turn.effects.append(LookAt(event.key, due_us))
        return
    if facts is not None:
        watch = _of_this_invocation(watch, facts)
        turn.put_watch(watch)
    take(turn, watch, event.look, asked=event.asked)


def _of_this_invocation(watch: Watch, facts: UnitFacts) -> Watch:
    """A streak and a grace belong to one invocation of the unit, whoever started it.

    The grace of a slow starter runs from the end of its start.
    """
    grace_us = watch.check.rules.grace_us
    if facts.invocation != watch.invocation:
        # Until its start has ended, systemd shows when the invocation before became active.
        started_us = max(facts.active_enter_us, facts.inactive_exit_us)
        return replace(
            watch,
            invocation=facts.invocation,
            verdict=replace(watch.verdict, streak=0),
            grace_until_us=started_us + grace_us if started_us else 0,
        )
    if facts.active_enter_us > watch.looked_us:
        grace_until_us = max(watch.grace_until_us, facts.active_enter_us + grace_us)
        return replace(watch, grace_until_us=grace_until_us)
    return watch


def _unit_seen(turn: Turn, event: UnitSeen) -> None:
    watch = liveness_of(turn.story)
    story, facts, now = turn.story, event.facts, turn.scene.now
    if watch is None:
        turn.story = replace(story, facts=facts)
        return
    look = liveness(
        facts,
        story.run,
        now,
        turn.scene.policy,
        declared=watch.check.declared,
        grace_us=watch.check.rules.grace_us,
        stories=turn.scene.stories,
    )
    if look is None:
        turn.story = replace(story, facts=facts)
        at_rest(turn, watch)
        return
    worse = look.outcome in (Outcome.FAILING, Outcome.DEGRADED)
    if worse and not event.fresh and watch.verdict.state is not State.RED:
        # systemd shows states that last a millisecond; what counts is what a read still finds.
        turn.effects.append(ReadUnit(UnitName(facts.id)))
        return
    turn.story = replace(story, facts=facts, run=runs.seen(story.run, facts))
    news = story.facts is None or _deciding(story.facts) != _deciding(facts)
    other = (look.outcome, look.reason) != (watch.last_outcome, watch.last_reason)
    if news or other or event.due:
        take(turn, watch, look)
    elif event.asked:
        take(turn, watch, look, asked=True)


def _provider_moved(turn: Turn) -> None:
    """A unit that this one needs, or fell with, is another: look at what may hang on it."""
    now_us = turn.scene.now.steady_us
    for watch in turn.story.watches:
        if hangs_on_others(watch):
            # Units that need each other would have each other looked at without end.
            at_us = max(now_us, watch.looked_us + SECOND_US)
            turn.effects.append(LookAt(watch.check.key, at_us))


def _link_seen(turn: Turn, event: LinkSeen) -> None:
    """The machine's way out was read: what that says with the last looks of the remote checks."""
    watch = turn.watch(NETWORK)
    if watch is None:
        return
    remote = remote_watches(turn.scene.stories)
    take(turn, watch, network_look(event.link, remote))
    for key in asked_again(event.link, remote):
        turn.effects.append(LookAt(key, turn.scene.now.steady_us))


def _watched_from_now_on(turn: Turn) -> None:
    """What a unit did before it was first seen is not known."""
    run = turn.story.run
    if not run.watched_since_us:
        run = replace(run, watched_since_us=turn.scene.now.steady_us)
        turn.story = replace(turn.story, run=run)


def _deciding(facts: UnitFacts) -> tuple[object, ...]:
    return (bool(facts.job), *(getattr(facts, name) for name in _DECIDING))


def _woken(turn: Turn, event: Woken) -> None:
    """healthd was away: what happened meanwhile is not known until the next looks."""
    give_up_on_pending(turn)
    now = turn.scene.now
    run = runs.woken(turn.story.run, now, same_boot=event.same_boot)
    facts = turn.story.facts if event.same_boot else None
    turn.story = replace(turn.story, run=run, facts=facts)
    skip_gap(turn, event.away_us)
    if not event.same_boot:
        _gone_over_the_boot(turn)
    for watch in turn.story.watches:
        if not is_called(watch.check):
            turn.effects.append(LookAt(watch.check.key, first_look(watch.check, turn.scene)))


def _gone_over_the_boot(turn: Turn) -> None:
    """What somebody stopped in an earlier boot is no story of this one."""
    for incident in turn.open_incidents():
        if incident.idle is Idle.STOPPED:
            telling.closed(turn, close(incident, Closing.GONE, turn.scene.now))
