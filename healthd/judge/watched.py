"""Which units get a liveness check at all. Pure; decides nothing about how they are."""

from __future__ import annotations

from healthd.model import LoadState, UnitFacts

# Services that come and go with a person's session, or that a program made up while it runs.
# dbus-broker names the transient units of its activations `dbus-:…`.
_FLEETING = ("user@", "user-runtime-dir@", "run-", "dbus-:")

# `merged` is another name of a unit that has its own check; `stub` is not loaded yet.
_NO_UNIT = frozenset({LoadState.MERGED, LoadState.STUB})


def is_service(name: str) -> bool:
    """Whether a unit of this name is a service that lasts; fleeting ones are not worth a look."""
    return name.endswith(".service") and not name.startswith(_FLEETING)


def is_watched(facts: UnitFacts, *, named: bool, ignored: bool) -> bool:
    """Whether the unit is a service with a liveness check.

    *named*: a setting names it. *ignored*: `watch.ignore` or the shipped noise list matches it.
    """
    if ignored or not is_service(facts.id):
        return False
    if facts.load_state is LoadState.NOT_FOUND:
        return named
    if facts.load_state in _NO_UNIT or facts.transient:
        return False
    return not facts.triggered_by_timer
