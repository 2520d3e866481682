"""Whom a check waits on. Pure. For now a unit is the only provider, of its own checks."""

from __future__ import annotations

from healthd.model import Aspect, CheckKey, Reason, State, Story, Watch

_NOT_WELL = frozenset(
    {Reason.SUSPECT, Reason.STARTING, Reason.STOPPED, Reason.NOT_CONFIGURED, Reason.HELD}
)


def liveness_of(story: Story) -> Watch | None:
    """The story's liveness watch, if it has one."""
    return next((w for w in story.watches if w.check.aspect is Aspect.LIVENESS), None)


def waits_on(story: Story, watch: Watch) -> CheckKey:
    """The check that *watch* waits on while it fails, or "".

    A unit's liveness that is suspect, red, starting or stopped holds its readiness and function.
    """
    if watch.check.aspect not in (Aspect.READINESS, Aspect.FUNCTION):
        return CheckKey("")
    provider = liveness_of(story)
    if provider is None:
        return CheckKey("")
    verdict = provider.verdict
    if verdict.state is State.RED or verdict.reason in _NOT_WELL:
        return provider.check.key
    return CheckKey("")
