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
from hack.bench.figures import progress
from hack.bench.load import GATEWAY_API
from tests.controlplane.plane import ControlPlane

CONNECTIONS = 16
PLURALS = {
    "Namespace": "namespaces",
    "Service": "services",
    "GatewayClass": "gatewayclasses",
    "Gateway": "gateways",
    "HTTPRoute": "httproutes",
    "ColorPolicy": "colorpolicies",
    "PolicyKind": "policykinds",
    "CustomResourceDefinition": "customresourcedefinitions",
}
POLICIES = "/apis/example.com/v1/colorpolicies"
GATEWAYS = f"/apis/{GATEWAY_API}/v1/gateways"
ROUTES = f"/apis/{GATEWAY_API}/v1/httproutes"
_MERGE_PATCH = "application/merge-patch+json"
GATEWAY_GROUP = "gateway.networking.k8s.io"
_QUIET = 3.0  # seconds without a change, after which everything has settled


@asynccontextmanager
async def session_of(plane: ControlPlane) -> AsyncIterator[aiohttp.ClientSession]:
    """Return a session with the API server as the admin."""
    context = plane.api.context
    connector = aiohttp.TCPConnector(ssl=context, limit=CONNECTIONS + 8)
    headers = {"Authorization": f"Bearer {plane.token}"}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
    async with aiohttp.ClientSession(plane.url, connector=connector, headers=headers, timeout=timeout) as session:
        yield session


def collection(obj: Object) -> str:
    """Return the path at which an object is created."""
    version = obj["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = obj["metadata"].get("namespace")
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{place}/{PLURALS[obj['kind']]}"


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
    """The state of watches: generations of objects and of their statuses, and the time of the last event.

    A watch that fails ends all waits with its error: a figure must not wait for events that cannot come.
    """

    last: float = 0.0
    events: int = 0
    delivered: dict[Key, int] = field(default_factory=dict)
    observed: dict[Key, int] = field(default_factory=dict)
    _error: Exception | None = None
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def fail(self, error: Exception) -> None:
        """Note that a watch failed and is not resumed."""
        self._error = error
        self._news.set()

    def check(self) -> None:
        """Raise the error of a watch that failed."""
        if self._error is not None:
            raise self._error

    def take(self, obj: Object) -> None:
        """Note one event."""
        self.last = time.perf_counter()
        self.events += 1
        seen = [condition.get("observedGeneration", 0) for condition in obj.get("status", {}).get("conditions", [])]
        place = key_of(obj)  # with the kind: a Gateway and its policy may have the same name
        self.delivered[place] = obj["metadata"]["generation"]
        self.observed[place] = min(seen, default=0)
        self._news.set()

    async def until_all_observed(self, count: int, patience: float) -> float:
        """Wait until `count` policies have conditions, and return the time (perf_counter)."""
        async with asyncio.timeout(patience):
            while sum(1 for key, seen in self.observed.items() if seen and key.group != GATEWAY_GROUP) < count:
                await self._wait()
        return time.perf_counter()

    async def until_observed(self, obj: Object, generation: int) -> float:
        """Wait until all conditions of an object have a generation, and return the time (perf_counter)."""
        return await self._until(self.observed, obj, generation)

    async def until_delivered(self, obj: Object) -> float:
        """Wait until an event has the object's generation, and return the time (perf_counter)."""
        return await self._until(self.delivered, obj, obj["metadata"]["generation"])

    async def _until(self, generations: dict[Key, int], obj: Object, generation: int) -> float:
        place = key_of(obj)
        while generations.get(place, 0) < generation:
            await self._wait()
        return time.perf_counter()

    async def _wait(self) -> None:
        self.check()
        self._news.clear()
        await self._news.wait()


@asynccontextmanager
async def watching(session: aiohttp.ClientSession, *paths: str) -> AsyncIterator[Watched]:
    """Watch collections from now on."""
    watched = Watched()
    tasks = []
    for path in paths:
        async with session.get(path, params={"limit": "1"}) as response:
            version = (await response.json())["metadata"]["resourceVersion"]
        tasks.append(asyncio.create_task(_watch(session, path, version, watched)))
    try:
        yield watched
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


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


async def settled(watched: Watched, since: float, patience: float) -> float:
    """Wait until no event arrives for a while. Return the time of the last one, or `since` if there was none."""
    deadline = time.perf_counter() + patience
    while time.perf_counter() - max(watched.last, since) < _QUIET:
        watched.check()
        if time.perf_counter() > deadline:
            raise RuntimeError(f"statuses have not settled after {patience:.0f} s ({watched.events} events)")
        await asyncio.sleep(0.1)
    return max(watched.last, since)


async def list_raw(session: aiohttp.ClientSession, path: str, page: int) -> tuple[list[Any], float]:
    """List a collection in pages, as bytes. Return the objects and the seconds until the last byte."""
    pages: list[bytes] = []
    params = {"limit": str(page)}
    began = time.perf_counter()
    while True:
        async with session.get(path, params=params) as response:
            body = await response.read()
        pages.append(body)
        # The token stands in the list's metadata, after the items; to parse them here would be part of the time.
        _, _, rest = body[-4096:].partition(b'"metadata":{"continue":"')
        token = rest.partition(b'"')[0]
        if not token:
            break
        params["continue"] = token.decode()
    took = time.perf_counter() - began
    return [item for body in pages for item in json.loads(body)["items"]], took
