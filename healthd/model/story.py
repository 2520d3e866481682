"""What the judge holds of one unit, and what the settings and the instant say for all of them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from healthd.model.checks import Check, Observed, Verdict
from healthd.model.incidents import Attempt, Incident, PastIncident
from healthd.model.network import Way
from healthd.model.timers import Ledger, TimerFacts
from healthd.model.units import Run, UnitFacts
from healthd.model.words import (
    HOUR_US,
    MINUTE_US,
    SECOND_US,
    AttemptId,
    IncidentId,
    Outcome,
    Reason,
)


class Watch(Struct, frozen=True):
    """One check with all that healthd remembers of it.

    *recent* holds the last looks as bits (1 = failing), *looks* how many of them count (≤ 20).
    *invocation* is the unit's at the last look of a declared check. *found*: the store was new and
    no look other than failing has been seen. *due_us*: the next look. *counted_us*: the last look
    that counted. *present*: it has been looked at and there is something to judge; readers see no
    other. *released_until_us*: the end of the grace after a hold or a freeze, *released_from* says
    which. *unwatched*: no look yet since a freeze. *wait_until_us*: its provider is
    well again, and until then it may come up too. *way*: how far the last look at another machine
    came. *trail*: what the last looks found, oldest first, for whoever asks why; it decides
    nothing.
    """

    check: Check
    verdict: Verdict
    recent: int = 0
    looks: int = 0
    invocation: str = ""
    grace_until_us: int = 0
    released_until_us: int = 0
    released_from: Reason = Reason.HELD
    unwatched: bool = False
    due_us: int = 0
    looked_us: int = 0
    counted_us: int = 0
    until_us: int = 0
    wait_until_us: int = 0
    found: bool = False
    present: bool = False
    last_outcome: Outcome = Outcome.NOT_JUDGED
    last_reason: Reason = Reason.UNKNOWN
    way: Way = Way.UNKNOWN
    trail: tuple[Observed, ...] = ()


class Story(Struct, frozen=True):
    """Everything about one unit (or one check that belongs to no unit): one unit, one story.

    *name* is the unit's Id, or the check's key. *incidents* are the open ones and those closed less
    than 15 min ago. *attempts* are those of the present stretch in which any check has an open
    incident. *restarts_us*: our restarts, for as long as a budget counts them. *held*: what a hold
    on the unit, or on the job of a timer, says, "" = there is none. *timer*, *job* and *ledger* are
    those of a timer's story.
    """

    name: str
    watches: tuple[Watch, ...] = ()
    facts: UnitFacts | None = None
    run: Run = Run()
    incidents: tuple[Incident, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    restarts_us: tuple[int, ...] = ()
    closed: tuple[PastIncident, ...] = ()
    held: str = ""
    timer: TimerFacts | None = None
    job: UnitFacts | None = None
    ledger: Ledger = Ledger()


class Budget(Struct, frozen=True):
    """At most *count* restarts in *per_us*."""

    count: int
    per_us: int


class CrashLoop(Struct, frozen=True):
    """When ends that nobody asked for are a crash loop."""

    restarts: int = 3
    within_us: int = 10 * MINUTE_US
    quiet_us: int = 2 * MINUTE_US


#: What healthd never restarts, whatever the settings list: itself, and what everything else (a
#: person's session first) stands on. Patterns of fnmatch.
NEVER_RESTART: tuple[str, ...] = (
    "healthd.service",
    "healthd-*",
    "dbus*",
    "polkit*",
    "systemd-*",
    "elogind*",
    "user@*",
    "user-runtime-dir@*",
    "emergency.service",
    "rescue.service",
    "init.scope",
    "*getty@*",
    "*-getty.service",
    "autovt@*",
    "display-manager.service",
    "gdm*",
    "greetd*",
    "lightdm*",
    "lxdm*",
    "ly.service",
    "ly@*",
    "nodm*",
    "plasmalogin*",
    "sddm*",
    "slim.service",
    "wdm.service",
    "xdm*",
)


class Policy(Struct, frozen=True):
    """What the settings say for every story. *allow_restart* holds resolved names."""

    enabled: bool = True
    watch_enabled: bool = True
    network: bool = False
    allow_restart: frozenset[str] = frozenset()
    never_restart: tuple[str, ...] = NEVER_RESTART
    max_attempts: int = 2
    backoff_us: tuple[int, ...] = (0, 10 * SECOND_US, 60 * SECOND_US)
    unit_budget: Budget = Budget(4, HOUR_US)
    machine_budget: Budget = Budget(3, MINUTE_US)
    crash_loop: CrashLoop = CrashLoop()
    renotify_us: int = 12 * HOUR_US
    self_healed: bool = False


class Now(Struct, frozen=True):
    """One instant on both clocks, µs."""

    steady_us: int
    wall_at: int


class Scene(Struct, frozen=True):
    """What is the same for every story while one event is judged.

    *stories*: all of them by name, as they stand, for what one story depends on in another.
    *held*: the units that are held, and what each hold says. *frozen*: why nothing is judged now,
    "" = it is.
    """

    now: Now
    policy: Policy = Policy()
    stories: Mapping[str, Story] = {}
    held: Mapping[str, str] = {}
    frozen: str = ""
    first_start: bool = False
    machine_restarts_us: tuple[int, ...] = ()
    next_incident: IncidentId = IncidentId(1)
    next_attempt: AttemptId = AttemptId(1)
