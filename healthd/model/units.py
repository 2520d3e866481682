"""A unit as systemd shows it, and what healthd keeps of its life."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from healthd.model.words import SECOND_US, UnitName


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
    """What systemd says of one unit, decoded at the door (host/systemd.py).

    Names in `_us` are steady instants converted from CLOCK_MONOTONIC, 0 = never; names in `_for_us`
    are durations, 0 = none, -1 = infinity. *wanted*: an active unit wants, requires, upholds or
    binds it. *source_path*: what a generator made its file from (/etc/fstab). *on_demand*: the
    active socket, timer or path that triggers it, or its activatable bus name.
    *triggered_by_timer*: a timer judges it. *requires*: what it cannot be without (Requires=,
    Requisite=, BindsTo=); *providers*: those, and all else whose stop stops it; *bound_to*: whose
    end stops it however that came (BindsTo=). *triggers*: what a socket or path starts. Lists hold
    unit names. *restart_delay_max_for_us*: up to where RestartSteps= lets the delay grow, which no
    time of health takes back; 0 = it does not grow.
    """

    id: UnitName
    names: tuple[str, ...] = ()
    load_state: LoadState = LoadState.LOADED
    active_state: ActiveState = ActiveState.INACTIVE
    sub_state: str = "dead"
    unit_file_state: str = ""
    fragment_path: str = ""
    source_path: str = ""
    slice: str = ""
    service_type: str = "simple"
    result: str = "success"
    exit_code: int = 0
    exit_status: int = 0
    n_restarts: int = 0
    restart: str = "no"
    restart_delay_for_us: int = 100_000
    restart_delay_max_for_us: int = 0
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
    requires: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    bound_to: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
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
    """One invocation's end. *clean*: Result was success. *by*: the provider or rival, or "".

    *excused*: what the unit needs was not well then, so that it counts for no loop of its own.
    *in_package_run*: asked for while packages were installed; *package_run_over_us*: when that was
    over, 0 = it is not.
    """

    invocation: str
    at_us: int
    at: int
    how: How
    clean: bool = True
    by: UnitName = UnitName("")
    after_gap: bool = False
    excused: bool = False
    in_package_run: bool = False
    package_run_over_us: int = 0


class Run(Struct, frozen=True):
    """What healthd itself keeps of a unit's life, across its own restarts and reboots.

    *ends* are those nobody asked for in the last 24 h, oldest first (bounded); *last* is how the
    unit last ended, None while that invocation lives or was never seen. *starts_us*: starts seen
    lately. *excused_us*: ends before this instant count for the record only (our attempt, a
    person's start). *longest_start_for_us*: the longest start seen. *ran_before*: it ran in an
    earlier boot.
    """

    invocation: str = ""
    active_state: ActiveState = ActiveState.UNKNOWN
    n_restarts: int = 0
    started_us: int = 0
    last: End | None = None
    ends: tuple[End, ...] = ()
    starts_us: tuple[int, ...] = ()
    watched_since_us: int = 0
    excused_us: int = 0
    longest_start_for_us: int = 0
    ran_before: bool = False
