"""Measure placement: evaluate all objects after a change of the policy, compared with direct queries."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import yaml

from bridge.model.changes import Notice
from bridge.model.placement import DEFAULT_DECISION, Placed, decision_path
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.pacing import Budget
from bridge.remediator.placement.placement import Placement
from bridge.remediator.sink import MemorySink
from hack.bench.figures import figure, opa_below, processor_time
from hack.tools import ensure

POLICY = Path(__file__).parents[2] / "examples" / "placement" / "20-policy.yaml"
CLUSTERS = 20
CLIENTS = 16  # decisions queried straight, at once
DEPLOYMENT = "apps/Deployment"


async def measure(count: int) -> None:
    """Measure `count` Deployments of about 2 kB, each of which is placed on some of 20 clusters."""
    policy = yaml.safe_load(POLICY.read_text())["data"]["placement.rego"]
    deployments = {f"app-{number}": _deployment(number) for number in range(count)}
    async with (
        ManagedOpa(ensure("opa").path, {}) as managed,
        Opa(managed.url) as opa,
        aiohttp.ClientSession() as session,
    ):
        clusters = {f"cluster-{number}": _cluster(number) for number in range(CLUSTERS)}
        placed = {"apps": {"Deployment": {"shop": deployments}}, "placement.example.com": {"Cluster": {"-": clusters}}}
        await opa.put("/objects", placed)
        await _load(session, managed.url, policy)
        straight, straight_time = await _straight(session, managed, list(deployments.values()))
        sink = MemorySink()
        kind = Placed(DEPLOYMENT, "Write", decision_path(DEFAULT_DECISION))
        placement = Placement(opa, sink, [kind], Budget(1_000_000, count + 1))
        task = asyncio.create_task(placement.run())
        try:
            placement.note(Notice(refilled=True))
            await placement.settled()
            await _load(session, managed.url, policy + "\n# changed, to the same effect\n")
            judged, before, began = (
                placement.counts["judged"],
                processor_time(opa_below(managed.pid)),
                time.perf_counter(),
            )
            placement.policy_changed()
            await placement.settled()
            took = time.perf_counter() - began
            used = (processor_time(opa_below(managed.pid)) or 0) - (before or 0)
            assert placement.counts["judged"] == judged + count
            assert placement.counts["patched"] == len(sink.annotations) == count
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    figure("placement sweep", took, "s", objects=count, opa_cpu=used, written=0)
    figure("placement sweep to the same decisions queried straight", took / straight, "ratio", clients=CLIENTS)
    figure("placement OPA's time to that of the same decisions", used / straight_time, "ratio", clients=CLIENTS)


async def _straight(session: aiohttp.ClientSession, managed: ManagedOpa, objects: list[Any]) -> tuple[float, float]:
    """Return the seconds of wall time and of OPA's processor time for one plain query per object."""
    bodies = iter([msgspec.json.encode({"input": obj}) for obj in objects])

    async def client() -> None:
        for body in bodies:
            async with session.post(f"{managed.url}/v1/data/{DEFAULT_DECISION}", data=body) as answer:
                assert "result" in msgspec.json.decode(await answer.read())

    before, began = processor_time(opa_below(managed.pid)), time.perf_counter()
    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return time.perf_counter() - began, (processor_time(opa_below(managed.pid)) or 0) - (before or 0)


async def _load(session: aiohttp.ClientSession, url: str, policy: str) -> None:
    async with session.put(f"{url}/v1/policies/placement", data=policy) as answer:
        assert answer.status == 200, await answer.text()


def _cluster(number: int) -> dict[str, Any]:
    spec = {"region": "eu" if number % 2 else "us", "pciLevel": 1 + number % 4}
    return {"apiVersion": "placement.example.com/v1", "kind": "Cluster", "metadata": {"name": "c"}, "spec": spec}


def _deployment(number: int) -> dict[str, Any]:
    name = f"app-{number}"
    asks = {
        "policy.federation.alpha.kubernetes.io/eu-jurisdiction-required": str(number % 2 == 0).lower(),
        "policy.federation.alpha.kubernetes.io/pci-compliance-level": str(2 + number % 3),
    }
    environment = [{"name": f"SETTING_{index}", "value": "x" * 30} for index in range(20)]
    container = {"name": "app", "image": "registry.example.com/app:1", "env": environment}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop", "resourceVersion": str(number), "annotations": asks},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }
