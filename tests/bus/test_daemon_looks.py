"""Looks of declared checks by the running daemon: many at once, some that hang, and a person's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from healthd.model import Reason, State
from tests.bus.client import Changed
from tests.bus.daemon import Healthd
from tests.bus.polkit import MockPolkit

LOOK = "org.healthd1.look"
WEB = "web.service"
READY = f"readiness:{WEB}"


@asynccontextmanager
async def listening(*, answers: bool, port: int = 0) -> AsyncIterator[int]:
    """A server on this machine that says "hello" to everybody, or nothing; its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if answers:
            writer.write(b"hello\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def settings_for(ports: dict[str, dict[str, int]]) -> str:
    """Unit → name of a check → port of its endpoint, which is to say "hello"."""
    lines = ["defaults: {every: 60s, timeout: 4s}", "listens:"]
    for unit, named in ports.items():
        for name, port in named.items():
            lines.append(f'  {unit[:-8]}-{name}: {{address: "127.0.0.1:{port}"}}')
    lines.append("checks:")
    for unit, named in ports.items():
        lines.append(f"  {unit}:")
        for name in named:
            tcp = f"tcp: {{endpoint: {unit[:-8]}-{name}, expect: hello}}"
            lines += [f"    - name: {name}", f"      {tcp}"]
    return "\n".join(lines) + "\n"


async def test_ten_endpoints_that_hang_delay_none_of_ninety(
    healthd: Healthd, polkit: MockPolkit
) -> None:
    """A look that waits for its limit is not in another's way: all others come before it."""
    await polkit.allow(LOOK)
    async with listening(answers=True) as good, listening(answers=False) as mute:
        ports = {
            f"unit{n}.service": {
                "hangs": mute,
                **{f"answers{m}": good for m in range(9)},
            }
            for n in range(10)
        }
        healthd.settings(settings_for(ports))
        for unit in ports:
            healthd.systemd.unit(unit)
        client = await healthd.client()
        await healthd.start()
        rows = await client.look()
    looked = [
        (said.key, said.row.face)
        for said in client.said.items
        if isinstance(said, Changed) and said.key.startswith("readiness:")
    ]
    assert all(face == (State.GREEN, Reason.OK) for _, face in looked[:90])
    assert [key.endswith("/hangs") for key, _ in looked] == [False] * 90 + [True] * 10
    # A unit that has just been started gets its grace.
    assert {rows[key].face for key, _ in looked[90:]} == {(State.GREY, Reason.STARTING)}
    assert {rows[key].more["class"] for key, _ in looked[90:]} == {"timeout"}


async def test_a_persons_look_is_fresh_and_counts_once_a_retry(
    healthd: Healthd, polkit: MockPolkit
) -> None:
    """Who asks ten times in a minute must not confirm a failure by that, nor see old news."""
    await polkit.allow(LOOK)
    async with listening(answers=True) as port:
        pass
    healthd.settings(
        f'listens: {{web: {{address: "127.0.0.1:{port}"}}}}\n'
        f"checks: {{{WEB}: [{{tcp: {{endpoint: web}}, every: 60s, grace: 0s}}]}}\n"
    )
    healthd.systemd.unit(WEB)
    await healthd.start()
    client = await healthd.client()
    # A pass looks at what has never been looked at, too.
    assert (await client.look())[READY].streak == 1
    for _ in range(4):
        row = (await client.look(READY))[READY]
        assert (row.face, row.streak) == ((State.YELLOW, Reason.SUSPECT), 1)
    async with listening(answers=True, port=port):
        row = (await client.look(READY))[READY]
    assert (row.face, row.streak) == ((State.GREEN, Reason.OK), 0)
    # The unit's own check can be asked for as well, and answers for the unit as it is now.
    healthd.systemd.units[WEB] |= {"ActiveState": "failed", "SubState": "failed"}
    row = (await client.look(f"liveness:{WEB}"))[f"liveness:{WEB}"]
    assert row.face == (State.YELLOW, Reason.SUSPECT)
    assert (await client.look(f"liveness:{WEB}"))[f"liveness:{WEB}"].streak == 1
