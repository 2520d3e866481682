"""Carry out what the judge decided, once it is saved: publish, write, repair, tell, look.

Nothing here decides. What comes back goes into the inbox as an event.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping
from typing import assert_never

from healthd.bus.api import Api
from healthd.channels.base import Entry, EntryWriter
from healthd.channels.entries import entries
from healthd.channels.kinds import CHANNELS
from healthd.daemon.clock import Clock
from healthd.daemon.evidence import Collector
from healthd.daemon.inbox import Inbox
from healthd.daemon.lookout import Lookout
from healthd.daemon.saving import Step
from healthd.daemon.session import Session
from healthd.errors import HealthdError
from healthd.host.systemd import Systemd
from healthd.judge.repairing import HEALTHD
from healthd.judge.snapshot import check_row, incident_row
from healthd.model import (
    AttemptId,
    AttemptResult,
    Delivered,
    Effect,
    IncidentId,
    IncidentStep,
    LookAt,
    Notice,
    Policy,
    Publish,
    ReadUnit,
    Removed,
    Repair,
    RepairFinished,
    Story,
    TakeEvidence,
    Tell,
    Withdraw,
)
from healthd.repairs.kinds import REPAIRERS
from healthd.repairs.restart_unit import RepairResult
from healthd.store.records import Batch
from healthd.store.store import Store

log = logging.getLogger(__name__)

Spawn = Callable[[Coroutine[object, object, None]], object]

_RETRY_DELIVERY_S = 30.0
_ATTEMPTS_KEPT = 64


class Effects:
    """Owns nothing but the way out. *session* is None while the bus is lost."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        lookout: Lookout,
        api: Api,
        store: Store,
        writer: EntryWriter,
        clock: Clock,
        policy: Callable[[str], Policy],
        held: Callable[[str], str],
        frozen: Callable[[], str],
        stories: Mapping[str, Story],
        spawn: Spawn,
        broke: Callable[[str], None],
    ) -> None:
        self.session: Session | None = None
        self.journal = writer
        self._inbox = inbox
        self._api = api
        self._lookout = lookout
        self._store = store
        self._clock = clock
        self._policy = policy
        self._held = held
        self._frozen = frozen
        self._spawn = spawn
        self._broke = broke
        self.evidence = Collector(self._systemd, stories, clock)
        self._newest: dict[str, Notice] = {}
        self._attempts: OrderedDict[AttemptId, asyncio.Future[RepairResult]] = OrderedDict()

    def act(self, step: Step, saved: bool) -> None:
        """Start all effects of one step; without *saved* the store does not know of them."""
        effects = tuple(effect for effect, _ in step.effects)
        written = entries(step.before, step.after, effects)
        if written:
            self._spawn(self._write(written))
        for effect, sequence in step.effects:
            self._start(step, effect, sequence, saved)

    def turn_ended(self) -> None:
        """After all that one turn of the loop had to say."""
        self._api.flush()

    def deliver(self, story: str, notice: Notice) -> None:
        """Deliver a notice on every channel; used anew for what lay in the outbox at our start."""
        self._newest[notice.id] = notice
        for channel in CHANNELS:
            self._spawn(self._deliver(story, notice, channel))

    def _start(self, step: Step, effect: Effect, sequence: int, saved: bool) -> None:
        match effect:
            case Publish(watch=watch, old=old):
                row = check_row(step.after, watch, self._clock.now())
                old_state = old.state if old else None
                self._api.check_changed(row, old_state, watch.verdict.state, sequence)
            case Removed(key=key):
                self._lookout.set(key, 0)
                self._api.check_removed(key, sequence)
            case IncidentStep(change=change, incident=incident):
                self._api.incident(change, incident_row(incident), sequence)
            case Tell(notice=notice):
                self._api.notice(notice, sequence)
                self.deliver(step.name, notice)
            case Repair() if saved:
                self._spawn(self._repair(step.name, effect))
            case Repair():
                # A restart that nobody would remember might come twice.
                said = "the store could not record a restart, so none was made"
                self._end(step.name, effect, RepairResult(AttemptResult.FINAL, said))
            case TakeEvidence():
                self.evidence.expect(effect, step.name)
                self._spawn(self._take(effect, step.after))
            case LookAt(key=key, at_us=at_us):
                self._lookout.set(key, at_us)
            case ReadUnit(unit=unit):
                if self.session is not None:
                    self.session.units.read_soon(unit)
            case Withdraw(incident=incident):
                self._withdraw(incident)
            case _:
                assert_never(effect)

    def _withdraw(self, incident: IncidentId) -> None:
        """What no channel has shown yet is not shown any more; the journal keeps what it has."""
        for notice in [n for n in self._newest.values() if n.incident == incident]:
            del self._newest[notice.id]
            self._spawn(self._keep(Batch(outbox_drop=(notice.id,))))

    async def _write(self, written: tuple[Entry, ...]) -> None:
        for entry in written:
            try:
                await self.journal.send(entry)
            except HealthdError as err:
                log.error("the journal took no entry: %s", err)

    async def _deliver(self, story: str, notice: Notice, channel: str) -> None:
        while self._newest.get(notice.id) is notice:
            try:
                await CHANNELS[channel](notice, self)
                break
            except HealthdError as err:
                log.warning("notice %s is not delivered by %s yet: %s", notice.id, channel, err)
                await asyncio.sleep(_RETRY_DELIVERY_S)
        else:
            # A newer edition has taken its place, under the same id.
            return
        last = self._newest.get(notice.id) is notice
        if last:
            del self._newest[notice.id]
        # Dropped from the outbox with what follows from the delivery, in one transaction: else a
        # crash in between would leave an owner who was told and a healthd that does not know it.
        drop = notice.id if last else ""
        self._inbox.put(story, Delivered(notice.incident, notice.edition, channel, drop))

    async def _repair(self, story: str, effect: Repair) -> None:
        attempt = effect.attempt
        try:
            await self.evidence.seen(story)
            result = await self._restart(story, effect)
        # One of the places where everything is caught: an attempt must always end.
        except Exception:
            log.exception("restarting %s broke", attempt.unit)
            self._broke(f"restarting {attempt.unit}")
            result = RepairResult(AttemptResult.FAILED, "a fault of healthd, see its journal")
        self._end(story, effect, result)

    def _end(self, story: str, effect: Repair, result: RepairResult) -> None:
        attempt = effect.attempt.id
        finished = RepairFinished(attempt, result.result, result.detail, result.along)
        self._inbox.put(story, finished)
        self._attempt(attempt).set_result(result)

    async def ended(self, attempt: AttemptId) -> RepairResult:
        """Wait until the call of an attempt has ended."""
        return await asyncio.shield(self._attempt(attempt))

    def _attempt(self, attempt: AttemptId) -> asyncio.Future[RepairResult]:
        ended = self._attempts.get(attempt)
        if ended is None:
            while len(self._attempts) >= _ATTEMPTS_KEPT:
                self._attempts.popitem(last=False)
            ended = self._attempts[attempt] = asyncio.get_running_loop().create_future()
        return ended

    async def _restart(self, story: str, effect: Repair) -> RepairResult:
        if self.session is None:
            return RepairResult(AttemptResult.FAILED, "the bus is lost")
        attempt = effect.attempt
        policy, systemd = self._policy(attempt.by), self.session.systemd

        def held(units: tuple[str, ...]) -> str:
            # A person who restarts what is held knows why; it may be the holder.
            if attempt.by != HEALTHD:
                return ""
            return next((f"{u} is {w}" for u in (story, *units) if (w := self._held(u))), "")

        repair = REPAIRERS[attempt.repairer]
        return await repair(attempt.unit, policy, systemd, effect.judged, held)

    async def _take(self, effect: TakeEvidence, story: Story) -> None:
        try:
            await self._keep(Batch(evidence=(await self.evidence.take(effect, story),)))
        # One of the places where everything is caught: what could not be seen stops nobody.
        except Exception:
            log.exception("the evidence of incident %d broke", effect.incident)
            self._broke(f"taking the evidence of {story.name}")
        finally:
            self.evidence.end(effect.incident)

    def _systemd(self) -> Systemd | None:
        return self.session.systemd if self.session is not None else None

    async def _keep(self, batch: Batch) -> None:
        try:
            await self._store.commit(batch)
        except HealthdError as err:
            log.error("not stored: %s", err)
