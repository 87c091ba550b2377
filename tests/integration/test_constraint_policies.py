"""Policies of Constraints, from authors' modules to what OPA answers."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge.model.keys import key_of
from bridge.remediator.audit import Audited
from tests.builders import resource
from tests.integration.loading import Bench, loading

POLICY = """package k8s.ports

violation contains {"msg": sprintf("%d ports", [count(input.review.object.spec.ports)])} if {
	count(input.review.object.spec.ports) > input.parameters.limit
}
"""
# Two values for one rule, of a Service that is called conflict.
FAILING = """package k8s.ports

violation contains {"msg": value}

value := "one"

value := "two" if input.review.object.metadata.name == "conflict"
"""


def _changes(policy: str = "k8s.ports", name: str = "cart") -> dict[str, Any]:
    ports = [{"name": f"p{port}", "port": port} for port in (1, 2)]
    return {
        "upsert": [
            resource("v1", "Service", name, "shop", spec={"ports": ports}),
            resource(
                "policybridge.io/v1alpha1", "Constraint", "ports", spec={"policy": policy, "parameters": {"limit": 1}}
            ),
        ]
    }


@pytest.fixture
async def bench(opa_path: Path) -> AsyncIterator[Bench]:
    async with loading(opa_path, whole=True) as found:
        await found.opa.put("bridge_state", {"complete": True})
        yield found


async def _messages(bench: Bench, policy: str = "k8s.ports") -> list[str]:
    return [row["message"] for row in await bench.opa.query("violations", {"changes": _changes(policy)})]


async def test_a_package_with_violations_is_a_policy_as_soon_as_it_is_active(bench: Bench) -> None:
    assert await _messages(bench) == ["policy k8s.ports is not loaded"]
    bench.put("ports", POLICY)
    await bench.until_active("ports")
    assert await _messages(bench) == ["2 ports"]
    bench.put("other", 'package acme["all-ports"]\n\nviolation contains {"msg": "no"}\n')
    await bench.until_active("other")
    assert await _messages(bench, 'acme["all-ports"]') == ["no"]
    assert await _messages(bench) == ["2 ports"]


@pytest.mark.parametrize("query", ["v1.violations", pytest.param("fleet.v1.violations.east", marks=pytest.mark.long)])
async def test_a_policy_that_asks_for_violations_is_refused_alone(bench: Bench, query: str) -> None:
    bench.put("good", POLICY)
    await bench.until_active("good")
    bench.put("loop", f"package k8s.loop\n\nviolation contains row if some row in data.bridge.{query}\n")
    file, line, code, _ = await bench.refused("loop")
    assert (file, line, code) == ("m0.rego", 3, "rego_recursion_error")
    assert await _messages(bench) == ["2 ports"]


async def test_only_the_object_at_fault_is_a_violation_if_a_policy_fails(bench: Bench) -> None:
    """The policy stays active: an object must not be able to disable it for others."""
    for obj in (*_changes()["upsert"], *_changes(name="conflict")["upsert"]):
        key = key_of(obj)
        await bench.opa.put(f"objects/{key.group}/{key.kind}/{key.namespace}/{key.name}", obj)
    bench.put("ports", FAILING)
    await bench.until_active("ports")
    audited = Audited(bench.opa)
    await audited.judge(sorted(await audited.stale_all()))
    [found, failed] = audited.counted("ports")["first"]
    assert (found["object"], found["message"]) == ("core/Service/shop/cart", "one")
    assert (failed["object"], failed["details"]) == ("core/Service/shop/conflict", {"severity": "unknown"})
    assert failed["message"].startswith("cannot be judged: ")
    assert bench.verdicts["ports"].programmed
