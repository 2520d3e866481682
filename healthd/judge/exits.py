"""What exit codes and signals mean, in words. Pure: the numbers are Linux's and systemd's."""

from __future__ import annotations

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
