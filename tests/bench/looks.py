"""Write down what a look costs: CPU of this process per http, tcp and exec look, beside a peer's.

The peer is Monit where it is installed, else the plain asyncio way; both are measured in turns, in
one run, against the same server in a process of its own. Judges nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

from msgspec import Struct

from healthd.checks.cgroup import Enclosures, delegated_home
from healthd.checks.kinds import look
from healthd.checks.probe import Prober
from healthd.checks.runner import Runner
from healthd.checks.tools import LookTools, Toolbox
from healthd.errors import HealthdError
from healthd.model import Endpoint, ExecSpec, HttpSpec, Outcome, Spec, TcpSpec, UnitName

#: Looks that are due within this share one wake-up, as in the daemon.
TICK_S = 0.05
LIMIT_S = 5.0
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

Action = Callable[[], Coroutine[None, None, None]]


class Scene(Struct, frozen=True):
    """What is looked at: a port, and a program that adds one byte to a file at each run."""

    port: int
    program: Path
    runs: Path

    def done(self, kind: str) -> int:
        """How many looks of *kind* have arrived so far."""
        if kind == "exec":
            return self.runs.stat().st_size
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/count") as answer:
            return int(answer.read())

    def spec(self, kind: str) -> Spec:
        endpoint = Endpoint("target", host="127.0.0.1", port=self.port)
        specs: dict[str, Spec] = {
            "http": HttpSpec(endpoint),
            "tcp": TcpSpec(endpoint),
            "exec": ExecSpec((str(self.program),)),
        }
        return specs[kind]


# ---- the other side


class Target(asyncio.Protocol):
    """Answers each request and counts connections, the one that asks for the count left out."""

    count = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        Target.count += 1
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        assert isinstance(self._transport, asyncio.WriteTransport)
        if data.startswith(b"GET /count "):
            Target.count -= 1
            body = str(Target.count).encode()
            head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
            self._transport.write(head + body)
        else:
            self._transport.write(ANSWER)
        self._transport.close()


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Target, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextlib.contextmanager
def scene() -> Iterator[Scene]:
    command = (sys.executable, "-m", "tests.bench.looks", "--serve")
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as target,
    ):
        assert target.stdout is not None
        runs, program = Path(folder, "runs"), Path(folder, "program")
        runs.touch()
        program.write_text(f"#!/bin/sh\nprintf x >>{runs}\n")
        program.chmod(0o755)
        try:
            yield Scene(int(target.stdout.readline()), program, runs)
        finally:
            target.kill()


# ---- healthd's looks, and the plain asyncio way


async def no_sockets(unit: UnitName) -> list[tuple[str, str]]:
    raise HealthdError("unit-missing", f"no {unit} here")


def healthd_action(spec: Spec) -> Action:
    runner = Runner(Enclosures(delegated_home()).make, at_once=64)
    tools: LookTools = Toolbox(Prober(), runner, no_sockets, lambda: 0).for_look(LIMIT_S)

    async def action() -> None:
        seen = await look(spec, tools)
        assert seen.outcome == Outcome.OK, seen

    return action


def plain_action(spec: Spec) -> Action:
    async def connect(port: int, *, ask: bool) -> None:
        async with asyncio.timeout(LIMIT_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                if ask:
                    writer.write(b"GET / HTTP/1.1\r\nHost: target\r\nConnection: close\r\n\r\n")
                    assert (await reader.read()).split()[1] == b"200"
            finally:
                writer.close()
                await writer.wait_closed()

    async def run(command: tuple[str, ...]) -> None:
        async with asyncio.timeout(LIMIT_S):
            program = await asyncio.create_subprocess_exec(
                *command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            await program.communicate()
        assert program.returncode == 0

    async def action() -> None:
        match spec:
            case HttpSpec():
                await connect(spec.endpoint.port, ask=True)
            case TcpSpec():
                await connect(spec.endpoint.port, ask=False)
            case ExecSpec():
                await run(spec.command)

    return action


async def steadily(action: Action, per_s: int, seconds: float) -> None:
    """Begin *per_s* looks in each second, in ticks, as the daemon's lookout does."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    begun = 0
    async with asyncio.TaskGroup() as looks:
        while (past_s := loop.time() - began_s) < seconds:
            for _ in range(int((past_s + TICK_S) * per_s) - begun):
                looks.create_task(action())
                begun += 1
            await asyncio.sleep(TICK_S)


def own_cost(make: Callable[[Spec], Action], spec: Spec, per_s: int, seconds: float) -> float:
    """CPU seconds of this process and its children."""

    async def measured() -> float:
        action = make(spec)
        await action()
        before = _cpu(resource.RUSAGE_SELF) + _cpu(resource.RUSAGE_CHILDREN)
        await steadily(action, per_s, seconds)
        return _cpu(resource.RUSAGE_SELF) + _cpu(resource.RUSAGE_CHILDREN) - before

    return asyncio.run(measured())


def _cpu(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


# ---- Monit


def monit_cost(monit: str, kind: str, scene: Scene, per_s: int, seconds: float) -> float:
    """CPU seconds of a Monit, and its children, that makes as many looks each second."""
    lines = {
        "http": f'with address 127.0.0.1 if failed port {scene.port} protocol http request "/"',
        "tcp": f"with address 127.0.0.1 if failed port {scene.port}",
        "exec": f'with path "{scene.program}" if status != 0',
    }
    what = "program" if kind == "exec" else "host"
    with tempfile.TemporaryDirectory() as folder:
        files = (f"set {name} {folder}/{name}" for name in ("pidfile", "idfile", "statefile"))
        checks = (f"check {what} c{n} {lines[kind]} then alert" for n in range(per_s))
        settings = Path(folder, "monitrc")
        settings.touch(0o600)
        settings.write_text("\n".join(["set daemon 1", *files, *checks]) + "\n")
        began = (monit, "-I", "-c", str(settings))
        process = subprocess.Popen(began, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        process.send_signal(signal.SIGTERM)
        _, _, used = os.wait4(process.pid, 0)
        process.returncode = 0
    return used.ru_utime + used.ru_stime


# ---- the comparison


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--seconds", type=float, default=10, help="length of one measurement")
    options.add_argument("--rounds", type=int, default=3, help="measurements of each, in turns")
    options.add_argument("--rate", type=int, default=200, help="http and tcp looks each second")
    options.add_argument("--exec-rate", type=int, default=20, help="exec looks each second")
    given = options.parse_args()
    if given.serve:
        asyncio.run(serve())
    with scene() as target:
        for kind in ("http", "tcp", "exec"):
            rate = given.exec_rate if kind == "exec" else given.rate
            compare(kind, target, rate, given.seconds, given.rounds)
    return 0


def compare(kind: str, target: Scene, rate: int, seconds: float, rounds: int) -> None:
    """Measure healthd and the peer in turns; print the medians, µs of CPU per look."""
    spec = target.spec(kind)
    measures: dict[str, Callable[[], float]] = {
        "healthd": lambda: own_cost(healthd_action, spec, rate, seconds),
        "asyncio": lambda: own_cost(plain_action, spec, rate, seconds),
    }
    if monit := shutil.which("monit"):
        measures["monit"] = lambda: monit_cost(monit, kind, target, rate, seconds)
    spent: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            before = target.done(kind)
            cpu_s = measure()
            spent[name].append(1e6 * cpu_s / max(1, target.done(kind) - before))
    medians = {name: statistics.median(values) for name, values in spent.items()}
    figures = ", ".join(
        f"{name} {median:.0f} ({min(spent[name]):.0f}-{max(spent[name]):.0f})"
        for name, median in medians.items()
    )
    peer = "monit" if "monit" in medians else "asyncio"
    ratio = medians["healthd"] / medians[peer]
    print(f"{kind}, {rate}/s, us of CPU per look: {figures}; {ratio:.2f} x {peer}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
