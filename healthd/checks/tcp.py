"""kind `tcp`: a connection that stands, and what is said over it when something is expected.

What the server said goes to the private part only.
"""

from __future__ import annotations

from healthd.checks.base import Probe, TcpExchange, Tls, Tools, could_not_run, server_name
from healthd.checks.words import no_answer
from healthd.errors import HealthdError
from healthd.model import Look, Outcome, Reason, TcpSpec


async def look(spec: TcpSpec, tools: Tools) -> Look:
    name = spec.endpoint.name
    try:
        places = await tools.places(spec.endpoint)
    except HealthdError as err:
        return could_not_run(f"{name} could not be looked at: {err.message}")
    tls = Tls(server_name(spec.host, places[0]), spec.ca) if spec.tls else None
    reply = await tools.probe(Probe(places, TcpExchange(spec.send, spec.expect), tls))
    if reply.trouble:
        return no_answer(reply, reply.trouble, name, places[0], tools)
    summary = f"{name} gives the expected answer" if spec.expect else f"{name} accepts connections"
    return Look(Outcome.OK, Reason.OK, summary, took_us=reply.took_us)
