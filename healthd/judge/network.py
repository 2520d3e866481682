"""The machine's own network as a provider: whether it is to blame for what is not reached. Pure.

It is to blame only where the machine itself shows it: no way out, or a resolver that is silent. One
service that is down while others answer says nothing of the network.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from healthd.model import (
    MINUTE_US,
    SECOND_US,
    Aspect,
    Check,
    CheckKey,
    FailureClass,
    Link,
    Look,
    Outcome,
    Reason,
    Rules,
    Story,
    Watch,
    Way,
)

NETWORK = CheckKey(f"{Aspect.HOST}:network")
KIND = "network"

NO_ROUTE = "no default route"
# Whatever manages the network here, these say what of it is missing.
REMEDY = "ip -brief address; ip route; cat /etc/resolv.conf"
NO_NAMES = "names cannot be resolved"

# A remote look that ended in one of these did not get as far as the service.
_SHORT_OF_IT = frozenset({FailureClass.DNS, FailureClass.CONNECT, FailureClass.TIMEOUT})
_CUT_OFF = frozenset({Way.NO_ANSWER, Way.NO_ROUTE, Way.NO_RESOLVER})
# One name that nobody answers for may be that name's own trouble.
_SILENT_AT_LEAST = 2


def network_check() -> Check:
    """Looked at when a remote check fails, and again while it is not well; never by the clock."""
    rules = Rules(every_us=5 * MINUTE_US, after=2, retry_us=5 * SECOND_US)
    return Check(key=NETWORK, aspect=Aspect.HOST, kind=KIND, rules=rules)


def fell_short(look: Look) -> bool:
    """Whether a failing look never reached the service, so that the network may be to blame."""
    return look.outcome is Outcome.FAILING and look.failure_class in _SHORT_OF_IT


def way_of(look: Look) -> Way:
    """What a remote look says of the network between."""
    if look.way is not Way.UNKNOWN or look.outcome is Outcome.NOT_JUDGED:
        return look.way
    if look.outcome is Outcome.FAILING and look.failure_class in (None, *_SHORT_OF_IT):
        return Way.UNKNOWN
    return Way.OPEN


def remote_watches(stories: Mapping[str, Story]) -> tuple[Watch, ...]:
    """The remote checks that were looked at since healthd's own start, and judged."""
    return tuple(
        watch
        for story in stories.values()
        for watch in story.watches
        if watch.check.remote and watch.looked_us >= max(1, story.run.watched_since_us)
    )


def network_look(link: Link, remote: Iterable[Watch]) -> Look:
    """What *link* and the last looks of the remote checks come to."""
    ways = [w.way for w in remote if w.way is not Way.UNKNOWN]
    if ways and all(way in _CUT_OFF for way in ways) and (why := _why(link, ways)):
        return Look(Outcome.FAILING, Reason.FAILED, why)
    return Look(Outcome.OK, Reason.OK, _in_words(link))


def asked_again(link: Link, remote: Iterable[Watch]) -> tuple[CheckKey, ...]:
    """The remote checks to look at now: those that answered before a first look at another was cut
    off, where that may be the network's doing.
    """
    watches = tuple(remote)
    cut = [w for w in watches if w.way in _CUT_OFF]
    # Once for each that begins to fail: its retries are no reason to bother others.
    began_us = max((w.looked_us for w in cut if w.verdict.streak <= 1), default=0)
    doubtful = _why_link(link) or any(w.way is Way.NO_RESOLVER for w in cut)
    if not began_us or not doubtful:
        return ()
    return tuple(w.check.key for w in watches if w.way is Way.OPEN and w.looked_us < began_us)


def _why(link: Link, ways: Sequence[Way]) -> str:
    """What is wrong with the machine's way out, "" = nothing that the machine itself shows."""
    why = _why_link(link)
    # With a way to it, a silent machine of the own network is not missed for want of a route.
    if why and (link.routes or any(way is not Way.NO_ANSWER for way in ways)):
        return why
    silent = all(way is Way.NO_RESOLVER for way in ways)
    return NO_NAMES if silent and len(ways) >= _SILENT_AT_LEAST else ""


def _why_link(link: Link) -> str:
    if not link.routes:
        return NO_ROUTE
    if len(link.unplugged) == len(link.routes):
        return f"no link on {', '.join(link.unplugged)}"
    return ""


def _in_words(link: Link) -> str:
    leading = [name for name in link.routes if name not in link.unplugged]
    return f"leads out by {', '.join(leading)}" if leading else "no way out, and none is missed"
