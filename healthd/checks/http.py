"""kind `http`: one request, and what its answer must be.

Decides ok, degraded or failing. What the server said goes to the private part only.
"""

from __future__ import annotations

import re

from healthd.checks.base import (
    HttpExchange,
    Place,
    Probe,
    Reply,
    Tls,
    Tools,
    could_not_run,
    excerpt,
    failing,
    server_name,
)
from healthd.checks.words import how_long, no_answer
from healthd.errors import HealthdError
from healthd.model import FailureClass, HttpSpec, Look, Outcome, Reason

_DEFAULT_PORTS = {False: 80, True: 443}
#: Methods whose request says how long its body is, even when there is none.
_WITH_BODY = ("POST", "PUT", "PATCH")


async def look(spec: HttpSpec, tools: Tools) -> Look:
    name = spec.endpoint.name
    try:
        places = await tools.places(spec.endpoint)
    except HealthdError as err:
        return could_not_run(f"{name} could not be looked at: {err.message}")
    reply = await tools.probe(_probe(spec, places))
    if reply.trouble:
        return no_answer(reply, reply.trouble, name, places[0], tools)
    return _fault(spec, reply) or _well(spec, reply, tools.wall_at())


def _probe(spec: HttpSpec, places: tuple[Place, ...]) -> Probe:
    host = spec.host or _host(places[0], tls=spec.tls)
    given = {name.lower() for name, _ in spec.headers}
    ours = [("Host", host), ("User-Agent", "healthd"), ("Accept", "*/*"), ("Connection", "close")]
    if spec.method in _WITH_BODY:
        ours.append(("Content-Length", "0"))
    headers = (*(each for each in ours if each[0].lower() not in given), *spec.headers)
    tls = Tls(server_name(spec.host, places[0]), spec.ca) if spec.tls else None
    return Probe(places, HttpExchange(spec.method, spec.path, headers), tls)


def _host(place: Place, *, tls: bool) -> str:
    if place.unix:
        return "localhost"
    address = str(place)
    return address.removesuffix(f":{place.port}") if place.port == _DEFAULT_PORTS[tls] else address


def _fault(spec: HttpSpec, reply: Reply) -> Look | None:
    """What is wrong with an answer that came whole; None = nothing."""
    # By its endpoint only: a path may hold a secret (a hook's address, a token in its query).
    what = spec.endpoint.name
    well = reply.status in spec.status if spec.status else 200 <= reply.status < 300
    if not well:
        return failing(
            FailureClass.STATUS,
            f"HTTP {reply.status} from {what}",
            excerpt(reply.received),
            reply.took_us,
        )
    if not _holds(spec, reply.received):
        extent = "" if reply.whole else f" in its first {len(reply.received) // 1024} KiB"
        return failing(
            FailureClass.BODY,
            f"the answer from {what} does not hold the expected text{extent}",
            excerpt(reply.received),
            reply.took_us,
        )
    return None


def _holds(spec: HttpSpec, body: bytes) -> bool:
    if spec.body and spec.body.encode() not in body:
        return False
    return not spec.matches or bool(re.search(spec.matches, body.decode("utf-8", "replace")))


def _well(spec: HttpSpec, reply: Reply, now_at: int) -> Look:
    """An answer without fault: ok, or degraded when it came slowly or its certificate ends soon."""
    name = spec.endpoint.name
    but = []
    left_us = reply.valid_until_at - now_at
    if spec.certificate_for_us and reply.valid_until_at and left_us < spec.certificate_for_us:
        but.append(f"the certificate of {name} ends in {how_long(max(0, left_us))}")
    if spec.slow_for_us and reply.took_us > spec.slow_for_us:
        slow = how_long(spec.slow_for_us)
        but.append(f"{name} answered in {how_long(reply.took_us)}, slow is {slow}")
    if but:
        return Look(
            Outcome.DEGRADED,
            Reason.DEGRADED,
            "; ".join(but),
            took_us=reply.took_us,
        )
    summary = f"HTTP {reply.status} from {name}"
    return Look(Outcome.OK, Reason.OK, summary, took_us=reply.took_us)
