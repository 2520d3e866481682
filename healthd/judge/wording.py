"""The sentences a person reads: how a unit ended, how long, what to run, what a notice says.

Pure: no clock, no I/O. Says only what is public: never a word that came from a check itself.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import pairwise
from typing import assert_never

from healthd.judge.exits import exit_in_words, signal_name
from healthd.judge.network import NETWORK, REMEDY
from healthd.model import (
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    ActiveState,
    Aspect,
    Attempt,
    AttemptResult,
    Check,
    CheckKey,
    Closing,
    Edition,
    Incident,
    LoadState,
    Now,
    PastIncident,
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

_ENDINGS = {
    Closing.SELF_HEALED: "self-healed",
    Closing.USER_FIXED: "fixed by hand",
    Closing.GONE: "gone",
}

_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_TITLE_CHARS = 60
# Who waits on a provider, by name.
_NAMED = 40
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


def notice(
    incident: Incident,
    edition: Edition,
    now: Now,
    *,
    past: tuple[PastIncident, ...] = (),
    waiting: tuple[str, ...] = (),
) -> tuple[str, str]:
    """Title (at most 60 characters) and body (a sentence a line) of one edition.

    *past*: closed incidents of the same story, oldest first; *waiting*: subjects of the checks
    that wait on this one. All of it may be read by anybody.
    """
    match edition:
        case Edition.CLEARED:
            return _cleared(incident, now)
        case Edition.ENGAGED | Edition.AGAIN | Edition.FOUND | Edition.DIGEST:
            lines = (
                _broken(incident),
                _tried(incident),
                _recurrence(incident, past),
                _waiting(waiting),
                f"To fix it: {incident.remedy}" if incident.remedy else "",
            )
            return _title(incident, edition), "\n".join(line for line in lines if line)
        case _:
            assert_never(edition)


def _title(incident: Incident, edition: Edition) -> str:
    said = phrase(incident.key, incident.reason)
    before = ""
    if edition is Edition.AGAIN:
        # Once told to be well, a further edition says that it is not over, not that it is new.
        flaps = any(t.edition is Edition.CLEARED for t in incident.tellings)
        said, before = ("fails on and off", "") if flaps else (said, "Still: ")
    name = subject(incident.key)
    longer = f"{before}{name} {said}{_details(incident)}"
    if len(longer) <= _TITLE_CHARS:
        return longer
    return before + _fitted(name, said, _TITLE_CHARS - len(before))


def _fitted(name: str, said: str, chars: int) -> str:
    """Name and phrase in *chars*; a long name keeps its beginning and its end."""
    room = chars - len(said) - 1
    if len(name) > room:
        tail = room // 2
        name = f"{name[: room - tail - 1]}…{name[-tail:]}"
    return f"{name} {said}"


def _broken(incident: Incident) -> str:
    what = f"{subject(incident.key)} {phrase(incident.key, incident.reason)}"
    return f"{what}{_details(incident)}, since {instant(incident.opened_at)}."


def _details(incident: Incident) -> str:
    """The summary, to follow the phrase."""
    return f": {incident.summary}" if incident.summary else ""


def _tried(incident: Incident) -> str:
    made = [_attempt(a, incident) for a in incident.attempts]
    why = incident.why_engaged
    if not made:
        return f"Nothing was tried: {why}." if why else "Nothing was tried."
    tried = f"Tried: {', '.join(made)} UTC."
    return f"{tried} Given up: {why}." if why else tried


def _attempt(attempt: Attempt, incident: Incident) -> str:
    clock = datetime.fromtimestamp(attempt.at / SECOND_US, UTC).strftime("%H:%M")
    what = "restart" if attempt.repairer == "restart-unit" else attempt.repairer
    if attempt.unit not in ("", incident.unit):
        what = f"{what} of {attempt.unit}"
    by = "" if attempt.by == "healthd" else f" by {attempt.by}"
    match attempt.result:
        case AttemptResult.UNKNOWN:
            result = "perhaps a "
        case AttemptResult.OVERTAKEN:
            return f"{what}{by} (overtaken) at {clock}"
        case AttemptResult.FAILED | AttemptResult.FINAL:
            # What the owner does next, not what systemd called it: that is in the journal.
            return f"{what}{by} (failed) at {clock}"
        case AttemptResult.PENDING | AttemptResult.DONE:
            result = ""
        case _:
            assert_never(attempt.result)
    return f"{result}{what}{by} at {clock}"


def _recurrence(incident: Incident, past: tuple[PastIncident, ...]) -> str:
    if not incident.recent:
        return ""
    times = f"{_ordinal(incident.recent + 1)} time in 7 days"
    last = next((p.closing for p in reversed(past) if p.key == incident.key), None)
    if last is None and incident.recent_healed == incident.recent:
        last = Closing.SELF_HEALED
    return f"{times}, last ended {_ENDINGS[last]}." if last in _ENDINGS else f"{times}."


def _waiting(waiting: tuple[str, ...]) -> str:
    if not waiting:
        return ""
    count = f"{len(waiting)} others wait" if len(waiting) > 1 else "1 other waits"
    left = len(waiting) - _NAMED
    more = f" and {left} more" if left > 0 else ""
    return f"{count} on it: {', '.join(waiting[:_NAMED])}{more}."


def _cleared(incident: Incident, now: Now) -> tuple[str, str]:
    name, ended_at = subject(incident.key), incident.closed_at or now.wall_at
    title = _fitted(name, "is working again", _TITLE_CHARS)
    lasted = duration(ended_at - incident.opened_at)
    body = f"{name} is working again since {instant(ended_at)}, after {lasted}."
    if incident.degraded_since_us:
        body = f"{name} works again, though not yet well, after {lasted}."
    said = f"{phrase(incident.key, incident.reason)}{_details(incident)}"
    return title, f"{body}\nBefore: {name} {said}."


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{_ORDINALS.get(number % 10, 'th')}"
