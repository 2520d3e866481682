"""Who calls us, and how often a caller may ask for what costs or changes something.

Callers are told apart by uid: whoever opens a second connection is the same one. Memory is bounded.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from healthd.bus.connection import BUS_LIMIT_S, BUS_NAME, BUS_PATH, Connection
from healthd.bus.message import BusError
from healthd.errors import HealthdError
from healthd.model import MINUTE_US, SECOND_US

CALLS_A_MINUTE = 20
CALLERS_KEPT = 256
SENDERS_KEPT = 1024
# Calls that wait for an answer at one time. A user who wants more is at fault or at war.
PLACES_EACH = 16
PLACES = 256
ROOT = 0


class Callers:
    """Uids of senders, and what each of them asked for lately."""

    def __init__(self, steady_us: Callable[[], int]) -> None:
        self._steady_us = steady_us
        self._uids: OrderedDict[str, int] = OrderedDict()
        self._calls: OrderedDict[int, deque[int]] = OrderedDict()
        self._passing: set[int] = set()
        self._placed: Counter[int] = Counter()

    def forget_senders(self) -> None:
        """On another bus a unique name is somebody else's."""
        self._uids.clear()

    async def uid_of(self, connection: Connection, sender: str) -> int:
        """The user that owns *sender*. Raises HealthdError "not-authorized" when it has left."""
        known = self._uids.get(sender)
        if known is not None:
            self._uids.move_to_end(sender)
            return known
        uid = await _ask_bus(connection, "GetConnectionUnixUser", sender)
        self._uids[sender] = uid
        if len(self._uids) > SENDERS_KEPT:
            self._uids.popitem(last=False)
        return uid

    async def pid_of(self, connection: Connection, sender: str) -> int:
        """The process behind *sender*, as the bus knows it. Raises as `uid_of` does."""
        return await _ask_bus(connection, "GetConnectionUnixProcessID", sender)

    def admit(self, uid: int) -> None:
        """Count one call of *uid*. Raises HealthdError "rate-limited", without counting it."""
        now_us = self._steady_us()
        calls = self._calls.setdefault(uid, deque(maxlen=CALLS_A_MINUTE))
        self._calls.move_to_end(uid)
        if len(self._calls) > CALLERS_KEPT:
            self._calls.popitem(last=False)
        if len(calls) == CALLS_A_MINUTE and now_us - calls[0] < MINUTE_US:
            wait_s = (calls[0] + MINUTE_US - now_us) // SECOND_US + 1
            raise HealthdError(
                "rate-limited",
                f"more than {CALLS_A_MINUTE} calls within a minute",
                f"ask again in {wait_s} s",
            )
        calls.append(now_us)

    @contextmanager
    def one_place(self, uid: int) -> Iterator[None]:
        """A place to wait for an answer in. Raises HealthdError "too-many".

        Root's are counted apart: whatever the users do, the machine's owner is heard.
        """
        others = self._placed.total() - self._placed[ROOT]
        if self._placed[uid] >= PLACES_EACH or (uid != ROOT and others >= PLACES):
            raise HealthdError("too-many", "too many calls wait for an answer", "ask again later")
        self._placed[uid] += 1
        try:
            yield
        finally:
            self._placed[uid] -= 1
            if not self._placed[uid]:
                del self._placed[uid]

    @contextmanager
    def one_pass(self, uid: int) -> Iterator[None]:
        """The one pass that *uid* may ask for at a time. Raises HealthdError "rate-limited"."""
        if uid in self._passing:
            raise HealthdError(
                "rate-limited", "a look that you asked for has not ended", "wait for its answer"
            )
        self._passing.add(uid)
        try:
            yield
        finally:
            self._passing.discard(uid)


async def _ask_bus(connection: Connection, member: str, sender: str) -> int:
    try:
        (answer,) = await connection.call(
            BUS_NAME, BUS_PATH, BUS_NAME, member, "s", (sender,), limit_s=BUS_LIMIT_S
        )
    except BusError as err:
        raise HealthdError("not-authorized", "the caller has left the bus") from err
    if not isinstance(answer, int):
        raise HealthdError("not-authorized", "the bus does not know the caller")
    return answer
