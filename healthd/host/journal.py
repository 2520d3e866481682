"""What the journal keeps of units: how they ended, their automatic restarts, their last lines.

Blocking, for a thread. PID 1's own word is asked for with `_PID=1`: any program can write an entry
that looks like it. Without the group systemd-journal everything is empty, without an error; a
journal that is broken raises HealthdError "journal-unreadable".
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec
from systemd import journal

from healthd.errors import HealthdError
from healthd.model import MINUTE_US, SECOND_US, JobStop, UnitName

# systemd's message ids; sd-messages.h.
STOPPING = "de5b426a63be47a7b6ac3eaac82e2f6f"
STOPPED = "9d1aaa27d60140bd96365438aad20286"
DEACTIVATED = "7ad2d189f7e94e70a38c781354912448"
FAILED = "d9b373ed55a64feb8242e02dbe79a49c"
RESTART_SCHEDULED = "5eb03494b6584870a536b337290809b3"
OUT_OF_MEMORY = "fe6faa94e7774663a0da52717891d8ef"

# Our own; healthd/channels/entries.py.
INCIDENT_OPENED = "78fa8d4bd60d49d9871e2c85a101e185"
INCIDENT_FOUND = "ebd5f343daae4506b6a6fbbc0d9994ad"
# Those of one turn may be written in another order than they were numbered in.
_LATELY = 32

INVOCATION = re.compile(r"[0-9a-f]{32}\Z")
TIME = "__REALTIME_TIMESTAMP"
# What a provider's end takes along begins to end right after it.
JUST_BEFORE_US = 2 * SECOND_US
# A provider is stopped after those who need it, and may take its time.
LONGEST_STOP_US = 10 * MINUTE_US
MOST_ENTRIES = 1000
LINE_BYTES = 1024
ALL_BYTES = 16 * 1024

Entry = Mapping[str, object]


def how_it_ended(
    invocation: str, providers: Iterable[str] = (), bound_to: Collection[str] = ()
) -> JobStop | None:
    """What PID 1 wrote of the end of *invocation*; None where it wrote nothing, or it is gone.

    *providers*: the units that may have taken it along; *bound_to*: those that do so by dying.
    """
    if not INVOCATION.match(invocation):
        return None
    with _reader() as reader:
        reader.add_match(_PID="1")
        reader.add_match(INVOCATION_ID=invocation)
        for kind in (STOPPING, STOPPED, DEACTIVATED, FAILED, RESTART_SCHEDULED):
            reader.add_match(MESSAGE_ID=kind)
        said = stop_of(invocation, _entries(reader))
    others = tuple(providers)
    if said is None or not said.by_job or said.ended_before or not others:
        return said
    return msgspec.structs.replace(said, along=_provider_that_took(said, others, bound_to))


def _provider_that_took(
    said: JobStop, providers: tuple[str, ...], bound_to: Collection[str]
) -> UnitName:
    with _reader() as reader:
        reader.add_match(_PID="1")
        for unit in providers:
            reader.add_match(UNIT=unit)
        for kind in (STOPPED, DEACTIVATED, FAILED):
            reader.add_match(MESSAGE_ID=kind)
        reader.seek_realtime(((said.begun_at or said.at) - JUST_BEFORE_US) / SECOND_US)
        return provider_of(said, _entries(reader), bound_to)


def provider_of(said: JobStop, entries: Iterable[Entry], bound_to: Collection[str]) -> UnitName:
    """Which provider took along what ended as *said*, by PID 1's *entries* of providers, oldest
    first; "" = none. It had an older stop job that was not over yet; or it died just before, and
    the unit is bound to it, or was restarted with it. A mere stop of what only requires what died
    just before is somebody's own.
    """
    restarted = said.job_type == "restart"
    begun_at = said.begun_at or said.at
    for entry in entries:
        at, unit = _time(entry), UnitName(_text(entry.get("UNIT")))
        if at > said.at + LONGEST_STOP_US:
            break
        if entry.get("MESSAGE_ID") == STOPPED:
            older = 0 < _number(entry.get("JOB_ID")) < said.job
            if older and at >= said.at and _took_down(entry):
                return unit
        elif (restarted or unit in bound_to) and begun_at - JUST_BEFORE_US <= at <= begun_at:
            return unit
    return UnitName("")


def stop_of(invocation: str, entries: Iterable[Entry]) -> JobStop | None:
    """The end that *entries* tell of, oldest first, all of *invocation* and written by PID 1.

    An entry "stopped" alone proves a job. Where the unit was down before anything said "stopping",
    it had ended by itself, and the job only called off the automatic restart.
    """
    stopping = down = restarted = False
    at = begun_at = 0
    for entry in entries:
        kind = entry.get("MESSAGE_ID")
        stopping = stopping or kind == STOPPING
        begun_at = begun_at or (_time(entry) if stopping else 0)
        restarted = restarted or kind == RESTART_SCHEDULED
        if kind in (DEACTIVATED, FAILED) and not stopping and not down:
            down, at = True, _time(entry)
        # systemd 252 writes "stopped" at each automatic restart too.
        if kind == STOPPED and not restarted and _took_down(entry):
            return JobStop(
                invocation,
                by_job=True,
                ended_before=down,
                job=_number(entry.get("JOB_ID")),
                job_type=_text(entry.get("JOB_TYPE")),
                job_result=_text(entry.get("JOB_RESULT")),
                at=_time(entry),
                ended_at=at,
                begun_at=begun_at,
            )
    return JobStop(invocation, by_itself=True, at=at) if down else None


def crash_times(unit: str, since_us_ago: int) -> tuple[int, ...]:
    """When PID 1 restarted *unit* in the last *since_us_ago*; wall clock, oldest first."""
    with _reader() as reader:
        reader.add_match(_PID="1")
        reader.add_match(UNIT=unit)
        reader.add_match(MESSAGE_ID=RESTART_SCHEDULED)
        reader.seek_realtime(time.time() - since_us_ago / SECOND_US)
        return tuple(_time(entry) for entry in _entries(reader))


def last_incident() -> int:
    """The highest number of an incident that healthd wrote of lately, 0 = none.

    Whoever deletes the store keeps the journal: its numbers must not mean two incidents each.
    """
    with _reader() as reader:
        reader.add_match(_SYSTEMD_UNIT="healthd.service")
        for kind in (INCIDENT_OPENED, INCIDENT_FOUND):
            reader.add_match(MESSAGE_ID=kind)
        reader.seek_tail()
        numbers = (_number(reader.get_previous().get("HEALTHD_INCIDENT")) for _ in range(_LATELY))
        return max(numbers)


def entries_of(unit: str, kinds: Iterable[str], since_at: int) -> tuple[Entry, ...]:
    """PID 1's entries of these kinds about *unit*, oldest first, since a wall instant."""
    with _reader() as reader:
        reader.add_match(_PID="1")
        reader.add_match(UNIT=unit)
        for kind in kinds:
            reader.add_match(MESSAGE_ID=kind)
        reader.seek_realtime(since_at / SECOND_US)
        return tuple(_entries(reader))


def said(entry: Entry, field: str) -> str:
    """What a field of *entry* holds, "" = nothing."""
    return _text(entry.get(field))


def written_at(entry: Entry) -> int:
    """The wall instant of *entry*."""
    return _time(entry)


def ran_out_of_memory(invocation: str) -> bool:
    """Whether PID 1 wrote that the kernel killed a process of *invocation* for want of memory."""
    if not INVOCATION.match(invocation):
        return False
    with _reader() as reader:
        reader.add_match(_PID="1")
        reader.add_match(INVOCATION_ID=invocation)
        reader.add_match(MESSAGE_ID=OUT_OF_MEMORY)
        return next(_entries(reader), None) is not None


def lines_of(invocation: str, unit: str, limit: int = 20) -> tuple[str, ...]:
    """The last lines of *invocation* and what PID 1 said of it, oldest first; private.

    Without an invocation those of *unit*. At most ALL_BYTES, no control characters.
    """
    with _reader() as reader:
        if INVOCATION.match(invocation):
            own, of_pid_1 = {"_SYSTEMD_INVOCATION_ID": invocation}, {"INVOCATION_ID": invocation}
        else:
            own, of_pid_1 = {"_SYSTEMD_UNIT": unit}, {"UNIT": unit}
        reader.add_match(**own)
        reader.add_disjunction()
        reader.add_match(_PID="1", **of_pid_1)
        reader.seek_tail()
        lines: list[str] = []
        left_bytes = ALL_BYTES
        while len(lines) < limit and (entry := reader.get_previous()):
            lines.append(line_of(entry))
            left_bytes -= len(lines[-1].encode())
            if left_bytes < 0:
                lines.pop()
                break
        return tuple(reversed(lines))


def line_of(entry: Entry) -> str:
    """One entry as journalctl shows it, made harmless for a terminal."""
    at = datetime.fromtimestamp(_time(entry) / SECOND_US, UTC).astimezone()
    who = _text(entry.get("SYSLOG_IDENTIFIER")) or _text(entry.get("_COMM")) or "?"
    pid = _text(entry.get("_PID"))
    said = f"{at:%Y-%m-%d %H:%M:%S} {who}[{pid}]: {_text(entry.get('MESSAGE'))}"
    plain = "".join(sign if sign.isprintable() else " " for sign in said)
    return plain.encode()[:LINE_BYTES].decode("utf-8", "ignore")


@contextmanager
def _reader() -> Iterator[journal.Reader]:
    try:
        # The library's own converters would make a datetime and a UUID of these.
        with journal.Reader(converters={TIME: int, "MESSAGE_ID": _text}) as reader:
            yield reader
    except OSError as err:
        raise HealthdError("journal-unreadable", f"the journal cannot be read: {err}") from err


def _entries(reader: journal.Reader) -> Iterator[Entry]:
    for _ in range(MOST_ENTRIES):
        entry = reader.get_next()
        if not entry:
            return
        yield entry


def _took_down(entry: Entry) -> bool:
    return entry.get("JOB_TYPE") in ("stop", "restart") and entry.get("JOB_RESULT") == "done"


def _time(entry: Entry) -> int:
    return _number(entry.get(TIME))


def _number(value: object) -> int:
    text = str(value)
    return int(text) if text.isdecimal() else 0


def _text(value: object) -> str:
    """A field's text; one that stands several times is a list, one that is not UTF-8 is bytes."""
    if isinstance(value, list):
        return " ".join(_text(one) for one in value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)
