"""Measure an initial sync of one size: a stream of routes in the order of an API server, without a server.

The replicator's part of the bridge's memory and processor time; two runs with two sizes show how it grows.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import AsyncIterator
from collections.abc import Set as AbstractSet

import msgspec

from bridge.model.changes import Change, Listed, Listing, Object, Upserted
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped_bundle
from bridge.replicator.replicator import Replicator
from bridge.resources import rego_root
from hack.bench.cluster import PAGE
from hack.bench.figures import figure, memory, opa_below, processor_time
from hack.bench.load import GATEWAY_API, Load, as_created
from hack.tools import ensure

WHERE = "size"
ROUTES = f"{GATEWAY_API}/HTTPRoute"
_PATIENCE = 1_800.0


class Stream:
    """A source that generates each route when it is read, so that only the replicator's memory grows."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self.making = 0.0  # seconds of processor time, which are not the replicator's

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Do nothing: the source has only routes."""

    def relist(self) -> None:
        """Do nothing: this source loses no changes."""

    async def changes(self) -> AsyncIterator[Change]:
        """Yield all routes, in pages."""
        routes = enumerate(self._load.http_routes_by_namespace(), 1)
        yield Listing(ROUTES)
        while True:
            began = time.process_time()
            page = tuple(_as_read(route, number) for number, route in itertools.islice(routes, PAGE))
            self.making += time.process_time() - began
            if not page:
                break
            yield Upserted(ROUTES, page)
            await asyncio.sleep(0)  # as a client that waits for a server
        yield Listed(ROUTES)


async def measure(routes: int) -> None:
    """Sync an OPA with this many routes."""
    executable = await asyncio.to_thread(ensure, "opa")
    stream = Stream(Load(routes))
    async with (
        ManagedOpa(executable.path, {}, bundle=shipped_bundle(rego_root())) as managed,
        Opa(managed.url, timeout=300) as opa,
    ):
        pid = opa_below(os.getpid())
        used, used_by_opa, empty = time.process_time(), processor_time(pid) or 0.0, memory(os.getpid()) or 0.0
        replicator = Replicator(stream, opa, [ROUTES])
        running = asyncio.create_task(replicator.run())
        try:
            async with asyncio.timeout(_PATIENCE):
                await replicator.filled.wait()
            more = {"routes": routes, "where": WHERE}
            figure("fill_processor_time_replicator", time.process_time() - used - stream.making, "s", **more)
            figure("fill_processor_time_opa", (processor_time(pid) or 0.0) - used_by_opa, "s", **more)
            figure("fill_memory_replicator", (memory(os.getpid()) or 0.0) - empty, "MiB", **more)
            figure("fill_memory_opa", (memory(pid) if pid else None) or 0.0, "MiB", **more)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def _as_read(route: Object, number: int) -> Object:
    """Return a route as read from an API server: everything except metadata as JSON."""
    created = as_created(route)
    metadata = {name: value for name, value in created["metadata"].items() if name != "annotations"}
    spec = msgspec.Raw(msgspec.json.encode(created["spec"]))
    return {**created, "metadata": {**metadata, "resourceVersion": str(number)}, "spec": spec}
