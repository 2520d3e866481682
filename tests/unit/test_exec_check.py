"""kind `exec`: what an exit status means, and that nothing a program starts outlives its look."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from healthd.checks import exec as exec_
from healthd.checks.base import Ended, Place, Probe, Reply
from healthd.checks.cgroup import ControlGroup, Enclosures, ProcessGroup, delegated_home
from healthd.checks.runner import ENVIRONMENT, Runner
from healthd.model import (
    Endpoint,
    ExecProtocol,
    ExecSpec,
    FailureClass,
    Look,
    Outcome,
    Reason,
)
from tests.unit.loopback import AMPLE_S, NOW_AT, open_descriptors

#: A limit that is meant to be reached.
SHORT_S = 0.2
#: Starts a child that has left the session, says its number, and stays.
DESERTER = "setsid sleep 600 & echo $!; wait"
CHILD = "sleep 600 & echo $!; wait"


def cgroup2() -> Path | None:
    """Where this machine's unified control groups are mounted."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return next((Path(path) for _, path, kind, *_ in mounts if kind == "cgroup2"), None)


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder of control groups of our own."""
    root = cgroup2()
    if root is None or not os.access(root, os.W_OK):
        pytest.skip("no control group of this machine may be written to")
    home = root / f"healthd-test-{os.getpid()}"
    home.mkdir()
    yield home
    left = [path for path in home.iterdir() if path.is_dir()]
    for path in left:
        path.rmdir()
    home.rmdir()
    assert left == [], "control groups were left behind"


@pytest.fixture(params=["process group", "control group"])
def runner(request: pytest.FixtureRequest) -> Runner:
    """A runner of either kind."""
    own = request.param == "control group"
    return Runner(Enclosures(request.getfixturevalue("home") if own else None).make)


@pytest.fixture(autouse=True)
async def _nothing_left() -> AsyncIterator[None]:
    """No descriptor, no task, no child, dead or alive, is left after any test here."""
    # The loop makes what it needs for itself once.
    before = open_descriptors()
    yield
    assert open_descriptors() == before
    assert not has_children()


def has_children() -> bool:
    """Whether any child is there, dead ones that nobody reaped included."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def shell(script: str) -> tuple[str, ...]:
    """A script as a command."""
    return ("/bin/sh", "-c", script)


async def is_gone(pid: int) -> bool:
    """Wait until *pid*, which may be nobody's child, has ended."""
    try:
        end = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    poll = select.poll()
    poll.register(end, select.POLLIN)
    try:
        return bool(await asyncio.to_thread(poll.poll, AMPLE_S * 1000))
    finally:
        os.close(end)


class Told:
    """Tools of a look to which the program's end is told."""

    limit_s = 5.0

    def __init__(self, ended: Ended) -> None:
        self._ended = ended

    async def places(self, endpoint: Endpoint) -> tuple[Place, ...]:
        """No exec look connects."""
        raise AssertionError(endpoint)

    async def probe(self, probe: Probe) -> Reply:
        """No exec look connects."""
        raise AssertionError(probe)

    async def run(self, command: tuple[str, ...]) -> Ended:
        """What the test says."""
        return self._ended

    def wall_at(self) -> int:
        """Always the same instant."""
        return NOW_AT


async def look(ended: Ended, protocol: ExecProtocol = ExecProtocol.EXIT) -> Look:
    """A look at a program that ended so."""
    spec = ExecSpec(("/usr/lib/foo/check-admin", "--token=hunter2"), protocol)
    return await exec_.look(spec, Told(ended))


# ---- what an end means


@pytest.mark.parametrize(
    ("ended", "outcome", "failure_class", "summary"),
    [
        (Ended(), Outcome.OK, None, "check-admin ended with exit status 0"),
        (
            Ended(exit_status=2),
            *(Outcome.FAILING, FailureClass.EXIT, "check-admin ended with exit status 2"),
        ),
        (
            Ended(signal=signal.SIGSEGV),
            *(Outcome.FAILING, FailureClass.EXIT, "check-admin was killed by SIGSEGV"),
        ),
        (
            Ended(signal=35),
            *(Outcome.FAILING, FailureClass.EXIT, "check-admin was killed by signal 35"),
        ),
        (
            Ended(late=True),
            Outcome.FAILING,
            FailureClass.TIMEOUT,
            "check-admin did not end within 5 s and was killed",
        ),
        (
            Ended(not_run="there is no such program"),
            Outcome.NOT_JUDGED,
            FailureClass.COULD_NOT_RUN,
            "check-admin could not be run: there is no such program",
        ),
    ],
)
async def test_an_end_is_said_in_our_own_words(
    ended: Ended, outcome: Outcome, failure_class: FailureClass | None, summary: str
) -> None:
    """A person reads it in a notice; nothing of the arguments or the output is in it."""
    seen = await look(ended)
    assert (seen.outcome, seen.failure_class, seen.summary) == (outcome, failure_class, summary)


@pytest.mark.parametrize(
    ("status", "outcome", "reason", "failure_class", "summary"),
    [
        (0, Outcome.OK, Reason.OK, None, "check-admin says ok"),
        (
            *(1, Outcome.DEGRADED, Reason.DEGRADED, None),
            "check-admin says warning (exit status 1)",
        ),
        (
            *(2, Outcome.FAILING, Reason.UNREADY, FailureClass.EXIT),
            "check-admin says critical (exit status 2)",
        ),
        (
            *(3, Outcome.NOT_JUDGED, Reason.UNKNOWN, None),
            "check-admin says unknown (exit status 3)",
        ),
        (
            *(4, Outcome.FAILING, Reason.UNREADY, FailureClass.EXIT),
            "check-admin ended with exit status 4",
        ),
    ],
)
async def test_monitoring_plugins_have_four_codes(
    status: int,
    outcome: Outcome,
    reason: Reason,
    failure_class: FailureClass | None,
    summary: str,
) -> None:
    """Thousands of them exist and must run unchanged; what they measured is kept, in private."""
    ended = Ended(exit_status=status, output="OK - 3 users |users=3;20;50\n", took_us=7)
    seen = await look(ended, ExecProtocol.NAGIOS)
    assert seen == Look(
        *(outcome, reason, summary, failure_class, "OK - 3 users |users=3;20;50\n", 7)
    )


async def test_a_plugin_that_crashes_says_nothing_in_its_protocol() -> None:
    """A signal is no exit status."""
    seen = await look(Ended(signal=signal.SIGABRT), ExecProtocol.NAGIOS)
    assert (seen.outcome, seen.failure_class) == (Outcome.FAILING, FailureClass.EXIT)


# ---- how a program is run


async def test_status_signal_and_output_are_seen(runner: Runner) -> None:
    """Standard output and error are one text, in the order in which they were written."""
    ended = await runner.run(shell("echo out; echo err >&2; exit 7"), AMPLE_S)
    assert (ended.exit_status, ended.output) == (7, "out\nerr\n")
    assert (await runner.run(shell("kill -SEGV $$"), AMPLE_S)).signal == signal.SIGSEGV
    assert (await runner.run(("/bin/true",), AMPLE_S)).exit_status == 0


async def test_what_cannot_be_run_is_not_a_failure(runner: Runner, tmp_path: Path) -> None:
    """A missing program, or one that we may not run, says nothing of what it would have checked."""
    script = tmp_path / "check"
    script.write_text("#!/nonexistent/interpreter\n")
    not_run = {
        path: (await runner.run((str(path),), AMPLE_S)).not_run
        for path in (tmp_path / "missing", script, tmp_path)
    }
    assert not_run[tmp_path / "missing"] == "there is no such program"
    assert not_run[script] == "no permission to run it"
    assert not_run[tmp_path] == "no permission to run it"
    script.chmod(0o755)
    assert (await runner.run((str(script),), AMPLE_S)).not_run == "there is no such program"


async def test_a_program_may_end_with_the_numbers_of_a_shell(runner: Runner) -> None:
    """125 to 127 mean something only when the program did not begin."""
    for status in (125, 126, 127):
        ended = await runner.run(shell(f"exit {status}"), AMPLE_S)
        assert (ended.exit_status, ended.not_run) == (status, "")
        python = ("/usr/bin/python3", "-c", f"raise SystemExit({status})")
        ended = await runner.run(python, AMPLE_S)
        assert (ended.exit_status, ended.not_run) == (status, "")


async def test_arguments_are_not_a_shells(runner: Runner) -> None:
    """What is in the settings is what the program gets."""
    ended = await runner.run(("/bin/echo", "$HOME", "a  b", "; exit 1", ""), AMPLE_S)
    assert (ended.exit_status, ended.output) == (0, "$HOME a  b ; exit 1 \n")


async def test_the_environment_is_clean(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    """With NOTIFY_SOCKET a check could speak to systemd in healthd's name."""
    for name in ("NOTIFY_SOCKET", "LISTEN_FDS", "CREDENTIALS_DIRECTORY", "WATCHDOG_USEC"):
        monkeypatch.setenv(name, "1")
    said = (await runner.run(("/usr/bin/env",), AMPLE_S)).output
    seen = dict(line.split("=", 1) for line in said.splitlines())
    # The shell of the entrance says where it stands.
    seen.pop("PWD", None)
    assert seen == ENVIRONMENT


async def test_a_program_inherits_nothing_but_its_output(runner: Runner) -> None:
    """A descriptor of the store or the bus in a stranger's hands would be a hole."""
    ours, theirs = os.pipe()
    try:
        ended = await runner.run(shell("ls /proc/self/fd; readlink /proc/self/fd/0"), AMPLE_S)
    finally:
        os.close(ours)
        os.close(theirs)
    *numbers, stdin = ended.output.split()
    # What the tests' own parent left open goes down to everybody.
    handed_down = {fd for fd in map(int, os.listdir("/proc/self/fd")) if _is_inherited(fd)}
    # 3 is the folder that ls reads.
    assert {int(number) for number in numbers} - handed_down <= {0, 1, 2, 3}
    assert stdin == "/dev/null"
    assert max(ours, theirs) > 3


def _is_inherited(fd: int) -> bool:
    try:
        return os.get_inheritable(fd)
    except OSError:
        return False


async def test_signals_are_as_a_program_expects_them(runner: Runner) -> None:
    """Python ignores SIGPIPE; a check that is a pipeline would never end."""
    ended = await runner.run(shell("grep -E 'Sig(Ign|Blk)' /proc/self/status"), AMPLE_S)
    _, blocked, _, ignored = ended.output.split()
    # glibc ignores two of its own, 32 and 33, in what it spawns.
    assert (int(blocked, 16), int(ignored, 16) & 0x7FFF_FFFF) == (0, 0)


async def test_output_is_bounded_and_the_rest_is_drained(runner: Runner) -> None:
    """A chatty program must neither fill memory nor wait for a reader for ever."""
    ended = await runner.run(shell("head -c 400000 /dev/zero | tr '\\0' x; exit 3"), AMPLE_S)
    assert (ended.exit_status, ended.output) == (3, "x" * 4096)


async def test_a_flood_ends_at_the_limit(runner: Runner) -> None:
    """And leaves the loop to others meanwhile."""
    ended = await runner.run(("/usr/bin/yes",), SHORT_S)
    assert ended.late
    assert ended.output.startswith("y\ny\n")


async def test_the_limit_does_not_run_in_the_queue() -> None:
    """With one slot the second waits for the first; that is not its own time."""
    runner = Runner(Enclosures(None).make, at_once=1)
    first, second = await asyncio.gather(
        runner.run(("/bin/sleep", "600"), 1.0), runner.run(shell("echo here"), 0.9)
    )
    assert (first.late, second.late, second.output) == (True, False, "here\n")


class Counted:
    """A process group that is counted while it is in use."""

    def __init__(self, used: set[Counted], most: list[int]) -> None:
        self._group = ProcessGroup()
        self._used = used
        used.add(self)
        most.append(len(used))

    def entrance(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """As the group does."""
        return self._group.entrance(command)

    def kill(self, leader_pid: int) -> None:
        """As the group does."""
        self._group.kill(leader_pid)

    def remove(self) -> bool:
        """No longer in use."""
        self._used.discard(self)
        return True

    async def emptied(self, limit_s: float) -> None:
        """Nothing to wait for."""


async def test_few_run_at_one_time() -> None:
    """A hundred exec checks at boot must not be a hundred processes."""
    used: set[Counted] = set()
    most: list[int] = []
    runner = Runner(lambda: Counted(used, most), at_once=3)
    ended = await asyncio.gather(*(runner.run(("/bin/true",), AMPLE_S) for _ in range(12)))
    assert [each.exit_status for each in ended] == [0] * 12
    assert (len(most), max(most), used) == (12, 3, set())


# ---- nothing outlives its look


async def test_at_the_limit_children_die_too(runner: Runner) -> None:
    """A check that forks a sleeper and hangs, once a minute, fills the process table."""
    ended = await runner.run(shell(CHILD), SHORT_S)
    assert ended.late
    assert await is_gone(int(ended.output))


async def test_what_an_ended_program_leaves_is_killed(runner: Runner) -> None:
    """It holds our pipe too, and its end is not waited for."""
    ended = await runner.run(shell("sleep 600 & echo $!"), AMPLE_S)
    assert (ended.late, ended.exit_status) == (False, 0)
    assert await is_gone(int(ended.output))


@pytest.mark.parametrize("limit_s", [SHORT_S, AMPLE_S])
async def test_a_child_that_leaves_the_session_dies_with_its_group(
    home: Path, limit_s: float
) -> None:
    """Only a control group holds it; that is what it is for."""
    runner = Runner(Enclosures(home).make)
    script = DESERTER if limit_s == SHORT_S else "setsid sleep 600 & echo $!"
    ended = await runner.run(shell(script), limit_s)
    assert ended.late is (limit_s == SHORT_S)
    assert await is_gone(int(ended.output))


async def test_a_cancelled_run_leaves_nothing(runner: Runner, tmp_path: Path) -> None:
    """A reload in the middle of a look."""
    fifo = tmp_path / "begun"
    os.mkfifo(fifo)
    run = asyncio.ensure_future(runner.run(shell(f"sleep 600 & echo $! >{fifo}; wait"), AMPLE_S))
    child = int(await asyncio.to_thread(fifo.read_text))
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await is_gone(child)


async def test_hundreds_of_hanging_forkers_leave_nothing(home: Path) -> None:
    """The fixtures count descriptors, children and control groups."""
    runner = Runner(Enclosures(home).make)
    runs = [runner.run(shell(DESERTER), 0.05) for _ in range(150)]
    runs += [runner.run(shell("setsid sleep 600 & exit 1"), AMPLE_S) for _ in range(150)]
    ended = await asyncio.gather(*runs)
    assert [each.late for each in ended] == [True] * 150 + [False] * 150


class Indestructible:
    """An enclosure whose program the kernel does not let go, as on a dead disk."""

    def __init__(self) -> None:
        self.pid = 0

    def entrance(self, command: tuple[str, ...]) -> tuple[str, ...]:
        """Runs as it is."""
        return command

    def kill(self, leader_pid: int) -> None:
        """Remembers whom it did not kill."""
        self.pid = leader_pid

    def remove(self) -> bool:
        """Nothing to take away."""
        return True

    async def emptied(self, limit_s: float) -> None:
        """Nothing to wait for."""


async def test_a_program_that_cannot_be_killed_is_not_started_again() -> None:
    """Else each look adds one more, until the process table is full."""
    enclosure = Indestructible()
    runner = Runner(lambda: enclosure, gone_s=0.05)
    command = ("/bin/sleep", "600")
    assert (await runner.run(command, SHORT_S)).late
    again = await runner.run(command, AMPLE_S)
    assert again.not_run == "its last run was killed and is still there"
    sleeper = enclosure.pid
    assert (await runner.run(("/bin/true",), AMPLE_S)).exit_status == 0
    os.kill(sleeper, signal.SIGKILL)
    assert await is_gone(sleeper)
    assert (await runner.run(command, SHORT_S)).late
    os.kill(enclosure.pid, signal.SIGKILL)
    assert await is_gone(enclosure.pid)


# ---- where programs are put


def test_without_control_groups_it_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """It is a weaker promise, and the owner must know; not once for each look."""
    enclosures = Enclosures(None)
    assert isinstance(enclosures.make(), ProcessGroup)
    assert isinstance(enclosures.make(), ProcessGroup)
    assert [record.message for record in caplog.records] == [
        "exec checks are ended by their process group only: "
        "no control group is delegated to healthd"
    ]


def test_a_folder_that_cannot_be_written_falls_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A unit in another slice than its sandbox allows must still run its checks."""
    assert isinstance(Enclosures(tmp_path / "missing").make(), ProcessGroup)
    assert "a control group cannot be made (ENOENT)" in caplog.text


def test_a_group_that_is_there_is_not_used_again(home: Path) -> None:
    """It may hold what an earlier life of ours left."""
    (home / "exec-1").mkdir()
    enclosure = Enclosures(home).make()
    assert isinstance(enclosure, ControlGroup)
    assert enclosure.remove()
    assert (home / "exec-1").is_dir()
    (home / "exec-1").rmdir()


@pytest.fixture
def service(tmp_path: Path) -> Callable[[str], Path | None]:
    """What is found with this line in /proc/self/cgroup, where only one service is delegated."""
    group = tmp_path / "system.slice/healthd.service"
    (group / "main").mkdir(parents=True)
    (group / "cgroup.procs").touch()
    (group / "main/cgroup.kill").touch()

    def find(line: str) -> Path | None:
        own = tmp_path / "own"
        own.write_text(f"1:name=systemd:/x\n{line}\n")
        return delegated_home(own, tmp_path)

    return find


def test_home_is_beside_our_own_group(
    service: Callable[[str], Path | None], tmp_path: Path
) -> None:
    """DelegateSubgroup=main puts us into a folder; what is beside it is ours to make."""
    found = service("0::/system.slice/healthd.service/main")
    assert found == tmp_path / "system.slice/healthd.service"
    assert service("0::/system.slice/healthd.service") is None
    assert service("0::/") is None
    assert service("4:memory:/system.slice/healthd.service/main") is None
    assert service("0::/other.slice/healthd.service/main") is None
