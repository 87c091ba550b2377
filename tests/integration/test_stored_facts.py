"""Facts are stored with their objects, equal newly made ones, and are repaired after writes of another client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.model.changes import Object
from bridge.model.types import ALWAYS
from bridge.opa.client import Opa
from bridge.replicator import replicator as replicating
from bridge.replicator.replicator import Replicator
from tests.eventually import equal_to, eventually
from tests.integration.loading import DEADLINE, Bench, author, loading, until
from tests.integration.scripted import Notices, ScriptedSource
from tests.integration.test_replicator import bridge
from tests.warm_opa import WarmOpa
from tests.working import working

OBJECTS = """
- apiVersion: gateway.networking.k8s.io/v1
  kind: Gateway
  metadata: {namespace: infra, name: public}
  spec: {gatewayClassName: main, listeners: [{name: web, port: 80, protocol: HTTP, hostname: '*.example.com'}]}
- apiVersion: gateway.networking.k8s.io/v1
  kind: HTTPRoute
  metadata: {namespace: shop, name: cart}
  spec: {parentRefs: [{namespace: infra, name: public}], hostnames: [shop.example.com], rules: [{name: all}]}
- apiVersion: example.com/v1
  kind: ColorPolicy
  metadata: {namespace: shop, name: warm, creationTimestamp: '2026-01-01T00:00:00Z'}
  spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}], theme: {color: red}}
- apiVersion: policybridge.io/v1alpha1
  kind: PolicyKind
  metadata: {name: colors}
  spec: {group: example.com, kind: ColorPolicy, mode: Observe, class: Inherited, effectiveTarget: Rule}
"""
POLICY = "example.com/ColorPolicy/shop/warm"
ROUTE = "gateway.networking.k8s.io/HTTPRoute/shop/cart"
GATEWAY = "gateway.networking.k8s.io/Gateway/infra/public"
TYPES = (*ALWAYS, "core/ConfigMap")
LEVELS = """package bridge.extensions.hierarchy.edges

levels := {"acme.io/Edge": {"object": "Gateway"}}
"""


def objects() -> list[Object]:
    """A Gateway, a route, a policy and its kind."""
    found: list[Object] = yaml.safe_load(OBJECTS)
    return found


async def facts(opa: Opa, key: str) -> Any:
    """What is stored."""
    return await opa.get(f"facts/{key}")


async def assert_current(opa: Opa, source: ScriptedSource) -> None:
    """Each stored fact equals the one that would be made now."""
    assert await opa.query("stale_facts", {"keys": [str(key) for key in source.objects]}) == []


@asynccontextmanager
async def replicated(url: str, source: ScriptedSource) -> AsyncIterator[tuple[Opa, Notices]]:
    """An OPA that a replicator has filled."""
    async with bridge(url, source, types=TYPES, content="test") as one:
        await one.filled()
        yield one.opa, one.notices


@pytest.mark.parametrize(
    "change",
    [
        {"op": "replace", "path": f"/facts/{ROUTE}/sections", "value": ["other"]},
        {"op": "remove", "path": f"/facts/{GATEWAY}"},
        {"op": "add", "path": "/facts/core", "value": {"Namespace": {"-": {"shop": {"odd": 1}}}}},
        {"op": "remove", "path": "/facts"},
    ],
    ids=["overwritten", "removed", "added", "all removed"],
)
async def test_an_audit_repairs_facts_that_another_client_has_written(
    opa: WarmOpa, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicating, "AUDIT", 0.2)
    monkeypatch.setattr(replicating, "_AUDIT_SHARE", 1)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    source = ScriptedSource([*objects(), namespace])
    async with replicated(opa.url, source) as (client, notices):
        await notices.until_written()
        before = await client.get("facts")
        await client.patch([change])
        await eventually(lambda: client.get("facts"), equal_to(before))


async def test_facts_are_current_after_a_module_changed_levels_during_an_initial_sync(opa_path: Path) -> None:
    async with loading(opa_path, whole=True) as bench, Opa(bench.managed.url, recover=bench.loader.blame) as client:
        source = ScriptedSource(objects(), silent=["core/ConfigMap"])
        replicator = _following(bench, client, source)
        async with working(replicator.run):
            await until(lambda: len(replicator) > 0 or replicator.waiting > 0)
            bench.put("edges", LEVELS)
            await bench.until_active("edges")
            source.tell("core/ConfigMap")
            await asyncio.wait_for(replicator.filled.wait(), DEADLINE)
            assert (await facts(client, ROUTE))["by"]
            await assert_current(client, source)
            bench.loader.remove(author("edges"))
            async with asyncio.timeout(DEADLINE):
                await bench.loader.wait_until_settled()
                await replicator.filled.wait()
            await assert_current(client, source)


def _following(bench: Bench, client: Opa, source: ScriptedSource) -> Replicator:
    replicator = Replicator(source, client, TYPES, owner="x", content="test", rules=bench.loader.links)
    bench.loader.before_rules_change(replicator.rules_change)
    return replicator
