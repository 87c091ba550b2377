"""Requests to the API server: create the load over several connections, and watch statuses."""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from bridge.model.changes import Object
from tests.bench.load import GATEWAY_API, Load, custom_resources, namespace_of, policy_kind
from tests.cluster import collection, path_of
from tests.controlplane.plane import ControlPlane
from tests.figures import progress

CONNECTIONS = 16
BURST = 2_000  # changes
POLICIES = "/apis/example.com/v1/colorpolicies"
ROUTES = f"/apis/{GATEWAY_API}/v1/httproutes"
PAGE = 500  # of a list, as the bridge reads it
_MERGE_PATCH = "application/merge-patch+json"


@asynccontextmanager
async def session_of(plane: ControlPlane) -> AsyncIterator[aiohttp.ClientSession]:
    """Return a session with the API server as the admin."""
    connector = aiohttp.TCPConnector(ssl=plane.api.context, limit=CONNECTIONS + 8)
    headers = {"Authorization": f"Bearer {plane.token}"}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
    async with aiohttp.ClientSession(plane.url, connector=connector, headers=headers, timeout=timeout) as session:
        yield session


async def create(session: aiohttp.ClientSession, objects: Iterable[Object]) -> None:
    """Create objects over CONNECTIONS connections."""
    waiting: Iterator[Object] = iter(objects)
    await asyncio.gather(*(_create_each(session, waiting) for _ in range(CONNECTIONS)))


async def _create_each(session: aiohttp.ClientSession, waiting: Iterator[Object]) -> None:
    for obj in waiting:
        async with session.post(collection(obj) + "?fieldManager=kubectl-client-side-apply", json=obj) as response:
            if response.status != 201:
                raise RuntimeError(f"{obj['kind']} {obj['metadata']['name']}: {await response.text()}")


async def create_load(plane: ControlPlane, session: aiohttp.ClientSession, load: Load) -> None:
    """Create the objects of a load, and their CRDs."""
    crds = [crd for crd in custom_resources() if crd["metadata"]["name"].endswith("example.com")]
    await create(session, crds)
    await asyncio.to_thread(plane.api.wait_for_crds, {crd["metadata"]["name"] for crd in crds})
    for objects in (load.bases(), load.http_routes(), [policy_kind()], load.policies()):
        await create(session, objects)
    progress("the load is created")


async def patch(session: aiohttp.ClientSession, obj: Object, change: Object) -> Object:
    """Merge a change into an object, and return the changed object."""
    async with session.patch(path_of(obj), data=json.dumps(change), headers={"Content-Type": _MERGE_PATCH}) as response:
        answer: Object = await response.json()
    if response.status != 200:
        raise RuntimeError(f"{path_of(obj)}: {answer}")
    return answer


async def burst(session: aiohttp.ClientSession, load: Load, metadata: Object) -> list[int]:
    """Merge metadata into many routes, as fast as the API server accepts it; return their numbers as it answered."""
    waiting = iter(random.Random(5).sample(range(load.routes), min(BURST, load.routes)))
    changed = []

    async def work() -> None:
        for route in waiting:
            obj = {
                "apiVersion": f"{GATEWAY_API}/v1",
                "kind": "HTTPRoute",
                "metadata": {"name": f"route-{route}", "namespace": namespace_of(route)},
            }
            await patch(session, obj, {"metadata": metadata})
            changed.append(route)

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return changed


async def until_observed(session: aiohttp.ClientSession, obj: Object, patience: float) -> float:
    """Watch an object until all its conditions have its generation, and return the time (monotonic)."""
    metadata = obj["metadata"]
    params = {"watch": "true", "fieldSelector": f"metadata.name={metadata['name']}"}
    params["resourceVersion"] = metadata["resourceVersion"]
    rest = b""
    async with asyncio.timeout(patience), session.get(collection(obj), params=params) as response:
        response.raise_for_status()
        async for piece in response.content.iter_any():
            *lines, rest = (rest + piece).split(b"\n")
            if any(observed_generation(json.loads(line)["object"]) >= metadata["generation"] for line in lines):
                return time.monotonic()
    raise RuntimeError(f"the watch of {metadata['name']} ended before its status was written")


async def until_all_observed(session: aiohttp.ClientSession, path: str) -> None:
    """Wait until all objects of a collection have conditions."""
    while True:
        async with session.get(path) as response:
            items = (await response.json())["items"]
        if all(map(observed_generation, items)):
            return
        await asyncio.sleep(0.5)


def observed_generation(obj: Object) -> int:
    """Return the generation that all conditions of an object have; 0 without conditions."""
    status = obj.get("status", {})
    places = [status, *status.get("parents", [])]
    return min((one.get("observedGeneration", 0) for place in places for one in place.get("conditions", [])), default=0)


async def list_raw(session: aiohttp.ClientSession, path: str) -> tuple[list[Any], float]:
    """List a collection in pages, as bytes. Return the objects and the seconds until the last byte."""
    pages: list[bytes] = []
    params = {"limit": str(PAGE)}
    began = time.monotonic()
    while not pages or params["continue"]:
        async with session.get(path, params=params) as response:
            pages.append(await response.read())
        # The token is in the list's metadata, after the items; to parse them here would be part of the time.
        _, _, rest = pages[-1][-4096:].partition(b'"metadata":{"continue":"')
        params["continue"] = rest.partition(b'"')[0].decode()
    took = time.monotonic() - began
    return [item for body in pages for item in json.loads(body)["items"]], took
