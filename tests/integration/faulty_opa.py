"""An HTTP proxy in front of a real OPA that simulates overloaded servers and lost answers."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from bridge.opa.bundle import STATE

Fault = Callable[[web.Request, Callable[[], Awaitable[web.Response]]], Awaitable[web.StreamResponse]]


class FaultyOpa:
    """Passes everything on; of writes (PATCH), `fault` decides what becomes of each. `patches` are those that came.

    Of questions (POST) `question_fault` decides.

    Every answer, also to a question, takes `delay` seconds more.
    """

    def __init__(self, target: str) -> None:
        self.fault: Fault | None = None
        self.question_fault: Fault | None = None
        self.delay = 0.0
        self.patches: list[list[dict[str, Any]]] = []
        self.url = ""
        self._target = target
        self._session: aiohttp.ClientSession

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FaultyOpa]:
        """Serve on a free port of loopback."""
        app = web.Application(client_max_size=1 << 30)
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
            self._session = session
            app.router.add_route("*", "/{path:.*}", self._handle)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            try:
                await web.TCPSite(runner, "127.0.0.1", 0).start()
                self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
                yield self
            finally:
                await runner.cleanup()

    def changes(self) -> list[list[dict[str, Any]]]:
        """The operations of each write, without those of the marker; writes of the marker alone are left out."""
        found = [[op for op in patch if not op["path"].startswith(f"/{STATE}")] for patch in self.patches]
        return [operations for operations in found if operations]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        await asyncio.sleep(self.delay)

        async def pass_on() -> web.Response:
            headers = {name: request.headers[name] for name in ("Content-Type",) if name in request.headers}
            url = self._target + request.path_qs
            async with self._session.request(request.method, url, data=io.BytesIO(body), headers=headers) as answer:
                content = await answer.read()
                return web.Response(status=answer.status, body=content, content_type=answer.content_type)

        if request.method == "PATCH":
            self.patches.append(msgspec.json.decode(body))
            if self.fault is not None:
                return await self.fault(request, pass_on)
        if request.method == "POST" and self.question_fault is not None:
            return await self.question_fault(request, pass_on)
        return await pass_on()


def once(fault: Fault, number: int = 1) -> Fault:
    """A fault of the next `number` writes, or questions; those after them pass."""
    left = number

    async def decide(request: web.Request, pass_on: Callable[[], Awaitable[web.Response]]) -> web.StreamResponse:
        nonlocal left
        left -= 1
        return await (fault(request, pass_on) if left >= 0 else pass_on())

    return decide


def refuse(status: int, retry_after: int = 0) -> Fault:
    """Answer with an error, and write nothing; `retry_after` is the value of the header, in seconds."""
    headers = {"Retry-After": str(retry_after)} if retry_after else {}

    async def decide(_: web.Request, __: Callable[[], Awaitable[web.Response]]) -> web.StreamResponse:
        return web.json_response({"code": "internal_error", "message": "for now"}, status=status, headers=headers)

    return decide


async def lose_answer(request: web.Request, pass_on: Callable[[], Awaitable[web.Response]]) -> web.StreamResponse:
    """Write, and break the connection instead of answering."""
    await pass_on()
    return await lose(request, pass_on)


async def lose(request: web.Request, _: Callable[[], Awaitable[web.Response]]) -> web.StreamResponse:
    """Break the connection, and write nothing."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def arrive_late(seconds: float) -> Fault:
    """Break the connection, and write some seconds later."""
    tasks: list[asyncio.Task[None]] = []

    async def decide(request: web.Request, pass_on: Callable[[], Awaitable[web.Response]]) -> web.StreamResponse:
        async def later() -> None:
            await asyncio.sleep(seconds)
            await pass_on()

        tasks.append(asyncio.create_task(later()))
        return await lose(request, pass_on)

    return decide
