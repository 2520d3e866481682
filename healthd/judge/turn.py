"""One event's work on one story: the story as it becomes, and the effects that come out.

A value of this class lives for one call of judge() only.
"""

from __future__ import annotations

from msgspec.structs import replace

from healthd.judge import heartbeat, wording
from healthd.judge.incident import is_open, may_reopen, notice_stands
from healthd.judge.providers import stopped_need
from healthd.model import (
    Aspect,
    AttemptResult,
    Change,
    CheckKey,
    Effect,
    Incident,
    IncidentStep,
    PastIncident,
    Publish,
    Scene,
    Story,
    Verdict,
    Watch,
)

_PAST_KEPT_US = 7 * 24 * 3600 * 1_000_000
_PAST_KEPT = 50


class Turn:
    """Collects what one event changes."""

    def __init__(self, story: Story, scene: Scene) -> None:
        self.story = story
        self.scene = scene
        self.effects: list[Effect] = []

    def watch(self, key: CheckKey) -> Watch | None:
        return next((w for w in self.story.watches if w.check.key == key), None)

    def put_watch(self, watch: Watch) -> None:
        key = watch.check.key
        self.story = replace(
            self.story,
            watches=tuple(watch if w.check.key == key else w for w in self.story.watches),
        )

    def open_incident(self, key: CheckKey) -> Incident | None:
        return next((i for i in self.story.incidents if i.key == key and is_open(i)), None)

    def open_incidents(self) -> tuple[Incident, ...]:
        return tuple(i for i in self.story.incidents if is_open(i))

    def reopenable(self, key: CheckKey) -> Incident | None:
        """The incident that red of *key* would reopen."""
        now = self.scene.now
        return next((i for i in self.story.incidents if i.key == key and may_reopen(i, now)), None)

    def put_incident(self, incident: Incident, change: Change) -> None:
        """Keep *incident* and say so, if anything about it is new."""
        before = next((i for i in self.story.incidents if i.id == incident.id), None)
        if before == incident:
            return
        others = tuple(i for i in self.story.incidents if i.id != incident.id)
        self.story = replace(self.story, incidents=(*others, incident))
        if change is not Change.CHANGED or before is None or _seen_change(before, incident):
            self.effects.append(IncidentStep(change, incident))

    def put_past(self, incident: Incident) -> None:
        oldest_at = self.scene.now.wall_at - _PAST_KEPT_US
        kept = [p for p in self.story.closed if p.closed_at > oldest_at]
        kept.append(_past(incident))
        self.story = replace(self.story, closed=tuple(kept[-_PAST_KEPT:]))

    def take_back_past(self, incident: Incident) -> None:
        """*incident* is open again: it will be one of the past once, not twice."""
        again = _past(incident)
        self.story = replace(self.story, closed=tuple(p for p in self.story.closed if p != again))

    def remedy(self, watch: Watch) -> str:
        """The command that would put *watch* right: first what it needs, if that was stopped."""
        stopped = stopped_need(self.story, watch, self.scene.stories)
        if watch.check.aspect is Aspect.HEARTBEAT and not stopped:
            return heartbeat.remedy(self.story)
        return wording.remedy(watch.check, self.story.facts, stopped)

    def publish(self, key: CheckKey, old: Verdict | None) -> None:
        """Say that a check's state, reason or provider changed, if it did."""
        watch = self.watch(key)
        if watch is None or (old is not None and _face(old) == _face(watch.verdict)):
            return
        incident = self.open_incident(key)
        self.effects.append(Publish(watch, old, incident.id) if incident else Publish(watch, old))

    def tidy(self) -> None:
        """Forget closed incidents that can no longer be reopened, and the attempts of a stretch
        that is over.

        One whose notice still stands is kept while others of the unit are open: it tells of them.
        """
        story, now = self.story, self.scene.now
        some_open = any(is_open(i) for i in story.incidents)
        kept = tuple(
            i
            for i in story.incidents
            if is_open(i) or may_reopen(i, now) or (some_open and notice_stands(i))
        )
        attempts = story.attempts
        if not kept:
            attempts = tuple(a for a in attempts if a.result is AttemptResult.PENDING)
        if kept != story.incidents or attempts != story.attempts:
            self.story = replace(story, incidents=kept, attempts=attempts)


def _past(incident: Incident) -> PastIncident:
    own = sum(
        a.by == "healthd" and a.result is not AttemptResult.OVERTAKEN for a in incident.attempts
    )
    return PastIncident(incident.key, incident.closed_at, incident.closing, own)


def _face(verdict: Verdict) -> tuple[object, ...]:
    return (verdict.state, verdict.reason, verdict.waiting_on)


def _seen_change(before: Incident, after: Incident) -> bool:
    """Whether readers see a difference; the counters of settling are not theirs."""
    return any(
        getattr(before, name) != getattr(after, name)
        for name in (
            "phase",
            "idle",
            "reason",
            "summary",
            "attempts",
            "tellings",
            "reopened",
            "held_under",
            "remedy",
            "told",
        )
    )
