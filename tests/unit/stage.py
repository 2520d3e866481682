"""One service on a systemd of its own with healthd's loop around it; only the test moves time.

Shows what the recordings of real systemd show, signal by signal: every change 1 ms after the one
before, every read 3 ms after it was asked for.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from itertools import count

from msgspec.structs import replace

from healthd.judge.endings import Endings
from healthd.judge.run import gap_end
from healthd.model import (
    SECOND_US,
    ActiveState,
    AttemptId,
    AttemptResult,
    Began,
    Check,
    CheckKey,
    Declared,
    Ended,
    Event,
    Froze,
    HoldsChanged,
    JobNew,
    JobRemoved,
    Look,
    LookAt,
    Looked,
    Now,
    Policy,
    ReadUnit,
    Repair,
    RepairFinished,
    RestartAsked,
    Story,
    SystemdSignal,
    Thawed,
    UnitChanged,
    UnitFacts,
    UnitSeen,
    Woken,
)
from healthd.store.records import decode, encode
from tests.unit.histories import (
    BEGIN_AT,
    BEGIN_US,
    FAIL,
    LISTED,
    LIVE_CHECK,
    LIVENESS,
    OK,
    RUNNING,
    UNIT,
    Play,
)

_SIGNAL_US = 1_000
_READ_US = 3_000
_RECONCILE_US = 300 * SECOND_US
_EXITED, _KILLED = 1, 2

ACTIVE, FAILED, INACTIVE = ActiveState.ACTIVE, ActiveState.FAILED, ActiveState.INACTIVE
ACTIVATING, DEACTIVATING = ActiveState.ACTIVATING, ActiveState.DEACTIVATING


class Stage:
    """A unit, what a start of it does, and the judge that watches it.

    *starts_in_s*: how long it is `activating`. *lives_s*: how long it runs before it exits with
    code 1, None = for ever. *serves*: what a look at its readiness finds while it is active.
    *calls*: restarts that healthd made. *refusal*: what each of them ends with instead of a job.
    """

    def __init__(
        self,
        *,
        policy: Policy = LISTED,
        checks: tuple[Check, ...] = (LIVE_CHECK,),
        facts: UnitFacts = RUNNING,
        restart_s: float | None = None,
        first_start: bool = False,
        kind: type[Play] = Play,
    ) -> None:
        self.play = kind(
            policy=policy, checks=checks, story=Story(name=UNIT), first_start=first_start
        )
        self.facts = facts
        self.restart_s = restart_s
        self.starts_in_s = 0.0
        self.lives_s: float | None = None
        self.serves: Callable[[], Look] = lambda: OK
        self.refusal: tuple[AttemptResult, str] | None = None
        self.endings = Endings()
        self.endings.prime(facts)
        self.now_us = BEGIN_US
        self._numbers = count(1)
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._due: dict[CheckKey, int] = {}
        self.calls = 0
        self._acted = 0
        self._lives = 1
        self._failing_start_s: float | None = None
        self._frozen_us = 0
        self._act()
        self._reconcile()

    # ---- time

    @property
    def second(self) -> float:
        """Seconds since the beginning."""
        return (self.now_us - BEGIN_US) / SECOND_US

    def run(self, seconds: float) -> None:
        """Let time pass, with everything that falls due in it."""
        until_us = self.now_us + int(seconds * SECOND_US)
        while (at_us := self._next_us()) <= until_us:
            self.now_us = max(self.now_us, at_us)
            self._fire(at_us)
        self.now_us = until_us

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Do *act* in so many seconds."""
        at_us = self.now_us + int(seconds * SECOND_US)
        heapq.heappush(self._heap, (at_us, next(self._numbers), act))

    def _next_us(self) -> int:
        at_us = self._heap[0][0]
        return min([at_us, *self._due.values()])

    def _fire(self, at_us: int) -> None:
        if self._heap[0][0] <= at_us:
            heapq.heappop(self._heap)[2]()
            return
        key = next(key for key, due_us in self._due.items() if due_us == at_us)
        del self._due[key]
        if key == LIVENESS:
            self._read(due=True)
        else:
            self.look(key)

    # ---- healthd around the judge

    def look(self, key: CheckKey, *, asked: bool = False) -> None:
        """Look at a declared check now."""
        seen = self.play.story.facts
        found = self.serves() if self.facts.active_state is ACTIVE else FAIL
        self.put(Looked(key, found, seen.invocation if seen else "", asked))

    def put(self, event: Event) -> None:
        """Judge *event* now, and act."""
        self.play.now_us = self.now_us
        self.play.put(event)
        self._act()

    def declare(self, *checks: Check) -> None:
        """The settings were read again."""
        self.put(Declared(checks))

    def hold(self, words: str = "held by pid 812: pg_upgrade") -> None:
        """Somebody takes a hold on the unit."""
        self.play.held[UNIT] = words
        self.put(HoldsChanged())

    def release(self) -> None:
        """The hold ends."""
        del self.play.held[UNIT]
        self.put(HoldsChanged())

    def freeze(self) -> None:
        """logind says that the machine is about to sleep, or to stop."""
        self.play.frozen = "the machine goes to sleep"
        self.put(Froze())
        self._frozen_us = self.now_us

    def thaw(self) -> None:
        """It says that this is over; all units are read anew."""
        self.play.frozen = ""
        self.put(Thawed(self.now_us - self._frozen_us))
        self._bridge_gap()
        self._read(due=True)

    def sleep(self, seconds: float) -> None:
        """The machine sleeps without a word before it, and its clock shows so afterwards."""
        self.now_us += int(seconds * SECOND_US)
        self.put(Thawed(int(seconds * SECOND_US)))
        self._read(due=True)

    def restart_asked(self) -> None:
        """A person asks healthd for a restart."""
        self.put(RestartAsked("uid 1000"))

    def _act(self) -> None:
        while self._acted < len(self.play.effects):
            effect = self.play.effects[self._acted]
            self._acted += 1
            match effect:
                case LookAt(key=key, at_us=at_us):
                    self._due.pop(key, None)
                    if at_us:
                        self._due[key] = max(at_us, self.now_us)
                case ReadUnit():
                    self._later(_READ_US / SECOND_US, self._read)
                case Repair(attempt=attempt):
                    self._later(0.01, partial(self._repair, attempt.id))
                case _:
                    pass

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        """What healthd itself does, if it still lives then."""
        life = self._lives
        self.after(seconds, lambda: act() if self._lives == life else None)

    def _read(self, *, due: bool = False) -> None:
        self.put(UnitSeen(self.facts, fresh=True, due=due))

    def _reconcile(self) -> None:
        self._read(due=True)
        self.after(_RECONCILE_US / SECOND_US, self._reconcile)

    def healthd_restarts(self, *, same_boot: bool = True, reads: bool = True) -> None:
        """healthd is killed and started again: what was saved goes on, its own acts do not.

        *reads*: systemd is asked at once, else at the next reconcile.
        """
        self.play.story = decode(encode(self.play.story), Story)
        self._due.clear()
        self._lives += 1
        self.endings = Endings()
        self.endings.prime(self.facts)
        self.put(Woken(same_boot))
        if reads:
            self._bridge_gap()
            self._read(due=True)

    def _bridge_gap(self) -> None:
        run = self.play.story.run
        end = gap_end(run, self.facts, None, self.play.now)
        if end is not None:
            self.put(Ended(end))
        if self.facts.invocation != run.invocation:
            self.put(Began(self.facts.invocation, self.facts.inactive_exit_us))

    def _repair(self, attempt: AttemptId) -> None:
        result, detail = self.refusal or self._restarted()
        ended = RepairFinished(attempt, result, detail)
        if self.facts.job and not self.refusal:
            self._later(self.starts_in_s + 0.01, lambda: self.put(ended))
        else:
            self.put(ended)

    def _restarted(self) -> tuple[AttemptResult, str]:
        if self.facts.job:
            return AttemptResult.OVERTAKEN, "systemd has a job for it already"
        self.calls += 1
        self.restart()
        return AttemptResult.DONE, ""

    # ---- what happens to the unit

    def kill(self, number: int = 9) -> None:
        """The main process is ended by a signal."""
        result = "success" if number == 15 else "signal"
        self._ends(result=result, exit_code=_KILLED, exit_status=number)

    def exit(self, status: int = 1) -> None:
        """The main process exits by itself."""
        result = "exit-code" if status else "success"
        self._ends(result=result, exit_code=_EXITED, exit_status=status)

    def stop(self) -> None:
        """`systemctl stop`: also of one that waits for its automatic restart."""
        job = self.queue_job()
        if self.facts.active_state is ACTIVE:
            self.show(DEACTIVATING, "stop-sigterm", main_exit_us=self.now_us)
        if self.facts.active_state is not FAILED:
            self.show(INACTIVE, "dead")
        self.job_over(job)

    def fail_every_start(self, after_s: float) -> None:
        """From now on the program ends so long after it began, before it is ready."""
        self._failing_start_s = after_s

    def start(self) -> None:
        """`systemctl start`."""
        self._come_up(self.queue_job())

    def restart(self) -> None:
        """`systemctl restart`, or a restart by healthd: the same job."""
        job = self.queue_job()
        if self.facts.active_state is ACTIVE:
            self.show(DEACTIVATING, "stop-sigterm", main_exit_us=self.now_us)
            self.show(INACTIVE, "dead")
        self._come_up(job)

    def blip(self) -> None:
        """systemd shows `failed`, and a millisecond later what was before."""
        before = self.facts
        failed = replace(before, active_state=FAILED, sub_state="failed", result="exit-code")
        for facts in (failed, before):
            self.now_us += _SIGNAL_US
            self.put(UnitSeen(facts))

    def set(self, **changes: object) -> None:
        """Other values of the unit, as a later read finds them."""
        self.facts = replace(self.facts, **changes)

    def _ends(self, **how: object) -> None:
        restarts = self.restart_s is not None and how["result"] != "success"
        how["main_exit_us"] = self.now_us
        if not restarts:
            state, sub = (INACTIVE, "dead") if how["result"] == "success" else (FAILED, "failed")
            self.show(state, sub, **how)
            return
        self.show(FAILED, "failed-before-auto-restart", **how)
        assert self.restart_s is not None
        self.show(
            ACTIVATING,
            "auto-restart",
            restart_delay_for_us=int(self.restart_s * SECOND_US),
            inactive_exit_us=self.now_us,
        )
        invocation = self.facts.invocation
        self.after(self.restart_s, lambda: self._restarts_by_itself(invocation))

    def _restarts_by_itself(self, invocation: str) -> None:
        waits = self.facts.sub_state == "auto-restart" and self.facts.invocation == invocation
        if not waits:
            return
        job = next(self._numbers)
        restarts = self.facts.n_restarts + 1
        self.show(ACTIVATING, "auto-restart-queued", job=job, n_restarts=restarts)
        self._signal(JobNew(job, UNIT))
        self._come_up(job)

    def _come_up(self, job: int) -> None:
        invocation = f"run{next(self._numbers)}"
        begun_us = self.now_us
        if self._failing_start_s is not None:
            self._starts(invocation, begun_us)
            self.after(self._failing_start_s, lambda: self._start_fails(job, invocation))
            return
        if not self.starts_in_s:
            self._is_up(job, invocation, begun_us)
            return
        self._starts(invocation, begun_us)
        self.after(self.starts_in_s, lambda: self._is_up(job, invocation, begun_us))

    def _starts(self, invocation: str, begun_us: int) -> None:
        self.show(
            ACTIVATING,
            "start",
            invocation=invocation,
            inactive_exit_us=begun_us,
            main_start_us=begun_us,
            result="success",
        )

    def _start_fails(self, job: int, invocation: str) -> None:
        if self.facts.invocation == invocation:
            self._signal(JobRemoved(job, UNIT, "failed"))
            self.facts = replace(self.facts, job=0)
            self._ends(result="protocol", exit_code=_EXITED, exit_status=0)

    def _is_up(self, job: int, invocation: str, begun_us: int) -> None:
        self.show(
            ACTIVE,
            "running",
            invocation=invocation,
            inactive_exit_us=begun_us,
            main_start_us=begun_us,
            result="success",
            exit_code=0,
            exit_status=0,
        )
        self.job_over(job)
        if self.lives_s is not None:
            self.after(self.lives_s, lambda: self._dies(invocation))

    def _dies(self, invocation: str) -> None:
        if self.facts.invocation == invocation and self.facts.active_state is ACTIVE:
            self.exit()

    # ---- signals

    def queue_job(self) -> int:
        """A job is queued for the unit; returns its number."""
        job = next(self._numbers)
        self._signal(JobNew(job, UNIT))
        self.show(self.facts.active_state, self.facts.sub_state, job=job)
        return job

    def job_over(self, job: int) -> None:
        """The unit's job is done."""
        self._signal(JobRemoved(job, UNIT, "done"))
        self.put(UnitSeen(self.facts))
        self.show(self.facts.active_state, self.facts.sub_state, job=0)

    def show(self, state: ActiveState, sub: str, **changes: object) -> None:
        """One change of the unit: the Service interface's signal, then the Unit's."""
        before = self.facts.active_state
        if state is not before:
            changes.setdefault("state_change_us", self.now_us)
        if state is ACTIVE and before is not ACTIVE:
            changes["active_enter_us"] = self.now_us
        if before is ACTIVE and state is not ACTIVE:
            changes["active_exit_us"] = self.now_us
        if state in (INACTIVE, FAILED) and before not in (INACTIVE, FAILED):
            changes["inactive_enter_us"] = self.now_us
        self.facts = replace(self.facts, active_state=state, sub_state=sub, **changes)
        service = {"Result": self.facts.result, "NRestarts": self.facts.n_restarts}
        self._signal(UnitChanged(UNIT, "Service", dict(service)))
        unit = {
            "ActiveState": state.value,
            "SubState": sub,
            "Job": self.facts.job,
            "InvocationID": self.facts.invocation,
        }
        self._signal(UnitChanged(UNIT, "Unit", dict(unit)))
        self.put(UnitSeen(self.facts))

    def _signal(self, signal: SystemdSignal) -> None:
        self.now_us += _SIGNAL_US
        now = Now(self.now_us, BEGIN_AT + self.now_us - BEGIN_US)
        for _, event in self.endings.feed(signal, now):
            self.put(event)
