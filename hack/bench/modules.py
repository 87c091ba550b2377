"""Measure admins' Rego: from a ConfigMap's change, or a bridge's start, until OPA uses it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import aiohttp

from hack.bench.cluster import cluster_of
from hack.bench.figures import (
    figure,
    percentile,
    processor_time,
    processor_time_of_children,
    progress,
    spread_of,
)
from hack.bench.load import Load
from hack.bench.sidecar import running_bridge
from tests.controlplane.api import ApiServer
from tests.controlplane.plane import ControlPlane

CHANGES = 40
OTHERS = 100  # ConfigMaps beside the one that changes
ROUTES = 100  # what else the cluster holds matters little here
NAMESPACE = "opa-policies"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
DEADLINE = 60.0


async def measure(_: int) -> None:
    """Measure changes of a ConfigMap with one module, alone and next to a hundred others."""
    async with cluster_of(Load(ROUTES), policies=False) as plane:
        api = plane.api
        await asyncio.to_thread(api.request, "POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        async with running_bridge(plane) as sidecar, aiohttp.ClientSession() as opa:
            opa_pid = sidecar.opa_pid  # before any check, which is an `opa` too
            for others in (0, OTHERS):
                for number in range(others):
                    await _put(api, f"other{number}", number)
                if others:
                    await _until(opa, sidecar.opa_url, f"other{others - 1}", others - 1)
                progress(f"{CHANGES} changes of a ConfigMap beside {others} others")
                before = _used(sidecar.pid, opa_pid)
                took = [await _change(api, opa, sidecar.opa_url, number) for number in range(CHANGES)]
                for name, used in _used(sidecar.pid, opa_pid).items():
                    spent = (used - before[name]) / CHANGES * 1e3
                    figure(f"config_map_in_force_processor_time_{name}", spent, "ms", others=others, count=CHANGES)
                for share, named in ((0.5, "p50"), (0.99, "p99")):
                    value = percentile(took, share)
                    figure(f"config_map_in_force_{named}", value, "ms", others=others, **spread_of(took))
        await _at_start(plane)


async def _at_start(plane: ControlPlane) -> None:
    """Measure from the start of a bridge with a hundred ConfigMaps until OPA uses each of them."""
    began = time.perf_counter()
    async with running_bridge(plane) as sidecar, aiohttp.ClientSession() as opa:
        for number in range(OTHERS):
            await _until(opa, sidecar.opa_url, f"other{number}", number)
        seconds = time.perf_counter() - began
        opa_pid = sidecar.opa_pid
        more = {"config_maps": OTHERS, "from_process_start": seconds, "filled": sidecar.filled}
        figure("config_maps_at_start_in_force", seconds - sidecar.listing, "s", **more)
        for name, used in _used(sidecar.pid, opa_pid).items():
            figure(f"config_maps_at_start_processor_time_{name}", used, "s", **more)


def _used(pid: int, opa_pid: int | None) -> dict[str, float]:
    """Return the used seconds of processor time, which are the same on a loaded machine."""
    return {
        "bridge": processor_time(pid) or 0.0,
        "checks": processor_time_of_children(pid) or 0.0,
        "opa": processor_time(opa_pid) or 0.0,
    }


async def _change(api: ApiServer, opa: aiohttp.ClientSession, opa_url: str, number: int) -> float:
    """Return the milliseconds from the API server's response until OPA's."""
    await _put(api, "changed", number)
    began = time.perf_counter()
    await _until(opa, opa_url, "changed", number)
    return (time.perf_counter() - began) * 1e3


async def _put(api: ApiServer, name: str, number: int) -> None:
    metadata = {"name": name, "labels": {"openpolicyagent.org/policy": "rego"}}
    data = {"main.rego": f"package bench.{name}\n\nvalue := {number}\n"}
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
    await asyncio.to_thread(api.apply, f"{MAPS}/{name}", body)


async def _until(opa: aiohttp.ClientSession, opa_url: str, name: str, number: int) -> None:
    async with asyncio.timeout(DEADLINE):
        while True:
            async with opa.get(f"{opa_url}/v1/data/bench/{name}/value") as answer:
                if (await answer.json()).get("result") == number:
                    return
            await asyncio.sleep(0.02)  # each look takes time from OPA
