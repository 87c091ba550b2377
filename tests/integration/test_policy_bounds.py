"""Bounds on the size of a policy, from the settings to what OPA holds and answers."""

from pathlib import Path
from typing import Any

import pytest

from bridge.files import rego_root
from bridge.model.changes import Object
from bridge.offline.modules import settle_manifests
from bridge.opa.bundle import Bundle, build_bundle
from bridge.opa.client import Opa
from bridge.opa.shipped import shipped
from bridge.settings.model import Settings
from tests.builders import policy, policy_kind, service, target_ref
from tests.integration.scripted import BARRIER
from tests.integration.test_replicator import bridge
from tests.warm_opa import WarmOpa

KIND = "test.example.com/ColorPolicy"
TYPES = ("core/Service", "policybridge.io/PolicyKind", KIND, BARRIER)
POLICY_KIND = policy_kind("ColorPolicy", **{"class": "Direct"})
SERVICE = service("cart")


def color(leaves: int, refs: int = 1) -> Object:
    named = [target_ref("Service", "cart" if n == 0 else f"s{n}") for n in range(refs)]
    return policy("ColorPolicy", "wide", named, values={f"{number:x}": number for number in range(leaves)})


def bundle(settings: Settings) -> Bundle:
    found = shipped(rego_root(), settings.policy_bounds)
    return build_bundle(found.modules, found.data, found.roots)


async def status_and_index(opa_path: Path, settings: Settings, *versions: Object) -> list[tuple[Any, set[str]]]:
    """The policy's Accepted condition, and the parts of the index that it is in, after each version of it."""
    seen = []
    async with (
        WarmOpa(opa_path, bundle=bundle(settings)) as managed,
        bridge(managed.url, [POLICY_KIND, SERVICE, versions[0]], types=TYPES) as one,
    ):
        await one.filled()
        for version in versions:
            one.source.put(version)
            await one.notices.until_written()
            key = f"{KIND}/shop/wide"
            (status,) = await one.opa.query("status", {"policies": [key]})
            index = await one.opa.get("index") or {}
            seen.append((status["conditions"][0], {part for part, held in index.items() if key in str(held)}))
    return seen


async def test_policy_that_grows_above_a_bound_leaves_the_index_and_comes_back(opa_path: Path) -> None:
    few, many = color(1), color(20_000)
    before, above, after = await status_and_index(opa_path, Settings(), few, many, few)
    assert before[0]["reason"] == after[0]["reason"] == "Accepted"
    assert before[1] == after[1] == {"attached", "targeted"}
    assert (above[0]["status"], above[0]["reason"]) == ("False", "Invalid")
    assert above[0]["message"] == "Policy has 20003 values; at most 3000 are allowed"
    assert above[1] == {"oversized"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(policy_max_leaves=10), "Policy has 34 values; at most 10 are allowed"),
        (Settings(policy_max_target_refs=9), "Policy has 10 targetRefs; at most 9 are allowed"),
        (Settings(policy_max_depth=3), "Policy is nested deeper than 3 levels, the bound on a policy's depth"),
    ],
)
async def test_settings_bound_policies(opa_path: Path, settings: Settings, message: str) -> None:
    policy = color(3, 10)
    policy["spec"]["values"]["deep"] = {"a": {}}
    (found,) = await status_and_index(opa_path, settings, policy)
    assert (found[0]["reason"], found[0]["message"]) == ("Invalid", message)


async def test_defaults_of_the_settings_are_those_of_the_rego(opa_path: Path) -> None:
    found = shipped(rego_root())
    plain = build_bundle(found.modules, found.data, found.roots)
    async with WarmOpa(opa_path, bundle=plain) as managed, Opa(managed.url) as opa:
        assert await opa.get("bridge/index/bounds") == Settings().policy_bounds


async def test_read_commands_take_the_bounds_from_the_environment(
    opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRIDGE_POLICY_MAX_LEAVES", "7")
    settled = await settle_manifests([])
    async with WarmOpa(opa_path, bundle=settled.bundle) as managed, Opa(managed.url) as opa:
        assert await opa.get("bridge/index/bounds") == {**Settings().policy_bounds, "leaves": 7}
