"""Bodies in memory: each has a time, all of a listener have a limit, and the slowest give way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from bridge.http import listeners
from bridge.http.bodies import Bodies
from bridge.http.gate import Limits
from bridge.http.request_guard import Refused

MOST, FREE, LARGEST = 1 << 20, 1 << 12, 1 << 19
PATIENCE = 60.0  # seconds: longer than a test takes on a loaded machine
SHORT_PATIENCE = 2.0
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Served:
    """A listener that counts the bytes of bodies, which take so many seconds to answer."""

    def __init__(self, takes: float = 0.0, patience: float = PATIENCE) -> None:
        self.bodies = Bodies(MOST, FREE)
        self.takes = takes
        self.patience = patience
        self.port = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve on a free port of loopback."""
        app = web.Application()
        app.router.add_post("/", self._count)
        app.router.add_get("/", self._wait)
        async with listeners.serving(app, "127.0.0.1:0", "--listen", limits=Limits(), shutdown_timeout=0.1) as url:
            self.port = int(url.rpartition(":")[2])
            yield

    async def send(self, size: int, sent: int, source: str = "127.0.0.1") -> Streams:
        """A request with a body of `size` bytes, of which `sent` are sent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0))
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % size)
        writer.write(b"x" * sent)
        await asyncio.sleep(0.02)
        return reader, writer

    async def _count(self, request: web.Request) -> web.Response:
        try:
            async with self.bodies.read(request, LARGEST, self.patience) as body:
                await asyncio.sleep(self.takes)
                return web.Response(text=str(len(body)))
        except Refused as error:
            return web.Response(status=error.status, text=str(error))

    async def _wait(self, _: web.Request) -> web.Response:
        await asyncio.sleep(self.takes)
        return web.Response()


async def status(streams: Streams) -> int:
    reader, writer = streams
    answer = await asyncio.wait_for(reader.readline(), 30)
    writer.close()
    return int(answer.split()[1])


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    served = Served()
    async with served.serving():
        yield served


async def test_bodies_that_are_held_back_are_bounded_and_the_next_one_is_answered(served: Served) -> None:
    held = []
    for _ in range(20):
        held.append(await served.send(LARGEST, LARGEST - 1))
        assert served.bodies.counted <= MOST // 2
    assert await status(await served.send(LARGEST, LARGEST)) == 200
    assert await status(held[0]) == 429
    for _, writer in held:
        writer.close()


async def test_bodies_of_other_addresses_are_not_displaced(served: Served) -> None:
    modest = await served.send(LARGEST // 2, LARGEST // 2 - 1, "127.0.0.2")
    flood = [await served.send(LARGEST, LARGEST - 1, f"127.0.0.{3 + number % 2}") for number in range(20)]
    assert served.bodies.counted <= MOST
    modest[1].write(b"x")
    assert await status(modest) == 200
    for _, writer in flood:
        writer.close()


async def test_body_that_has_arrived_counts_until_its_answer_and_is_never_displaced() -> None:
    served = Served(takes=0.5)
    async with served.serving():
        first = await served.send(LARGEST, LARGEST)
        second = await served.send(LARGEST, LARGEST)
        assert await status(second) == 429
        assert await status(first) == 200
        assert served.bodies.counted == 0
        assert await status(await served.send(LARGEST, LARGEST)) == 200


async def test_small_bodies_are_answered_beside_a_full_listener() -> None:
    served = Served(takes=0.5)
    async with served.serving():
        flood = [await served.send(LARGEST, LARGEST, f"127.0.0.{number}") for number in range(2, 6)]
        small = [await served.send(FREE, FREE) for _ in range(20)]
        assert [await status(one) for one in small] == [200] * 20
        for _, writer in flood:
            writer.close()


@pytest.mark.parametrize("sent", [0, 1, FREE + 1])
async def test_body_that_does_not_arrive_is_given_up(sent: int) -> None:
    served = Served(patience=SHORT_PATIENCE)
    async with served.serving():
        assert await status(await served.send(LARGEST, sent)) == 408


async def test_body_that_is_too_large_is_refused_before_it_arrives(served: Served) -> None:
    assert await status(await served.send(LARGEST + 1, 0)) == 413


async def test_request_to_read_that_has_a_body_is_refused() -> None:
    served = Served(takes=30.0)
    async with served.serving():
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1000)
        assert await status((reader, writer)) == 400
