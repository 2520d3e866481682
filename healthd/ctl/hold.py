"""`healthctl hold`: run a command while healthd leaves some units alone.

The hold is a descriptor of this process, closed on exec: it ends with this process, however that
ends, and nothing that the command leaves behind keeps it.
"""

from __future__ import annotations

import os
import signal

from healthd.ctl import agent, client
from healthd.ctl.arguments import Arguments, usage_error
from healthd.ctl.names import unit_name
from healthd.ctl.output import Output, complain
from healthd.settings.timespan import BadSpan, timespan_us

#: As a shell says them.
NOT_FOUND, NOT_EXECUTABLE, SIGNALLED = 127, 126, 128

# The terminal sends these to the command as well; whoever waits for it must outlive them.
_FROM_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
# These are sent to us alone.
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
# Ignored by Python itself, which is nothing that a command should inherit.
_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def run(arguments: Arguments, output: Output) -> int:
    """Hold, run the command, and end as it ended; without the hold it is not run."""
    del output
    units = tuple(dict.fromkeys(map(unit_name, arguments.names)))
    for_us = _span_us(arguments.values.get("--for", ""))
    command = arguments.command
    # Not its arguments: everybody can read what a hold is for.
    why = arguments.values.get("--why", os.path.basename(command[0]))
    daemon = client.connect(descriptors=True)
    held = daemon.hold(units, why, for_us, agent.asking(arguments.flags))
    try:
        return _run(command)
    finally:
        os.close(held)


def _span_us(text: str) -> int:
    """How long at most; 0 = as long as may be."""
    if not text:
        return 0
    try:
        span_us = timespan_us(text)
    except BadSpan as err:
        raise usage_error(f"--for {err}", "write it as 90s, 30min or 2h") from err
    if not span_us:
        raise usage_error("--for takes a time above 0", "write it as 90s, 30min or 2h")
    return span_us


def _run(command: tuple[str, ...]) -> int:
    """Run *command* and wait for it; its exit code, of a signal 128 more than its number."""
    was = {number: signal.getsignal(number) for number in (*_FROM_TERMINAL, *_PASSED_ON)}
    heeded = [number for number, how in was.items() if how is not signal.SIG_IGN]
    # One that comes before there is anybody to pass it on to waits.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)
    for number in _FROM_TERMINAL:
        signal.signal(number, signal.SIG_IGN)
    try:
        child = os.posix_spawnp(
            command[0], command, os.environ, setsigmask=before, setsigdef=[*heeded, *_BY_PYTHON]
        )
    except OSError as err:
        complain(f"{command[0]}: {err.strerror}")
        return NOT_FOUND if isinstance(err, FileNotFoundError) else NOT_EXECUTABLE
    for number in _PASSED_ON:
        if number in heeded:
            signal.signal(number, lambda passed, _: os.kill(child, passed))
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else SIGNALLED - code
