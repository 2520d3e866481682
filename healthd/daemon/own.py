"""healthd's own troubles are checks too: their names and looks. Pure."""

from __future__ import annotations

from healthd.model import Aspect, Check, CheckKey, Look, Outcome, Reason, Rules

PREFIX = "host:healthd/"
SETTINGS = CheckKey(f"{PREFIX}settings")
STORE = CheckKey(f"{PREFIX}store")
FAULTS = CheckKey(f"{PREFIX}faults")
KIND = "healthd"


def own_check(key: CheckKey) -> Check:
    """One look says it all: nothing is confirmed, nothing repaired."""
    return Check(key=key, aspect=Aspect.HOST, kind=KIND, rules=Rules(settle=1))


def settings_look(faults: tuple[str, ...], troubles: tuple[str, ...]) -> Look:
    """*faults*: why the files were refused as a whole; *troubles*: what in them will not work."""
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        return Look(
            Outcome.DEGRADED,
            Reason.CONFIGURATION,
            f"settings refused, see healthctl verify: {faults[0]}{more}",
        )
    if troubles:
        more = f" (and {len(troubles) - 1} more)" if len(troubles) > 1 else ""
        return Look(Outcome.DEGRADED, Reason.CONFIGURATION, f"{troubles[0]}{more}")
    return Look(Outcome.OK, Reason.OK, "settings read")


def faults_look(count: int, last: str) -> Look:
    """*count*: how often a part of healthd broke since its start; *last*: what it was doing."""
    times = "once" if count == 1 else f"{count} times"
    words = f"a part of healthd broke {times} since its start, last: {last}"
    return Look(Outcome.DEGRADED, Reason.DEGRADED, f"{words}; journalctl -u healthd")


def store_look(trouble: str) -> Look:
    if trouble:
        return Look(Outcome.DEGRADED, Reason.DEGRADED, trouble)
    return Look(Outcome.OK, Reason.OK, "store is well")
