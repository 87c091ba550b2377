"""Limits of a listener's connections: silent clients, slow clients, and too many of either."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from bridge.http import connections, gate, listeners
from bridge.http.connections import Connections
from bridge.http.gate import Limits, peer_of

MOST = 4
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
LARGE = bytes(8 << 20)
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Served:
    """A listener whose answers take so many seconds."""

    def __init__(self, port: int, served: Connections) -> None:
        self.port = port
        self.gate = served.gate
        self.unread = served.unread

    async def connect(self, source: str = "127.0.0.1") -> Streams:
        """A connection from an address of the loopback network."""
        return await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0))

    async def request_large(self, source: str = "127.0.0.1") -> socket.socket:
        """A connection that has requested LARGE, and from which nothing is read."""
        client = socket.socket()
        client.setblocking(False)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.bind((source, 0))
        loop = asyncio.get_running_loop()
        await loop.sock_connect(client, ("127.0.0.1", self.port))
        await loop.sock_sendall(client, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return client

    async def is_answered(self, source: str = "127.0.0.1") -> bool:
        """Whether a request from there gets its answer."""
        reader, writer = await self.connect(source)
        writer.write(HEAD + b"Connection: close\r\n\r\nok")
        said = await ends(reader)
        writer.close()
        return said.endswith(b"ok")


@asynccontextmanager
async def serving(limits: Limits, takes: float = 0.0) -> AsyncIterator[Served]:
    async def slow(request: web.Request) -> web.Response:
        text = await request.text()
        await asyncio.sleep(takes)
        return web.Response(text=text)

    async def large(_: web.Request) -> web.Response:
        return web.Response(body=LARGE)

    app = web.Application()
    app.router.add_post("/", slow)
    app.router.add_get("/", large)
    async with listeners.serving(app, "127.0.0.1:0", "--listen", limits=limits, shutdown_timeout=0.1) as url:
        yield Served(int(url.rpartition(":")[2]), app[listeners.CONNECTIONS])


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "QUIET", 0.05)


async def ends(reader: asyncio.StreamReader) -> bytes:
    with contextlib.suppress(ConnectionError):
        return await asyncio.wait_for(reader.read(), 30)
    return b""


@pytest.fixture
async def hasty(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    monkeypatch.setattr(connections, "LONGEST_HEAD", 0.3)
    async with serving(Limits(MOST), takes=0.6) as served:  # longer than a head may take
        yield served


async def test_connection_that_never_ends_its_head_is_closed(hasty: Served) -> None:
    for begun in (b"", b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ", b"\r\n" * 500, b"\x16\x03\x01"):
        reader, writer = await hasty.connect()
        writer.write(begun)
        assert b"200 OK" not in await ends(reader)
        writer.close()
    assert hasty.gate.open == 0


async def test_second_head_of_a_connection_has_the_same_time(hasty: Served) -> None:
    reader, writer = await hasty.connect()
    writer.write(HEAD + b"\r\nok")
    assert (await reader.readuntil(b"ok")).endswith(b"\r\n\r\nok")
    writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    assert await asyncio.wait_for(ends(reader), 60) == b""
    writer.close()


async def test_request_takes_its_time_once_its_head_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "LONGEST_HEAD", 2.0)
    async with serving(Limits(MOST), takes=2.5) as served:
        reader, writer = await served.connect()
        for part in (b"POST / HTTP/1.1\r\nHost: x\r", b"\nConnection: close\r\nContent-Length: 2\r\n", b"\r\nok"):
            writer.write(part)
            await asyncio.sleep(0.01)
        assert (await ends(reader)).endswith(b"ok")
        writer.close()


@pytest.mark.usefixtures("quiet")
async def test_connection_that_waited_longest_gives_way() -> None:
    async with serving(Limits(MOST)) as served:
        silent = [await served.connect() for _ in range(MOST - 1)]
        kept_reader, kept = await served.connect()
        kept.write(HEAD + b"\r\nok")
        await kept_reader.readuntil(b"ok")  # idle between two requests, but since a shorter time
        await asyncio.sleep(0.1)
        assert await served.is_answered()
        assert await ends(silent[0][0]) == b""
        assert served.gate.closed == {"displaced": 1}
        kept.write(HEAD + b"Connection: close\r\n\r\nok")
        assert (await ends(kept_reader)).endswith(b"ok")
        for _, writer in (*silent, (kept_reader, kept)):
            writer.close()


@pytest.mark.usefixtures("quiet")
async def test_slow_body_gives_way_and_a_request_that_is_answered_does_not() -> None:
    async with serving(Limits(MOST), takes=0.5) as served:
        slow = await served.connect()
        slow[1].write(HEAD + b"\r\no")
        answered = [await served.connect() for _ in range(MOST - 1)]
        for _, writer in answered:
            writer.write(HEAD + b"Connection: close\r\n\r\nok")
        await asyncio.sleep(0.1)
        assert await served.is_answered()
        assert await ends(slow[0]) == b""
        slow[1].close()
        for reader, writer in answered:
            assert (await ends(reader)).endswith(b"ok")
            writer.close()


@pytest.mark.usefixtures("quiet")
async def test_new_connection_is_closed_where_every_other_is_answered_and_there_is_room_later() -> None:
    async with serving(Limits(MOST), takes=0.5) as served:
        answered = [await served.connect() for _ in range(MOST)]
        for _, writer in answered:
            writer.write(HEAD + b"Connection: close\r\n\r\nok")
        await asyncio.sleep(0.1)
        assert not await served.is_answered()
        assert served.gate.closed == {"full": 1}
        for reader, writer in answered:
            assert (await ends(reader)).endswith(b"ok")
            writer.close()
        assert await served.is_answered()


async def test_peer_has_its_share_and_another_peer_is_answered() -> None:
    async with serving(Limits(MOST, per_peer=MOST // 2), takes=0.5) as served:
        flood = [await served.connect("127.0.0.2") for _ in range(3 * MOST)]
        for _, writer in flood:
            writer.write(HEAD + b"Connection: close\r\n\r\nok")
        await asyncio.sleep(0.1)
        assert served.gate.open == MOST // 2
        assert await served.is_answered("127.0.0.3")
        assert served.gate.closed["peer"] == 3 * MOST - MOST // 2
        for _, writer in flood:
            writer.close()


@pytest.mark.usefixtures("quiet")
async def test_peer_with_most_waiting_connections_gives_way() -> None:
    async with serving(Limits(MOST)) as served:
        modest = await served.connect("127.0.0.2")  # it waits longest
        flood = [await served.connect("127.0.0.3") for _ in range(MOST - 1)]
        await asyncio.sleep(0.1)
        assert await served.is_answered("127.0.0.4")
        assert await ends(flood[0][0]) == b""
        modest[1].write(HEAD + b"Connection: close\r\n\r\nok")
        assert (await ends(modest[0])).endswith(b"ok")
        for _, writer in (modest, *flood):
            writer.close()


async def test_thousand_silent_sockets_leave_room_for_requests() -> None:
    async with serving(Limits(64, per_peer=32)) as served:
        flood = [await served.connect("127.0.0.2") for _ in range(1000)]
        assert served.gate.open <= 32
        assert all([await served.is_answered() for _ in range(50)])
        for _, writer in flood:
            writer.close()


async def test_client_that_reads_nothing_of_its_response_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STALLED", 0.2)
    async with serving(Limits(MOST)) as served:
        client = await served.request_large()
        await asyncio.sleep(0.1)
        assert served.unread.size > 0
        for _ in range(100):
            if served.gate.open:
                await asyncio.sleep(0.05)
        assert (served.gate.closed, served.unread.size) == ({"unread": 1}, 0)
        client.close()


async def test_client_that_reads_slowly_gets_its_whole_response(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STALLED", 0.2)
    async with serving(Limits(MOST)) as served:
        client = await served.request_large()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
        loop, received = asyncio.get_running_loop(), 0
        while some := await loop.sock_recv(client, 1 << 18):
            received += len(some)
            await asyncio.sleep(0.02)  # more than STALLED together
        assert received > len(LARGE)
        assert served.gate.closed == {}
        client.close()


async def test_unread_responses_of_a_peer_are_bounded_and_another_peer_gets_its_response() -> None:
    async with serving(Limits(100, unread=3 * len(LARGE))) as served:
        modest = await served.request_large("127.0.0.2")
        flood = []
        for _ in range(20):
            flood.append(await served.request_large("127.0.0.3"))
            await asyncio.sleep(0.02)
            assert served.unread.size <= 3 * len(LARGE)
        loop, received = asyncio.get_running_loop(), 0
        while some := await loop.sock_recv(modest, 1 << 20):
            received += len(some)
        assert received > len(LARGE)
        assert served.gate.closed["unread"] == 21 - 3
        for client in (modest, *flood):
            client.close()


def test_one_peer_is_an_ipv4_address_or_an_ipv6_network() -> None:
    assert peer_of("10.0.0.7") == peer_of("::ffff:10.0.0.7") == "10.0.0.7"
    assert peer_of("fd00::1:2") == peer_of("fd00::9%eth0") == "fd00::/64"
    assert peer_of("fd00:0:0:1::2") != peer_of("fd00::2")


@pytest.mark.parametrize("dual", [True, False], ids=["both families", "a machine without IPv6"])
async def test_two_colons_are_all_addresses_of_both_families(monkeypatch: pytest.MonkeyPatch, dual: bool) -> None:
    if not dual:
        monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    elif not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    async with listeners.serving(web.Application(), "[::]:0", "--listen", shutdown_timeout=0.1) as url:
        for host in ("127.0.0.1", *(["::1"] if dual else [])):
            _, writer = await asyncio.open_connection(host, int(url.rpartition(":")[2]))
            writer.close()


def test_connection_with_a_verified_certificate_counts_for_no_peer_and_gives_way_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gate, "QUIET", 0.0)
    admits = gate.Gate(Limits(connections=3, per_peer=2))
    verified = admits.admit("10.0.0.1")
    assert verified is not None
    admits.trust(verified)
    others = [admits.admit(f"10.0.0.{host}") for host in (1, 1, 1, 2, 3)]
    assert [other is not None and other.left for other in others] == [True, True, True, False, False]
    assert not verified.left
    assert admits.open == 3
