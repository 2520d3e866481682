"""Restart a unit as a job of PID 1 and wait for it. Never the verb `start` or `reset-failed`.

A call that may have been carried out is never made again: one attempt is one restart.
"""

from __future__ import annotations

import asyncio
from collections import deque

from healthd.bus.connection import BusError
from healthd.errors import HealthdError
from healthd.host.manager import ABSENT, INTERRUPTED, Manager
from healthd.host.unit_path import MANAGER, ROOT
from healthd.model import JobRemoved

# polkit may take its time to answer PID 1.
QUEUE_LIMIT_S = 30.0
JOBS_REMEMBERED = 1024
# A job that would undo ours (a stop that a person asked for meanwhile) goes first; "replace" would
# cancel it. Source: systemctl(1), --job-mode=.
MODE = "fail"


class Jobs:
    """The jobs that we asked for, and those that ended lately."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._waiting: dict[int, asyncio.Future[str]] = {}
        self._ended: deque[JobRemoved] = deque(maxlen=JOBS_REMEMBERED)
        self._lost = False

    def feed(self, job: JobRemoved) -> None:
        """A job ended, ours or another's."""
        self._ended.append(job)
        end = self._waiting.get(job.id)
        if end is not None and not end.done():
            end.set_result(job.result)

    def lose(self) -> None:
        """No end will be heard of any more."""
        self._lost = True
        for end in self._waiting.values():
            if not end.done():
                end.set_exception(lost())

    async def restart(self, unit: str, *, limit_s: float) -> str:
        """See `Systemd.restart`; JobRemoved must be subscribed to."""
        number = await self._queue(unit)
        try:
            async with asyncio.timeout(limit_s):
                return await self._end_of(number)
        except TimeoutError as err:
            raise HealthdError(
                "job-slow", f"the restart of {unit} did not end within {limit_s:g} s"
            ) from err

    async def _queue(self, unit: str) -> int:
        try:
            (path,) = await self._ask(unit)
        except BusError as err:
            # With no owner of the name nobody was asked, so it may be asked again.
            if err.name not in ABSENT:
                raise restart_error(unit, err) from err
            await self._manager.settle()
            (path,) = await self._ask(unit)
        return int(str(path).rpartition("/")[2])

    async def _ask(self, unit: str) -> tuple[object, ...]:
        try:
            return await self._manager.ask_once(
                ROOT, MANAGER, "RestartUnit", "ss", (unit, MODE), limit_s=QUEUE_LIMIT_S
            )
        except HealthdError as err:
            if err.code in ("bus-slow", "bus-lost"):
                raise unknown(unit) from err
            raise

    async def _end_of(self, number: int) -> str:
        # It may have ended before the answer that named it was read.
        for job in self._ended:
            if job.id == number:
                return job.result
        if self._lost:
            raise lost()
        end: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[number] = end
        try:
            return await end
        finally:
            del self._waiting[number]


def unknown(unit: str) -> HealthdError:
    return HealthdError("restart-unknown", f"a restart of {unit} may have been queued")


def lost() -> HealthdError:
    return HealthdError("bus-lost", "the bus was lost during the restart")


def restart_error(unit: str, err: BusError) -> HealthdError:
    """What systemd's refusal to queue the restart means."""
    if err.name in INTERRUPTED:
        return unknown(unit)
    match err.name.rpartition(".")[2]:
        case "AccessDenied" | "InteractiveAuthorizationRequired":
            return HealthdError("refused", f"polkit refuses to restart {unit}")
        case "TransactionIsDestructive":
            return HealthdError("overtaken", f"a job that goes first is queued: {err.message}")
        case "NoSuchUnit":
            return HealthdError("unit-missing", f"{unit} does not exist")
        case "UnitMasked" if "polkit.service" in err.message:
            return HealthdError("refused", f"polkit cannot be asked: {err.message}")
        case "UnitMasked":
            return HealthdError("unit-masked", f"{unit} is masked")
        case _:
            return HealthdError("restart-failed", f"{unit} was not restarted: {err.message}")
