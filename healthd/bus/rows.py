"""Write rows as the interface's types: a struct each, and `more` for what does not always apply.

Pure. The names in `more` are those of the Check and Incident properties, in snake_case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from healthd.bus.message import Variant
from healthd.model import (
    Aspect,
    AttemptRow,
    CheckKey,
    CheckRow,
    Evidence,
    Gap,
    HoldRow,
    IncidentRow,
    Notice,
    WhyRow,
)

GONE = "gone"

Row = tuple[object, ...]


def check(row: CheckRow, *, next_look: bool = True) -> Row:
    """`(ssssstusa{sv})`. *next_look*: whether to say when the next look is."""
    more: dict[str, Variant] = {
        "aspect": Variant("s", row.aspect),
        "kind": Variant("s", row.kind),
    }
    if row.failure_class:
        more["class"] = Variant("s", row.failure_class)
    if row.aspect == Aspect.LIVENESS.value:
        more["restarts"] = Variant("u", row.restarts)
    if row.incident:
        more["incident"] = Variant("t", row.incident)
    if row.remedy:
        more["remedy"] = Variant("s", row.remedy)
    if row.next_look and next_look:
        more["next_look"] = Variant("t", row.next_look)
    for name, words in row.lists.items():
        more[name] = Variant("as", words)
    return (
        row.key,
        row.unit,
        row.state,
        row.reason,
        row.summary,
        row.since,
        row.streak,
        row.waiting_on,
        more,
    )


def checks(rows: Iterable[CheckRow], *, next_look: bool = True) -> list[Row]:
    """`a(ssssstusa{sv})`, in the order of *rows*."""
    return [check(row, next_look=next_look) for row in rows]


def gone(key: CheckKey) -> Row:
    """The row of a check that is no more."""
    return (key, "", GONE, "", "", 0, 0, "", {})


def alert(row: CheckRow) -> Row:
    """`(sssta{sv})` of a red check that has a remedy."""
    more = {"reason": Variant("s", row.reason), "since": Variant("t", row.since)}
    if row.unit:
        more["unit"] = Variant("s", row.unit)
    return (row.key, row.summary, row.remedy, row.incident, more)


def incident(row: IncidentRow) -> Row:
    """`(tsssttsuua{sv})`."""
    tried = [(a.at, a.repairer, a.by, a.result, _of_attempt(a)) for a in row.tried]
    more: dict[str, Variant] = {
        "reason": Variant("s", row.reason),
        "tried": Variant("a(tsssa{sv})", tried),
        "told": Variant("a(tssa{sv})", [(t.at, t.edition, t.channel, {}) for t in row.told]),
        "recent": Variant("u", row.recent),
        "reopened": Variant("u", row.reopened),
        "found": Variant("b", row.found),
    }
    for name, text in (("unit", row.unit), ("idle", row.idle), ("remedy", row.remedy)):
        if text:
            more[name] = Variant("s", text)
    if row.gaps:
        more["gaps"] = Variant("a(ttsa{sv})", [gap(one) for one in row.gaps])
    if row.held_under:
        more["held_under"] = Variant("t", row.held_under)
    return (
        row.id,
        row.key,
        row.phase,
        row.summary,
        row.opened,
        row.closed,
        row.ending,
        row.attempts,
        row.notices,
        more,
    )


def _of_attempt(row: AttemptRow) -> dict[str, Variant]:
    more = {}
    if row.detail:
        more["detail"] = Variant("s", row.detail)
    if row.along:
        more["along"] = Variant("as", row.along)
    return more


def incidents(rows: Iterable[IncidentRow]) -> list[Row]:
    """`a(tsssttsuua{sv})`, in the order of *rows*."""
    return [incident(row) for row in rows]


def gap(gap: Gap) -> Row:
    """`(ttsa{sv})`."""
    return (gap.from_at, gap.to_at, gap.why, {})


def hold(row: HoldRow) -> Row:
    """`(tassuta{sv})`."""
    more = {"uid": Variant("u", row.uid), "since": Variant("t", row.since)}
    return (row.id, row.units, row.why, row.pid, row.until, more)


def notice(notice: Notice, sequence: int) -> Row:
    """The arguments of the signal Notice, all of them public words."""
    return (
        notice.key,
        notice.incident,
        sequence,
        notice.edition,
        notice.urgency,
        notice.title,
        notice.body,
        notice.unit,
        {"at": Variant("t", notice.at)},
    )


def evidence(evidence: Evidence | None) -> Mapping[str, Variant]:
    """`a{sv}`; empty where none was taken."""
    if evidence is None:
        return {}
    return {
        "taken": Variant("t", evidence.taken_at),
        "facts": Variant("a{ss}", evidence.facts),
        "log": Variant("as", list(evidence.log)),
        "look": Variant("s", evidence.look),
        "files": Variant("a(ts)", [(f.at, f.what) for f in evidence.files]),
        "changes": Variant("a(ts)", [(c.at, c.what) for c in evidence.changes]),
        "providers": Variant(
            "a(ssss)", [(p.unit, p.state, p.reason, p.summary) for p in evidence.providers]
        ),
    }


def why(row: WhyRow) -> Mapping[str, Variant]:
    """`a{sv}`; what does not apply is left out."""
    texts = ("unit", "judged", "rule", "waiting_on", "tried", "notice")
    instants = ("since", "incident", "told", "again", "looked", "next_look")
    looks = [
        (o.first_at, o.last_at, o.times, o.outcome, o.found, o.state, o.reason, o.summary, o.rule)
        for o in row.looks
    ]
    return {
        **{
            name: Variant("s", getattr(row, name)) for name in ("key", "state", "reason", "summary")
        },
        **{name: Variant("s", text) for name in texts if (text := getattr(row, name))},
        **{name: Variant("t", number) for name in instants if (number := getattr(row, name))},
        "looks": Variant("a(ttussssss)", looks),
    }
