"""Whom a check waits on. Pure. For now a unit is the only provider, of its own checks."""

from __future__ import annotations

from msgspec.structs import replace

from healthd.model import Aspect, CheckKey, Reason, State, Story, Verdict, Watch

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


def liveness_of(story: Story) -> Watch | None:
    """The story's liveness watch, if it has one."""
    return next((w for w in story.watches if w.check.aspect is Aspect.LIVENESS), None)


def waits_on(story: Story, watch: Watch) -> CheckKey:
    """The check that *watch* waits on while it fails, or "".

    A unit's liveness that is suspect, red, starting, stopped or itself waiting holds its readiness
    and function; so does one that healthd has not looked at since its own start.
    """
    if watch.check.aspect not in (Aspect.READINESS, Aspect.FUNCTION):
        return CheckKey("")
    provider = liveness_of(story)
    if provider is None:
        return CheckKey("")
    verdict = provider.verdict
    unseen = not provider.looked_us or provider.looked_us < story.run.watched_since_us
    if unseen or verdict.state is State.RED or verdict.reason in _NOT_WELL:
        return verdict.waiting_on or provider.check.key
    return CheckKey("")


def as_its_unit(story: Story, verdict: Verdict) -> Verdict:
    """*verdict* as an incident takes it: who waits on a unit that was put away is put away too."""
    if verdict.reason is not Reason.WAITING:
        return verdict
    provider = liveness_of(story)
    if provider is None or provider.verdict.reason not in _PUT_AWAY:
        return verdict
    return replace(verdict, reason=provider.verdict.reason)
