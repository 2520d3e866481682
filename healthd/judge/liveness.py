"""Whether a unit runs, from what systemd says and what healthd has seen of it.

Pure: no clock, no I/O, no logging; the caller passes *now*. The table of semantics.md, "Liveness of
a unit": the first row that matches answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from healthd.judge import resting
from healthd.judge.life import CLEAN_RESULTS, DOWN, UP, restarts_by_itself
from healthd.judge.run import DAY_US, counted_ends
from healthd.judge.sight import (
    LATE_US,
    NO_CHECK,
    Sight,
    degraded,
    failing,
    grey,
    keep,
    ok,
    words_of,
)
from healthd.judge.wording import duration, end_in_words
from healthd.model import (
    MINUTE_US,
    ActiveState,
    End,
    LoadState,
    Look,
    Now,
    Policy,
    Reason,
    Run,
    Story,
    UnitFacts,
)

# A loop too slow for the window of minutes: this many ends a day, and still going on.
_SLOW_LOOP = 6

# A start without a limit is worth a word after this long, or three times its longest.
_PATIENCE_US = 10 * MINUTE_US

# For what has no limit of its own.
_TRANSITION_US = 30 * MINUTE_US

# What it means for a unit without a process to be active.
_IN_USE = {
    "mount": "mounted",
    "swap": "in use",
    "socket": "listening",
    "path": "watching",
    "automount": "ready to mount",
}

Row = Callable[[Sight], Look | None]

_CONFIGURATION = {
    LoadState.NOT_FOUND: "systemd finds no such unit",
    LoadState.BAD_SETTING: "its unit file has a setting that systemd refuses",
    LoadState.ERROR: "systemd could not load its unit file",
}


def liveness(
    facts: UnitFacts,
    run: Run,
    now: Now,
    policy: Policy,
    *,
    declared: bool,
    grace_us: int,
    stories: Mapping[str, Story],
) -> Look | None:
    """What one look at the unit finds; None = there is nothing to check (a oneshot at rest).

    *declared*: a check, `needs` or `allow_restart` names it. *grace_us*: how long a consumer has
    after its provider is back. *stories*: all of them, for what this unit needs or fell with.
    """
    sight = Sight(facts, run, now, policy, declared, grace_us, stories)
    for row, rule in RULES:
        look = row(sight)
        if look is not None:
            return None if look is NO_CHECK else replace(look, rule=rule)
    return keep("systemd shows a state that healthd does not know")


def configuration(sight: Sight) -> Look | None:
    """named by a setting and not-found, `bad-setting` or `error` → yellow `configuration`"""
    words = _CONFIGURATION.get(sight.facts.load_state)
    return degraded(Reason.CONFIGURATION, words) if words else None


def masked(sight: Sight) -> Look | None:
    """masked → grey `not-configured`"""
    if sight.facts.load_state is not LoadState.MASKED:
        return None
    return grey(Reason.NOT_CONFIGURED, "masked")


def crash_loop(sight: Sight) -> Look | None:
    """whatever ActiveState: ≥ 3 ends by itself in 10 min and the last less than 2 min ago, or ≥ 6
    in 24 h and the last within twice their mean distance → failing `crash-loop`
    """
    if not sight.serves:
        # A mount that cannot be mounted is tried at each access: it fails, and does not loop.
        return None
    loop = sight.policy.crash_loop
    ends = _followed(sight, counted_ends(sight.run, sight.now, loop.within_us))
    if len(ends) >= loop.restarts:
        until_us = min(ends[-1].at_us + loop.quiet_us, ends[-loop.restarts].at_us + loop.within_us)
        if sight.now.steady_us < until_us:
            return failing(Reason.CRASH_LOOP, _loop_words(sight, ends, loop.within_us), until_us)
    ends = _followed(sight, counted_ends(sight.run, sight.now, DAY_US))
    if len(ends) >= _SLOW_LOOP:
        mean_us = (ends[-1].at_us - ends[0].at_us) // (len(ends) - 1)
        until_us = ends[-1].at_us + 2 * mean_us
        if sight.now.steady_us < until_us:
            # Without the oldest, the mean is another.
            until_us = min(until_us, ends[0].at_us + DAY_US)
            return failing(Reason.CRASH_LOOP, _loop_words(sight, ends, DAY_US), until_us)
    return None


def pending_restart(sight: Sight) -> Look | None:
    """waiting for an automatic restart (any substate that says so) → Result success: ok. Else
    degraded `churned` "restarts in 12 s, restart 1"; past the delay + 10 s failing `failed`, but
    once its job is queued, past the start timeout + 10 s failing `stuck`
    """
    facts = sight.facts
    if not restarts_by_itself(facts.sub_state):
        return None
    due_us = (facts.state_change_us or sight.now.steady_us) + max(0, facts.restart_delay_for_us)
    left_us = due_us - sight.now.steady_us
    soon = f"restarts in {duration(left_us)}" if left_us > 0 else "restarts now"
    last = sight.last
    if facts.result in CLEAN_RESULTS and sight.lives:
        # As a restart comes, Result is that of the new run before the state is.
        return keep("its restart has come")
    if facts.result in CLEAN_RESULTS and (last is None or last.clean):
        return ok(f"{soon}, after a clean end")
    if facts.sub_state.endswith("queued") and facts.job:
        return _queued_restart(sight)
    endless = facts.restart_delay_for_us < 0
    if not endless and left_us <= -LATE_US:
        words = f"{end_in_words(facts)}; the automatic restart has not come"
        return failing(Reason.FAILED, words)
    # NRestarts counts the restart once its job is queued.
    number = facts.n_restarts + 1
    soon = "waits to restart" if endless else f"{soon}{_longest_wait(sight)}"
    words = f"{soon}, restart {number} ({end_in_words(facts)})"
    return degraded(Reason.CHURNED, words, 0 if endless else due_us + LATE_US)


def _queued_restart(sight: Sight) -> Look:
    """systemd has begun to restart it: other jobs go first, or it has much else to do."""
    facts = sight.facts
    since_us = facts.state_change_us or sight.now.steady_us
    limit_us = facts.timeout_start_for_us if facts.timeout_start_for_us > 0 else _PATIENCE_US
    until_us = since_us + limit_us + LATE_US
    ended = end_in_words(facts)
    if sight.now.steady_us >= until_us:
        queued = duration(sight.for_us(since_us))
        return failing(Reason.STUCK, f"{ended}; its restart has been queued for {queued}")
    words = f"its restart is queued, restart {facts.n_restarts} ({ended})"
    return degraded(Reason.CHURNED, words, until_us)


def starting(sight: Sight) -> Look | None:
    """`activating`, or a start job queued, or the boot not finished and meant to run → oneshot: ok.
    Else grey `starting`; past its start timeout + 10 s, or without one after max(10 min, 3 × its
    longest start), yellow `degraded`, never red
    """
    facts = sight.facts
    if facts.active_state is ActiveState.ACTIVATING:
        return _activating(sight)
    if sight.inactive and facts.job and sight.lives:
        # A stop, or the first half of a restart, that is not over yet.
        return keep("a job takes it down")
    if facts.active_state in DOWN and facts.job:
        return grey(Reason.STARTING, "its start is queued")
    if sight.inactive and not facts.booted and sight.meant_to_run:
        return grey(Reason.STARTING, "the boot is not finished")
    return None


def transition(sight: Sight) -> Look | None:
    """`reloading`, `refreshing`, `deactivating`, `maintenance` → keep the last verdict; past the
    unit's own limit (none: 30 min) failing `stuck`
    """
    facts = sight.facts
    match facts.active_state:
        case ActiveState.DEACTIVATING:
            word, limit_us = "stopping", facts.timeout_stop_for_us
        case ActiveState.RELOADING | ActiveState.REFRESHING:
            word, limit_us = "reloading", facts.timeout_start_for_us
        case ActiveState.MAINTENANCE:
            word, limit_us = "in maintenance", 0
        case _:
            return None
    since_us = facts.state_change_us or sight.now.steady_us
    until_us = since_us + (limit_us if limit_us > 0 else _TRANSITION_US) + LATE_US
    if sight.now.steady_us >= until_us:
        return failing(Reason.STUCK, f"still {word} after {duration(sight.for_us(since_us))}")
    return keep(word, until_us)


def churned(sight: Sight) -> Look | None:
    """`active`, ended by itself less than 2 min ago → degraded `churned`; not what ends well when
    nobody needs it, and starts again on demand
    """
    ends = sight.run.ends
    if sight.facts.active_state is not ActiveState.ACTIVE or not ends or ends[-1].after_gap:
        return None
    if not sight.serves:
        # What is mounted again after a failure was mended by whoever mounted it.
        return None
    if ends[-1].clean and sight.facts.on_demand:
        return None
    until_us = ends[-1].at_us + sight.policy.crash_loop.quiet_us
    if sight.now.steady_us >= until_us:
        return None
    ago = duration(sight.for_us(ends[-1].at_us))
    words = f"ended by itself {ago} ago and was started again"
    if longest := _longest_wait(sight):
        words = f"{words}; next time after {duration(sight.facts.restart_delay_for_us)}{longest}"
    return degraded(Reason.CHURNED, words, until_us)


def active(sight: Sight) -> Look | None:
    """`active` → ok (`exited` of a non-oneshot: "systemd does not watch its processes")"""
    facts = sight.facts
    if facts.active_state is not ActiveState.ACTIVE:
        return None
    if not sight.serves:
        return ok(_IN_USE.get(facts.id.rpartition(".")[2], "active"))
    if facts.sub_state != "exited":
        return ok("running")
    if facts.service_type == "oneshot":
        return ok("ended well")
    return ok("active; systemd does not watch its processes")


ROWS: tuple[Row, ...] = (
    configuration,
    masked,
    crash_loop,
    resting.package_run,
    resting.stopped,
    resting.unmounted,
    resting.taken_along,
    resting.failed,
    pending_restart,
    starting,
    transition,
    churned,
    active,
    resting.oneshot,
    resting.condition,
    resting.on_demand,
    resting.unwanted,
    resting.need_failed,
    resting.not_started,
    resting.never_started,
    resting.start_refused,
    resting.ended_by_signal,
    resting.ended_by_itself,
    resting.undecided,
)

#: Each row with its own words, for whoever asks by which rule a unit was judged.
RULES = tuple((row, words_of(row)) for row in ROWS)


def _activating(sight: Sight) -> Look:
    facts = sight.facts
    now_us = sight.now.steady_us
    # After an automatic restart InactiveExit is when the wait began, not the start.
    begun_us = max(facts.inactive_exit_us, sight.run.started_us) or facts.state_change_us or now_us
    so_far = duration(sight.for_us(begun_us))
    if facts.service_type == "oneshot":
        return ok(f"running for {so_far}")
    limit_us = facts.timeout_start_for_us
    if limit_us > 0:
        # Each command of a start has the limit for itself.
        until_us = (facts.state_change_us or now_us) + limit_us + LATE_US
        if now_us >= until_us:
            # systemd ends a start at its limit. One that goes on has asked for more time
            # (EXTEND_TIMEOUT_USEC=), which no property shows: a database in recovery, not a fault.
            words = f"still starting after {so_far}, its limit is {duration(limit_us)}"
            return degraded(Reason.DEGRADED, words)
        return grey(Reason.STARTING, "starting", until_us)
    until_us = begun_us + max(_PATIENCE_US, 3 * sight.run.longest_start_for_us)
    if now_us >= until_us:
        return degraded(Reason.DEGRADED, f"still starting after {so_far}, and has no limit")
    return grey(Reason.STARTING, "starting", until_us)


def _followed(sight: Sight, ends: tuple[End, ...]) -> tuple[End, ...]:
    """Those that a new start followed, or will follow: a unit at rest does not loop any more."""
    last = sight.run.last
    if sight.rests and ends and last is not None and ends[-1].invocation == last.invocation:
        return ends[:-1]
    return ends


def _longest_wait(sight: Sight) -> str:
    """That the wait for an automatic restart has grown to its limit, where it has; "" else.

    systemd shortens it again only when a person starts the unit, not after months of health.
    """
    facts = sight.facts
    grown = 0 < facts.restart_delay_max_for_us <= facts.restart_delay_for_us
    return ", the longest that RestartMaxDelaySec= allows" if grown else ""


def _loop_words(sight: Sight, ends: tuple[End, ...], within_us: int) -> str:
    words = f"{len(ends)} ends in {duration(within_us)}"
    # While it runs, systemd shows nothing of how the one before ended.
    shown = sight.facts.active_state not in UP and sight.facts.result not in CLEAN_RESULTS
    return f"{words}, last: {end_in_words(sight.facts)}" if shown else words
