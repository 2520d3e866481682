"""The check of a timer: the usual one, and what the settings may say of it. Pure."""

from __future__ import annotations

from healthd.model import HEARTBEAT_RULES, Aspect, Check, CheckKey, UnitName
from healthd.settings.check_keys import TimingKeys
from healthd.settings.ground import Ground, Steps

# A heartbeat is looked at when something happens, and judged by runs: what says otherwise would
# mean nothing.
_NOT_OF_A_HEARTBEAT = ("name", "aspect", "repair", *TimingKeys.__struct_fields__)


def heartbeat_check(
    timer: UnitName, within_us: int = 0, needs: tuple[UnitName, ...] | None = None, *, said: bool
) -> Check:
    """The heartbeat of *timer*. *said*: a setting declares it."""
    return Check(
        key=CheckKey(f"{Aspect.HEARTBEAT}:{timer}"),
        aspect=Aspect.HEARTBEAT,
        kind="heartbeat",
        unit=timer,
        rules=HEARTBEAT_RULES,
        declared=said,
        needs=needs,
        within_us=within_us,
    )


def judge_heartbeat(unit: str, steps: Steps, ground: Ground) -> None:
    """Fault what a heartbeat cannot have."""
    if not unit.endswith(".timer"):
        ground.fault((*steps, "heartbeat"), f"heartbeat of {unit}", "heartbeat of a .timer unit")
    for key in ground.written(steps):
        if key in _NOT_OF_A_HEARTBEAT:
            ground.fault((*steps, key), f"{key} beside heartbeat", "heartbeat and needs only")
