"""What is next for a red check: try a repair, wait, or engage the owner. Pure.

Repair belongs to the unit: one attempt at a time, counted once for all incidents of the unit.
"""

from __future__ import annotations

from msgspec import Struct

from healthd.judge.life import DOWN, restarts_by_itself
from healthd.judge.providers import stopped_need, taken_along
from healthd.judge.wording import duration
from healthd.model import (
    MINUTE_US,
    Aspect,
    Attempt,
    AttemptResult,
    Budget,
    Closing,
    How,
    Incident,
    LoadState,
    Reason,
    Scene,
    Story,
    UnitFacts,
    UnitName,
    Watch,
)

_REPAIRED = frozenset({Aspect.LIVENESS, Aspect.READINESS, Aspect.FUNCTION})
HEALTHD = "healthd"
# The repairers, by the names of the family's table (repairs/kinds.py).
RESTART, RERUN = "restart-unit", "rerun"
NO_RETRY = "the repair said that no retry can help"


# What failed in so many incidents in a row is not tried first in the next one.
_TRIED_IN_VAIN = 3
# Rather than have an attempt wait longer than this, the owner is asked.
_PATIENCE_US = 10 * MINUTE_US
_DOUBLED_MOST = 10


class Wait(Struct, frozen=True):
    """Nothing now. *until_us*: when the reason to wait ends by itself, 0 = the next look tells."""

    why: str
    until_us: int = 0


class Try(Struct, frozen=True):
    """Restart this unit now."""

    unit: UnitName


class Engage(Struct, frozen=True):
    """The owner's turn. *why* is healthd's own words: "2 restarts did not help"."""

    why: str


Step = Wait | Try | Engage


def next_step(story: Story, incident: Incident, watch: Watch, scene: Scene) -> Step:
    """Called after a look left *watch* red with an open incident that is not idle."""
    if pending(story):
        return Wait("an attempt is being made")
    if watch.verdict.reason is Reason.REPAIRING:
        return Wait("an attempt is being judged")
    target = watch.check.repair_unit or watch.check.unit
    own = tuple(a for a in story.attempts if counted(a))
    return (
        _not_ours(watch, target, scene)
        or _tried_enough(story, own, incident, scene)
        or _systemd_at_work(story.facts, watch)
        or harmful(story.facts)
        or against_intent(story, watch, scene)
        or held_by_somebody(target, scene)
        or budget_spent(story, scene)
        or _too_early(story, own, watch, scene)
        or Try(target)
    )


def pending(story: Story) -> Attempt | None:
    """The attempt whose call has not ended, if there is one."""
    return next((a for a in story.attempts if a.result is AttemptResult.PENDING), None)


def counted(attempt: Attempt) -> bool:
    """Whether an attempt is one of healthd's own that nobody overtook."""
    return attempt.by == HEALTHD and attempt.result is not AttemptResult.OVERTAKEN


def _not_ours(watch: Watch, target: UnitName, scene: Scene) -> Engage | None:
    if watch.check.aspect not in _REPAIRED or not target:
        return Engage("healthd has no repair for this")
    if target not in scene.policy.allow_restart:
        return Engage(f"{target} is not listed in repair.allow_restart")
    return None


def _never_helped(story: Story, incident: Incident) -> bool:
    """Whether it was tried in the last incidents of this check, and each was over only later."""
    decided = (Closing.SELF_HEALED, Closing.USER_FIXED)
    mine = [p for p in story.closed if p.key == incident.key and p.attempts]
    last = [p.closing for p in mine if p.closing in decided][-_TRIED_IN_VAIN:]
    return last == [Closing.USER_FIXED] * _TRIED_IN_VAIN


def _tried_enough(
    story: Story, own: tuple[Attempt, ...], incident: Incident, scene: Scene
) -> Engage | None:
    if own and own[-1].result is AttemptResult.FINAL:
        return Engage(own[-1].detail or NO_RETRY)
    if not own and _never_helped(story, incident):
        return Engage(f"a restart did not help in its last {_TRIED_IN_VAIN} incidents")
    if len(own) < scene.policy.max_attempts:
        return None
    if not own:
        return Engage("the settings allow no attempt")
    if any(a.result is AttemptResult.UNKNOWN for a in own):
        return Engage("a restart may have been tried and did not help")
    restarts = "1 restart" if len(own) == 1 else f"{len(own)} restarts"
    if not incident.attempts:
        return Engage(f"the unit had {restarts} for another check already")
    return Engage(f"{restarts} did not help")


def _systemd_at_work(facts: UnitFacts | None, watch: Watch) -> Step | None:
    if facts is None:
        return Wait("systemd has not said yet how the unit is")
    restarts = restarts_by_itself(facts.sub_state)
    if watch.check.aspect is not Aspect.LIVENESS:
        if facts.job:
            return Wait("systemd has a job for the unit")
        return Wait("systemd restarts the unit") if restarts else None
    if restarts or (watch.last_reason is Reason.CRASH_LOOP and facts.active_state not in DOWN):
        return Engage("systemd itself restarts it, again and again")
    if facts.job and watch.last_reason is Reason.STUCK:
        return Engage("systemd's own job for it does not end")
    return Wait("systemd has a job for the unit") if facts.job else None


def harmful(facts: UnitFacts | None) -> Engage | None:
    if facts is None:
        return None
    if facts.active_foes:
        return Engage(f"{facts.active_foes[0]} is active and conflicts with it")
    if facts.start_limit_burst > 0 and facts.start_limit_interval_for_us < 0:
        return Engage("its start limit never ends, so that any start could be its last")
    if facts.acts_on_machine:
        return Engage("a failure of this unit acts on the whole machine")
    return None


def against_intent(story: Story, watch: Watch, scene: Scene) -> Engage | None:
    """Somebody took the unit down on purpose, or what a start of it would pull in."""
    taken = _put_away(story)
    if taken:
        return Engage(taken)
    stopped = stopped_need(story, watch, scene.stories)
    return Engage(f"{stopped}, which it needs, was stopped") if stopped else None


def held_by_somebody(target: UnitName, scene: Scene) -> Engage | None:
    """Whoever holds a unit must not have it restarted under their hands, by whatever way."""
    if not scene.held:
        return None
    for unit in (target, *taken_along(target, scene.stories)):
        if unit in scene.held:
            which = "" if unit == target else ", which a restart would take along,"
            return Engage(f"{unit}{which} is {scene.held[unit]}")
    return None


def _put_away(story: Story) -> str:
    """Why a repair must not start the unit at all, or ""."""
    facts, last = story.facts, story.run.last
    if facts is None or facts.active_state not in DOWN:
        return ""
    if facts.load_state is LoadState.MASKED:
        return "it is masked"
    if facts.unit_file_state == "disabled" and not facts.wanted and last is None:
        return "it is disabled, and was not seen running"
    if last is None or (facts.invocation and last.invocation not in ("", facts.invocation)):
        return ""
    match last.how:
        case How.ASKED if last.in_package_run:
            return "a package run stopped it, and may have meant to"
        case How.ASKED:
            return "it was stopped, and healthd starts nothing that was stopped"
        case How.PUSHED_OUT:
            return f"{last.by} took its place"
        case _:
            return ""


def budget_spent(story: Story, scene: Scene) -> Engage | None:
    now_us = scene.now.steady_us
    unit, machine = scene.policy.unit_budget, scene.policy.machine_budget
    if within(story.restarts_us, unit, now_us) >= unit.count:
        return Engage(f"restarted {unit.count} times lately, not trying again")
    if within(scene.machine_restarts_us, machine, now_us) >= machine.count:
        return Engage(f"{machine.count} restarts on this machine lately, not trying another")
    return None


def within(restarts_us: tuple[int, ...], budget: Budget, now_us: int) -> int:
    return sum(t > now_us - budget.per_us for t in restarts_us)


def _too_early(story: Story, own: tuple[Attempt, ...], watch: Watch, scene: Scene) -> Step | None:
    now_us = scene.now.steady_us
    grace_until_us = max(w.grace_until_us for w in story.watches)
    if watch.check.aspect is not Aspect.LIVENESS and now_us < grace_until_us:
        return Wait("the unit was started lately", grace_until_us)
    overtaken = paused_after_overtaken(story, watch, scene)
    if overtaken is not None:
        return overtaken
    backoff = scene.policy.backoff_us
    if own and backoff:
        until_us = own[-1].ended_us + backoff[min(len(own), len(backoff) - 1)]
        if now_us < until_us:
            return Wait("a pause after the last attempt", until_us)
    until_us = _start_limit_until(story, now_us)
    if now_us + _PATIENCE_US < until_us:
        left = duration(until_us - now_us)
        return Engage(f"its start limit might refuse a start for another {left}")
    if now_us < until_us:
        return Wait("the unit's own start limit", until_us)
    return None


def paused_after_overtaken(story: Story, watch: Watch, scene: Scene) -> Wait | None:
    """What came first shall have its effect, and a look at it; what comes first over and over is
    not met by an attempt each time.
    """
    results = [a.result is AttemptResult.OVERTAKEN for a in reversed(story.attempts)]
    in_a_row = results.index(False) if False in results else len(results)
    if not in_a_row:
        return None
    pause_us = watch.check.rules.retry_us << min(in_a_row - 1, _DOUBLED_MOST)
    until_us = story.attempts[-1].ended_us + min(pause_us, _PATIENCE_US)
    return Wait("something else came first", until_us) if scene.now.steady_us < until_us else None


def _start_limit_until(story: Story, now_us: int) -> int:
    """Before when a start could be the unit's last of its start limit, 0 = it is not near.

    At the limit RestartUnit succeeds and nothing runs, and the count is not on the bus: so starts
    are counted here, and what is unknown counts as near the limit.
    """
    facts = story.facts
    if facts is None or facts.start_limit_interval_for_us <= 0 or facts.start_limit_burst <= 0:
        return 0
    interval_us = facts.start_limit_interval_for_us
    since_us = story.run.watched_since_us
    starts = [t for t in story.run.starts_us if t > now_us - interval_us]
    known = 0 < since_us <= now_us - interval_us
    if known and facts.start_limit_burst - len(starts) >= 2:
        return 0
    if facts.active_state in DOWN and facts.inactive_enter_us:
        return facts.inactive_enter_us + interval_us
    return max([since_us, *starts]) + interval_us
