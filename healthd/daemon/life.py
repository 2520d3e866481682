"""One life of the daemon: its start, its connections to the bus one after the other, its end."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from pathlib import Path

from msgspec.structs import replace

from healthd import __version__
from healthd.bus.connection import Connection
from healthd.channels import own_entries
from healthd.channels.journal import SOCKET
from healthd.daemon import fdstore, own
from healthd.daemon.app import Daemon
from healthd.daemon.clock import boot_id, boot_identity, kernel_of, soft_reboots_of
from healthd.daemon.config import Config
from healthd.daemon.readiness import Readiness
from healthd.daemon.session import Session
from healthd.daemon.vigil import Cause
from healthd.errors import HealthdError
from healthd.host import journal
from healthd.host.manager import soft_reboots
from healthd.model import IncidentId, Woken
from healthd.store.records import Loaded
from healthd.store.store import Store

log = logging.getLogger("healthd")

_RECONNECT_WITHIN_S = 5.0
_RECONNECT_PAUSE_S = 0.2
_JOURNAL_LIMIT_S = 5.0
_TEND_EVERY_S = 3600.0
_TRY_AGAIN_S = 60.0
_CATCH_UP_LIMIT_S = 2.0
_STATE = Path("/var/lib/healthd")


async def run(options: argparse.Namespace) -> None:
    """One life of the daemon, until it is asked to stop or the bus stays away."""
    # Before anything is started that could inherit them.
    kept = fdstore.taken_back()
    config = Config(options.root)
    state = Path(os.environ.get("STATE_DIRECTORY", str(options.state)))
    store = await Store.open(
        state, now_at=time.time_ns() // 1000, size_cap_bytes=config.settings.size_bytes
    )
    readiness = Readiness()
    try:
        loaded = await _numbered_on(await store.load())
        stop = _stop_signals()
        async with asyncio.TaskGroup() as group:
            # Whether this is the boot of before decides what is believed of it, so it comes first.
            connection = await _connect()
            boot = await _boot(connection, loaded.meta.boot_id, ask=config.settings.enabled)
            daemon = Daemon(store, loaded, config, group, options.journal, boot=boot)
            daemon.holds.restore(loaded.holds, kept)
            _begin(daemon, group)
            group.create_task(_keep_session(daemon, readiness, connection))
            group.create_task(_tend(daemon))
            await stop.wait()
            readiness.stopping()
            daemon.vigil.set(Cause.OURSELVES, True)
            await daemon.write_now(own_entries.stopped("asked to stop"))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CATCH_UP_LIMIT_S):
                    await daemon.loop.caught_up()
            await daemon.loop.save(stopped=True)
            raise _Stopped
    except* _Stopped:
        pass
    finally:
        await store.close()


async def _numbered_on(loaded: Loaded) -> Loaded:
    """A new store numbers its incidents above those that the journal has of the one before."""
    if loaded.meta.next_incident > 1:
        return loaded
    try:
        async with asyncio.timeout(_JOURNAL_LIMIT_S):
            last = await asyncio.to_thread(journal.last_incident)
    except (TimeoutError, HealthdError):
        return loaded
    return replace(loaded, meta=replace(loaded.meta, next_incident=IncidentId(last + 1)))


class _Stopped(Exception):
    """Ends the task group when the daemon was asked to stop."""


def _begin(daemon: Daemon, group: asyncio.TaskGroup) -> None:
    """Start the loop with what the store held."""
    gap = daemon.gap
    away_us = gap.to_at - gap.from_at if gap else 0
    for name in daemon.loop.stories:
        daemon.loop.inbox.put(name, Woken(daemon.same_boot, away_us))
    if gap is not None:
        daemon.gaps.note(gap)
    daemon.say_settings()
    daemon.say(own.STORE, own.store_look(daemon.store.trouble))
    for fault in daemon.config.faults[:1]:
        daemon.write(own_entries.settings_refused(fault, at_start=True))
    if daemon.store.trouble:
        daemon.write(own_entries.store_set_aside(daemon.store.trouble))
    judging = daemon.loop.run(
        daemon.effects.act, daemon.effects.turn_ended, daemon.vigil.look_around
    )
    group.create_task(judging)
    group.create_task(daemon.lookout.run())
    group.create_task(daemon.holds.run())
    for notice in daemon.outbox:
        # A crash between saving and delivery: the same notice again, under the same id.
        daemon.effects.deliver(notice.unit or notice.key, notice)


async def _boot(connection: Connection, before: str, *, ask: bool) -> str:
    """The identity of this boot. Where systemd is not to be asked how often it soft-rebooted, or
    does not say (253 and older do not know), that is as *before*.
    """
    count = await soft_reboots(connection) if ask else None
    if count is None:
        count = soft_reboots_of(before) if kernel_of(before) == boot_id() else 0
    return boot_identity(count)


async def _keep_session(daemon: Daemon, readiness: Readiness, connection: Connection) -> None:
    """Hold a connection; when it is lost, another within five seconds, or give up loudly."""
    fed = False
    while True:
        try:
            async with asyncio.TaskGroup() as group:
                session = Session(
                    connection,
                    daemon.clock,
                    daemon.loop.inbox,
                    daemon.loop.stories,
                    daemon.config.naming,
                    group.create_task,
                    daemon.vigil,
                )
                daemon.session = daemon.effects.session = session
                await session.begin(daemon.api, watch=daemon.config.settings.enabled)
                group.create_task(_pass(daemon, session))
                if not fed:
                    fed = True
                    await daemon.loop.caught_up()
                    _ready(daemon, readiness)
                await connection.lost.wait()
                # Before its group ends, so that nobody starts a task in it any more.
                daemon.session = daemon.effects.session = None
                raise _Lost
        except* (_Lost, HealthdError):
            if not connection.lost.is_set():
                raise
            log.warning("the system bus is lost; connecting again")
        finally:
            daemon.session = daemon.effects.session = None
            await connection.close()
        _heed_cancelling()
        connection = await _connect()


def _heed_cancelling() -> None:
    """A group that ended by an error, before Python 3.13, forgot that it was cancelled as well."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def _pass(daemon: Daemon, session: Session) -> None:
    """Once all units were asked about, what fails from then on is no old trouble of the machine."""
    await session.units.passed.wait()
    await daemon.loop.caught_up()
    daemon.loop.first_pass_over()


class _Lost(Exception):
    """Ends what stood on a connection that is gone."""


def _ready(daemon: Daemon, readiness: Readiness) -> None:
    allowed = len(daemon.loop.policy.allow_restart)
    watched = sum(daemon.desk.counts().values())
    daemon.write(own_entries.started(__version__, watched=watched, may_restart=allowed))
    daemon.say_settings()
    readiness.status(daemon.status())
    readiness.ready()
    # The loop itself feeds the watchdog: when it stands still, so does this task.
    daemon.spawn(readiness.run(daemon.beat))


async def _connect() -> Connection:
    """Raises HealthdError when no bus is there for five seconds: systemd starts us again."""
    deadline = asyncio.get_running_loop().time() + _RECONNECT_WITHIN_S
    while True:
        try:
            return await Connection.open()
        except HealthdError:
            if asyncio.get_running_loop().time() >= deadline:
                raise
            await asyncio.sleep(_RECONNECT_PAUSE_S)


async def _tend(daemon: Daemon) -> None:
    """Housekeeping of the store; the marks by which time goes on after a reboot."""
    while True:
        now_at, keep_us = daemon.clock.now().wall_at, daemon.config.settings.keep_us
        try:
            await daemon.store.tend()
            await daemon.store.prune(now_at, keep_us=keep_us)
        except HealthdError as err:
            log.error("the store could not be tended: %s", err)
        well = await daemon.loop.save()
        # A disk that is full now may have room soon, whether anything changes or not.
        await asyncio.sleep(_TEND_EVERY_S if well else _TRY_AGAIN_S)


def _stop_signals() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def main() -> None:
    """The command `healthd`."""
    parser = argparse.ArgumentParser(prog="healthd", description="The host's health daemon.")
    parser.add_argument("--version", action="version", version=f"healthd {__version__}")
    parser.add_argument("--root", type=Path, default=Path("/"), help="read the settings below it")
    parser.add_argument("--state", type=Path, default=_STATE, help="the store's folder")
    parser.add_argument("--journal", default=SOCKET, help="journald's socket")
    options = parser.parse_args()
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    fatal: list[BaseException] = []
    try:
        asyncio.run(run(options))
    except* HealthdError as errors:
        fatal = _leaves(errors)
    # Not from within: what leaves an `except*` is a group again, with its traceback.
    if fatal:
        sys.exit("\n".join(f"healthd: {err}" for err in fatal))


def _leaves(errors: BaseExceptionGroup[HealthdError]) -> list[BaseException]:
    found: list[BaseException] = []
    for err in errors.exceptions:
        found += _leaves(err) if isinstance(err, BaseExceptionGroup) else [err]
    return found
