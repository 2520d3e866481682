"""kind `http`: what an answer means, and what may be said of it in public."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from healthd.checks import http
from healthd.checks.base import (
    PRIVATE_BYTES,
    Ended,
    HttpExchange,
    Place,
    Probe,
    Reply,
    Stage,
    Tls,
    Trouble,
)
from healthd.model import (
    SECOND_US,
    Endpoint,
    FailureClass,
    HttpSpec,
    Look,
    Outcome,
    Reason,
    UnitName,
)
from tests.unit.loopback import (
    NOW_AT,
    answering,
    drip,
    endpoint,
    free_port,
    hang,
    page,
    served,
    tools,
)

DAY_US = 86_400 * SECOND_US
WEB = Endpoint("web", host="127.0.0.1", port=8080)
SPEC = HttpSpec(WEB, path="/healthz")


class Told:
    """Tools of a look to which the answer is told; keeps what was asked."""

    limit_s = 5.0

    def __init__(self, reply: Reply, *places: Place) -> None:
        self._reply = reply
        self._places = places or (Place("127.0.0.1", 8080),)
        self.asked: list[Probe] = []

    async def places(self, endpoint: Endpoint) -> tuple[Place, ...]:
        """Where the test says."""
        return self._places

    async def probe(self, probe: Probe) -> Reply:
        """What the test says."""
        self.asked.append(probe)
        return self._reply

    async def run(self, command: tuple[str, ...]) -> Ended:
        """No http look runs a program."""
        raise AssertionError(command)

    def wall_at(self) -> int:
        """Always the same instant."""
        return NOW_AT


async def look(spec: HttpSpec = SPEC, **reply: object) -> Look:
    """One look of *spec* at a reply with these values."""
    return await http.look(spec, Told(replace(Reply(status=200), **reply)))


def found(look: Look) -> tuple[Outcome, FailureClass | None, str]:
    """What a look comes to."""
    return look.outcome, look.failure_class, look.summary


async def test_a_good_answer_is_ok_in_words_that_stay_the_same() -> None:
    """A summary with a time in it would be news at every look."""
    one, other = await look(took_us=900), await look(took_us=70_000)
    assert found(one) == (Outcome.OK, None, "HTTP 200 from web")
    assert one.reason == Reason.OK
    assert (one.summary, one.took_us) == (other.summary, 900)


@pytest.mark.parametrize(
    ("wanted", "status", "well"),
    [
        ((), 200, True),
        ((), 299, True),
        ((), 302, False),
        ((), 503, False),
        ((401,), 401, True),
        ((401,), 200, False),
        ((200, 204), 204, True),
    ],
)
async def test_the_status_must_be_one_of_those_declared(
    wanted: tuple[int, ...], status: int, well: bool
) -> None:
    """Without a declaration any 2xx is well, and a redirect is not."""
    seen = await look(replace(SPEC, status=wanted), status=status)
    assert (seen.outcome == Outcome.OK) is well
    if not well:
        summary = f"HTTP {status} from web"
        assert found(seen) == (Outcome.FAILING, FailureClass.STATUS, summary)
        assert seen.reason == Reason.UNREADY


async def test_a_body_without_the_expected_text_fails_although_the_status_is_well() -> None:
    """An address that says 200 with its database gone is what the text is declared for."""
    spec = replace(SPEC, body="database: up")
    assert (await look(spec, received=b"... database: up ...")).outcome == Outcome.OK
    seen = await look(spec, received=b"database: down, password=hunter2")
    words = "the answer from web does not hold the expected text"
    assert found(seen) == (Outcome.FAILING, FailureClass.BODY, words)
    assert seen.private == "database: down, password=hunter2"


async def test_a_body_may_be_described_by_an_expression() -> None:
    """Both may be declared; both must be there."""
    spec = replace(SPEC, body="up", matches=r"replicas: [3-9]\b")
    assert (await look(spec, received=b"up, replicas: 3")).outcome == Outcome.OK
    assert (await look(spec, received=b"up, replicas: 2")).outcome == Outcome.FAILING
    assert (await look(spec, received=b"replicas: 3")).outcome == Outcome.FAILING
    assert (await look(spec, received=b"\xff\xfeup, replicas: 4")).outcome == Outcome.OK


async def test_a_text_that_was_not_reached_says_how_far_was_read() -> None:
    """Else a person looks for a fault where there is only a long page."""
    seen = await look(replace(SPEC, body="end"), received=b"x" * 65_536, whole=False)
    assert seen.summary.endswith("does not hold the expected text in its first 64 KiB")


async def test_a_slow_answer_is_degraded() -> None:
    """Slow is not down: nothing is restarted for it."""
    spec = replace(SPEC, slow_for_us=500_000)
    seen = await look(spec, took_us=812_345)
    assert found(seen) == (Outcome.DEGRADED, None, "web answered in 812 ms, slow is 500 ms")
    assert seen.reason == Reason.DEGRADED
    assert (await look(spec, took_us=400_000)).outcome == Outcome.OK


async def test_a_certificate_that_ends_soon_is_degraded() -> None:
    """There is still time; that is why it is said now."""
    spec = replace(SPEC, tls=True, certificate_for_us=14 * DAY_US)
    nine = await look(spec, valid_until_at=NOW_AT + 9 * DAY_US + 5)
    assert found(nine) == (Outcome.DEGRADED, None, "the certificate of web ends in 9 days")
    assert (await look(spec, valid_until_at=NOW_AT + 15 * DAY_US)).outcome == Outcome.OK
    assert (await look(replace(spec, certificate_for_us=0), valid_until_at=NOW_AT)).outcome == (
        Outcome.OK
    )


async def test_both_reasons_for_yellow_are_said() -> None:
    """One must not hide the other."""
    spec = replace(SPEC, slow_for_us=1_000, certificate_for_us=DAY_US)
    seen = await look(spec, took_us=2_000_000, valid_until_at=NOW_AT + DAY_US // 2)
    words = "the certificate of web ends in 12 h; web answered in 2 s, slow is 1 ms"
    assert seen.summary == words


@pytest.mark.parametrize(
    ("trouble", "summary"),
    [
        (
            Trouble(FailureClass.CONNECT, Stage.CONNECT, "refused"),
            "no connection to web (127.0.0.1:8080): refused",
        ),
        (
            Trouble(FailureClass.CONNECT, Stage.FIRST_BYTE, "the connection was closed"),
            "no answer from web: the connection was closed",
        ),
        (
            Trouble(FailureClass.DNS, Stage.DNS, "the name is not known"),
            "no address for web (127.0.0.1:8080): the name is not known",
        ),
        (
            Trouble(FailureClass.TLS, Stage.TLS, "the certificate has expired"),
            "no TLS with web (127.0.0.1:8080): the certificate has expired",
        ),
        (
            Trouble(FailureClass.STATUS, Stage.DONE, "it is not HTTP"),
            "no HTTP answer from web: it is not HTTP",
        ),
        (
            Trouble(FailureClass.BODY, Stage.DONE, "it broke off"),
            "no whole answer from web: it broke off",
        ),
        (
            Trouble(FailureClass.TIMEOUT, Stage.DNS),
            "no address for web within 5 s",
        ),
        (
            Trouble(FailureClass.TIMEOUT, Stage.CONNECT),
            "no connection to web (127.0.0.1:8080) within 5 s",
        ),
        (
            Trouble(FailureClass.TIMEOUT, Stage.TLS),
            "no answer from web (127.0.0.1:8080) within 5 s (TLS handshake)",
        ),
        (
            Trouble(FailureClass.TIMEOUT, Stage.FIRST_BYTE),
            "no answer from web within 5 s (waiting for the first byte)",
        ),
        (
            Trouble(FailureClass.TIMEOUT, Stage.DONE),
            "no whole answer from web within 5 s",
        ),
    ],
)
async def test_every_trouble_has_its_sentence(trouble: Trouble, summary: str) -> None:
    """A person reads it in a notice, without the settings at hand."""
    seen = await look(status=0, trouble=trouble)
    assert found(seen) == (Outcome.FAILING, trouble.failure_class, summary)
    assert seen.reason == Reason.UNREADY


async def test_our_own_trouble_is_not_judged() -> None:
    """A check that healthd may not make is grey: never healthy, never an alarm."""
    trouble = Trouble(FailureClass.CONNECT, Stage.CONNECT, "not allowed to connect", ours=True)
    seen = await look(status=0, trouble=trouble)
    words = "web (127.0.0.1:8080) could not be looked at: not allowed to connect"
    assert found(seen) == (Outcome.NOT_JUDGED, FailureClass.COULD_NOT_RUN, words)
    assert seen.reason == Reason.UNKNOWN


async def test_an_endpoint_that_nobody_knows_is_not_judged() -> None:
    """The .socket unit was removed: that is for the settings to say, not an outage."""
    spec = replace(SPEC, endpoint=Endpoint("web", unit=UnitName("gone.socket")))
    seen = await http.look(spec, tools())
    words = "web could not be looked at: systemd knows no gone.socket"
    assert found(seen) == (Outcome.NOT_JUDGED, FailureClass.COULD_NOT_RUN, words)


async def test_what_the_server_says_stays_private_and_short() -> None:
    """A page may hold accounts and tokens; a summary is read by everybody."""
    secret = "Zugangscode-für-😀 " * 2_000
    seen = await look(status=500, received=secret.encode()[1:])
    assert "Zugang" not in seen.summary
    assert "Zugang" in seen.private
    assert len(seen.private.encode()) <= PRIVATE_BYTES


async def test_a_query_is_not_shown() -> None:
    """It is where tokens are put."""
    seen = await look(replace(SPEC, path="/hook/hunter2?token=hunter2#x"), status=500)
    assert seen.summary == "HTTP 500 from web"


async def test_the_request_is_what_was_declared() -> None:
    """A declared header replaces ours, and a method with a body says that it is empty."""
    told = Told(Reply(status=200))
    spec = replace(SPEC, method="POST", headers=(("user-agent", "x"), ("X-Y", "z")), host="a.b:1")
    await http.look(spec, told)
    headers = (
        *(("Host", "a.b:1"), ("Accept", "*/*"), ("Connection", "close"), ("Content-Length", "0")),
        *spec.headers,
    )
    assert told.asked[0].exchange == HttpExchange("POST", "/healthz", headers)
    assert told.asked[0].tls is None


@pytest.mark.parametrize(
    ("place", "tls", "declared", "host", "server_name"),
    [
        (Place("127.0.0.1", 8080), False, "", "127.0.0.1:8080", ""),
        (Place("localhost", 80), False, "", "localhost", ""),
        (Place("::1", 443), True, "", "[::1]", "::1"),
        (Place("fe80::1%eth0", 8443), True, "", "[fe80::1%eth0]:8443", "fe80::1"),
        (Place("127.0.0.1", 8443), True, "example.org:8443", "example.org:8443", "example.org"),
        (Place("127.0.0.1", 8443), True, "[::1]:8443", "[::1]:8443", "::1"),
        (Place(unix="/run/app.sock"), True, "", "localhost", "localhost"),
    ],
)
async def test_host_and_server_name_come_from_the_endpoint(
    place: Place, tls: bool, declared: str, host: str, server_name: str
) -> None:
    """A server with several sites answers by the name it is called."""
    told = Told(Reply(status=200), place)
    await http.look(replace(SPEC, tls=tls, host=declared, ca="/ca.pem"), told)
    asked = told.asked[0]
    assert isinstance(asked.exchange, HttpExchange)
    assert dict(asked.exchange.headers)["Host"] == host
    assert asked.tls == (Tls(server_name, "/ca.pem") if tls else None)


# ---- with real servers


async def test_real_servers_are_told_apart() -> None:
    """The whole way from a spec to a look, for what happens most."""
    short = tools(0.15)
    async with (
        served(answering(page())) as well,
        served(answering(page(b"", "503 No"))) as sick,
        served(hang) as mute,
        served(drip) as slow,
    ):
        ports = (well, sick, mute, slow, free_port())
        limits = (tools(), tools(), short, short, tools())
        looks = [
            await http.look(HttpSpec(endpoint(port), path="/healthz"), use)
            for port, use in zip(ports, limits, strict=True)
        ]
    assert [each.failure_class for each in looks] == [
        *(None, FailureClass.STATUS, FailureClass.TIMEOUT, FailureClass.TIMEOUT),
        FailureClass.CONNECT,
    ]
    assert looks[2].summary == ("no answer from web within 150 ms (waiting for the first byte)")
    assert looks[4].summary == f"no connection to web (127.0.0.1:{ports[4]}): refused"


async def test_the_server_sees_one_well_formed_request() -> None:
    """What we send is parsed by every server there is."""
    seen: list[bytes] = []

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(page())

    async with served(keep) as port:
        await http.look(HttpSpec(endpoint(port), path="/healthz?x=1", host="web.example"), tools())
    assert seen == [
        b"GET /healthz?x=1 HTTP/1.1\r\nHost: web.example\r\nUser-Agent: healthd\r\n"
        b"Accept: */*\r\nConnection: close\r\n\r\n"
    ]
