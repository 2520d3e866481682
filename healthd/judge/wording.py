"""The sentences a person reads: how a unit ended, how long, what to run, what a notice says.

Pure: no clock, no I/O. Says only what is public: never a word that came from a check itself.
"""

from __future__ import annotations

from itertools import pairwise

from healthd.model import HOUR_US, MINUTE_US, SECOND_US, ActiveState, UnitFacts

DAY_US = 24 * HOUR_US

# How a main process ended: si_code of waitid(2), as ExecMainCode shows it.
_EXITED, _KILLED, _DUMPED = 1, 2, 3

# systemd's own exit codes, for what failed between fork and the program's first instruction.
# Source: systemd.exec(5), "Process Exit Codes".
_SETUP_FAILURES = {
    200: "could not enter its working directory",
    201: "could not set its nice level",
    202: "could not close file descriptors",
    203: "could not execute the program",
    205: "could not set its resource limits",
    206: "could not set its OOM adjustment",
    208: "could not set up its standard input",
    209: "could not set up its standard output",
    210: "could not change its root directory",
    213: "could not set its secure bits",
    214: "could not set its CPU scheduling",
    216: "could not take on its group",
    217: "could not take on its user",
    218: "could not set its capabilities",
    219: "could not set up its control group",
    222: "could not set up its standard error",
    224: "could not open its PAM session",
    225: "could not set up its network namespace",
    226: "could not set up its file system view",
    228: "could not install its system call filter",
    229: "could not set its SELinux context",
    231: "could not switch to its AppArmor profile",
    232: "could not restrict its address families",
    233: "could not set up its runtime directory",
    237: "could not set up its keyring",
    238: "could not set up its state directory",
    239: "could not set up its cache directory",
    240: "could not set up its logs directory",
    241: "could not set up its configuration directory",
    243: "could not load its credentials",
}

# signal(7), numbers of x86 and Arm. Not Python's module: what a recording says must read the same
# wherever it is replayed.
_SIGNALS = (
    *("HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV"),
    *("USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN"),
    *("TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS"),
)

_RESULTS = {
    "oom-kill": "out of memory",
    "watchdog": "watchdog timeout",
    "protocol": "ended before it was ready",
    "resources": "systemd could not set it up",
    "exec-condition": "its start condition said no",
}


def duration(us: int) -> str:
    """*us* in at most two units: "400 ms", "12 s", "1 min 30 s", "3 days 4 h"; below 0 is 0."""
    if 0 < us < SECOND_US:
        return f"{max(1, us // 1000)} ms"
    units = (("day", DAY_US), ("h", HOUR_US), ("min", MINUTE_US), ("s", SECOND_US))
    for (name, size_us), (lower, lower_us) in pairwise(units):
        if us >= size_us:
            count, rest = us // size_us, us % size_us // lower_us
            words = f"{count} {_plural(name, count)}"
            return f"{words} {rest} {lower}" if rest else words
    return f"{max(0, us) // SECOND_US} s"


def end_in_words(facts: UnitFacts) -> str:
    """How the unit's last invocation ended: "killed by SIGKILL", "exit code 3", "start timed out".

    Where systemd stopped restarting it, that follows: "exit code 1; systemd gave up after 5 starts
    in 10 s". Never empty.
    """
    words = _result_in_words(facts)
    if facts.result != "start-limit-hit" and _gave_up(facts):
        return f"{words}; {_gave_up_in_words(facts)}"
    return words


def _result_in_words(facts: UnitFacts) -> str:
    match facts.result:
        case "success" | "exit-code" | "signal" | "core-dump":
            return _process_end_in_words(facts)
        case "timeout":
            # Result says the same for start, stop and RuntimeMaxSec=; a unit that did not become
            # active since it last left `inactive` was still starting.
            starting = facts.active_enter_us < facts.inactive_exit_us
            return "start timed out" if starting else "timed out"
        case "start-limit-hit":
            return _gave_up_in_words(facts)
        case known if known in _RESULTS:
            return _RESULTS[known]
        case unknown:
            return f"systemd says “{unknown}”"


def _process_end_in_words(facts: UnitFacts) -> str:
    match facts.exit_code:
        case code if code == _EXITED:
            return exit_in_words(facts.exit_status)
        case code if code in (_KILLED, _DUMPED):
            verb = "ended by" if facts.result == "success" else "killed by"
            core = ", core dumped" if code == _DUMPED else ""
            return f"{verb} {signal_name(facts.exit_status)}{core}"
        case _:
            # No main process ever ran: a command before it failed.
            return "not running" if facts.result == "success" else "a start command failed"


def exit_in_words(status: int) -> str:
    """An exit code, with what it means where systemd or the shell gave it a meaning."""
    if status in _SETUP_FAILURES:
        return f"exit code {status} ({_SETUP_FAILURES[status]})"
    if 128 < status < 160:
        # What shells and container runtimes answer for a child that a signal ended.
        return f"exit code {status} (128 + {signal_name(status - 128)})"
    return f"exit code {status}"


def signal_name(number: int) -> str:
    """ "SIGKILL"; "signal 40" where it has no name."""
    name = _SIGNALS[number - 1] if 0 < number <= len(_SIGNALS) else ""
    return f"SIG{name}" if name else f"signal {number}"


def _gave_up(facts: UnitFacts) -> bool:
    """Whether systemd hit the start limit while it restarted the unit by itself.

    257 leaves Result as it was (262 sets it), so it is read from this: at rest in `failed`, the
    unit had left `inactive` for a restart after its last process ended, and nothing ran since.
    """
    return (
        facts.active_state is ActiveState.FAILED
        and facts.sub_state == "failed"
        and facts.restart != "no"
        and 0 < facts.start_limit_burst <= facts.n_restarts + 1
        and 0 < facts.main_exit_us < facts.inactive_exit_us
    )


def _gave_up_in_words(facts: UnitFacts) -> str:
    starts, span = facts.start_limit_burst, duration(facts.start_limit_interval_for_us)
    return f"systemd gave up after {starts} {_plural('start', starts)} in {span}"


def _plural(word: str, count: int) -> str:
    return f"{word}s" if count != 1 and word in ("day", "start") else word
