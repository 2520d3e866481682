"""What looks say alike: why a probe got no answer, and durations. Pure.

Never a word that came from the other side: that is private.
"""

from __future__ import annotations

from msgspec.structs import replace

from healthd.checks.base import Place, Reply, Stage, Tools, Trouble, could_not_run, excerpt, failing
from healthd.model import HOUR_US, MINUTE_US, SECOND_US, FailureClass, Look

DAY_US = 24 * HOUR_US

_SILENT = {
    Stage.DNS: "no address for {what} within {limit}",
    Stage.CONNECT: "no connection to {where} within {limit}",
    Stage.TLS: "no answer from {where} within {limit} (TLS handshake)",
    Stage.FIRST_BYTE: "no answer from {what} within {limit} (waiting for the first byte)",
    Stage.DONE: "no whole answer from {what} within {limit}",
}
_BROKEN = {
    FailureClass.DNS: "no address for {where}: {why}",
    FailureClass.TLS: "no TLS with {where}: {why}",
    FailureClass.STATUS: "no HTTP answer from {what}: {why}",
    FailureClass.BODY: "no whole answer from {what}: {why}",
}


def no_answer(reply: Reply, trouble: Trouble, name: str, place: Place, tools: Tools) -> Look:
    """The look of a probe of the endpoint *name* at *place* that ended in *trouble*."""
    summary = in_words(trouble, name, place, tools.limit_s)
    if trouble.ours:
        return could_not_run(summary)
    look = failing(trouble.failure_class, summary, excerpt(reply.received), reply.took_us)
    return replace(look, way=trouble.way)


def in_words(trouble: Trouble, name: str, place: Place, limit_s: float) -> str:
    """Why a probe of the endpoint *name* at *place* got no answer, in one line."""
    where = f"{name} ({place})"
    if trouble.ours:
        return f"{where} could not be looked at: {trouble.words}"
    if trouble.failure_class == FailureClass.TIMEOUT:
        sentence = _SILENT[trouble.stage]
    elif trouble.failure_class == FailureClass.CONNECT:
        connecting = trouble.stage == Stage.CONNECT
        sentence = (
            "no connection to {where}: {why}" if connecting else "no answer from {what}: {why}"
        )
    else:
        sentence = _BROKEN[trouble.failure_class]
    limit = how_long(round(limit_s * 1e6))
    return sentence.format(what=name, where=where, why=trouble.words, limit=limit)


def how_long(duration_us: int) -> str:
    """A duration as a person says it: 812 ms, 2.5 s, 3 min, 5 h, 9 days."""
    if duration_us < SECOND_US:
        return f"{duration_us // 1000} ms"
    if duration_us < 2 * MINUTE_US:
        return f"{round(duration_us / SECOND_US, 1):g} s"
    if duration_us < 2 * HOUR_US:
        return f"{duration_us // MINUTE_US} min"
    if duration_us < 2 * DAY_US:
        return f"{duration_us // HOUR_US} h"
    return f"{duration_us // DAY_US} days"
