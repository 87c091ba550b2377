"""Requests to the API server: create the load over several connections, and watch statuses."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from hack.bench.load import GATEWAY_API
from hack.cluster import collection
from hack.figures import progress
from tests.controlplane.plane import ControlPlane

CONNECTIONS = 16
POLICIES = "/apis/example.com/v1/colorpolicies"
ROUTES = f"/apis/{GATEWAY_API}/v1/httproutes"
PAGE = 500  # of a list, as the bridge reads it
_MERGE_PATCH = "application/merge-patch+json"


@asynccontextmanager
async def session_of(plane: ControlPlane) -> AsyncIterator[aiohttp.ClientSession]:
    """Return a session with the API server as the admin."""
    context = plane.api.context
    connector = aiohttp.TCPConnector(ssl=context, limit=CONNECTIONS + 8)
    headers = {"Authorization": f"Bearer {plane.token}"}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
    async with aiohttp.ClientSession(plane.url, connector=connector, headers=headers, timeout=timeout) as session:
        yield session


async def create(session: aiohttp.ClientSession, objects: Iterable[Object]) -> int:
    """Create objects over CONNECTIONS connections, and return their number."""
    waiting: Iterator[Object] = iter(objects)
    counts = await asyncio.gather(*(_create_each(session, waiting) for _ in range(CONNECTIONS)))
    return sum(counts)


async def _create_each(session: aiohttp.ClientSession, waiting: Iterator[Object]) -> int:
    count = 0
    for obj in waiting:
        async with session.post(collection(obj) + "?fieldManager=kubectl-client-side-apply", json=obj) as response:
            if response.status != 201:
                raise RuntimeError(f"{obj['kind']} {obj['metadata']['name']}: {await response.text()}")
            await response.read()
        count += 1
    return count


async def patch(session: aiohttp.ClientSession, obj: Object, change: Object) -> Object:
    """Merge a change into an object, and return the changed object."""
    path = f"{collection(obj)}/{obj['metadata']['name']}"
    async with session.patch(path, data=json.dumps(change), headers={"Content-Type": _MERGE_PATCH}) as response:
        answer: Object = await response.json()
        if response.status != 200:
            raise RuntimeError(f"{path}: {answer}")
    return answer


@dataclass(slots=True)
class Watched:
    """The state of a watch: the generation that all conditions of each object have.

    A watch that fails ends all waits with its error: a figure must not wait for events that cannot come.
    """

    observed: dict[Key, int] = field(default_factory=dict)
    _error: Exception | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def fail(self, error: Exception) -> None:
        """Note that the watch failed and is not resumed."""
        self._error = error
        self._news.set()

    def take(self, obj: Object) -> None:
        """Note one event."""
        status = obj.get("status", {})
        places = [status, *status.get("parents", [])]
        seen = [one.get("observedGeneration", 0) for place in places for one in place.get("conditions", [])]
        self.observed[key_of(obj)] = min(seen, default=0)
        self._news.set()

    async def until_all_observed(self, count: int) -> None:
        """Wait until `count` objects have conditions."""
        while sum(map(bool, self.observed.values())) < count:
            await self._wait()

    async def until_observed(self, obj: Object) -> float:
        """Wait until all conditions of an object have its generation, and return the time (monotonic)."""
        while self.observed.get(key_of(obj), 0) < obj["metadata"]["generation"]:
            await self._wait()
        return time.monotonic()

    async def _wait(self) -> None:
        if self._error is not None:
            raise self._error
        self._news.clear()
        await self._news.wait()


@asynccontextmanager
async def watching(session: aiohttp.ClientSession, path: str) -> AsyncIterator[Watched]:
    """Watch a collection from now on."""
    watched = Watched()
    async with session.get(path, params={"limit": "1"}) as response:
        version = (await response.json())["metadata"]["resourceVersion"]
    task = asyncio.create_task(_watch(session, path, version, watched))
    try:
        yield watched
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _watch(session: aiohttp.ClientSession, path: str, version: str, watched: Watched) -> None:
    """Take events until cancelled: a watch that the API server ends, because its client falls behind, is resumed."""
    try:
        while True:
            params = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "3600"}
            async with session.get(path, params=params) as response:
                response.raise_for_status()
                version = await _take_events(response.content, version, watched)
            progress(f"the watch of {path} ended at {version}, and is resumed")
    except Exception as error:  # noqa: BLE001 (whatever it is: the one who waits has to know)
        watched.fail(error)


async def _take_events(content: aiohttp.StreamReader, version: str, watched: Watched) -> str:
    """Take the events of one connection; return the resourceVersion of the last."""
    rest = b""
    try:
        async for piece in content.iter_any():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise RuntimeError(f"watch failed: {event['object']}")
                watched.take(event["object"])
                version = event["object"]["metadata"]["resourceVersion"]
    except aiohttp.ClientPayloadError:
        pass  # cut off within an event
    return version


async def list_raw(session: aiohttp.ClientSession, path: str) -> tuple[list[Any], float]:
    """List a collection in pages, as bytes. Return the objects and the seconds until the last byte."""
    pages: list[bytes] = []
    params = {"limit": str(PAGE)}
    began = time.monotonic()
    while True:
        async with session.get(path, params=params) as response:
            body = await response.read()
        pages.append(body)
        # The token is in the list's metadata, after the items; to parse them here would be part of the time.
        _, _, rest = body[-4096:].partition(b'"metadata":{"continue":"')
        token = rest.partition(b'"')[0]
        if not token:
            break
        params["continue"] = token.decode()
    took = time.monotonic() - began
    return [item for body in pages for item in json.loads(body)["items"]], took
