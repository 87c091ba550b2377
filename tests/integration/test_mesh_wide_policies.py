"""A policy that selects every workload of a cluster: a change of one costs OPA the same, however many there are."""

import json
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bridge.model.changes import Object
from bridge.model.keys import key_of
from tests.properties.test_incremental_statuses import Bridge, settled

GROUP = "walk.example.com"
KIND = f"{GROUP}/MeshPolicy"
SERVICE = {"group": "", "kind": "Service"}


def _world(services: int, mode: str) -> list[Object]:
    spec = {
        "group": GROUP,
        "kind": "MeshPolicy",
        "mode": mode,
        "controllerName": f"{GROUP}/controller",
        "class": "Direct",
        "targets": [SERVICE],
        "selectors": [{"path": "/spec/select", "targets": [SERVICE]}],
        "rootNamespace": "root",
        "defaultStrategy": "Additive",
    }
    kind = {"apiVersion": "policybridge.io/v1alpha1", "kind": "PolicyKind", "metadata": {"name": "mesh"}, "spec": spec}
    metadata = {"name": "all", "namespace": "root", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    policy = {"apiVersion": f"{GROUP}/v1", "kind": "MeshPolicy", "metadata": metadata, "spec": {"rate": 1}}
    return [kind, policy, *(_service(number) for number in range(services))]


def _service(number: int) -> Object:
    metadata = {"name": f"s{number}", "namespace": f"n{number % 10}"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}}


async def _operations(url: str, query: str, given: dict[str, Any]) -> int:
    """How much OPA evaluates for a query, independent of the machine."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/v1/data/bridge/v1/{query}?instrument=true", json={"input": given}) as answer,
    ):
        found = json.loads(await answer.read())
    assert "error" not in found.get("result", {"error": found})
    return int(found["metrics"]["histogram_eval_op_plug"]["count"])


async def _change_of_a_service(bridge: Bridge, url: str) -> int:
    """What the query costs by which the remediator computes a change of one Service."""
    key = str(key_of(_service(7)))
    places = [(KIND, key)]
    kept = bridge.remediator._ledger.tallies_without(places)
    small = {"targets": {KIND: [key]}, "kept": kept, "former": [], "most": 100}
    wanted = {"scopes": {}, "objects": {}, "policies": {}, "remediation": small}
    return await _operations(url, "outdated", {"keys": [key], "was": {}, "wanted": wanted})


async def _costs(opa_path: Path, services: int, mode: str) -> tuple[int, int]:
    """The cost of a change of one Service, and of the policy's status with the counts that the remediator keeps."""
    async with settled(opa_path, _world(services, mode)) as bridge:
        policy = f"{KIND}/root/all"
        if mode == "Manage":
            (written,) = [obj for obj in bridge.source.objects.values() if obj["kind"] == "MeshPolicy"]
            accepted, programmed = written["status"]["conditions"]
            assert (accepted["reason"], programmed["reason"]) == ("Accepted", "Programmed")
            assert programmed["message"].startswith(f"Programmed on {services} paths: ")
        given = {"policies": [policy], "tallies": {policy: bridge.remediator.tallies(policy)}}
        return await _change_of_a_service(bridge, bridge.opa.url), await _operations(bridge.opa.url, "status", given)


@pytest.mark.parametrize("mode", ["Manage", "Observe"])
async def test_change_of_one_workload_costs_the_same_in_a_large_cluster(mode: str, opa_path: Path) -> None:
    few, many = await _costs(opa_path, 40, mode), await _costs(opa_path, 800, mode)
    assert many[0] < 1.1 * few[0]
    if mode == "Manage":  # others are not counted
        assert many[1] < 1.1 * few[1]
