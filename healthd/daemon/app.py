"""What lives as long as the process: the rooms, built and connected. They meet only here."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from healthd import __version__
from healthd.bus.api import Api
from healthd.channels import own_entries
from healthd.channels.base import Entry
from healthd.channels.journal import Journal
from healthd.channels.kinds import CHANNELS
from healthd.checks.cgroup import Enclosures, delegated_home
from healthd.checks.probe import Prober
from healthd.checks.runner import Runner
from healthd.checks.tools import Toolbox
from healthd.daemon import own
from healthd.daemon.clock import Clock, kernel_of
from healthd.daemon.config import Config
from healthd.daemon.desk import Desk
from healthd.daemon.effects import Effects
from healthd.daemon.gaps import Gaps, Pulse, before_start
from healthd.daemon.holds import Holds
from healthd.daemon.lateness import Lateness
from healthd.daemon.lookout import Lookout
from healthd.daemon.looks import Looks
from healthd.daemon.loop import Loop
from healthd.daemon.network import Network
from healthd.daemon.readiness import in_words, interval_s
from healthd.daemon.saving import Saver
from healthd.daemon.session import Session
from healthd.daemon.vigil import Vigil
from healthd.errors import HealthdError
from healthd.host.polkit import authorize
from healthd.judge.network import NETWORK
from healthd.judge.repairing import HEALTHD
from healthd.judge.wording import duration
from healthd.model import (
    MINUTE_US,
    SECOND_US,
    Aspect,
    CheckKey,
    Declared,
    Gap,
    Look,
    Looked,
    Permission,
    Policy,
    UnitName,
)
from healthd.settings.faults import Faults
from healthd.store.records import Loaded
from healthd.store.store import Store

log = logging.getLogger("healthd")

READ_FROM_SYSTEMD = (f"{Aspect.LIVENESS}:", f"{Aspect.HEARTBEAT}:")


class Daemon:
    """What lives as long as the process. *group* owns all of its tasks."""

    def __init__(
        self,
        store: Store,
        loaded: Loaded,
        config: Config,
        group: asyncio.TaskGroup,
        socket: str,
        *,
        boot: str,
    ) -> None:
        """*boot*: the identity of this boot, as `boot_identity` gives it."""
        meta = loaded.meta
        same_kernel = kernel_of(meta.boot_id) == kernel_of(boot)
        self.clock = Clock.carried_on(
            same_boot=same_kernel,
            base_us=meta.steady_base_us,
            steady_mark_us=meta.steady_mark_us,
            wall_mark_at=meta.wall_mark_at,
        )
        self.same_boot = meta.boot_id == boot
        self.pulse = Pulse(os.environ.get("RUNTIME_DIRECTORY", ""))
        #: In which nobody watched before this start; None = there was no such time.
        self.gap = before_start(
            meta,
            self.pulse.last_at(),
            self.clock.now().wall_at,
            same_kernel=same_kernel,
            same_boot=self.same_boot,
        )
        meta = replace(meta, boot_id=boot, steady_base_us=self.clock.base_us, stopped=False)
        self.config, self.store, self.outbox = config, store, loaded.outbox
        self.session: Session | None = None
        self._group = group
        self._faults = 0
        saver = Saver(store, self.clock, meta, self._store_trouble)
        self.loop = Loop(
            saver,
            self.clock,
            config.policy(),
            first_start=not meta.first_start_done,
            broke=self._broke,
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
        self.gaps = Gaps(loaded.gaps, saver, self._noted)
        self.vigil = Vigil(
            self.clock,
            self.loop,
            spoil=lambda: self.looks.spoil(),
            reread=self._reread,
            note=self.gaps.note,
            shown=self._shown_anew,
        )
        saver.watched_until = lambda: self.vigil.watched_until_at
        self.lookout = Lookout(
            self.clock, self._due, self.vigil.look_around, partial(self.vigil.expect, "lookout")
        )
        self.effects = Effects(
            inbox=self.loop.inbox,
            lookout=self.lookout,
            api=self.api,
            store=store,
            writer=Journal(socket),
            clock=self.clock,
            policy=self._policy_for,
            held=lambda unit: self.loop.held.get(unit, ""),
            frozen=lambda: self.vigil.why,
            stories=self.loop.stories,
            spawn=self.spawn,
            broke=self._broke,
        )
        self.holds = Holds(
            self.loop,
            saver,
            self.clock,
            changed=self.api.holds_changed,
            write=self.write,
            spawn=self.spawn,
        )
        box = Toolbox(
            Prober(),
            Runner(Enclosures(delegated_home()).make),
            self._listens,
            lambda: self.clock.now().wall_at,
        )
        self.network = Network(self.loop.inbox, self.spawn)
        self.looks = Looks(
            self.loop.inbox,
            self.loop.story_of,
            box,
            lambda: self.loop.policy.network,
            self.spawn,
            self._broke,
            self.network.look,
            Lateness(self.clock.steady_us),
            self.vigil.look_around,
            lambda key: self.lookout.set(key, self.clock.steady_us()),
        )
        self._declare()

    def _declare(self) -> None:
        """Take up which checks the settings declare, and whether they need the network."""
        self.looks.declared = self.config.declared()
        policy = self.loop.policy
        self.network.declare(self.looks.declared, network=policy.enabled and policy.network)

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
        elif key == NETWORK:
            self.network.look()
        elif self.session is not None and key.startswith(READ_FROM_SYSTEMD):
            self.session.units.read_soon(story.name, asked=True)

    def resolve(self, unit: str) -> UnitName:
        """The Id behind a name that was used before, else the name itself."""
        aliases = self.session.units.aliases if self.session else {}
        return aliases.get(unit, UnitName(unit))

    async def reload(self) -> tuple[str, ...]:
        """The settings of the files as they are now; raises Faults and changes nothing else."""
        try:
            self.config.reload(self.loop.stories)
        except Faults:
            self.write(own_entries.settings_refused(self.config.faults[0], at_start=False))
            self.say_settings()
            raise
        self.loop.policy = self.config.policy()
        self._declare()
        if self.session is not None:
            await self.session.units.settings_changed()
        self.say_settings()
        self.loop.shown_anew()
        self.api.settings_changed()
        self.write(own_entries.settings_read(f"declared checks: {len(self.looks.declared)}"))
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
            "ignored_units": self.session.units.ignored if self.session else (),
            "faults": self.config.faults,
        }

    def say_settings(self) -> None:
        self.say(own.SETTINGS, own.settings_look(self.config.faults, self.troubles()))

    def say(self, key: CheckKey, look: Look) -> None:
        """A look at one of healthd's own parts."""
        self.loop.inbox.put(key, Declared((own.own_check(key),)))
        self.loop.inbox.put(key, Looked(key, look))

    def _broke(self, what: str) -> None:
        """A part of healthd broke: it goes on, and says so for as long as it lives."""
        self._faults += 1
        if what.endswith(own.FAULTS):
            # Saying so is what broke.
            return
        self.say(own.FAULTS, own.faults_look(self._faults, what))

    def _reread(self) -> None:
        """Nothing that was known is believed until it has been asked again."""
        if self.session is not None:
            self.session.units.read_anew()
        self.say_settings()
        self._store_trouble("")

    def _shown_anew(self) -> None:
        """Whether the machine is watched is shown with every check."""
        self.loop.shown_anew()
        self.api.watching_changed()

    def _noted(self, gap: Gap) -> None:
        if gap.to_at - gap.from_at >= MINUTE_US:
            self.write(own_entries.not_watched(gap, duration(gap.to_at - gap.from_at)))
        self.api.gaps_changed()
        self.spawn(self._save())

    async def _save(self) -> None:
        await self.loop.save()

    def _store_trouble(self, trouble: str) -> None:
        self.say(own.STORE, own.store_look(trouble or self.store.trouble))

    def beat(self) -> str:
        """healthd lives: said from time to time, with how all stands, to whom it concerns."""
        self.vigil.look_around()
        self.vigil.expect("beat", self.clock.steady_us() + int(interval_s() * SECOND_US))
        if not self.vigil.why:
            self.pulse.beat(self.clock.now().wall_at)
        return self.status()

    def status(self) -> str:
        return in_words(self.desk.counts(), len(self.loop.open_incidents()))

    def _due(self, key: CheckKey) -> None:
        story = self.loop.story_of(key)
        if story is None:
            return
        if self.vigil.why:
            # At its end every check gets another instant.
            return
        if key in self.looks.declared:
            self.looks.begin(key)
        elif key == NETWORK:
            self.network.look()
        elif self.session is not None and key.startswith(READ_FROM_SYSTEMD):
            self.session.units.read_soon(story.name, due=True)

    def _policy_for(self, by: str) -> Policy:
        """`repair: false` keeps healthd from restarting a unit, not a person from asking for it."""
        policy = self.loop.policy
        if by == HEALTHD:
            return policy
        return replace(policy, allow_restart=self.config.may_be_asked_for())

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
