"""The timing of declared checks: whose word counts, and what does not go together. Pure."""

from __future__ import annotations

from healthd.model import Rules
from healthd.settings.check_keys import TimingKeys
from healthd.settings.ground import Ground, Steps
from healthd.settings.timespan import timespan_text


def rules_of(said: TimingKeys, defaults: TimingKeys, unit_grace_us: int | None = None) -> Rules:
    """A check's timing: its own word, then its unit's, then the defaults, then healthd's."""
    ours = Rules()
    every_us = _first(said.every, defaults.every, ours.every_us)
    return Rules(
        every_us=every_us,
        timeout_us=_first(said.timeout, defaults.timeout, ours.timeout_us),
        after=_first(said.after, defaults.after, ours.after),
        # Whoever looks often wants to confirm as fast.
        retry_us=_first(said.retry, min(_first(defaults.retry, ours.retry_us), every_us)),
        grace_us=_first(said.grace, unit_grace_us, defaults.grace, ours.grace_us),
        settle=_first(said.settle, defaults.settle, ours.settle),
    )


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def judge_timing(rules: Rules, steps: Steps, ground: Ground) -> None:
    """Fault a look that may last as long as the time between two."""
    if rules.timeout_us >= rules.every_us:
        written = [key for key in ("timeout", "every") if key in ground.written(steps)]
        # A check may say neither: then the defaults have their own fault already.
        if written:
            ground.fault(
                (*steps, written[0]),
                f"timeout: {timespan_text(rules.timeout_us)}",
                f"less than every, which is {timespan_text(rules.every_us)}",
            )
