"""The liveness rows of a unit that is not running: what systemd says of why it rests. Pure.

Each row answers, or passes on with None; their order is the table's.
"""

from __future__ import annotations

from healthd.judge.life import CLEAN_RESULTS, DOWN, UP, restarts_by_itself
from healthd.judge.providers import liveness_of
from healthd.judge.sight import NO_CHECK, Sight, degraded, failing, grey, ok
from healthd.judge.wording import duration, end_in_words
from healthd.model import MINUTE_US, ActiveState, End, How, Look, Outcome, Reason, Story

# A program that ends so soon by itself had nothing to do here: seen, but not red.
_BRIEF_US = 10 * MINUTE_US

# What a package run stopped, somebody may still be at work on.
_PACKAGES_US = 30 * MINUTE_US

_KILLED, _DUMPED = 2, 3


def package_run(sight: Sight) -> Look | None:
    """stopped while a package run held dpkg's lock, still meant to run, not started for longer than
    the grace after the lock is gone → yellow `degraded`, "stopped by a package run and not started
    again"; after 30 min failing `exited`
    """
    last, facts = sight.last, sight.facts
    if last is None or not last.in_package_run or not sight.rests or not sight.meant_to_run:
        return None
    if facts.on_demand or facts.service_type == "oneshot":
        return None
    words, over_us = "stopped by a package run", last.package_run_over_us
    if not over_us:
        return grey(Reason.STOPPED, f"{words}, which is not over")
    until_us = over_us + sight.grace_us
    if sight.now.steady_us < until_us:
        return grey(Reason.STOPPED, words, until_us)
    until_us = over_us + _PACKAGES_US
    words = f"{words} and not started again"
    if sight.now.steady_us < until_us:
        return degraded(Reason.DEGRADED, words, until_us)
    return failing(Reason.EXITED, words)


def stopped(sight: Sight) -> Look | None:
    """ended asked or pushed out (also when it then shows `failed`: exit code on SIGTERM, stop
    timeout) → grey `stopped`, Result in the summary
    """
    last, facts = sight.last, sight.facts
    down = facts.active_state in DOWN and not restarts_by_itself(facts.sub_state)
    if last is None or not down or last.how not in (How.ASKED, How.PUSHED_OUT):
        return None
    if facts.active_state is ActiveState.FAILED and facts.result == "start-limit-hit":
        # No stop ends so: a start came after it, which systemd refused.
        return None
    words = "stopped"
    if last.how is How.PUSHED_OUT:
        words = f"stopped for {last.by}, which conflicts with it"
    if facts.result not in CLEAN_RESULTS:
        before = any(e.invocation == last.invocation for e in sight.run.ends)
        when = "before it was stopped" if before else "when asked to stop"
        words = f"{words} ({end_in_words(facts)} {when})"
    return grey(Reason.STOPPED, words)


def unmounted(sight: Sight) -> Look | None:
    """A person's `umount` is no fault, also where systemd calls it one; nor is a device that was
    unplugged, whose mount or swap went with it.
    """
    facts, last = sight.facts, sight.last
    if facts.result == "unmounted" and facts.active_state is ActiveState.FAILED:
        return grey(Reason.STOPPED, "unmounted, not by systemd")
    along = last is not None and last.how is How.TAKEN_ALONG and last.by.endswith(".device")
    if along and not sight.serves and facts.active_state in DOWN:
        return grey(Reason.STOPPED, "its device is gone")
    return None


def taken_along(sight: Sight) -> Look | None:
    """ended taken along → grey `waiting` on the root; the provider active for longer than the
    grace, this one still down and meant to run: failing `exited`, naming it
    """
    last, facts = sight.last, sight.facts
    if last is None or last.how is not How.TAKEN_ALONG or facts.active_state not in DOWN:
        return None
    back_us = _active_since_us(sight, last.by)
    if not back_us or facts.job:
        return _along_with_what_is_down(sight, last)
    until_us = back_us + sight.grace_us
    if sight.now.steady_us < until_us:
        return grey(Reason.WAITING, f"stopped along with {last.by}, which is back", until_us)
    words = f"stopped along with {last.by}, which is back, and not started again"
    return failing(Reason.EXITED, words) if sight.meant_to_run else grey(Reason.STOPPED, words)


def _along_with_what_is_down(sight: Sight, last: End) -> Look:
    """The provider speaks for it; one that ended by itself and is let rest, to nobody's alarm,
    speaks for nobody.
    """
    provider = sight.stories.get(last.by)
    live = liveness_of(provider) if provider else None
    until_us = last.at_us + sight.grace_us
    if live is None or live.verdict.reason is not Reason.DEGRADED or not sight.meant_to_run:
        return grey(Reason.WAITING, f"stopped along with {last.by}")
    if sight.now.steady_us < until_us:
        return grey(Reason.WAITING, f"stopped along with {last.by}", until_us)
    return failing(Reason.EXITED, f"stopped along with {last.by}, which ended by itself")


def failed(sight: Sight) -> Look | None:
    """`failed`, no job and no automatic restart pending → failing `failed`, in words"""
    if sight.facts.active_state is not ActiveState.FAILED or not sight.rests:
        return None
    return failing(Reason.FAILED, end_in_words(sight.facts))


def oneshot(sight: Sight) -> Look | None:
    """`inactive`, oneshot → no check"""
    return NO_CHECK if sight.inactive and sight.facts.service_type == "oneshot" else None


def condition(sight: Sight) -> Look | None:
    """`inactive`, condition or assertion looked at and not met → grey `not-configured`, named"""
    facts = sight.facts
    if sight.inactive and facts.result == "exec-condition":
        return grey(Reason.NOT_CONFIGURED, "condition not met: ExecCondition")
    if not sight.inactive or not facts.condition_checked or facts.condition_met:
        return None
    which = ", ".join(facts.conditions_failed)
    return grey(
        Reason.NOT_CONFIGURED, f"condition not met: {which}" if which else "condition not met"
    )


def on_demand(sight: Sight) -> Look | None:
    """`inactive`, an active socket, timer or path triggers it, or its bus name is activatable →
    green `ok`, "started on demand"
    """
    starter = sight.facts.on_demand
    return ok(f"started on demand by {starter}") if sight.inactive and starter else None


def unwanted(sight: Sight) -> Look | None:
    """`inactive`, not meant to run → grey `not-configured`"""
    if not sight.inactive or sight.meant_to_run:
        return None
    return grey(Reason.NOT_CONFIGURED, "nothing wants it")


def need_failed(sight: Sight) -> Look | None:
    """its start ended with `dependency`; or meant to run, never started in this boot, and a unit it
    requires is down for a fault → failing `exited`, "not started because P failed"
    """
    last, facts = sight.last, sight.facts
    if not sight.inactive or facts.job or not facts.booted:
        return None
    never = not facts.inactive_exit_us and last is None
    refused = last is not None and last.how is How.BY_ITSELF and not last.invocation
    if not never and not refused:
        return None
    failed = next((n for n in facts.requires if _is_down(sight.stories.get(n))), "")
    return failing(Reason.EXITED, f"not started because {failed} failed") if failed else None


def not_started(sight: Sight) -> Look | None:
    """ran in an earlier boot, meant to run, the boot is finished, no job, not started → failing
    `exited`, "not started in this boot"
    """
    facts = sight.facts
    never = not facts.inactive_exit_us and sight.last is None
    if not (never and sight.inactive and sight.rests and sight.run.ran_before and facts.booted):
        return None
    # A disk that is not plugged in today is no outage; what a socket starts is judged itself.
    return failing(Reason.EXITED, "not started in this boot") if sight.serves else None


def never_started(sight: Sight) -> Look | None:
    """or never started in this boot → grey `not-configured`"""
    if not sight.inactive or sight.facts.inactive_exit_us or sight.last is not None:
        return None
    return grey(Reason.NOT_CONFIGURED, "not started in this boot")


def start_refused(sight: Sight) -> Look | None:
    """A start of it never became an invocation: it ended by itself."""
    last = sight.last
    if not sight.inactive or last is None or last.how is not How.BY_ITSELF or last.invocation:
        return None
    return failing(Reason.EXITED, "systemd refused its start")


def ended_by_signal(sight: Sight) -> Look | None:
    """ended by itself by a signal, "clean" or not → failing `exited`, "ended by SIGTERM, not by
    systemd"
    """
    last, facts = sight.last, sight.facts
    if not sight.inactive or last is None or last.how is not How.BY_ITSELF:
        return None
    if facts.exit_code not in (_KILLED, _DUMPED):
        return None
    return failing(Reason.EXITED, f"{end_in_words(facts)}, not by systemd")


def ended_by_itself(sight: Sight) -> Look | None:
    """ended by itself with an exit code → nothing declared and less than 10 min after its start:
    yellow `degraded` "ended by itself after 4 s"; else failing `exited`
    """
    last, facts = sight.last, sight.facts
    if not sight.inactive or last is None or last.how is not How.BY_ITSELF:
        return None
    ran_us = _ran_for_us(sight)
    words = f"ended by itself after {duration(ran_us)}" if ran_us else "ended by itself"
    if 0 < ran_us < _BRIEF_US and not sight.declared:
        return degraded(Reason.DEGRADED, words)
    if facts.exit_status:
        words = f"{words}: {end_in_words(facts)}"
    return failing(Reason.EXITED, words)


def undecided(sight: Sight) -> Look | None:
    """Nobody can say how it ended → grey `stopped`, in these words"""
    if not sight.inactive:
        return None
    if not sight.serves:
        return grey(Reason.STOPPED, "not in use")
    return grey(Reason.STOPPED, "stopped; systemd no longer says by whom")


def _active_since_us(sight: Sight, unit: str) -> int:
    """Since when the unit *unit* runs, 0 = it does not, or healthd does not watch it."""
    story = sight.stories.get(unit)
    facts = story.facts if story else None
    return facts.active_enter_us if facts and facts.active_state in UP else 0


def _is_down(story: Story | None) -> bool:
    """Whether a unit is down and was not meant to be."""
    live = liveness_of(story) if story else None
    return live is not None and live.last_outcome is Outcome.FAILING


def _ran_for_us(sight: Sight) -> int:
    """How long the invocation ran, at least 1; 0 = systemd has forgotten it."""
    facts = sight.facts
    begun_us = facts.main_start_us or facts.inactive_exit_us
    over_us = max(facts.main_exit_us, facts.active_exit_us)
    if not begun_us or over_us < begun_us:
        return 0
    return max(1, over_us - begun_us)
