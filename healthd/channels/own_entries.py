"""What the journal says of healthd itself: start and end, settings, store, gaps, and the holds that
people take. Pure: values in, fields of an entry out; only public words.
"""

from __future__ import annotations

from healthd.channels.base import Entry
from healthd.channels.entries import Kind, Priority, head
from healthd.model import Gap, Hold

_UNITS_SHOWN = 5


def started(version: str, *, watched: int, may_restart: int) -> Entry:
    """The daemon watches from here on."""
    repairs = f"may restart {_count(may_restart, 'unit')}" if may_restart else "may restart nothing"
    said = f"healthd {version} watches {_count(watched, 'check')} and {repairs}"
    return (*head(Kind.DAEMON_STARTED, Priority.INFO, said), ("HEALTHD_VERSION", version))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def stopped(reason: str) -> Entry:
    """The daemon watches no longer; *reason* in a few words."""
    return head(Kind.DAEMON_STOPPED, Priority.INFO, f"healthd stops watching: {reason}")


def settings_read(summary: str) -> Entry:
    """Settings were read again and are in force."""
    return head(Kind.SETTINGS_READ, Priority.INFO, f"new settings are in force: {summary}")


def settings_refused(fault: str, *, at_start: bool) -> Entry:
    """*fault* names file, line and what is allowed."""
    running = "running with defaults, nothing is restarted" if at_start else "the old ones stay"
    said = f"the settings were refused, {running}: {fault}"
    return (*head(Kind.SETTINGS_REFUSED, Priority.ERROR, said), ("HEALTHD_FAULT", fault))


def store_set_aside(trouble: str) -> Entry:
    """The store could not be read; *trouble* says why and where it is now."""
    said = f"the store was begun anew: {trouble}"
    return (*head(Kind.STORE_SET_ASIDE, Priority.ERROR, said), ("HEALTHD_FAULT", trouble))


def not_watched(gap: Gap, took: str) -> Entry:
    """Time in which nobody watched is over, *took* in words; of it looks find what they can."""
    said = f"not watched for {took} until now: {gap.why}"
    return (
        *head(Kind.NOT_WATCHED, Priority.NOTICE, said),
        ("HEALTHD_SUMMARY", f"{took}: {gap.why}"),
        ("HEALTHD_GAP_FROM", str(gap.from_at)),
        ("HEALTHD_GAP_TO", str(gap.to_at)),
    )


def hold_began(hold: Hold) -> Entry:
    """Somebody works on units; from here on their failing says nothing."""
    said = f"hold {hold.id} on {_units(hold)} begins: {hold.words}"
    return (*head(Kind.HOLD_BEGAN, Priority.NOTICE, said), *_of_hold(hold))


def hold_ended(hold: Hold, how: str) -> Entry:
    """The units are judged again, after their grace."""
    said = f"hold {hold.id} on {_units(hold)} ended: {how}"
    return (
        *head(Kind.HOLD_ENDED, Priority.NOTICE, said),
        ("HEALTHD_ENDING", how),
        *_of_hold(hold),
    )


def _units(hold: Hold) -> str:
    shown, more = hold.units[:_UNITS_SHOWN], len(hold.units) - _UNITS_SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _of_hold(hold: Hold) -> Entry:
    about = (("HEALTHD_UNIT", unit) for unit in hold.units)
    beside = (("UNIT", unit) for unit in hold.units)
    return (
        ("HEALTHD_HOLD", str(hold.id)),
        ("HEALTHD_SUMMARY", hold.words),
        *about,
        *beside,
    )
