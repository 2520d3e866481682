"""Which units get a liveness check at all. Pure; decides nothing about how they are."""

from __future__ import annotations

from healthd.model import LoadState, UnitFacts

# Services that come and go with a person's session, or that a program made up while it runs.
# dbus-broker names the transient units of its activations `dbus-:…`.
_MADE_UP = ("run-", "dbus-:")
_OF_A_SESSION = ("user@", "user-runtime-dir@")

# What may fail without a process that anybody looks after. A timer is a heartbeat; scopes and
# slices hold what is judged itself; devices come and go; a target is only what it pulls in.
_RESOURCES = (".mount", ".swap", ".socket", ".path", ".automount")

# `merged` is another name of a unit that has its own check; `stub` is not loaded yet.
_NO_UNIT = frozenset({LoadState.MERGED, LoadState.STUB})


def is_service(name: str) -> bool:
    """Whether a unit of this name has a process whose end says something."""
    return name.endswith(".service")


def may_be_watched(name: str) -> bool:
    """Whether a unit of this name may have a liveness check; fleeting ones are not worth a look."""
    if is_service(name):
        return not name.startswith((*_MADE_UP, *_OF_A_SESSION))
    return name.endswith(_RESOURCES)


def is_fleeting(name: str) -> bool:
    """Whether a unit of this name was made up while the machine runs: the name alone says so."""
    if name.endswith(".scope"):
        return True
    return name.startswith(_MADE_UP) and name.endswith((".service", ".timer"))


def is_watched(facts: UnitFacts, *, named: bool, ignored: bool) -> bool:
    """Whether the unit has a liveness check.

    *named*: a setting names it. *ignored*: `watch.ignore` or the shipped noise list matches it.
    """
    if ignored or not may_be_watched(facts.id):
        return False
    if facts.load_state is LoadState.NOT_FOUND:
        return named
    if facts.load_state in _NO_UNIT or facts.transient:
        return False
    if not is_service(facts.id):
        # What somebody mounted by hand, or a container runtime, comes from no file.
        return named or bool(facts.fragment_path or facts.source_path)
    return not facts.triggered_by_timer
