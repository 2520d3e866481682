"""Answer calls for our objects, and say what changed.

Knows nothing of checks. A caller gets an answer or a named error, never a traceback; what anybody
may read waits its turn, so that a flood of reads delays nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence

from healthd.bus.connection import Connection
from healthd.bus.contract import Method
from healthd.bus.message import FAILED, Call, Variant
from healthd.bus.objects import PROPERTIES, Handler, Objects, Reading, Refusal, Served
from healthd.errors import HealthdError

log = logging.getLogger(__name__)

LIMITS_EXCEEDED = "org.freedesktop.DBus.Error.LimitsExceeded"
# Calls of one connection that wait for an answer; of each kind, so that who waits can still read.
# The bus counts a user's connections.
READS_PER_CONNECTION = 64
ACTS_PER_CONNECTION = 16
OUR_FAULT = "healthd could not answer; its journal says why"

Spawn = Callable[[Coroutine[object, object, None]], object]


class Exporter:
    """Our objects, on one connection at a time."""

    def __init__(self, spawn: Spawn, errors: Mapping[str, str]) -> None:
        """*spawn* runs a coroutine in a task that the daemon owns. *errors*: the code of a
        HealthdError → the name of the error that a caller gets.
        """
        self._spawn = spawn
        self._errors = errors
        self._objects = Objects()
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()
        self._pending: Counter[tuple[str, bool]] = Counter()
        self._told: dict[tuple[str, str], dict[str, object]] = {}
        self._stale: defaultdict[tuple[str, str], set[str]] = defaultdict(set)

    def place(self, path: str, served: Served) -> None:
        """Offer an object with one interface of ours. Raises HealthdError "contract"."""
        self._objects.place(path, served)

    def attach(self, connection: Connection) -> None:
        """Answer on *connection* from now on; readers of the one before begin anew."""
        self._connection = connection
        self._stale.clear()
        self._told = {where: served.told_values() for where, served in self._objects.ours.items()}
        connection.serve(self.handle)

    def handle(self, call: Call) -> None:
        """Let the right handler answer; refuse at once what nobody answers."""
        try:
            method, handler = self._objects.find(call)
        except Refusal as refusal:
            call.error(refusal.name, refusal.message)
            return
        place = _place(call, handler)
        most = READS_PER_CONNECTION if isinstance(handler, Reading) else ACTS_PER_CONNECTION
        if self._pending[place] >= most:
            call.error(LIMITS_EXCEEDED, "too many calls wait for an answer; ask again later")
            return
        self._pending[place] += 1
        answer = self._answer(call, method, handler)
        try:
            self._spawn(answer)
        # What a TaskGroup that is ending says.
        except RuntimeError:
            answer.close()
            self._leave(place)
            call.error(FAILED, "healthd is stopping")

    async def _answer(self, call: Call, method: Method, handler: Handler) -> None:
        try:
            async with asyncio.timeout(handler.limit_s):
                await self._run(call, method, handler)
        except TimeoutError:
            call.error(FAILED, f"{method.name} did not end within {handler.limit_s:g} s")
        # One D-Bus call.
        except Exception as err:
            if not self._refuse(call, method, err):
                log.exception("%s failed", method.name)
                call.error(FAILED, OUR_FAULT)
        finally:
            self._leave(_place(call, handler))

    async def _run(self, call: Call, method: Method, handler: Handler) -> None:
        body = () if isinstance(handler, Reading) else await handler.run(call)
        # A large answer costs milliseconds: one a turn of the loop, whoever asks for how many.
        async with self._turn:
            if isinstance(handler, Reading):
                body = handler.render(call)
            call.reply(method.gives, body)
            await asyncio.sleep(0)

    def _refuse(self, call: Call, method: Method, err: Exception) -> bool:
        """Answer with what *err* says, if it was made to be read by others."""
        match err:
            case Refusal():
                call.error(err.name, err.message)
            case HealthdError(code=code) if code in self._errors:
                call.error(self._errors[code], str(err))
            # An answer of ours that does not fit our own contract says nothing to anybody else.
            case HealthdError(code=code) if code != "bus-value":
                log.warning("%s: %s", method.name, err)
                call.error(FAILED, str(err))
            case _:
                return False
        return True

    def _leave(self, place: tuple[str, bool]) -> None:
        self._pending[place] -= 1
        if not self._pending[place]:
            del self._pending[place]

    # ---- what we say unasked

    def emit(self, path: str, interface: str, signal: str, body: Sequence[object]) -> None:
        """Send a signal of one of our interfaces to everybody."""
        signature = self._objects.ours[path, interface].interface.signals[signal]
        self._send(path, interface, signal, signature, body)

    def invalidate(self, path: str, interface: str, *names: str) -> None:
        """Say at the next `flush` that these properties are to be read again."""
        self._stale[path, interface].update(names)

    def flush(self) -> None:
        """Tell which properties changed since the last time; nothing when none did."""
        for (path, name), served in self._objects.ours.items():
            before = self._told.get((path, name), {})
            now = served.told_values()
            self._told[path, name] = now
            changed = {
                p: Variant(served.interface.properties[p].signature, value)
                for p, value in now.items()
                if p not in before or before[p] != value
            }
            stale = sorted(self._stale.pop((path, name), ()))
            if changed or stale:
                body = (name, changed, stale)
                self._send(path, PROPERTIES, "PropertiesChanged", "sa{sv}as", body)

    def _send(
        self, path: str, interface: str, signal: str, signature: str, body: Sequence[object]
    ) -> None:
        if self._connection is None:
            return
        try:
            self._connection.emit(path, interface, signal, signature, body)
        # What cannot be said must not keep healthd from watching.
        except HealthdError:
            log.exception("the signal %s could not be sent", signal)


def _place(call: Call, handler: Handler) -> tuple[str, bool]:
    """Where a call that waits is counted: by its connection, and by whether it only reads."""
    return call.sender, isinstance(handler, Reading)
