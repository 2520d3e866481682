"""Build the rooms, connect them, own every task. The one place where they meet."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from healthd import __version__
from healthd.bus.api import Api
from healthd.bus.connection import Connection
from healthd.channels import entries
from healthd.channels.base import Entry
from healthd.channels.journal import SOCKET, Journal
from healthd.channels.kinds import CHANNELS
from healthd.checks.cgroup import Enclosures, delegated_home
from healthd.checks.probe import Prober
from healthd.checks.runner import Runner
from healthd.checks.tools import Toolbox
from healthd.daemon import own
from healthd.daemon.clock import Clock, boot_id
from healthd.daemon.config import Config
from healthd.daemon.desk import Desk
from healthd.daemon.effects import Effects
from healthd.daemon.lookout import Lookout
from healthd.daemon.looks import Looks
from healthd.daemon.loop import Loop
from healthd.daemon.readiness import Readiness, in_words
from healthd.daemon.saving import Saver
from healthd.daemon.session import Session
from healthd.errors import HealthdError
from healthd.host.polkit import authorize
from healthd.model import Aspect, CheckKey, Declared, Look, Looked, Permission, UnitName, Woken
from healthd.settings.faults import Faults
from healthd.store.records import Loaded
from healthd.store.store import Store

log = logging.getLogger("healthd")

_RECONNECT_WITHIN_S = 5.0
_RECONNECT_PAUSE_S = 0.2
_TEND_EVERY_S = 3600.0
_TRY_AGAIN_S = 60.0
_CATCH_UP_LIMIT_S = 2.0
# While the machine stops nothing is looked at; whether it still does is asked this much later.
_THAW_US = 5_000_000
_STATE = Path("/var/lib/healthd")


class Daemon:
    """What lives as long as the process. *group* owns all of its tasks."""

    def __init__(
        self, store: Store, loaded: Loaded, config: Config, group: asyncio.TaskGroup, socket: str
    ) -> None:
        boot, meta = boot_id(), loaded.meta
        self.same_boot = meta.boot_id == boot
        self.clock = Clock.carried_on(
            same_boot=self.same_boot,
            base_us=meta.steady_base_us,
            steady_mark_us=meta.steady_mark_us,
            wall_mark_at=meta.wall_mark_at,
        )
        meta = replace(meta, boot_id=boot, steady_base_us=self.clock.base_us)
        self.config, self.store, self.outbox = config, store, loaded.outbox
        self.session: Session | None = None
        self._group = group
        self.loop = Loop(
            Saver(store, self.clock, meta, self._store_trouble),
            self.clock,
            config.policy(),
            first_start=not meta.first_start_done,
        )
        if config.settings.enabled:
            self.loop.restore(loaded.stories)
        self.desk = Desk(self)
        self.api = Api(
            self.desk,
            self._allowed,
            version=__version__,
            spawn=self.spawn,
            steady_us=self.clock.steady_us,
        )
        self.lookout = Lookout(self.clock, self._due)
        self.effects = Effects(
            inbox=self.loop.inbox,
            lookout=self.lookout,
            api=self.api,
            store=store,
            writer=Journal(socket),
            clock=self.clock,
            policy=lambda: self.loop.policy,
            spawn=self.spawn,
        )
        box = Toolbox(
            Prober(),
            Runner(Enclosures(delegated_home()).make),
            self._listens,
            lambda: self.clock.now().wall_at,
        )
        self.looks = Looks(
            self.loop.inbox, self.loop.story_of, box, lambda: self.loop.policy.network, self.spawn
        )
        self.looks.declared = config.declared()

    def spawn(self, work: Coroutine[object, object, None]) -> None:
        self._group.create_task(work)

    def write(self, entry: Entry) -> None:
        """One journal entry of the daemon's own."""
        self.spawn(self.write_now(entry))

    async def write_now(self, entry: Entry) -> None:
        """The same, and wait for it; a journal that takes nothing stops nobody."""
        try:
            await self.effects.journal.send(entry)
        except HealthdError as err:
            log.error("%s", err)

    def look_now(self, key: CheckKey) -> None:
        """A person asked for a look."""
        story = self.loop.story_of(key)
        if story is None:
            return
        if key in self.looks.declared:
            self.looks.begin(key, asked=True)
        elif self.session is not None and key.startswith(f"{Aspect.LIVENESS}:"):
            self.session.units.read_soon(story.name, asked=True)

    def resolve(self, unit: str) -> UnitName:
        """The Id behind a name that was used before, else the name itself."""
        aliases = self.session.units.aliases if self.session else {}
        return aliases.get(unit, UnitName(unit))

    async def reload(self) -> tuple[str, ...]:
        """The settings of the files as they are now; raises Faults and changes nothing else."""
        try:
            self.config.reload(self.loop.stories)
        except Faults as err:
            self.write(entries.settings_refused(str(err.faults[0]), at_start=False))
            self.say_settings()
            raise
        self.loop.policy = self.config.policy()
        self.looks.declared = self.config.declared()
        if self.session is not None:
            await self.session.units.settings_changed()
        self.say_settings()
        self.loop.shown_anew()
        self.api.settings_changed()
        self.write(entries.settings_read(f"declared checks: {len(self.looks.declared)}"))
        return self.troubles()

    def troubles(self) -> tuple[str, ...]:
        """What in the settings will not work as it stands."""
        aliases = self.session.units.aliases if self.session else {}
        listed = self.config.settings.allow_restart
        return (
            *(
                ("`enabled` is taken up by: systemctl restart healthd",)
                if self.config.switch_waits
                else ()
            ),
            *(
                f"{n} is another name of {aliases[n]}: list that one"
                for n in listed
                if n in aliases
            ),
            *(
                f"{n} may be restarted after: systemctl reload healthd"
                for n in self.config.unrendered()
            ),
        )

    def settings_lists(self) -> dict[str, tuple[str, ...]]:
        """What the settings come to, for readers: names only, nothing private."""
        return {
            "may_restart": tuple(sorted(self.loop.policy.allow_restart)),
            "channels": tuple(CHANNELS),
            "ignored": self.config.settings.ignore,
            "faults": self.config.faults,
        }

    def say_settings(self) -> None:
        self.say(own.SETTINGS, own.settings_look(self.config.faults, self.troubles()))

    def say(self, key: CheckKey, look: Look) -> None:
        """A look at one of healthd's own parts."""
        self.loop.inbox.put(key, Declared((own.own_check(key),)))
        self.loop.inbox.put(key, Looked(key, look))

    def _store_trouble(self, trouble: str) -> None:
        self.say(own.STORE, own.store_look(trouble or self.store.trouble))

    def status(self) -> str:
        return in_words(self.desk.counts(), len(self.loop.open_incidents()))

    def _due(self, key: CheckKey) -> None:
        story = self.loop.story_of(key)
        if story is None:
            return
        if self.session is not None and self.session.units.frozen:
            self.lookout.set(key, self.clock.steady_us() + _THAW_US)
        elif key in self.looks.declared:
            self.looks.begin(key)
        elif self.session is not None and key.startswith(f"{Aspect.LIVENESS}:"):
            self.session.units.read_soon(story.name, due=True)

    async def _allowed(
        self, sender: str, action: str, details: Mapping[str, str], interactive: bool
    ) -> Permission:
        if self.session is None:
            return Permission.REFUSED
        connection = self.session.connection
        return await authorize(connection, sender, action, details, interactive)

    async def _listens(self, unit: UnitName) -> Sequence[tuple[str, str]]:
        if self.session is None:
            raise HealthdError("bus-lost", "the bus is lost")
        return await self.session.systemd.listens(unit)


async def run(options: argparse.Namespace) -> None:
    """One life of the daemon, until it is asked to stop or the bus stays away."""
    config = Config(options.root)
    state = Path(os.environ.get("STATE_DIRECTORY", str(options.state)))
    store = await Store.open(
        state, now_at=time.time_ns() // 1000, size_cap_bytes=config.settings.size_bytes
    )
    readiness = Readiness()
    try:
        loaded = await store.load()
        stop = _stop_signals()
        async with asyncio.TaskGroup() as group:
            daemon = Daemon(store, loaded, config, group, options.journal)
            _begin(daemon, group)
            group.create_task(_keep_session(daemon, readiness))
            group.create_task(_tend(daemon))
            await stop.wait()
            readiness.stopping()
            await daemon.write_now(entries.stopped("asked to stop"))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CATCH_UP_LIMIT_S):
                    await daemon.loop.caught_up()
            await daemon.loop.save()
            raise _Stopped
    except* _Stopped:
        pass
    finally:
        await store.close()


class _Stopped(Exception):
    """Ends the task group when the daemon was asked to stop."""


def _begin(daemon: Daemon, group: asyncio.TaskGroup) -> None:
    """Start the loop with what the store held."""
    for name in daemon.loop.stories:
        daemon.loop.inbox.put(name, Woken(daemon.same_boot))
    daemon.say_settings()
    daemon.say(own.STORE, own.store_look(daemon.store.trouble))
    for fault in daemon.config.faults[:1]:
        daemon.write(entries.settings_refused(fault, at_start=True))
    if daemon.store.trouble:
        daemon.write(entries.store_set_aside(daemon.store.trouble))
    group.create_task(daemon.loop.run(daemon.effects.act, daemon.effects.turn_ended))
    group.create_task(daemon.lookout.run())
    for notice in daemon.outbox:
        # A crash between saving and delivery: the same notice again, under the same id.
        daemon.effects.deliver(notice.unit or notice.key, notice)


async def _keep_session(daemon: Daemon, readiness: Readiness) -> None:
    """Hold a connection; when it is lost, another within five seconds, or give up loudly."""
    fed = False
    while True:
        connection = await _connect()
        try:
            async with asyncio.TaskGroup() as group:
                session = Session(
                    connection,
                    daemon.clock,
                    daemon.loop.inbox,
                    daemon.loop.stories,
                    daemon.config.naming,
                    group.create_task,
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


async def _pass(daemon: Daemon, session: Session) -> None:
    """Once all units were asked about, what fails from then on is no old trouble of the machine."""
    await session.units.passed.wait()
    await daemon.loop.caught_up()
    daemon.loop.passed = True


class _Lost(Exception):
    """Ends what stood on a connection that is gone."""


def _ready(daemon: Daemon, readiness: Readiness) -> None:
    allowed = len(daemon.loop.policy.allow_restart)
    watched = sum(daemon.desk.counts().values())
    daemon.write(entries.started(__version__, watched=watched, may_restart=allowed))
    daemon.say_settings()
    readiness.status(daemon.status())
    readiness.ready()
    # The loop itself feeds the watchdog: when it stands still, so does this task.
    daemon.spawn(readiness.run(daemon.status))


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
