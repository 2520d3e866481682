"""What `healthctl --help` says. Pure."""

from __future__ import annotations

from healthd.ctl.arguments import VERBS, usage_of

_OPTIONS = """\
Options:
  --json             print JSON; times are µs since the epoch
  --no-pager         do not page long output
  --no-legend        no headings, no totals
  -q, --quiet        print nothing; the exit code tells
  --no-ask-password  never ask for a password
  -h, --help         this, or after a command what it takes
  --version          the versions of healthctl and healthd

Exit code: 0 well, 1 something is red, 2 wrong usage or no such name,
3 healthd cannot be reached, 4 not permitted. More: healthctl(1).
"""


def help_page(verb: str = "") -> str:
    """Help on all of it, or on the command *verb*."""
    if verb in VERBS:
        return f"{usage_of(verb)}\n  {VERBS[verb].summary}\n\n{_OPTIONS}"
    width = max(len(name) for name in VERBS) + 2
    lines = [f"  {name:<{width}}{command.summary}" for name, command in VERBS.items()]
    return "\n".join(
        ["usage: healthctl [COMMAND] [NAME…] [OPTION…]", "", "Commands:", *lines, "", _OPTIONS]
    )
