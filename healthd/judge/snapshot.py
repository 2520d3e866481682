"""What readers see of the stories: rows, counts, the worst state, alerts.

Pure projections, computed when read and stored nowhere; never a private word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from healthd.judge.run import restarts_seen
from healthd.model import (
    READ_KINDS,
    Aspect,
    AttemptRow,
    CheckKey,
    CheckRow,
    Gap,
    Incident,
    IncidentRow,
    Now,
    Phase,
    Reason,
    State,
    Story,
    TellingRow,
    Verdict,
    Watch,
)

#: A check that was not looked at for so many intervals is `stale`.
_STALE_AFTER = 3


def check_rows(stories: Iterable[Story], now: Now, frozen: str = "") -> tuple[CheckRow, ...]:
    """One row a check that has been looked at and has something to judge, ordered by key.

    *frozen*: why nothing is watched now, "" = it is.
    """
    rows = [
        check_row(story, w, now, frozen) for story in stories for w in story.watches if w.present
    ]
    rows.sort(key=lambda row: row.key)
    return tuple(rows)


def check_row(story: Story, watch: Watch, now: Now, frozen: str = "") -> CheckRow:
    """The row of one check of *story*; *now* makes wall time of the next look's steady instant."""
    check, verdict = watch.check, shown(story, watch, now, frozen)
    incident = open_incident(story, check.key)
    return CheckRow(
        key=check.key,
        aspect=check.aspect.value,
        kind=check.kind,
        unit=check.unit,
        state=verdict.state.value,
        reason=verdict.reason.value,
        failure_class=verdict.failure_class.value if verdict.failure_class else "",
        summary=verdict.summary,
        since=verdict.since_at,
        streak=verdict.streak,
        restarts=restarts_seen(story.run, now) if check.aspect is Aspect.LIVENESS else 0,
        waiting_on=verdict.waiting_on,
        incident=incident.id if incident else 0,
        # While it is settling there is nothing to do.
        remedy=incident.remedy if incident and verdict.state is State.RED else "",
        next_look=now.wall_at + watch.due_us - now.steady_us if watch.due_us else 0,
    )


def shown(story: Story, watch: Watch, now: Now, frozen: str) -> Verdict:
    """The last verdict, which stands, under what is true of it now: that it is not looked after."""
    verdict = watch.verdict
    if frozen:
        reason, words = Reason.FROZEN, frozen
    elif is_stale(story, watch, now):
        reason, words = Reason.STALE, "not looked at for a long time"
    else:
        return verdict
    before = verdict.state if verdict.reason is Reason.OK else f"{verdict.state} {verdict.reason}"
    summary = f"{words}; before that {before}: {verdict.summary}"
    return replace(verdict, state=State.GREY, reason=reason, summary=summary, waiting_on="")


def is_stale(story: Story, watch: Watch, now: Now) -> bool:
    """Whether the check was to be looked at, and for three intervals was not.

    Time in which nobody watched is no part of it. What is looked at when something happens, and
    not every so often, is never stale; what is read of systemd is looked at with each reconcile.
    """
    if not watch.present or watch.due_us > now.steady_us:
        return False
    if not watch.due_us and watch.check.kind not in READ_KINDS:
        return False
    since_us = max(watch.looked_us, story.run.watched_since_us)
    return now.steady_us - since_us > _STALE_AFTER * watch.check.rules.every_us


def open_incident(story: Story, key: CheckKey) -> Incident | None:
    """The open incident of this check; a check has one at most."""
    return next((i for i in story.incidents if i.key == key and i.phase is not Phase.CLOSED), None)


def incident_row(incident: Incident, gaps: tuple[Gap, ...] = ()) -> IncidentRow:
    """The row of one incident, open or closed; *gaps* are those that lie in it."""
    return IncidentRow(
        id=incident.id,
        key=incident.key,
        unit=incident.unit,
        phase=incident.phase.value,
        idle=incident.idle.value,
        reason=incident.reason.value,
        summary=incident.summary,
        opened=incident.opened_at,
        closed=incident.closed_at,
        ending=incident.closing.value,
        attempts=len(incident.attempts),
        notices=len(incident.tellings),
        tried=tuple(
            AttemptRow(a.at, a.repairer, a.by, a.result.value, a.detail, a.along)
            for a in incident.attempts
        ),
        told=tuple(TellingRow(t.at, t.edition.value, t.channel) for t in incident.tellings),
        recent=incident.recent,
        reopened=incident.reopened,
        found=incident.found,
        held_under=incident.held_under,
        remedy=incident.remedy,
        gaps=gaps,
    )


def counts(watches: Iterable[Watch]) -> dict[str, int]:
    """How many checks have each state; every state is there, those that nothing has too."""
    # After every change, over every check: list.count is the quickest way.
    states = [watch.verdict.state for watch in watches if watch.present]
    return {state.value: states.count(state) for state in State}


def worst(tally: Mapping[str, int]) -> State:
    """Red, yellow or green; grey is not judged and never makes it worse."""
    return next((s for s in (State.RED, State.YELLOW) if tally.get(s.value)), State.GREEN)


def all_grey(counted: Mapping[str, int]) -> dict[str, int]:
    """The counts of a machine that is frozen."""
    return {state.value: 0 for state in State} | {State.GREY.value: sum(counted.values())}


def alerts(rows: Iterable[CheckRow]) -> tuple[CheckRow, ...]:
    """The red checks that have a remedy, in the order of *rows*."""
    return tuple(row for row in rows if row.state == State.RED.value and row.remedy)
