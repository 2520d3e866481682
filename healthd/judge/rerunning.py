"""What is next for a red heartbeat: its job is run once more, or the owner is engaged. Pure."""

from __future__ import annotations

from healthd.judge.ledger import runs
from healthd.judge.life import restarts_by_itself
from healthd.judge.repairing import (
    Engage,
    Step,
    Try,
    Wait,
    against_intent,
    budget_spent,
    counted,
    harmful,
    held_by_somebody,
    next_step,
    paused_after_overtaken,
    pending,
)
from healthd.model import Aspect, AttemptResult, Incident, Reason, Scene, Story, UnitFacts, Watch


def next_repair(story: Story, incident: Incident, watch: Watch, scene: Scene) -> Step:
    """Called after a look left *watch* red with an open incident that is not idle: of a timer its
    job is run again, anything else is restarted.
    """
    decide = next_rerun if watch.check.aspect is Aspect.HEARTBEAT else next_step
    return decide(story, incident, watch, scene)


def next_rerun(story: Story, incident: Incident, watch: Watch, scene: Scene) -> Step:
    """A job is run again once an incident: it may have done half of its work already."""
    if pending(story):
        return Wait("an attempt is being made")
    if watch.verdict.reason is Reason.REPAIRING:
        return Wait("an attempt is being judged")
    job = story.job
    if watch.last_reason is not Reason.FAILED or job is None:
        return Engage("healthd has no repair for this")
    if job.id not in scene.policy.allow_restart:
        return Engage(f"{job.id} is not listed in repair.allow_restart")
    # Whoever ordered the run that is under way: how it ends is what counts.
    if job.job or runs(job) or restarts_by_itself(job.sub_state):
        return Wait("the job is at work")
    return (
        _tried(incident, scene)
        or harmful(job)
        or against_intent(story, watch, scene)
        or held_by_somebody(job.id, scene)
        or budget_spent(story, scene)
        or paused_after_overtaken(story, watch, scene)
        or _too_early(job, scene)
        or Try(job.id)
    )


def _tried(incident: Incident, scene: Scene) -> Engage | None:
    own = [a for a in incident.attempts if counted(a)]
    if not own:
        return None if scene.policy.max_attempts else Engage("the settings allow no attempt")
    if own[-1].result is AttemptResult.FINAL:
        return Engage(own[-1].detail or "it cannot be run again")
    if own[-1].result is AttemptResult.UNKNOWN:
        return Engage("it may have been run again, and that did not help")
    return Engage("it was run again, and that did not help")


def _too_early(job: UnitFacts, scene: Scene) -> Wait | None:
    """At its own start limit a start succeeds and nothing runs; how near that is, no one shows."""
    if job.start_limit_interval_for_us <= 0 or job.start_limit_burst <= 0:
        return None
    until_us = job.inactive_enter_us + job.start_limit_interval_for_us
    if job.inactive_enter_us and scene.now.steady_us < until_us:
        return Wait("the job's own start limit", until_us)
    return None
