"""One timer and its job on a systemd of its own, with healthd's judge; only the test moves time.

Shows what the recordings of real systemd show: the timer runs, the job has an invocation, ends, and
the timer announces its next run.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from msgspec.structs import replace

from healthd.judge.ledger import dated, run_of, unseen_runs
from healthd.model import (
    HEARTBEAT_RULES,
    MINUTE_US,
    SECOND_US,
    ActiveState,
    Aspect,
    AttemptId,
    AttemptResult,
    Began,
    Check,
    CheckKey,
    End,
    Ended,
    Event,
    How,
    JobRan,
    JobRun,
    LookAt,
    Policy,
    ReadUnit,
    Repair,
    RepairFinished,
    Story,
    Thawed,
    TimerFacts,
    TimerSeen,
    UnitFacts,
    UnitName,
    Woken,
)
from healthd.store.records import decode, encode
from tests.unit.histories import BEGIN_US, Play

TIMER, JOB = UnitName("backup.timer"), UnitName("backup.service")
KEY = CheckKey(f"heartbeat:{TIMER}")
CHECK = Check(KEY, Aspect.HEARTBEAT, "heartbeat", TIMER, HEARTBEAT_RULES)
DAY_S = 24 * 3600.0
NOTHING_LISTED = Policy()
LISTED_JOB = Policy(allow_restart=frozenset({JOB}))

_WAITING = UnitFacts(
    TIMER,
    active_state=ActiveState.ACTIVE,
    sub_state="waiting",
    invocation="t1",
    wanted=True,
    inactive_exit_us=BEGIN_US - 3600 * SECOND_US,
    active_enter_us=BEGIN_US - 3600 * SECOND_US,
)
_READ_US = 3_000


class Clockwork:
    """A timer that fires every *every_s*, and a job that takes *takes_s* and ends with *status*.

    *fires*: whether systemd keeps what it announces. *reruns*: how often healthd ran the job.
    *overtakes*: how many of its next tries somebody is faster than.
    """

    def __init__(
        self,
        *,
        check: Check = CHECK,
        policy: Policy = NOTHING_LISTED,
        every_s: float = DAY_S,
        first_s: float = 3600.0,
        **timer: object,
    ) -> None:
        self.play = Play(policy=policy, checks=(check,), story=Story(name=TIMER))
        self.now_us = BEGIN_US
        self.facts = _WAITING
        self.job = UnitFacts(JOB, service_type="oneshot")
        self.timer = replace(TimerFacts(unit=JOB, accuracy_for_us=MINUTE_US), **timer)
        self.every_s, self.takes_s, self.status = every_s, 60.0, 0
        self.fires = True
        self.reruns = self.overtakes = 0
        self._numbers = count(1)
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._due_us = 0
        self._acted = 0
        self._announce(first_s)
        self.see(fresh=True, due=True)

    # ---- time

    def run(self, seconds: float) -> None:
        """Let time pass, with everything that falls due in it."""
        until_us = self.now_us + int(seconds * SECOND_US)
        while True:
            due = [t for t in (self._due_us, self._heap[0][0] if self._heap else 0) if t]
            if not due or min(due) > until_us:
                break
            self.now_us = max(self.now_us, min(due))
            if self._heap and self._heap[0][0] <= self.now_us:
                heapq.heappop(self._heap)[2]()
            else:
                self._due_us = 0
                self.see(fresh=True, due=True)
        self.now_us = until_us

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Do *act* in so many seconds."""
        at_us = self.now_us + int(seconds * SECOND_US)
        heapq.heappush(self._heap, (at_us, next(self._numbers), act))

    # ---- healthd

    def put(self, event: Event) -> None:
        """Judge *event* now, and act."""
        self.play.now_us = self.now_us
        self.play.put(event)
        while self._acted < len(self.play.effects):
            effect = self.play.effects[self._acted]
            self._acted += 1
            match effect:
                case LookAt(at_us=at_us):
                    self._due_us = max(at_us, self.now_us) if at_us else 0
                case ReadUnit():
                    self.after(_READ_US / SECOND_US, lambda: self.see(fresh=True))
                case Repair(attempt=attempt):
                    self.after(0.01, lambda a=attempt.id: self._rerun(a))  # type: ignore[misc]
                case _:
                    pass

    def see(self, *, fresh: bool = False, due: bool = False, anew: bool = False) -> None:
        """What systemd shows now, by a signal or (*fresh*) by a reading."""
        self.put(TimerSeen(self.facts, self.timer, self.job, fresh, due, anew=anew))

    def reconcile(self) -> None:
        """A listing, as every five minutes."""
        self.see(due=True)

    def _rerun(self, attempt: AttemptId) -> None:
        if self.overtakes:
            self.overtakes -= 1
            words = "systemd has a job for it already"
            self.put(RepairFinished(attempt, AttemptResult.OVERTAKEN, words))
            return
        self.reruns += 1
        self.start()
        self.put(RepairFinished(attempt, AttemptResult.DONE, "it runs"))

    def healthd_restarts(self, *written: JobRun, same_boot: bool = True) -> None:
        """healthd is killed and started again. *written*: what the journal has of runs since."""
        self.play.story = decode(encode(self.play.story), Story)
        self._due_us = 0
        self.put(Woken(same_boot))
        for run in unseen_runs(self.play.story.ledger, self.job, written):
            self.put(JobRan(dated(run, self.play.now)))
        self.see(fresh=True, due=True)

    def reboot(self, off_s: float, *written: JobRun) -> None:
        """The machine was off for so long; systemd knows nothing of before."""
        self._heap.clear()
        self.now_us += int(off_s * SECOND_US)
        self.job = UnitFacts(JOB, service_type="oneshot")
        self.facts = replace(self.facts, invocation=f"t{next(self._numbers)}")
        self._announce(self.every_s)
        self.healthd_restarts(*written, same_boot=False)

    def sleep(self, seconds: float) -> None:
        """The machine sleeps: CLOCK_MONOTONIC stands still, and nothing fires."""
        self.now_us += int(seconds * SECOND_US)
        if self.timer.next_us:
            self.timer = replace(self.timer, next_us=self.timer.next_us + int(seconds * SECOND_US))
        self._heap = [(at + int(seconds * SECOND_US), n, act) for at, n, act in self._heap]
        self.put(Thawed(int(seconds * SECOND_US)))
        self.see(fresh=True, due=True)

    # ---- systemd

    def _announce(self, in_s: float) -> None:
        wall_at = self.play.now.wall_at + self.now_us - self.play.now_us
        self.timer = replace(self.timer, next_at=wall_at + int(in_s * SECOND_US))
        announced = self.timer.next_at
        self.after(in_s, lambda: self._fire(announced))

    def _fire(self, announced: int) -> None:
        if self.fires and self.timer.next_at == announced:
            self.timer = replace(self.timer, next_at=0, trigger_at=announced)
            self._shows("running")
            self.start()

    def start(self) -> None:
        """The job starts: by its timer, by a person, or by healthd."""
        if self.facts.sub_state == "waiting":
            self.timer = replace(self.timer, next_at=0)
            self._shows("running")
        invocation = f"j{next(self._numbers)}"
        self.job = replace(
            self.job,
            active_state=ActiveState.ACTIVATING,
            sub_state="start",
            invocation=invocation,
            result="success",
            inactive_exit_us=self.now_us,
        )
        self.see()
        self.after(self.takes_s, lambda: self._ends(invocation))

    def _ends(self, invocation: str) -> None:
        if self.job.invocation == invocation and self.job.active_state is ActiveState.ACTIVATING:
            self.end(How.BY_ITSELF, self.status)

    def end(self, how: How, status: int) -> None:
        """The run ends, by itself or for somebody; the timer announces its next one."""
        state, sub = (ActiveState.FAILED, "failed") if status else (ActiveState.INACTIVE, "dead")
        self.job = replace(
            self.job,
            active_state=state,
            sub_state=sub,
            result="exit-code" if status else "success",
            exit_code=1,
            exit_status=status,
            inactive_enter_us=self.now_us,
        )
        wall_at = self.play.now.wall_at + self.now_us - self.play.now_us
        end = End(self.job.invocation, self.now_us, wall_at, how, clean=not status)
        self.put(JobRan(run_of(end, self.job)))
        self.see()
        self._announce(self.every_s)
        self._shows("waiting")

    def stop(self, how: How = How.ASKED) -> None:
        """The timer goes down: `systemctl stop`, or otherwise."""
        self.facts = replace(self.facts, active_state=ActiveState.INACTIVE, sub_state="dead")
        self.timer = replace(self.timer, next_at=0)
        self.put(Ended(End(self.facts.invocation, self.now_us, 0, how)))
        self.see()

    def goes_down(self) -> None:
        """A stop of the timer is under way: systemd shows it down with the job that does it."""
        down = replace(self.facts, active_state=ActiveState.INACTIVE, sub_state="dead", job=7)
        self.put(TimerSeen(down, self.timer, self.job))

    def revive(self, first_s: float) -> None:
        """`systemctl start` of the timer, whose first run is so far away."""
        invocation = f"t{next(self._numbers)}"
        self.facts = replace(self.facts, active_state=ActiveState.ACTIVE, invocation=invocation)
        self.put(Began(invocation, self.now_us, asked=True))
        self._announce(first_s)
        self._shows("waiting")

    def _shows(self, sub: str) -> None:
        self.facts = replace(self.facts, sub_state=sub)
        self.see()

    # ---- what comes of it

    @property
    def face(self) -> tuple[str, str]:
        """State and reason."""
        return self.play.face(KEY)

    @property
    def left_s(self) -> float:
        """How long it is until the run that is announced."""
        return (self.timer.next_at - self.play.now.wall_at - self.now_us + self.play.now_us) / 1e6

    @property
    def says(self) -> str:
        """The summary."""
        return self.play.watch(KEY).verdict.summary
