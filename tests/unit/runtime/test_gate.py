"""What a listener puts up with: connections that say nothing, and too many of them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from bridge.runtime import gate
from bridge.runtime.gate import GatedSite

MOST = 3


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    monkeypatch.setattr(gate, "LONGEST_HEAD", 0.3)

    async def slow(request: web.Request) -> web.Response:
        await asyncio.sleep(0.6)  # longer than a head may take
        return web.Response(text=await request.text())

    app = web.Application()
    app.router.add_post("/", slow)
    runner = web.AppRunner(app)
    await runner.setup()
    await GatedSite(runner, "127.0.0.1", 0, None, MOST).start()
    yield runner.addresses[0][1]
    await runner.cleanup()


async def ends(reader: asyncio.StreamReader) -> bytes:
    with contextlib.suppress(ConnectionError):
        return await asyncio.wait_for(reader.read(), 30)
    return b""


async def test_a_connection_that_never_ends_its_head_is_closed(port: int) -> None:
    for begun in (b"", b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"\r\n" * 500, b"\x16\x03\x01"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(begun)
        assert b"200 OK" not in await ends(reader)
        writer.close()


async def test_a_request_whose_head_has_come_takes_its_time(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in (b"POST / HTTP/1.1\r\nHost: x\r", b"\nConnection: close\r\nContent-Length: 2\r\n", b"\r\nok"):
        writer.write(part)
        await asyncio.sleep(0.05)
    assert (await ends(reader)).endswith(b"ok")
    writer.close()


async def test_one_more_than_there_may_be_is_closed_at_once_and_there_is_room_again_later(port: int) -> None:
    held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST)]
    for _, writer in held:
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n")  # a body that is waited for
    await asyncio.sleep(0.1)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    assert await ends(reader) == b""
    writer.close()
    for _, writer in held:
        writer.close()
    await asyncio.sleep(0.2)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
    assert (await ends(reader)).endswith(b"ok")
    writer.close()


@pytest.mark.parametrize("dual", [True, False], ids=["both families", "a machine without IPv6"])
async def test_two_colons_are_all_addresses_of_both_families(monkeypatch: pytest.MonkeyPatch, dual: bool) -> None:
    if not dual:
        monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    elif not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    runner = web.AppRunner(web.Application())
    await runner.setup()
    try:
        await GatedSite(runner, "::", 0, None).start()
        for host in ("127.0.0.1", *(["::1"] if dual else [])):
            _, writer = await asyncio.open_connection(host, runner.addresses[0][1])
            writer.close()
    finally:
        await runner.cleanup()
