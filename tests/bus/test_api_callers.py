"""Who may ask the API for what, and what a caller hears when something goes wrong."""

from __future__ import annotations

import asyncio
import os
from functools import partial

import pytest
from jeepney import DBusAddress, new_method_call
from jeepney.io.blocking import open_dbus_connection
from msgspec import convert

from healthd.bus.api import MANAGER, NAME, PATH
from healthd.bus.callers import PLACES_EACH
from healthd.bus.connection import BUS_NAME, BUS_PATH, Connection
from healthd.bus.library import Library
from healthd.bus.message import BusError, Variant
from healthd.bus.objects import PROPERTIES
from healthd.errors import HealthdError
from healthd.host.polkit import authorize
from healthd.model import Permission
from tests.bus.api_bench import LIMIT_S, Bench, refused, served_api  # noqa: F401 - a fixture
from tests.bus.fake_desk import LIVENESS, NGINX, check_row
from tests.bus.polkit import MockPolkit

MINUTE_US = 60_000_000


async def test_a_look_is_asked_for_and_answered(bench: Bench) -> None:
    """The caller's own name goes to polkit, the uid into the record."""
    (rows,) = await bench.call("Look", "as", [LIVENESS, LIVENESS], interactive=True)
    assert isinstance(rows, list)
    assert rows[0][0] == LIVENESS
    assert bench.desk.asked == [("look", (LIVENESS,), f"uid {os.getuid()}")]
    assert bench.polkit.asked == [
        (bench.caller.unique_name, "org.healthd1.look", {"key": LIVENESS}, True)
    ]


async def test_nobody_is_asked_about_a_check_that_is_not_there(bench: Bench) -> None:
    """A typing error must not cost a password."""
    name, words = await refused(bench.call("Look", "as", ["liveness:nginx"]))
    assert (name, bench.polkit.asked) == ("NoSuchCheck", [])
    assert "liveness:nginx" in words


@pytest.mark.parametrize(
    ("unit", "name"), [("ssh.service", "NotAllowlisted"), ("dbus.service", "NeverRestart")]
)
async def test_the_list_is_before_polkit(bench: Bench, unit: str, name: str) -> None:
    """No password makes healthd restart what its owner did not list."""
    assert (await refused(bench.call("RestartUnit", "s", unit)))[0] == name
    assert (bench.polkit.asked, bench.desk.asked) == ([], [])


async def test_a_restart_answers_with_its_incident(bench: Bench) -> None:
    """Whoever restarts is in the record of that incident."""
    assert await bench.call("RestartUnit", "s", NGINX) == (42,)
    assert bench.desk.asked == [("restart", NGINX, f"uid {os.getuid()}")]
    assert bench.polkit.asked[0][1:3] == ("org.healthd1.restart-unit", {"unit": NGINX})


async def test_evidence_is_for_those_who_may_read_it(bench: Bench) -> None:
    """Log lines hold what people would rather not have read by everybody."""
    (found,) = await bench.call("GetEvidence", "t", 42)
    assert isinstance(found, dict)
    # One library has tuples for structs, the other lists.
    names = ("files", "changes", "providers")
    structs = {name: [list(row) for row in found[name]] for name in names}
    assert found | structs == {
        "taken": 1_796_000_000_000_000,
        "facts": {"exit": "9"},
        "log": ["last words"],
        "look": "refused",
        "files": [[1_795_000_000_000_000, "/etc/default/nginx"]],
        "changes": [[1_795_999_000_000_000, "dpkg: upgraded nginx 1 to 2"]],
        "providers": [["db.service", "red", "failed", "exit code 3"]],
    }
    assert bench.polkit.asked[0][1:3] == (
        "org.healthd1.read-evidence",
        {"key": LIVENESS, "unit": NGINX},
    )
    assert (await refused(bench.call("GetEvidence", "t", 7)))[0] == "NoSuchIncident"


async def test_a_hold_gives_the_caller_its_end(bench: Bench, private_bus: str) -> None:
    """Who takes it is what the bus says, never what the caller does; closing it is all it needs."""

    def take() -> int:
        with open_dbus_connection(private_bus, enable_fds=True) as connection:
            manager = DBusAddress(PATH, NAME, MANAGER)
            call = new_method_call(manager, "Hold", "asst", ([NGINX], "a backup", 5))
            answer = connection.send_and_get_reply(call, timeout=LIMIT_S)
            number: int = answer.body[0].to_raw_fd()
            return number

    taken = await asyncio.to_thread(take)
    assert bench.desk.asked == [("hold", (NGINX,), "a backup", 5, os.getpid(), os.getuid())]
    assert bench.polkit.asked[0][1:3] == ("org.healthd1.hold", {"unit": NGINX})
    os.close(taken)
    # Blocks for ever while a copy is open somewhere.
    ended = asyncio.to_thread(os.read, bench.desk.kept, 1)
    assert await asyncio.wait_for(ended, LIMIT_S) == b""
    os.close(bench.desk.kept)


async def test_nobody_is_asked_about_a_unit_that_is_not_there(bench: Bench) -> None:
    """A typing error must not cost a password, and never begins a hold."""
    name, _ = await refused(bench.call("Hold", "asst", ["ngnix.service"], "", 0))
    assert (name, bench.polkit.asked, bench.desk.asked) == ("NoSuchUnit", [], [])
    bench.polkit.answer = Permission.REFUSED
    assert (await refused(bench.call("Hold", "asst", [NGINX], "", 0)))[0] == "NotAuthorized"
    assert bench.desk.asked == []


async def test_holds_are_read_and_said_to_have_changed(bench: Bench) -> None:
    """A page that shows them reads them again when told to."""
    (row,) = convert(
        await bench.get("Holds"), list[tuple[int, list[str], str, int, int, dict[str, int]]]
    )
    assert row[:5] == (7, [NGINX], "backup", 812, 1_796_000_001_000_000)
    assert row[5] == {"uid": 0, "since": 1_796_000_000_000_000}
    bench.api.holds_changed()
    (said,) = [s for s in await bench.signals() if s.member == "PropertiesChanged"]
    assert said.body[2] == ["Holds"]


async def test_a_reload_says_what_does_not_hold_yet(bench: Bench) -> None:
    """An answer that only says "done" would be believed."""
    (notes,) = await bench.call("Reload")
    assert notes == ["the list grows with the next systemctl reload healthd"]
    bench.desk.fault = HealthdError("invalid-settings", "healthd.yaml, line 3: no such key", "fix")
    name, words = await refused(bench.call("Reload"))
    assert (name, words) == ("InvalidSettings", "healthd.yaml, line 3: no such key; fix")


@pytest.mark.parametrize(
    ("member", "signature", "body"),
    [
        ("Look", "as", ([],)),
        ("RestartUnit", "s", (NGINX,)),
        ("GetEvidence", "t", (42,)),
        ("Reload", "", ()),
    ],
)
@pytest.mark.parametrize(
    ("answer", "interactive", "name"),
    [
        (Permission.REFUSED, False, "NotAuthorized"),
        (Permission.REFUSED, True, "NotAuthorized"),
        (Permission.PASSWORD, False, "InteractiveAuthorizationRequired"),
        (Permission.PASSWORD, True, "NotAuthorized"),
    ],
)
async def test_without_polkit_s_yes_nothing_happens(
    bench: Bench,
    member: str,
    signature: str,
    body: tuple[object, ...],
    answer: Permission,
    interactive: bool,
    name: str,
) -> None:
    """Denied, absent, or only after a password: the daemon is never asked."""
    bench.polkit.answer = answer
    call = bench.call(member, signature, *body, interactive=interactive)
    assert (await refused(call))[0] == name
    assert bench.desk.asked == []
    assert bench.polkit.asked[0][3] is interactive


async def test_a_machine_without_polkit_allows_nothing(bench: Bench) -> None:
    """Absent polkit means no: nothing on the private bus answers for it."""
    bench.polkit.instead = partial(authorize, bench.daemon)
    assert (await refused(bench.call("Look", "as", [])))[0] == "NotAuthorized"
    assert bench.desk.asked == []


async def test_polkit_allows_one_action_and_not_another(bench: Bench, polkit: MockPolkit) -> None:
    """The action that polkit is asked about is the one of the method that was called."""
    bench.polkit.instead = partial(authorize, bench.daemon)
    await polkit.allow("org.healthd1.look")
    await bench.call("Look", "as", [])
    assert (await refused(bench.call("Reload")))[0] == "NotAuthorized"
    assert [asked[0] for asked in bench.desk.asked] == ["look"]


async def test_a_user_is_limited_on_all_connections(
    bench: Bench, private_bus: str, library: Library
) -> None:
    """A loop in somebody's script must not keep polkit, systemd and the checks busy."""
    for _ in range(19):
        await bench.call("Reload")
    bench.polkit.answer = Permission.REFUSED
    assert (await refused(bench.call("Look", "as", [])))[0] == "NotAuthorized"
    second = await Connection.open(private_bus, library=library)
    try:
        call = second.call(NAME, PATH, MANAGER, "Reload", limit_s=LIMIT_S)
        name, words = await refused(call)
    finally:
        await second.close()
    assert name == "RateLimited"
    assert words.endswith("ask again in 61 s")
    bench.now_us += MINUTE_US
    bench.polkit.answer = Permission.GRANTED
    await bench.call("Reload")


async def test_evidence_is_counted_too(bench: Bench) -> None:
    """Each may put a question to polkit and to a person."""
    for _ in range(20):
        await bench.call("GetEvidence", "t", 42)
    assert (await refused(bench.call("GetEvidence", "t", 42)))[0] == "RateLimited"
    assert len(bench.polkit.asked) == 20


async def test_a_look_that_is_refused_costs_nothing(bench: Bench) -> None:
    """A flood of Look calls must not have every row rendered again and again."""
    for _ in range(20):
        await refused(bench.call("Look", "as", ["liveness:nobody.service"]))
    assert (await refused(bench.call("Look", "as", [LIVENESS])))[0] == "RateLimited"
    assert bench.desk.read == 0


async def test_calls_that_wait_shut_out_only_their_user(
    bench: Bench, private_bus: str, library: Library
) -> None:
    """Questions that nobody answers fill one user's places, on all connections; reads go on."""
    answered = asyncio.Event()
    asked = asyncio.Semaphore(0)

    async def wait(*_: object) -> Permission:
        asked.release()
        await answered.wait()
        return Permission.REFUSED

    bench.polkit.instead = wait
    second = await Connection.open(private_bus, library=library)
    try:
        waiting = [asyncio.ensure_future(bench.call("Reload")) for _ in range(PLACES_EACH)]
        async with asyncio.timeout(LIMIT_S):
            for _ in waiting:
                await asked.acquire()
        call = second.call(NAME, PATH, MANAGER, "Reload", limit_s=LIMIT_S)
        name, _ = await refused(call)
        await bench.call("GetSnapshot")
    finally:
        answered.set()
        await second.close()
    assert name == "LimitsExceeded"
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(answer, BusError) for answer in answers)


async def test_reads_are_not_limited(bench: Bench) -> None:
    """A panel that refreshes often does nobody harm."""
    for _ in range(50):
        await bench.call("GetSnapshot")


async def test_a_user_has_one_pass_at_a_time(bench: Bench) -> None:
    """Each pass may start a thousand looks."""
    bench.desk.go_on.clear()
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(bench.call("Look", "as", []))
        await asyncio.wait_for(bench.desk.passing.wait(), LIMIT_S)
        assert (await refused(bench.call("Look", "as", [])))[0] == "RateLimited"
        bench.desk.go_on.set()
    assert first.result()
    await bench.call("Look", "as", [])


# ---- what goes wrong


async def test_a_fault_of_ours_is_told_without_its_insides(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """A traceback names paths and values; it belongs in the journal."""
    bench.desk.fault = ZeroDivisionError("secret /etc/shadow")
    name, words = await refused(bench.call("Reload"))
    assert name == "Failed"
    assert "secret" not in words
    assert "Traceback" not in words
    assert "secret /etc/shadow" in caplog.text
    bench.desk.fault = None
    await bench.call("Reload")


async def test_an_answer_that_breaks_the_contract_is_a_fault_of_ours(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """One impossible row must not end the connection on which everybody reads."""
    bench.desk.rows = (check_row(since=-1),)
    assert (await refused(bench.call("GetSnapshot")))[0] == "Failed"
    assert "GetSnapshot failed" in caplog.text
    assert await bench.get("State") == "red"


async def test_what_healthd_could_not_do_is_told_in_its_words(bench: Bench) -> None:
    """An error of the daemon's that has no name of its own still says what to do."""
    bench.desk.fault = HealthdError("bus-slow", "systemd did not answer", "try again")
    name, words = await refused(bench.call("RestartUnit", "s", NGINX))
    assert (name, words) == ("Failed", "systemd did not answer; try again")


async def test_a_flood_of_reads_takes_turns(bench: Bench) -> None:
    """Looks run in the same loop: between two large answers they must have theirs."""
    turn = 0
    rendered: list[int] = []
    plain = bench.desk.check_rows

    def next_turn() -> None:
        nonlocal turn
        turn += 1
        ticking[0] = loop.call_soon(next_turn)

    def check_rows() -> tuple[object, ...]:
        rendered.append(turn)
        return plain()

    loop = asyncio.get_running_loop()
    ticking = [loop.call_soon(next_turn)]
    bench.desk.check_rows = check_rows  # type: ignore[method-assign,assignment]
    try:
        calls = [bench.call("ListChecks", "a{sv}", {}) for _ in range(200)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
    finally:
        ticking[0].cancel()
    refusals = [a for a in answers if isinstance(a, BusError)]
    assert {a.name.rpartition(".")[2] for a in refusals} <= {"LimitsExceeded"}
    assert len(rendered) + len(refusals) == 200
    assert len(rendered) >= 16
    assert len(set(rendered)) == len(rendered)
    await bench.call("GetSnapshot")


async def test_a_caller_that_left_is_nobody(
    bench: Bench, private_bus: str, library: Library
) -> None:
    """Its uid can no longer be known, so it is not authorized, and healthd goes on."""
    bench.desk.go_on.clear()
    gone = await Connection.open(private_bus, library=library)
    task = asyncio.ensure_future(
        gone.call(NAME, PATH, MANAGER, "Look", "as", ([],), limit_s=LIMIT_S)
    )
    await asyncio.wait_for(bench.desk.passing.wait(), LIMIT_S)
    await gone.close()
    with pytest.raises(HealthdError):
        await task
    bench.desk.go_on.set()
    assert await bench.get("State") == "red"


async def test_forged_signals_change_nothing(
    bench: Bench, private_bus: str, library: Library
) -> None:
    """Any local user can send us any signal: it must look like nothing to the API."""
    forger = await Connection.open(private_bus, library=library)
    try:
        forged: tuple[object, ...] = (MANAGER, {"State": Variant("s", "green")}, [])
        us = bench.daemon.unique_name
        forger.emit(PATH, PROPERTIES, "PropertiesChanged", "sa{sv}as", forged, destination=us)
        forger.emit(PATH, MANAGER, "CheckRemoved", "st", (LIVENESS, 999), destination=us)
        owner = (NAME, us, forger.unique_name)
        forger.emit(BUS_PATH, BUS_NAME, "NameOwnerChanged", "sss", owner, destination=us)
        # The bus keeps the order of one sender, so this answer comes after all of that.
        await forger.call(NAME, PATH, MANAGER, "GetSnapshot", limit_s=LIMIT_S)
    finally:
        await forger.close()
    assert await bench.get("State") == "red"
    assert await bench.call("ChangesSince", "t", 100) == (100, False, [])
