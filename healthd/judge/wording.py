"""The words a person reads: how a unit ended, how long, what is wrong, what to run.

Pure: no clock, no I/O. Says only what is public: never a word that came from a check itself.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import pairwise

from healthd.judge.exits import exit_in_words, signal_name
from healthd.judge.network import NETWORK, REMEDY
from healthd.model import (
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    ActiveState,
    Aspect,
    Check,
    CheckKey,
    LoadState,
    Reason,
    UnitFacts,
)

DAY_US = 24 * HOUR_US

# How a main process ended: si_code of waitid(2), as ExecMainCode shows it.
_EXITED, _KILLED, _DUMPED = 1, 2, 3

_RESULTS = {
    "oom-kill": "out of memory",
    "watchdog": "watchdog timeout",
    "protocol": "ended before it was ready",
    "resources": "systemd could not set it up",
    "exec-condition": "its start condition said no",
    "unmounted": "unmounted, not by systemd",
    "mount-start-limit-hit": "mounting failed too often",
    "service-start-limit-hit": "the service that it starts failed too often",
    "unit-start-limit-hit": "the unit that it starts failed too often",
    "trigger-limit-hit": "it was triggered too often",
}


_PHRASES = {
    Reason.FAILED: "failed",
    Reason.CRASH_LOOP: "keeps crashing",
    Reason.STUCK: "is stuck",
    Reason.EXITED: "is not running",
    Reason.UNREADY: "does not answer",
    Reason.OVERDUE: "is overdue",
    Reason.EXPIRED: "has expired",
    Reason.REVOKED: "was revoked",
    Reason.FULL: "is full",
    Reason.FLAPPING: "fails on and off",
}

_NOT_OURS = frozenset({LoadState.NOT_FOUND, LoadState.BAD_SETTING, LoadState.ERROR})


def duration(us: int) -> str:
    """*us* in at most two units: "400 ms", "12 s", "1 min 30 s", "3 days 4 h"; below 0 is 0."""
    if 0 < us < SECOND_US:
        return f"{max(1, us // 1000)} ms"
    units = (("day", DAY_US), ("h", HOUR_US), ("min", MINUTE_US), ("s", SECOND_US))
    for (name, size_us), (lower, lower_us) in pairwise(units):
        if us >= size_us:
            count, rest = us // size_us, us % size_us // lower_us
            words = f"{count} {_plural(name, count)}"
            return f"{words} {rest} {lower}" if rest else words
    return f"{max(0, us) // SECOND_US} s"


def end_in_words(facts: UnitFacts) -> str:
    """How the unit's last invocation ended: "killed by SIGKILL", "exit code 3", "start timed out".

    Where systemd stopped restarting it, that follows: "exit code 1; systemd gave up after 5 starts
    in 10 s". Never empty.
    """
    words = _result_in_words(facts)
    if facts.result != "start-limit-hit" and _gave_up(facts):
        return f"{words}; {_gave_up_in_words(facts)}"
    return words


def _result_in_words(facts: UnitFacts) -> str:
    match facts.result:
        case "success" | "exit-code" | "signal" | "core-dump":
            return _process_end_in_words(facts)
        case "timeout":
            # Result says the same for start, stop and RuntimeMaxSec=; a unit that did not become
            # active since it last left `inactive` was still starting.
            starting = facts.active_enter_us < facts.inactive_exit_us
            return "start timed out" if starting else "timed out"
        case "start-limit-hit":
            return _gave_up_in_words(facts)
        case known if known in _RESULTS:
            return _RESULTS[known]
        case unknown:
            return f"systemd says “{unknown}”"


def _process_end_in_words(facts: UnitFacts) -> str:
    match facts.exit_code:
        case code if code == _EXITED:
            return exit_in_words(facts.exit_status)
        case code if code in (_KILLED, _DUMPED):
            verb = "ended by" if facts.result == "success" else "killed by"
            core = ", core dumped" if code == _DUMPED else ""
            return f"{verb} {signal_name(facts.exit_status)}{core}"
        case _:
            # No main process ever ran: a command before it failed.
            return "not running" if facts.result == "success" else "a start command failed"


def _gave_up(facts: UnitFacts) -> bool:
    """Whether systemd hit the start limit while it restarted the unit by itself.

    257 leaves Result as it was (262 sets it), so it is read from this: at rest in `failed`, the
    unit had left `inactive` for a restart after its last process ended, and nothing ran since.
    """
    return (
        facts.active_state is ActiveState.FAILED
        and facts.sub_state == "failed"
        and facts.restart != "no"
        and 0 < facts.start_limit_burst <= facts.n_restarts + 1
        and 0 < facts.main_exit_us < facts.inactive_exit_us
    )


def _gave_up_in_words(facts: UnitFacts) -> str:
    starts, span = facts.start_limit_burst, duration(facts.start_limit_interval_for_us)
    return f"systemd gave up after {starts} {_plural('start', starts)} in {span}"


def _plural(word: str, count: int) -> str:
    return f"{word}s" if count != 1 and word in ("day", "start") else word


def remedy(check: Check, facts: UnitFacts | None, stopped: str = "") -> str:
    """The exact command that a person would run now to put *check* right. Never empty.

    *stopped*: the unit it needs and that somebody stopped, or "".
    """
    if stopped:
        return start(stopped)
    if check.repair_unit:
        return start(check.repair_unit)
    if check.key == NETWORK:
        return REMEDY
    if not check.unit:
        return f"healthctl show {_quoted(check.key)}"
    unit = _quoted(check.unit)
    if facts is None:
        return f"systemctl restart {unit}"
    if facts.load_state in _NOT_OURS:
        # Nothing to start: systemd's own words say what is wrong with the file.
        return f"systemctl status {unit}"
    verb = "start" if facts.active_state is ActiveState.INACTIVE else "restart"
    if _limited_for_long(facts):
        # A start would be refused until the interval has passed.
        return f"systemctl reset-failed {unit} && systemctl {verb} {unit}"
    return f"systemctl {verb} {unit}"


def start(unit: str) -> str:
    """The command that starts *unit*."""
    return f"systemctl start {_quoted(unit)}"


def _limited_for_long(facts: UnitFacts) -> bool:
    limited = facts.result == "start-limit-hit" or _gave_up(facts)
    return limited and not 0 <= facts.start_limit_interval_for_us <= MINUTE_US


def _quoted(name: str) -> str:
    """*name* as one word of a shell: unit names hold backslashes, keys hold anything."""
    if re.fullmatch(r"[A-Za-z0-9_@:.,/+-]+", name):
        return name if not name.startswith("-") else f"-- {name}"
    return "'" + name.replace("'", "'\\''") + "'"


def subject(key: CheckKey) -> str:
    """What a check is about, for people: "nginx.service", "nginx.service (admin)", "disk /home"."""
    aspect, _, name = key.partition(":")
    name = re.sub(r"#[0-9a-f]{8}$", "", name)
    match aspect:
        case Aspect.HOST:
            return name.replace(":", " ", 1)
        case Aspect.CREDENTIAL:
            return f"credential {name}"
        case Aspect.REPORTED:
            return name
        case _:
            unit, _, which = name.partition("/")
            return f"{unit} ({which})" if which else unit


def phrase(key: CheckKey, reason: Reason) -> str:
    """What is wrong, after the subject: "failed", "does not answer"."""
    if reason is Reason.UNREADY and key.startswith(f"{Aspect.FUNCTION}:"):
        return "does not do its job"
    return _PHRASES.get(reason, "is not healthy")


def instant(at: int) -> str:
    """A wall instant for people in any place: "2026-11-30 14:03 UTC"."""
    return datetime.fromtimestamp(at / SECOND_US, UTC).strftime("%Y-%m-%d %H:%M UTC")
