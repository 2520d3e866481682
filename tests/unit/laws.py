"""What must hold after every event of every history, whatever happened; checked as it is played."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from healthd.judge.incident import is_open, may_reopen
from healthd.judge.judge import judge
from healthd.judge.repairing import HEALTHD, counted
from healthd.model import (
    HOUR_US,
    MINUTE_US,
    Attempt,
    AttemptId,
    AttemptResult,
    Change,
    CheckKey,
    Edition,
    Effect,
    Event,
    Idle,
    IncidentId,
    IncidentStep,
    LookAt,
    Publish,
    Reason,
    Repair,
    Scene,
    State,
    Story,
    Tell,
    UnitSeen,
    Withdraw,
)
from healthd.store.records import decode, encode
from tests.unit.histories import Play

_BROKEN = (Edition.ENGAGED, Edition.AGAIN)
# The longest pause, grace and start limit of these tests, one after the other, and some more.
_SILENCE_US = 10 * MINUTE_US


@dataclass
class LawfulPlay(Play):
    """A play in which every step is held against the laws. *saves*: each step starts from bytes."""

    saves: bool = False
    own: dict[AttemptId, Attempt] = field(default_factory=dict)
    most_allowed: int = 0
    restarts_us: list[int] = field(default_factory=list)
    last_told: dict[IncidentId, Edition] = field(default_factory=dict)
    engaged: set[IncidentId] = field(default_factory=set)
    ever_told: bool = False
    standing_since_us: int = 0
    silent_since_us: dict[CheckKey, int] = field(default_factory=dict)

    def judged(
        self, before: Story, event: Event, scene: Scene, effects: tuple[Effect, ...]
    ) -> None:
        """All laws, one after the other."""
        if self.saves:
            stories = {**scene.stories, before.name: before}
            loaded = {name: decode(encode(s), Story) for name, s in stories.items()}
            again = judge(loaded[before.name], event, replace(scene, stories=loaded))
            assert again == (self.story, effects), "what was saved goes on differently"
        self._red_is_open(scene)
        self._stands_still(before, scene)
        self._shown_once(before, effects)
        self._looks_ahead(scene, effects)
        for effect in effects:
            match effect:
                case Repair():
                    self._allowed(effect, before, event, scene)
                case Tell():
                    self._told_rightly(effect, scene)
                case Withdraw(incident=incident):
                    assert self.last_told.pop(incident) in _BROKEN, "nothing to withdraw"
                case IncidentStep():
                    self._stepped(effect, before, scene)
                case _:
                    pass
        self._attempts_in_bounds(scene)
        self._no_notice_left_standing()
        self._bounded(scene)
        self._never_silent(scene)

    # ---- what is shown

    def _stands_still(self, before: Story, scene: Scene) -> None:
        """While the machine is frozen no verdict changes for the worse."""
        if not scene.frozen:
            return
        known = {w.check.key: w.verdict for w in before.watches}
        for watch in self.story.watches:
            old = known.get(watch.check.key, watch.verdict)
            assert old.streak == watch.verdict.streak, "counted while frozen"
            worse = watch.verdict.state is State.RED is not old.state
            assert not worse, "red while frozen"

    def _red_is_open(self, scene: Scene) -> None:
        """While the watch is on, a red check has one open incident."""
        open_keys = [i.key for i in self.story.incidents if is_open(i)]
        assert len(open_keys) == len(set(open_keys)), "two open incidents of one check"
        if not scene.policy.watch_enabled:
            return
        for watch in self.story.watches:
            red = watch.verdict.state is State.RED
            assert not red or watch.check.key in open_keys, "red without an incident"
            assert not red or not self.story.held, "red under a hold"
            waiting = watch.verdict.reason is Reason.WAITING
            assert waiting or not watch.verdict.waiting_on, "waits on what it does not wait for"

    def _shown_once(self, before: Story, effects: tuple[Effect, ...]) -> None:
        """A change is published if there is one, and then once."""
        published = [e for e in effects if isinstance(e, Publish)]
        keys = [e.watch.check.key for e in published]
        assert len(keys) == len(set(keys)), "published twice"
        shown = {w.check.key: w.verdict for w in before.watches if w.present}
        for watch in self.story.watches:
            old, new = shown.get(watch.check.key), watch.verdict
            changed = old is None or (old.state, old.reason) != (new.state, new.reason)
            assert not watch.present or not changed or watch.check.key in keys, "not published"

    def _looks_ahead(self, scene: Scene, effects: tuple[Effect, ...]) -> None:
        """Looks are never due in the past, and soon where something is about to be decided."""
        due = {e.key: e.at_us for e in effects if isinstance(e, LookAt)}
        for watch in self.story.watches:
            at_us = due.get(watch.check.key)
            if at_us is None:
                continue
            assert at_us == 0 or at_us >= scene.now.steady_us, "due in the past"
            if watch.verdict.state is State.RED:
                assert 0 < at_us <= scene.now.steady_us + watch.check.rules.every_us * 2

    # ---- repairs

    def _allowed(self, repair: Repair, before: Story, event: Event, scene: Scene) -> None:
        attempt, now_us, policy = repair.attempt, scene.now.steady_us, scene.policy
        assert not any(a.result is AttemptResult.PENDING for a in before.attempts), "two at once"
        assert attempt in self.story.attempts, "not recorded"
        if attempt.by != HEALTHD:
            return
        assert not self.story.held, "repaired under a hold"
        assert not scene.frozen, "repaired while frozen"
        assert policy.watch_enabled
        assert attempt.unit in policy.allow_restart, "not on the list"
        facts = event.facts if isinstance(event, UnitSeen) else before.facts
        assert facts is not None, "without systemd's word"
        assert not facts.job, "systemd has a job"
        assert "auto-restart" not in facts.sub_state, "systemd restarts it"
        assert not facts.active_foes
        assert not facts.acts_on_machine
        watch = self.watch(repair.key)
        incident = self.open(repair.key)
        assert incident is not None
        assert (watch.verdict.state, incident.idle) == (State.RED, Idle.NO)
        assert not incident.why_engaged, "repaired after the owner was engaged"
        old = next(w for w in before.watches if w.check.key == repair.key)
        judging = old.verdict.reason is Reason.REPAIRING and old.invocation == facts.invocation
        assert not judging or old.grace_until_us <= now_us, "inside the grace"
        self.restarts_us = [t for t in self.restarts_us if t > now_us - HOUR_US]
        assert len(self.restarts_us) < policy.unit_budget.count, "over the unit's budget"
        lately = sum(t > now_us - MINUTE_US for t in scene.machine_restarts_us)
        assert lately < policy.machine_budget.count, "over the machine's budget"
        self.restarts_us.append(now_us)
        self.own[attempt.id] = attempt

    def _attempts_in_bounds(self, scene: Scene) -> None:
        """Of one stretch in which any check has an open incident, ours and not overtaken."""
        self.most_allowed = max(self.most_allowed, scene.policy.max_attempts)
        for attempt in self.story.attempts:
            if attempt.id in self.own:
                self.own[attempt.id] = attempt
                if attempt.result is AttemptResult.OVERTAKEN and attempt.at_us in self.restarts_us:
                    self.restarts_us.remove(attempt.at_us)
        made = [a for a in self.own.values() if counted(a)]
        assert len(made) <= self.most_allowed, "more than max_attempts"
        alive = [i for i in self.story.incidents if is_open(i) or may_reopen(i, scene.now)]
        if not alive:
            kept = {a.id for a in self.story.attempts}
            self.own = {n: a for n, a in self.own.items() if n in kept}
            self.most_allowed = max(scene.policy.max_attempts, len(self.own))

    # ---- notices

    def _told_rightly(self, tell: Tell, scene: Scene) -> None:
        assert not self.story.held, "told under a hold"
        assert not scene.frozen, "told while frozen"
        notice, now_us = tell.notice, scene.now.steady_us
        last = self.last_told.get(notice.incident)
        match notice.edition:
            case Edition.ENGAGED:
                assert notice.incident not in self.engaged, "engaged twice"
                assert not any(e in _BROKEN for e in self.last_told.values()), "two notices stand"
                self.engaged.add(notice.incident)
            case Edition.AGAIN:
                assert self.ever_told, "again, and never told"
                stands = [e for e in self.last_told.values() if e in _BROKEN]
                since_us = now_us - self.standing_since_us
                assert not stands or since_us >= scene.policy.renotify_us, "again too early"
            case Edition.CLEARED:
                assert last in _BROKEN or scene.policy.self_healed, "cleared, and never told"
            case _:
                raise AssertionError(f"no such edition here: {notice.edition}")
        if notice.edition is not Edition.CLEARED:
            self.standing_since_us = now_us
            assert notice.remedy
        self.ever_told = True
        assert notice.title
        assert notice.body
        self.last_told[notice.incident] = notice.edition

    def _no_notice_left_standing(self) -> None:
        """Once no engaged incident of the unit is open, none says that it is broken."""
        assert sum(e in _BROKEN for e in self.last_told.values()) <= 1, "two notices stand"
        if any(is_open(i) and i.why_engaged and not i.found for i in self.story.incidents):
            return
        closed = [n for n in self.last_told if not self._is_open(n)]
        assert not any(self.last_told[n] in _BROKEN for n in closed), "a notice was left standing"

    def _is_open(self, number: IncidentId) -> bool:
        return any(i.id == number and is_open(i) for i in self.story.incidents)

    def _stepped(self, step: IncidentStep, before: Story, scene: Scene) -> None:
        was = next((i for i in before.incidents if i.id == step.incident.id), None)
        match step.change:
            case Change.OPENED:
                assert step.incident.id == scene.next_incident
                assert was is None
            case Change.CLOSED:
                assert was is not None
                assert is_open(was)
                assert step.incident.closing
                assert step.incident.closed_at
            case Change.CHANGED:
                pass

    # ---- bounds

    def _bounded(self, scene: Scene) -> None:
        """No history, however long, makes a story grow for ever."""
        story = self.story
        assert len(story.closed) <= 50
        assert len(story.run.ends) <= 64
        assert len(story.run.starts_us) <= 64
        assert all(w.looks <= 20 and w.recent < 2**20 for w in story.watches)
        kept = [i for i in story.incidents if not is_open(i) and not may_reopen(i, scene.now)]
        assert len(kept) <= len(story.watches) + 1

    def _never_silent(self, scene: Scene) -> None:
        """Red, at rest and untold for long: that would be silence where something is broken."""
        busy = any(a.result is AttemptResult.PENDING for a in self.story.attempts)
        for watch in self.story.watches:
            key, incident = watch.check.key, self.open(watch.check.key)
            quiet = (
                not busy
                and not scene.frozen
                and scene.policy.watch_enabled
                and watch.verdict.state is State.RED
                and watch.verdict.reason is not Reason.REPAIRING
                and incident is not None
                and not incident.found
                and not incident.why_engaged
            )
            if quiet:
                since_us = self.silent_since_us.setdefault(key, scene.now.steady_us)
                assert scene.now.steady_us - since_us < _SILENCE_US or self.may_be_silent()
            else:
                self.silent_since_us.pop(key, None)

    def may_be_silent(self) -> bool:
        """Whether this play lets time pass without the looks that are due."""
        return False
