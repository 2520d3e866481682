"""Gather what the machine knows of an incident that has just opened. Private, and decides nothing.

What a restart would wipe out is read first, and a repair waits for it, not for long. The journal,
which keeps, may take longer. No verdict ever waits for any of this.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from healthd.daemon.clock import Clock
from healthd.errors import HealthdError
from healthd.host import journal, packages, traces
from healthd.host.systemd import Systemd
from healthd.host.traces import UnitTraces
from healthd.judge.life import UP
from healthd.judge.providers import liveness_of, needs_of_story
from healthd.judge.wording import end_in_words
from healthd.model import (
    MINUTE_US,
    Dated,
    Evidence,
    IncidentId,
    Neighbour,
    Story,
    TakeEvidence,
    UnitFacts,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

#: How long a repair waits at most.
FLEETING_LIMIT_S = 2.0
JOURNAL_LIMIT_S = 5.0
BEFORE_US = 30 * MINUTE_US

#: All of one incident's evidence, and what of that the log may be sure of.
MOST_BYTES = 16 * 1024
LOG_BYTES = 6 * 1024
TEXT_BYTES = 1024
LOOK_BYTES = 4 * 1024
_NO_LINES: tuple[str, ...] = ("(the journal could not be read)",)
_NO_CHANGES: tuple[Dated, ...] = ()
#: What a number, an instant and the names of the fields take.
_ITEM_BYTES = 32


class Fleeting(Struct, frozen=True):
    """What a restart would wipe out. *reloaded_at*: when systemd last read the unit files again."""

    traces: UnitTraces = UnitTraces()
    files: tuple[Dated, ...] = ()
    memory_peak_bytes: int = 0
    killed: int = 0
    reloaded_at: int = 0


class _UnderWay:
    """Evidence being taken: what a restart would wipe out is *seen*, all of it is *kept*."""

    def __init__(self, story: str) -> None:
        self.story = story
        self.seen = asyncio.Event()
        self.kept = asyncio.Event()


class Collector:
    """*systemd* is None while the bus is lost; *stories* are the loop's own."""

    def __init__(
        self,
        systemd: Callable[[], Systemd | None],
        stories: Mapping[str, Story],
        clock: Clock,
        *,
        limit_s: float = FLEETING_LIMIT_S,
    ) -> None:
        self._limit_s = limit_s
        self._systemd = systemd
        self._stories = stories
        self._clock = clock
        self._under_way: dict[IncidentId, _UnderWay] = {}

    def expect(self, effect: TakeEvidence, story: str) -> None:
        """A repair of *story* waits from now on, and whoever asks for this evidence."""
        self._under_way[effect.incident] = _UnderWay(story)

    async def seen(self, story: str) -> None:
        """Wait until what a restart of *story*'s unit would wipe out is read, or was late."""
        for one in tuple(self._under_way.values()):
            if one.story == story:
                await one.seen.wait()

    async def kept(self, incident: IncidentId) -> None:
        """Wait until the evidence of *incident* is stored, where it is being taken."""
        if incident in self._under_way:
            await self._under_way[incident].kept.wait()

    def end(self, incident: IncidentId) -> None:
        """It is stored, or never will be."""
        one = self._under_way.pop(incident, None)
        if one is not None:
            one.seen.set()
            one.kept.set()

    async def take(self, effect: TakeEvidence, story: Story) -> Evidence:
        """What is to be known of it now; for what could not be read there is a word instead."""
        now_at = self._clock.now().wall_at
        providers = tuple(self._providers(story))
        fleeting = await _within(self._limit_s, self._fleeting(effect.unit), Fleeting())
        if effect.incident in self._under_way:
            self._under_way[effect.incident].seen.set()
        since_at = now_at - BEFORE_US
        lines, changed, starved = await asyncio.gather(
            _in_thread(partial(_lines, effect), _NO_LINES),
            _in_thread(partial(packages.changes_since, since_at), _NO_CHANGES),
            _in_thread(partial(journal.ran_out_of_memory, effect.invocation), False),
        )
        starved = starved or fleeting.killed > 0
        said = _spoken_of(story, effect)
        return bounded(
            Evidence(
                incident=effect.incident,
                taken_at=now_at,
                facts=facts_of(said, effect.invocation, fleeting, starved=starved),
                log=lines,
                look=effect.private,
                files=fleeting.files,
                changes=_changes(fleeting, changed, since_at),
                providers=providers,
            )
        )

    async def _fleeting(self, unit: str) -> Fleeting:
        systemd = self._systemd()
        if systemd is None or not unit:
            return Fleeting()
        try:
            found, reloaded_at = await asyncio.gather(systemd.traces(unit), systemd.reloaded_at())
        except HealthdError as err:
            log.warning("%s could not be read for evidence: %s", unit, err)
            return Fleeting()
        return await asyncio.to_thread(
            lambda: Fleeting(
                found,
                traces.files_of(found),
                traces.memory_peak_bytes(found),
                traces.out_of_memory_kills(found),
                reloaded_at,
            )
        )

    def _providers(self, story: Story) -> list[Neighbour]:
        """What healthd says of those that this unit needs, as it stands."""
        found = []
        for name in sorted(needs_of_story(story) - {story.name}):
            other = self._stories.get(name)
            live = liveness_of(other) if other else None
            if live is not None:
                said = live.verdict
                found.append(Neighbour(live.check.unit, said.state, said.reason, said.summary))
        return found


def _spoken_of(story: Story, effect: TakeEvidence) -> UnitFacts | None:
    """What systemd said of the unit that failed: of a timer, that is its job."""
    job = story.job
    return job if job is not None and job.id == effect.unit else story.facts


def facts_of(
    facts: UnitFacts | None, invocation: str, fleeting: Fleeting, *, starved: bool
) -> dict[str, str]:
    """How the unit was, in words; *starved*: the kernel killed in it for want of memory."""
    if facts is None:
        return {}
    found = {"state": f"{facts.active_state} ({facts.sub_state})"}
    if facts.active_state not in UP:
        found |= {"ended": end_in_words(facts), "result": facts.result}
    found |= {"restarts": str(facts.n_restarts), "invocation": invocation}
    if starved or facts.result == "oom-kill":
        found["out_of_memory"] = "yes, the kernel killed a process of it"
    if fleeting.memory_peak_bytes:
        found["memory_peak"] = in_mebibytes(fleeting.memory_peak_bytes)
    if fleeting.traces.stale or facts.need_daemon_reload:
        found["unit_files"] = "changed since systemd read them: systemctl daemon-reload"
    return found


def in_mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 20):.1f} MiB"


def _changes(fleeting: Fleeting, changed: tuple[Dated, ...], since_at: int) -> tuple[Dated, ...]:
    """What changed since then, oldest first."""
    found = [*changed, *(file for file in fleeting.files if file.at >= since_at)]
    if fleeting.reloaded_at >= since_at:
        found.append(Dated(fleeting.reloaded_at, "systemd read the unit files again"))
    return tuple(sorted(found, key=lambda one: one.at))


def bounded(evidence: Evidence) -> Evidence:
    """*evidence* in MOST_BYTES: of the log and the changes the newest are kept, the log at least
    LOG_BYTES of it.
    """
    room = _Room(MOST_BYTES - LOG_BYTES)
    facts = {
        name: word
        for name, given in evidence.facts.items()
        if room.takes(name, word := cut(given, TEXT_BYTES))
    }
    look = cut(evidence.look, LOOK_BYTES)
    look = look if look and room.takes(look) else ""
    providers = [
        replace(one, summary=cut(one.summary, TEXT_BYTES))
        for one in evidence.providers
        if room.takes(one.unit, cut(one.summary, TEXT_BYTES))
    ]
    changes = _newest([_cut(one) for one in evidence.changes], lambda one: one.what, room)
    files = [_cut(one) for one in evidence.files if room.takes(_cut(one).what)]
    room.left_bytes += LOG_BYTES
    lines = _newest([cut(line, TEXT_BYTES) for line in evidence.log], str, room)
    return replace(
        evidence,
        facts=facts,
        look=look,
        providers=tuple(providers),
        changes=changes,
        files=tuple(files),
        log=lines,
    )


class _Room:
    """How much may still be added."""

    def __init__(self, left_bytes: int) -> None:
        self.left_bytes = left_bytes

    def takes(self, *texts: str) -> bool:
        """Whether one more thing of these *texts* fits; if so it is in."""
        size_bytes = _ITEM_BYTES + sum(len(text.encode()) for text in texts)
        if size_bytes > self.left_bytes:
            return False
        self.left_bytes -= size_bytes
        return True


def _newest(items: list[T], text_of: Callable[[T], str], room: _Room) -> tuple[T, ...]:
    """The last of *items* that fit."""
    kept = []
    for item in reversed(items):
        if not room.takes(text_of(item)):
            break
        kept.append(item)
    return tuple(reversed(kept))


def cut(text: str, most_bytes: int) -> str:
    """*text* in so many bytes, and such as can be stored and sent: no NUL, no half a character."""
    whole = text.replace("\0", " ").encode("utf-8", "replace")
    return whole[:most_bytes].decode("utf-8", "ignore")


def _cut(one: Dated) -> Dated:
    return replace(one, what=cut(one.what, TEXT_BYTES))


async def _within(limit_s: float, found: Coroutine[object, object, T], otherwise: T) -> T:
    try:
        async with asyncio.timeout(limit_s):
            return await found
    except TimeoutError:
        log.warning("evidence took longer than %.0f s to read", limit_s)
        return otherwise


async def _in_thread(read: Callable[[], T], otherwise: T) -> T:
    """What *read* finds, in a thread; one that hangs is left to itself."""
    try:
        return await _within(JOURNAL_LIMIT_S, asyncio.to_thread(read), otherwise)
    except HealthdError as err:
        log.warning("%s", err)
        return otherwise


def _lines(effect: TakeEvidence) -> tuple[str, ...]:
    return journal.lines_of(effect.invocation, effect.unit) if effect.unit else ()
