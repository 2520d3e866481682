"""Every noun of healthd, frozen. Knows nothing but the standard library and msgspec.

Two kinds of time, in microseconds: names in `_us` are *steady* (CLOCK_BOOTTIME carried on over reboots,
never stepped; for measuring and waiting), names in `_at` are wall clock (UTC since the epoch; for
people and records; 0 = never).
"""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

from msgspec import Struct

CheckKey = NewType("CheckKey", str)
UnitName = NewType("UnitName", str)
IncidentId = NewType("IncidentId", int)
AttemptId = NewType("AttemptId", int)

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US


class Aspect(StrEnum):
    """What question a check answers about its subject."""

    LIVENESS = "liveness"
    READINESS = "readiness"
    FUNCTION = "function"
    HEARTBEAT = "heartbeat"
    HOST = "host"
    CREDENTIAL = "credential"
    REPORTED = "reported"


class State(StrEnum):
    """What healthd says of a check."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"
    GREY = "grey"


class Reason(StrEnum):
    """Why a check has its state; a closed set."""

    OK = "ok"
    # yellow
    DEGRADED = "degraded"
    SUSPECT = "suspect"
    CHURNED = "churned"
    MISSED = "missed"
    CONFIGURATION = "configuration"
    # red
    FAILED = "failed"
    CRASH_LOOP = "crash-loop"
    STUCK = "stuck"
    EXITED = "exited"
    UNREADY = "unready"
    OVERDUE = "overdue"
    EXPIRED = "expired"
    REVOKED = "revoked"
    FULL = "full"
    FLAPPING = "flapping"
    REPAIRING = "repairing"
    # grey
    NOT_CONFIGURED = "not-configured"
    STARTING = "starting"
    STOPPED = "stopped"
    HELD = "held"
    WAITING = "waiting"
    NETWORK_OFF = "network-off"
    UNKNOWN = "unknown"
    FROZEN = "frozen"
    STALE = "stale"


class Outcome(StrEnum):
    """What one look found. KEEP: this look says nothing, the last verdict stands."""

    OK = "ok"
    DEGRADED = "degraded"
    FAILING = "failing"
    NOT_JUDGED = "not-judged"
    KEEP = "keep"


class FailureClass(StrEnum):
    """Where a failing look failed."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    STATUS = "status"
    BODY = "body"
    TIMEOUT = "timeout"
    EXIT = "exit"
    COULD_NOT_RUN = "could-not-run"


class Phase(StrEnum):
    """Where an incident stands."""

    REPAIRING = "repairing"
    ENGAGED = "engaged"
    SETTLING = "settling"
    CLOSED = "closed"


class Idle(StrEnum):
    """Why an open incident rests: nothing is repaired, nobody is told."""

    NO = ""
    WAITING = "waiting"
    HELD = "held"
    FROZEN = "frozen"
    STOPPED = "stopped"
    DEGRADED = "degraded"


class Edition(StrEnum):
    """Which telling of an incident a notice is."""

    ENGAGED = "engaged"
    AGAIN = "again"
    CLEARED = "cleared"
    FOUND = "found"
    DIGEST = "digest"


class Closing(StrEnum):
    """How an incident ended (`Ending` in the interface)."""

    NOT_YET = ""
    SELF_HEALED = "self_healed"
    USER_FIXED = "user_fixed"
    GONE = "gone"


class AttemptResult(StrEnum):
    """What became of a repair's call; looks alone decide whether it helped."""

    PENDING = ""
    DONE = "done"
    FAILED = "failed"
    FINAL = "final"
    OVERTAKEN = "overtaken"
    UNKNOWN = "unknown"


class Urgency(StrEnum):
    """How loud a notice may be."""

    LOW = "low"
    NORMAL = "normal"
    CRITICAL = "critical"


# ---- checks and looks


class Rules(Struct, frozen=True):
    """Timing of one check; semantics.md, "Timing of one check"."""

    every_us: int = 30 * SECOND_US
    timeout_us: int = 5 * SECOND_US
    after: int = 3
    retry_us: int = 15 * SECOND_US
    grace_us: int = 60 * SECOND_US
    settle: int = 2


UNIT_RULES = Rules(every_us=5 * MINUTE_US, after=2, retry_us=5 * SECOND_US)


class Check(Struct, frozen=True):
    """One thing that is looked at. *unit* is "" for checks that belong to no unit."""

    key: CheckKey
    aspect: Aspect
    kind: str
    unit: UnitName = UnitName("")
    rules: Rules = Rules()
    declared: bool = False
    repair_unit: UnitName = UnitName("")
    remote: bool = False


class Look(Struct, frozen=True):
    """One observation of a check.

    *summary* is one line in healthd's own words and may be read by anybody; *private* is what the
    check itself said (bounded by the kind, at most 4 KiB) and goes to evidence only.
    *until_us* is the steady instant at which time alone may change this look, 0 = never.
    """

    outcome: Outcome
    reason: Reason
    summary: str
    failure_class: FailureClass | None = None
    private: str = ""
    took_us: int = 0
    until_us: int = 0


class Verdict(Struct, frozen=True):
    """What healthd says of a check now."""

    state: State
    reason: Reason
    summary: str
    since_at: int
    streak: int = 0
    failure_class: FailureClass | None = None
    waiting_on: CheckKey = CheckKey("")


# ---- declared kinds: what the owner asked to be looked at, every value checked and resolved


class Endpoint(Struct, frozen=True):
    """Where a check connects, under its name in `listens`. Exactly one of three is set.

    *host* and *port*: an address (*host* without brackets). *unix*: a socket's path. *unit*: a
    .socket unit, whose Listen is read when a look begins, so that a check follows the port.
    """

    name: str
    host: str = ""
    port: int = 0
    unix: str = ""
    unit: UnitName = UnitName("")

    @property
    def address(self) -> str:
        """`host:port` or `[v6]:port`; "" when the endpoint is no address."""
        if not self.host:
            return ""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class HttpSpec(Struct, frozen=True):
    """One HTTP request and what its answer must be. Redirects are answers, not followed.

    *status*: the codes that are well, empty = 200 to 299. *body*: text that the body must hold;
    *matches*: a regular expression searched in it. *slow_for_us*: an answer that takes longer is
    degraded, 0 = never. *certificate_for_us*: one that is valid for less is degraded, 0 = no such
    question. *host*: Host header and TLS server name, "" = the endpoint's. *ca*: a file of
    authorities to trust instead of the system's.
    """

    endpoint: Endpoint
    path: str = "/"
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    status: tuple[int, ...] = ()
    body: str = ""
    matches: str = ""
    slow_for_us: int = 0
    certificate_for_us: int = 0
    tls: bool = False
    host: str = ""
    ca: str = ""


class TcpSpec(Struct, frozen=True):
    """One connection: *send* once it stands (b"" = nothing), *expect* somewhere in the answer."""

    endpoint: Endpoint
    send: bytes = b""
    expect: bytes = b""
    tls: bool = False
    host: str = ""
    ca: str = ""


class ExecProtocol(StrEnum):
    """How a program says what it found: 0 and not 0, or the four codes of monitoring plug-ins."""

    EXIT = "exit"
    NAGIOS = "nagios"


class ExecSpec(Struct, frozen=True):
    """A program to run; *command* is its absolute path and its arguments, no shell."""

    command: tuple[str, ...]
    protocol: ExecProtocol = ExecProtocol.EXIT


Spec = HttpSpec | TcpSpec | ExecSpec


class DeclaredCheck(Struct, frozen=True):
    """A check from the settings with what its kind needs to look."""

    check: Check
    spec: Spec


# ---- units, as systemd shows them


class LoadState(StrEnum):
    """Unit.LoadState; a value of a newer systemd is UNKNOWN and decides nothing."""

    LOADED = "loaded"
    NOT_FOUND = "not-found"
    BAD_SETTING = "bad-setting"
    ERROR = "error"
    MERGED = "merged"
    MASKED = "masked"
    STUB = "stub"
    UNKNOWN = "UNKNOWN"


class ActiveState(StrEnum):
    """Unit.ActiveState; a value of a newer systemd is UNKNOWN and decides nothing."""

    ACTIVE = "active"
    RELOADING = "reloading"
    REFRESHING = "refreshing"
    INACTIVE = "inactive"
    FAILED = "failed"
    ACTIVATING = "activating"
    DEACTIVATING = "deactivating"
    MAINTENANCE = "maintenance"
    UNKNOWN = "UNKNOWN"


class UnitFacts(Struct, frozen=True):
    """What systemd says of one service, decoded at the door (host/systemd.py).

    Names in `_us` are steady instants converted from CLOCK_MONOTONIC, 0 = never; names in `_for_us`
    are durations, 0 = none, -1 = infinity. *wanted*: an active unit wants, requires, upholds or binds
    it. *on_demand*: the active socket, timer or path that triggers it, or its activatable bus name.
    *triggered_by_timer*: a timer judges it. Lists hold unit names.
    """

    id: UnitName
    names: tuple[str, ...] = ()
    load_state: LoadState = LoadState.LOADED
    active_state: ActiveState = ActiveState.INACTIVE
    sub_state: str = "dead"
    unit_file_state: str = ""
    fragment_path: str = ""
    service_type: str = "simple"
    result: str = "success"
    exit_code: int = 0
    exit_status: int = 0
    n_restarts: int = 0
    restart: str = "no"
    restart_delay_for_us: int = 100_000
    invocation: str = ""
    job: int = 0
    transient: bool = False
    need_daemon_reload: bool = False
    condition_checked: bool = False
    condition_met: bool = True
    conditions_failed: tuple[str, ...] = ()
    active_enter_us: int = 0
    active_exit_us: int = 0
    inactive_enter_us: int = 0
    inactive_exit_us: int = 0
    state_change_us: int = 0
    main_start_us: int = 0
    main_exit_us: int = 0
    timeout_start_for_us: int = 90 * SECOND_US
    timeout_stop_for_us: int = 90 * SECOND_US
    start_limit_interval_for_us: int = 10 * SECOND_US
    start_limit_burst: int = 5
    acts_on_machine: bool = False
    wanted: bool = False
    on_demand: str = ""
    triggered_by_timer: str = ""
    providers: tuple[str, ...] = ()
    foes: tuple[str, ...] = ()
    active_foes: tuple[str, ...] = ()
    taken_along: tuple[str, ...] = ()
    stays_down: tuple[str, ...] = ()
    booted: bool = True


class How(StrEnum):
    """How an invocation of a unit ended; semantics.md, "How it ended"."""

    ASKED = "asked"
    TAKEN_ALONG = "taken-along"
    PUSHED_OUT = "pushed-out"
    BY_ITSELF = "by-itself"
    UNDECIDED = "undecided"


class End(Struct, frozen=True):
    """One invocation's end. *clean*: Result was success. *by*: the provider or rival, or ""."""

    invocation: str
    at_us: int
    at: int
    how: How
    clean: bool = True
    by: UnitName = UnitName("")
    after_gap: bool = False


class Run(Struct, frozen=True):
    """What healthd itself keeps of a unit's life, across its own restarts and reboots.

    *ends* are those nobody asked for in the last 24 h, oldest first (bounded); *last* is how the unit
    last ended, None while that invocation lives or was never seen. *starts_us*: starts seen lately.
    *excused_us*: ends before this instant count for the record only (our attempt, a person's start).
    *longest_start_for_us*: the longest start seen.
    """

    invocation: str = ""
    active_state: ActiveState = ActiveState.UNKNOWN
    n_restarts: int = 0
    boot: str = ""
    started_us: int = 0
    last: End | None = None
    ends: tuple[End, ...] = ()
    starts_us: tuple[int, ...] = ()
    watched_since_us: int = 0
    excused_us: int = 0
    longest_start_for_us: int = 0


# ---- incidents


class Attempt(Struct, frozen=True):
    """One repair, recorded before it is made. *by* is "healthd" or the caller ("uid 1000")."""

    id: AttemptId
    at: int
    at_us: int
    repairer: str
    by: str
    unit: UnitName
    result: AttemptResult = AttemptResult.PENDING
    detail: str = ""
    ended_us: int = 0
    along: tuple[str, ...] = ()


class Telling(Struct, frozen=True):
    """One edition of an incident's notice; *channel* is "" until a channel has delivered it."""

    at: int
    at_us: int
    edition: Edition
    channel: str = ""


class Incident(Struct, frozen=True):
    """One stretch of red of one check."""

    id: IncidentId
    key: CheckKey
    unit: UnitName
    phase: Phase
    reason: Reason
    summary: str
    opened_at: int
    opened_us: int
    idle: Idle = Idle.NO
    closed_at: int = 0
    closed_us: int = 0
    closing: Closing = Closing.NOT_YET
    attempts: tuple[Attempt, ...] = ()
    tellings: tuple[Telling, ...] = ()
    told: bool = False
    found: bool = False
    recent: int = 0
    recent_healed: int = 0
    reopened: int = 0
    held_under: IncidentId = IncidentId(0)
    remedy: str = ""
    good_looks: int = 0
    good_since_us: int = 0
    degraded_since_us: int = 0
    stopped_since_us: int = 0
    why_engaged: str = ""


class Notice(Struct, frozen=True):
    """One message to the owner. *id* stays the same when it is sent again, so that it replaces itself."""

    id: str
    incident: IncidentId
    key: CheckKey
    unit: UnitName
    edition: Edition
    urgency: Urgency
    title: str
    body: str
    remedy: str
    at: int


class Evidence(Struct, frozen=True):
    """What was seen when an incident opened, before a repair could destroy it. Private."""

    incident: IncidentId
    taken_at: int
    facts: dict[str, str] = {}
    log: tuple[str, ...] = ()
    look: str = ""


# ---- what the judge holds


class Watch(Struct, frozen=True):
    """One check with all that healthd remembers of it.

    *recent* holds the last looks as bits (1 = failing), *looks* how many of them count (≤ 20).
    *invocation* is the unit's at the last look of a declared check. *found*: the store was new and no
    look other than failing has been seen. *due_us*: the next look. *counted_us*: the last look that counted.
    *present*: it has been looked at and there is something to judge; readers see no other.
    """

    check: Check
    verdict: Verdict
    recent: int = 0
    looks: int = 0
    invocation: str = ""
    grace_until_us: int = 0
    due_us: int = 0
    looked_us: int = 0
    counted_us: int = 0
    until_us: int = 0
    found: bool = False
    present: bool = False
    last_outcome: Outcome = Outcome.NOT_JUDGED
    last_reason: Reason = Reason.UNKNOWN


class PastIncident(Struct, frozen=True):
    """What recurrence needs of a closed incident (kept 7 days)."""

    key: CheckKey
    closed_at: int
    closing: Closing


class Story(Struct, frozen=True):
    """Everything about one unit (or one check that belongs to no unit): one unit, one story.

    *name* is the unit's Id, or the check's key. *incidents* are the open ones and those closed less than
    15 min ago. *attempts* are those of the present stretch in which any check has an open incident.
    *restarts_us*: our restarts in the last hour, for the budget.
    """

    name: str
    watches: tuple[Watch, ...] = ()
    facts: UnitFacts | None = None
    run: Run = Run()
    incidents: tuple[Incident, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    restarts_us: tuple[int, ...] = ()
    closed: tuple[PastIncident, ...] = ()


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
    """What is the same for every story while one event is judged."""

    now: Now
    policy: Policy = Policy()
    first_start: bool = False
    frozen: bool = False
    machine_restarts_us: tuple[int, ...] = ()
    next_incident: IncidentId = IncidentId(1)
    next_attempt: AttemptId = AttemptId(1)


# ---- events: what comes in


class Looked(Struct, frozen=True, tag=True):
    """A look of a declared check ended. *invocation* is its unit's, when the look began. *asked*: by a person."""

    key: CheckKey
    look: Look
    invocation: str = ""
    asked: bool = False


class UnitSeen(Struct, frozen=True, tag=True):
    """systemd's facts of the story's unit. *fresh*: read just now, not taken from a signal. *due*: its time had come."""

    facts: UnitFacts
    fresh: bool = False
    due: bool = False
    asked: bool = False


class Ended(Struct, frozen=True, tag=True):
    """An invocation of the story's unit ended."""

    end: End


class Began(Struct, frozen=True, tag=True):
    """An invocation of the story's unit began.

    *automatic*: systemd's own restart. *asked*: nothing that keeps the unit running by itself ordered
    it (no automatic restart, Upholds=, socket, timer, path or bus name): a person did, or we.
    """

    invocation: str
    at_us: int
    automatic: bool = False
    n_restarts: int = 0
    asked: bool = False


class RestartAsked(Struct, frozen=True, tag=True):
    """A person asked over D-Bus to restart the story's unit."""

    by: str


class RepairFinished(Struct, frozen=True, tag=True):
    """A repairer's call ended; whether it helped is for the looks to say."""

    attempt: AttemptId
    result: AttemptResult
    detail: str = ""
    along: tuple[str, ...] = ()


class Delivered(Struct, frozen=True, tag=True):
    """A channel delivered a notice."""

    incident: IncidentId
    edition: Edition
    channel: str


class Woken(Struct, frozen=True, tag=True):
    """healthd started again and this story came from the store."""

    same_boot: bool = True


class Declared(Struct, frozen=True, tag=True):
    """The settings (or systemd) say which checks the story has now."""

    checks: tuple[Check, ...]


Event = (
    Looked | UnitSeen | Ended | Began | RestartAsked | RepairFinished | Delivered | Woken | Declared
)


# ---- effects: what goes out


class Publish(Struct, frozen=True, tag=True):
    """A check's state or reason changed; *old* is None for a new check."""

    watch: Watch
    old: Verdict | None = None
    incident: IncidentId = IncidentId(0)


class Removed(Struct, frozen=True, tag=True):
    """A check is gone."""

    key: CheckKey


class Change(StrEnum):
    """What happened to an incident."""

    OPENED = "opened"
    CHANGED = "changed"
    CLOSED = "closed"


class IncidentStep(Struct, frozen=True, tag=True):
    """An incident opened, changed or closed."""

    change: Change
    incident: Incident


class Repair(Struct, frozen=True, tag=True):
    """Make this attempt. It is stored before this effect runs."""

    attempt: Attempt
    key: CheckKey


class Tell(Struct, frozen=True, tag=True):
    """Send this notice on every channel."""

    notice: Notice


class Withdraw(Struct, frozen=True, tag=True):
    """Take an incident's notice back without a word."""

    incident: IncidentId


class ReadUnit(Struct, frozen=True, tag=True):
    """Read the story's unit again before its verdict may change for the worse."""

    unit: UnitName


class LookAt(Struct, frozen=True, tag=True):
    """Look at this check at *at_us* (steady)."""

    key: CheckKey
    at_us: int


class TakeEvidence(Struct, frozen=True, tag=True):
    """Collect what the machine knows about an incident that has just opened."""

    incident: IncidentId
    unit: UnitName
    invocation: str
    private: str


Effect = (
    Publish | Removed | IncidentStep | Repair | Tell | Withdraw | ReadUnit | LookAt | TakeEvidence
)


# ---- rows: what readers see (names of dbus-api.md and of the JSON output)


class CheckRow(Struct, frozen=True):
    """One check as readers see it; times are wall µs, `failure_class` is `class` in JSON.

    *lists*: names that only this check has to show, each under a word of its own.
    """

    key: str
    aspect: str
    kind: str
    unit: str
    state: str
    reason: str
    failure_class: str
    summary: str
    since: int
    streak: int
    restarts: int
    waiting_on: str
    incident: int
    remedy: str
    next_look: int
    lists: dict[str, tuple[str, ...]] = {}


class AttemptRow(Struct, frozen=True):
    """One attempt as readers see it."""

    at: int
    repairer: str
    by: str
    result: str
    detail: str = ""


class TellingRow(Struct, frozen=True):
    """One edition that was told, as readers see it."""

    at: int
    edition: str
    channel: str


class IncidentRow(Struct, frozen=True):
    """One incident as readers see it; times are wall µs."""

    id: int
    key: str
    unit: str
    phase: str
    idle: str
    reason: str
    summary: str
    opened: int
    closed: int
    ending: str
    attempts: int
    notices: int
    tried: tuple[AttemptRow, ...] = ()
    told: tuple[TellingRow, ...] = ()
    recent: int = 0
    reopened: int = 0
    found: bool = False
    held_under: int = 0
    remedy: str = ""


# ---- what systemd signals


class UnitChanged(Struct, frozen=True, tag=True):
    """PropertiesChanged of one unit, in the order in which it came.

    *interface* is the last word of the interface's name: "Unit" or "Service". *properties* are
    systemd's own names with plain values; the pair `Job` is the job's number only, 0 = none;
    `InvocationID` is 32 hex digits, "" = none.
    """

    unit: UnitName
    interface: str
    properties: dict[str, object]


class JobNew(Struct, frozen=True, tag=True):
    """A job was queued for a unit; its type cannot be read in time and is not needed."""

    id: int
    unit: UnitName


class JobRemoved(Struct, frozen=True, tag=True):
    """A job ended. *result* is an open set: "done", "failed", "canceled", "dependency", …"""

    id: int
    unit: UnitName
    result: str


class Reloading(Struct, frozen=True, tag=True):
    """systemd reads its units again, from *active* true to false; UnitRemoved in between says nothing."""

    active: bool


class UnitNew(Struct, frozen=True, tag=True):
    """A unit was loaded. Never read anything in answer to it: reading loads units."""

    unit: UnitName


class UnitRemoved(Struct, frozen=True, tag=True):
    """A unit is no longer loaded."""

    unit: UnitName


class UnitFilesChanged(Struct, frozen=True, tag=True):
    """Unit files were enabled, disabled or masked."""


class BootFinished(Struct, frozen=True, tag=True):
    """Every job of the boot has ended: facts read before say `booted` false and are out of date."""


class OwnerChanged(Struct, frozen=True, tag=True):
    """systemd's name has a new owner (daemon-reexec), or none (*present* is false: the machine stops)."""

    present: bool = True


class JobStop(Struct, frozen=True):
    """What PID 1 wrote of one invocation's end, read from the journal after a gap.

    *by_job*: a stop or restart job took it, or its pending automatic restart, down (*job_type*,
    *job_result*, *job*). *ended_before*: it had ended by itself before that job called off the
    automatic restart. *by_itself*: "deactivated" or "failed" is written and no job is.
    """

    invocation: str
    by_job: bool = False
    ended_before: bool = False
    by_itself: bool = False
    job: int = 0
    job_type: str = ""
    job_result: str = ""
    at: int = 0


SystemdSignal = (
    UnitChanged
    | JobNew
    | JobRemoved
    | Reloading
    | UnitNew
    | UnitRemoved
    | UnitFilesChanged
    | BootFinished
    | OwnerChanged
)
