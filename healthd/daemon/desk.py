"""What callers on the bus get: projections of the stories, and acts that become events."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from healthd.bus.filters import IncidentFilter
from healthd.bus.message import Descriptor
from healthd.daemon import holding, own
from healthd.errors import HealthdError
from healthd.judge import snapshot
from healthd.judge.incident import is_open
from healthd.judge.providers import taken_along
from healthd.judge.why import why
from healthd.model import (
    SECOND_US,
    Aspect,
    AttemptResult,
    CheckKey,
    CheckRow,
    Closing,
    Evidence,
    Gap,
    HoldRow,
    Incident,
    IncidentId,
    IncidentRow,
    RestartAsked,
    State,
    Story,
    UnitName,
    WhyRow,
)
from healthd.repairs.allowlist import fitting, may_restart

if TYPE_CHECKING:
    from healthd.daemon.app import Daemon

# The longest a pass waits for its slowest look before it answers with what is known.
_PASS_LIMIT_S = 120.0


# Whether a check is stale is seen this much later at the most.
_STALE_EVERY_US = 10 * SECOND_US


class Desk:
    """One daemon's desk; reads never wait."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._stale_from_us = 0

    # ---- reads

    def check_rows(self) -> tuple[CheckRow, ...]:
        daemon = self._daemon
        rows = snapshot.check_rows(self._stories(), daemon.clock.now(), daemon.vigil.why)
        return tuple(self._with_lists(row) for row in rows)

    def _with_lists(self, row: CheckRow) -> CheckRow:
        if row.key == own.SETTINGS:
            return replace(row, lists=self._daemon.settings_lists())
        stories = self._daemon.loop.stories
        if row.aspect != Aspect.LIVENESS or row.unit not in self._daemon.loop.policy.allow_restart:
            return row
        along = taken_along(row.unit, stories)
        return replace(row, lists={"takes_along": along}) if along else row

    def open_incidents(self) -> tuple[IncidentRow, ...]:
        return tuple(self._row(i) for i in sorted(self._daemon.loop.open_incidents(), key=_number))

    def alerts(self) -> tuple[CheckRow, ...]:
        return snapshot.alerts(self.check_rows())

    def counts(self) -> dict[str, int]:
        counted = snapshot.counts(w for s in self._stories() for w in s.watches)
        if self._daemon.vigil.why:
            return snapshot.all_grey(counted)
        for state in self._stale():
            counted[state.value] -= 1
            counted[State.GREY.value] += 1
        return counted

    def has_check(self, key: CheckKey) -> bool:
        return self._daemon.loop.story_of(key) is not None

    def why(self, key: CheckKey) -> WhyRow:
        daemon, loop = self._daemon, self._daemon.loop
        story = loop.story_of(key)
        watch = next((w for w in story.watches if w.check.key == key), None) if story else None
        if story is None or watch is None or not watch.present:
            raise HealthdError("no-such-check", f"there is no check {key}", "healthctl checks")
        return why(story, watch, replace(loop.scene(), frozen=daemon.vigil.why))

    def worst(self, counts: Mapping[str, int]) -> State:
        return snapshot.worst(counts)

    def watching(self) -> tuple[bool, str]:
        settings = self._daemon.config.settings
        if not settings.enabled:
            return False, "switched off in the settings (enabled)"
        if not settings.watch_enabled:
            return False, "watching is switched off in the settings (watch.enabled)"
        why = self._daemon.vigil.why
        return not why, why

    def sequence(self) -> int:
        return self._daemon.loop.sequence

    async def incidents(self, which: IncidentFilter) -> tuple[IncidentRow, ...]:
        if which.id is not None:
            return (await self.incident(IncidentId(which.id)),)
        found = await self._daemon.store.incidents(
            open_only=which.open_only,
            key=which.key,
            unit=which.unit,
            since_at=which.since_at,
            closing=Closing(which.ending) if which.ending else None,
            limit=which.limit,
        )
        # The open ones as they are now: a store that cannot be written does not have them.
        current = {i.id: i for i in self._daemon.loop.open_incidents() if _asked_for(i, which)}
        by_id = {i.id: i for i in found} | current
        newest = sorted(by_id, reverse=True)[: which.limit or None]
        return tuple(self._row(by_id[number]) for number in newest)

    async def incident(self, number: IncidentId) -> IncidentRow:
        found = await self._daemon.store.incident(number)
        if found is None:
            raise HealthdError(
                "no-such-incident", f"there is no incident {number}", "healthctl incidents"
            )
        return self._row(found)

    def holds(self) -> tuple[HoldRow, ...]:
        return self._daemon.holds.rows()

    def gaps(self) -> tuple[Gap, ...]:
        return self._daemon.gaps.rows()

    async def evidence(self, number: IncidentId) -> Evidence | None:
        await self._daemon.effects.evidence.kept(number)
        return await self._daemon.store.evidence(number)

    # ---- acts

    async def look(self, keys: tuple[CheckKey, ...], by: str) -> tuple[CheckRow, ...]:
        """Looks at each, and answers when all have been judged, or the slowest took too long."""
        self._refuse_when_off()
        loop = self._daemon.loop
        # All of them: also those that nobody sees yet, because they were never looked at.
        wanted = keys or tuple(w.check.key for s in self._stories() for w in s.watches)
        begun_us = self._daemon.clock.steady_us()
        for key in wanted:
            self._daemon.look_now(key)
        waiting = {key for key in wanted if not key.startswith(own.PREFIX)}
        try:
            async with asyncio.timeout(_PASS_LIMIT_S):
                while waiting := {k for k in waiting if self._looked_us(k) < begun_us}:
                    await loop.turned()
        except TimeoutError:
            pass
        # What the answer shows is saved and signalled first.
        await loop.turn_ended()
        return tuple(row for row in self.check_rows() if row.key in set(wanted))

    def restartable(self, unit: str) -> UnitName:
        resolved = self._daemon.resolve(unit)
        policy = self._daemon.loop.policy
        allowed = self._daemon.config.may_be_asked_for()
        refusal = may_restart(resolved, allowed, policy.never_restart)
        if refusal is not None:
            never = fitting(resolved, policy.never_restart)
            code = "never-restart" if never else "not-allowlisted"
            raise HealthdError(code, refusal.message, refusal.hint)
        return resolved

    async def restart(self, unit: UnitName, by: str) -> IncidentId:
        """Answers when the attempt's call has ended.

        Raises "restart-failed" when it did not work.
        """
        self._refuse_when_off()
        loop = self._daemon.loop
        if unit not in loop.stories:
            raise HealthdError("unit-missing", f"healthd does not watch {unit}")
        known = {a.id for a in loop.stories[unit].attempts}
        loop.inbox.put(unit, RestartAsked(by))
        await loop.caught_up()
        story = loop.stories[unit]
        mine = next((a for a in story.attempts if a.by == by and a.id not in known), None)
        if mine is None:
            raise HealthdError("restart-failed", f"another restart of {unit} is under way")
        incident = next((i.id for i in story.incidents if is_open(i)), IncidentId(0))
        result = await self._daemon.effects.ended(mine.id)
        if result.result is not AttemptResult.DONE:
            raise HealthdError("restart-failed", f"{unit} was not restarted: {result.detail}")
        return incident

    async def holdable(self, units: tuple[str, ...], for_us: int) -> tuple[UnitName, ...]:
        self._refuse_when_off()
        session = self._daemon.session
        if session is None:
            raise HealthdError("bus-lost", "the bus is lost")
        return await holding.resolved(units, for_us, session.systemd)

    async def hold(
        self, units: tuple[UnitName, ...], why: str, for_us: int, *, pid: int, uid: int
    ) -> Descriptor:
        """Answers once the checks of these units are grey."""
        given = await self._daemon.holds.begin(units, why, for_us, pid=pid, uid=uid)
        await self._daemon.loop.caught_up()
        return given

    async def reload(self) -> tuple[str, ...]:
        return await self._daemon.reload()

    def _stories(self) -> Collection[Story]:
        return self._daemon.loop.stories.values()

    def _looked_us(self, key: CheckKey) -> int:
        story = self._daemon.loop.story_of(key)
        watch = next((w for w in story.watches if w.check.key == key), None) if story else None
        # A check that is gone meanwhile is not waited for.
        return watch.looked_us if watch else self._daemon.clock.steady_us()

    def _row(self, incident: Incident) -> IncidentRow:
        within = self._daemon.gaps.within(incident.opened_at, incident.closed_at)
        return snapshot.incident_row(incident, within)

    def _stale(self) -> list[State]:
        """The states of the checks that are stale; asked after every change, and there are none."""
        now = self._daemon.clock.now()
        if now.steady_us < self._stale_from_us:
            return []
        stories = self._stories()
        stale = [w for s in stories for w in s.watches if snapshot.is_stale(s, w, now)]
        if not stale:
            self._stale_from_us = now.steady_us + _STALE_EVERY_US
        return [w.verdict.state for w in stale]

    def _refuse_when_off(self) -> None:
        watching, why = self.watching()
        if self._daemon.vigil.why:
            raise HealthdError("switched-off", f"healthd watches nothing now: {why}")
        if not watching and not self._daemon.config.settings.enabled:
            raise HealthdError("switched-off", f"healthd is {why}")


def _number(incident: Incident) -> int:
    return incident.id


def _asked_for(incident: Incident, which: IncidentFilter) -> bool:
    """Whether an open incident is among those that a caller asked for."""
    return (
        not which.ending and which.key in ("", incident.key) and which.unit in ("", incident.unit)
    )
