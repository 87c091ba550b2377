"""Policies that are replicated already follow the fields by which their kind selects targets."""

from pathlib import Path
from typing import Any

import yaml

from bridge.model.changes import Object
from bridge.opa.client import Opa
from tests.builders import resource
from tests.integration.scripted import ScriptedSource
from tests.integration.test_stored_facts import assert_current, replicated
from tests.warm_opa import WarmOpa

OBJECTS = """
- {apiVersion: v1, kind: Service, metadata: {namespace: shop, name: cart, labels: {app: cart}}, spec: {}}
- {apiVersion: v1, kind: Service, metadata: {namespace: bank, name: pay, labels: {app: pay}}, spec: {}}
- {apiVersion: v1, kind: Service, metadata: {namespace: shop, name: named}, spec: {}}
- apiVersion: example.com/v1
  kind: LimitPolicy
  metadata: {namespace: shop, name: one, creationTimestamp: '2026-01-01T00:00:00Z'}
  spec: {select: {app: cart}, other: {app: pay}, rate: 1}
- apiVersion: example.com/v1
  kind: LimitPolicy
  metadata: {namespace: shop, name: two, creationTimestamp: '2026-01-01T00:00:00Z'}
  spec: {targetRefs: [{group: '', kind: Service, name: named}], rate: 2}
"""
SELECTING = {"path": "/spec/select", "targets": [{"group": "", "kind": "Service"}]}
BY_ANOTHER_FIELD = {**SELECTING, "path": "/spec/other"}
SERVICE = {"group": "", "kind": "Service"}
ONE, TWO = "example.com/LimitPolicy/shop/one", "example.com/LimitPolicy/shop/two"
CART, PAY, NAMED = "core/Service/shop/cart", "core/Service/bank/pay", "core/Service/shop/named"


def kind(**fields: Any) -> Object:
    """The PolicyKind of these policies."""
    spec = {"group": "example.com", "kind": "LimitPolicy", "class": "Direct", "targets": [SERVICE], **fields}
    return resource("policybridge.io/v1alpha1", "PolicyKind", "limits", spec={"defaultStrategy": "Additive", **spec})


async def attached(opa: Opa) -> dict[str, list[str]]:
    """The policies with an effect at each Service."""
    found = await opa.query("effective", {"targets": [CART, PAY, NAMED]})
    return {entry["target"]: [one["policy"] for path in entry["paths"] for one in path["policies"]] for entry in found}


async def index_and_facts(opa: Opa) -> Any:
    """What OPA stores beside the objects, without empty entries."""
    return _pruned({"index": await opa.get("index"), "facts": await opa.get("facts")})


def _pruned(document: Any) -> Any:
    if not isinstance(document, dict):
        return document
    below = {name: _pruned(value) for name, value in document.items()}
    return {name: value for name, value in below.items() if value not in ({}, None)}


async def follow(opa_path: Path, steps: list[tuple[Object, dict[str, list[str]]]]) -> None:
    """Put one PolicyKind after the other, with the expected policies at Services, and compare with an initial sync."""
    source = ScriptedSource(yaml.safe_load(OBJECTS))
    async with WarmOpa(opa_path) as managed, replicated(managed.url, source) as (client, notices):
        for description, expected in steps:
            source.put(description)
            await notices.until_written()
            assert await attached(client) == expected
            await assert_current(client, source)
            fresh_source = ScriptedSource(obj for obj in source.objects.values() if obj["kind"] != "ConfigMap")
            async with (
                WarmOpa(opa_path) as other,
                replicated(other.url, fresh_source) as (fresh, others),
            ):
                await others.until_written()
                assert await index_and_facts(client) == await index_and_facts(fresh)


async def test_policies_follow_selectors_that_their_kind_gains_changes_and_loses(opa_path: Path) -> None:
    named = {NAMED: [TWO]}
    await follow(
        opa_path,
        [
            (kind(), named),
            (kind(selectors=[SELECTING]), {CART: [ONE], **named}),
            (kind(selectors=[BY_ANOTHER_FIELD]), named),  # PAY is in another namespace
            (kind(selectors=[BY_ANOTHER_FIELD], rootNamespace="shop"), {PAY: [ONE], **named}),
            (kind(selectors=[SELECTING, BY_ANOTHER_FIELD], rootNamespace="shop"), {CART: [ONE], PAY: [ONE], **named}),
            (kind(), named),
            (kind(selectors=[SELECTING]), {CART: [ONE], **named}),
        ],
    )


async def test_policies_follow_the_targets_of_their_kind(opa_path: Path) -> None:
    gateway = {"group": "gateway.networking.k8s.io", "kind": "Gateway"}
    await follow(
        opa_path,
        [
            (kind(targets=[gateway]), {}),
            (kind(targets=[gateway, SERVICE], selectors=[SELECTING]), {CART: [ONE], NAMED: [TWO]}),
            (kind(targets=[gateway]), {}),
        ],
    )


async def test_policy_that_changes_after_its_kind_gained_selectors_selects_by_them(opa_path: Path) -> None:
    source = ScriptedSource([*yaml.safe_load(OBJECTS), kind()])
    async with WarmOpa(opa_path) as managed, replicated(managed.url, source) as (client, notices):
        source.put(kind(selectors=[SELECTING]))
        await notices.until_written()
        policy = next(obj for obj in source.objects.values() if obj["metadata"]["name"] == "one")
        source.put({**policy, "spec": {"select": {"app": "none"}}})
        await notices.until_written()
        assert await attached(client) == {NAMED: [TWO]}
        source.put({**policy, "spec": {"select": {"app": "cart"}}})
        await notices.until_written()
        assert await attached(client) == {CART: [ONE], NAMED: [TWO]}
        await assert_current(client, source)
