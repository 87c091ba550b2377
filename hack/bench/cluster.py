"""Measure a whole bridge on a real API server."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec

from bridge.opa.process import ManagedOpa
from bridge.replicator.pending import prune
from hack.bench.api import GATEWAYS, POLICIES, ROUTES, create, list_raw, session_of, settled, watching
from hack.bench.changes import gateway_policy, route_policies
from hack.bench.figures import figure, memory, processor_time, progress, step
from hack.bench.load import Load, custom_resources, policy_kind
from hack.bench.queries import all_rules, one_target
from hack.bench.sidecar import Sidecar, running_bridge
from hack.tools import ensure, ensure_crds
from tests.controlplane.plane import ControlPlane

WHERE = "cluster"
PAGE = 500  # as the bridge lists
FLOOR_PUT = "/v1/data/floor"


async def measure(routes: int) -> None:
    """Measure all figures on a cluster with this many routes."""
    load = Load(routes)
    async with cluster_of(load) as plane, session_of(plane) as api:
        floor = await fill_floor(api, load)
        async with watching(api, POLICIES, GATEWAYS) as watched, watching(api, ROUTES) as marked:
            began = time.perf_counter()
            async with running_bridge(plane) as sidecar, aiohttp.ClientSession() as opa:
                fill_of(sidecar, floor, load, WHERE)
                memory_of(sidecar, load, "after_fill", WHERE)
                policies = sum(1 for _ in load.policies())
                with step("every policy gets its first status"):
                    observed = await watched.until_all_observed(policies, 1_200)
                first = observed - began - sidecar.filled
                figure("first_statuses_after_fill", first, "s", policies=policies, routes=routes, where=WHERE)
                with step("all marks are written"):
                    await settled(watched, observed, 300)
                    marks = await settled(marked, observed, 600)
                figure("first_marks_after_fill", marks - began - sidecar.filled, "s", routes=routes, where=WHERE)
                await one_target(opa, sidecar.opa_url, sidecar.opa_pid, load, WHERE)
                await all_rules(opa, sidecar.opa_url, sidecar.opa_pid, load, WHERE, "effective")
                await route_policies(api, opa, sidecar, watched, load)
                await gateway_policy(api, opa, sidecar, watched, load)
                memory_of(sidecar, load, "after_changes", WHERE)


@asynccontextmanager
async def cluster_of(load: Load, *, policies: bool = True) -> AsyncIterator[ControlPlane]:
    """Start a control plane with the load, with or without its policies."""
    etcd, server = await asyncio.gather(*(asyncio.to_thread(ensure, name) for name in ("etcd", "kube-apiserver")))
    crds = await asyncio.to_thread(ensure_crds)
    with tempfile.TemporaryDirectory(prefix="policy-bridge-bench-") as folder:
        plane = ControlPlane(Path(folder), etcd=etcd.path, kube_apiserver=server.path)
        try:
            with step("etcd and kube-apiserver start"):
                await asyncio.to_thread(plane.start)
                await asyncio.to_thread(plane.api.apply_crds, crds / "standard")
            async with session_of(plane) as api:
                with step("the load is created"):
                    own = custom_resources()
                    await create(api, own)
                    await asyncio.to_thread(plane.api.wait_for_crds, {crd["metadata"]["name"] for crd in own})
                    await create(api, load.bases())
                    await create(api, load.http_routes())
                    if policies:
                        await create(api, [policy_kind()])
                        await create(api, load.policies())
            yield plane
        finally:
            await asyncio.to_thread(plane.stop)


async def fill_floor(api: aiohttp.ClientSession, load: Load) -> float:
    """Return the seconds of one raw LIST of the routes and one raw PUT into an OPA: the floor of an initial sync."""
    routes, listed = await list_raw(api, ROUTES, PAGE)
    if len(routes) != load.routes:
        raise RuntimeError(f"{load.routes} routes were created, {len(routes)} are listed")
    objects: dict[str, dict[str, object]] = {}
    for route in routes:
        metadata = route["metadata"]
        objects.setdefault(metadata["namespace"], {})[metadata["name"]] = prune(route)
    executable = await asyncio.to_thread(ensure, "opa")
    async with ManagedOpa(executable.path, {}) as managed, aiohttp.ClientSession() as opa:
        body = msgspec.json.encode(objects)
        began = time.perf_counter()
        async with opa.put(managed.url + FLOOR_PUT, data=body, headers={"Content-Type": "application/json"}) as answer:
            answer.raise_for_status()
            await answer.read()
        put = time.perf_counter() - began
    figure("floor_raw_list", listed, "s", routes=load.routes, page=PAGE)
    figure("floor_raw_put", put, "s", routes=load.routes, mib=len(body) / 2**20)
    return listed + put


def fill_of(sidecar: Sidecar, floor: float, load: Load, where: str) -> None:
    """Return the duration of the bridge's start, and its ratio to the floor."""
    more = {"routes": load.routes, "where": where}
    figure("fill_from_process_start", sidecar.filled, "s", **more)
    figure("fill_from_first_list", sidecar.filled - sidecar.listing, "s", **more)
    figure("fill_to_floor_ratio", (sidecar.filled - sidecar.listing) / floor, "ratio", floor_seconds=floor, **more)
    for name, pid in (("bridge", sidecar.pid), ("opa", sidecar.opa_pid)):
        used = processor_time(pid)
        if used is not None:
            figure(f"processor_time_{name}_until_filled", used, "s", **more)


def memory_of(sidecar: Sidecar, load: Load, when: str, where: str) -> None:
    """Return the current memory of the bridge and of its OPA."""
    for name, pid in (("bridge", sidecar.pid), ("opa", sidecar.opa_pid)):
        used = memory(pid) if pid else None
        if used is None:
            progress(f"the memory of {name} cannot be read here")
        else:
            figure(f"memory_{name}_{when}", used, "MiB", routes=load.routes, where=where)
