"""Measure without an API server: the replicator syncs OPA from a source in memory, then OPA is queried."""

from __future__ import annotations

import asyncio
import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager

import aiohttp

from bridge.model.changes import Change, Listed, Listing, Object, Upserted
from bridge.model.keys import key_of
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped_bundle
from bridge.replicator.replicator import Replicator
from bridge.resources import rego_root
from hack.bench.figures import figure, opa_below, progress
from hack.bench.load import Load, as_created, custom_resources, policy_kind
from hack.bench.queries import all_rules, links_of_all, one_target
from hack.tools import ensure

WHERE = "opa_alone"
SMALL = 10  # the small load has this fraction of the routes


class MemorySource:
    """A source of objects that never change."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self._by_type: defaultdict[str, list[Object]] = defaultdict(list)
        for obj in objects:
            self._by_type[key_of(obj).type_id].append(obj)

    def want(self, type_ids: AbstractSet[str]) -> None:
        """Do nothing: the source sends everything."""

    def relist(self) -> None:
        """Do nothing: this source loses no changes."""

    async def changes(self) -> AsyncIterator[Change]:
        """Yield all types."""
        for type_id, objects in self._by_type.items():
            yield Listing(type_id)
            yield Upserted(type_id, tuple(objects))
            yield Listed(type_id)


@asynccontextmanager
async def synced_opa(load: Load) -> AsyncIterator[str]:
    """Start an OPA with the load and yield its URL. Print the duration of the initial sync."""
    async with filled_with(load.objects()) as (url, took, count):
        figure("fill_from_memory", took, "s", routes=load.routes, objects=count, where=WHERE)
        yield url


@asynccontextmanager
async def opa_with(load: Load, policies: Iterable[Object]) -> AsyncIterator[str]:
    """Start an OPA with the load's routes, the objects above them, and only these policies; yield its URL."""
    objects = (*custom_resources(), policy_kind(), *load.bases(), *load.http_routes(), *policies)
    async with filled_with(objects) as (url, _, _):
        yield url


@asynccontextmanager
async def filled_with(objects: Iterable[Object]) -> AsyncIterator[tuple[str, float, int]]:
    """Start an OPA with these objects; yield its URL, the seconds of the initial sync, and the number of objects."""
    executable = await asyncio.to_thread(ensure, "opa")
    source = MemorySource([as_created(obj) for obj in objects])
    async with (
        ManagedOpa(executable.path, {}, bundle=shipped_bundle(rego_root())) as managed,
        Opa(managed.url, timeout=300) as opa,
    ):
        began = time.perf_counter()
        replicator = Replicator(source, opa, [])
        running = asyncio.create_task(replicator.run())
        try:
            async with asyncio.timeout(300):
                await replicator.filled.wait()
            yield managed.url, time.perf_counter() - began, len(replicator)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def measure(routes: int) -> None:
    """Measure queries at this many routes and at a tenth of them."""
    medians = {}
    for count in (max(routes // SMALL, 10), routes):
        load = Load(count)
        progress(f"OPA alone, {count:,} routes")
        async with synced_opa(load) as url, aiohttp.ClientSession() as session:
            medians[count] = await one_target(session, url, opa_below(os.getpid()), load, WHERE)
            for query in ("effective", "outcomes"):
                await all_rules(session, url, opa_below(os.getpid()), load, WHERE, query)
            await links_of_all(session, url, opa_below(os.getpid()), load, WHERE)
    small, large = medians
    ratio = medians[large] / medians[small]
    figure("effective_one_rule_size_ratio", ratio, "ratio", small=small, large=large, where=WHERE)
