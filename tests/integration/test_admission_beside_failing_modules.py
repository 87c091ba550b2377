"""Admission of one author's object while an admin's module fails, or takes long, on another author's object."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridge.model.changes import Object
from tests.builders import config_map, gateway, http_route, policy, policy_kind, resource, service, target_ref
from tests.integration.loading import loading, policies_beside
from tests.integration.scripted import ScriptedSource
from tests.integration.served_webhook import Served, review_of_object, serving
from tests.integration.test_modules_and_links import FAILS_ON_ONE, STRATEGY, filling, odd

GATEWAY_TYPES = ("gateway.networking.k8s.io/Gateway", "gateway.networking.k8s.io/HTTPRoute")
TYPES = (
    *GATEWAY_TYPES,
    "core/Service",
    "policybridge.io/PolicyKind",
    "policybridge.io/Constraint",
    "test.example.com/ColorPolicy",
)
SLOW = """package bridge.strategies.odd

result := {"spec": {}} if not _is_odd

_is_odd if {
	input[_].spec.odd
	some i in numbers.range(1, 1000000)
	some j in numbers.range(1, 1000000)
	i * j < 0
}
"""
LIMITS = """package k8s.limits

violation contains {"msg": "too large"} if input.review.object.metadata.labels.size == "large"
"""
LARGE = {"labels": {"size": "large"}}
KINDS = [{"apiGroups": ["", "test.example.com"], "kinds": ["ConfigMap", "ColorPolicy"]}]
CONSTRAINT = resource(
    "policybridge.io/v1alpha1", "Constraint", "limits", spec={"policy": "k8s.limits", "match": {"kinds": KINDS}}
)
MANAGED = {"mode": "Manage", "controllerName": "example.com/colors"}
UNKNOWN = ["the effects of this policy are unknown: OPA could not compute them"]


def color(name: str, kind: str, target: str, **spec: Any) -> Object:
    return policy("ColorPolicy", name, [target_ref(kind, target)], "infra", **spec)


BROKEN = color("bad-1", "HTTPRoute", "bad", odd=True)  # by a tenant, on whose route the strategy fails
OBJECTS = [
    policy_kind("ColorPolicy", effectiveTarget="Target", defaultStrategy="Custom", custom="odd", **MANAGED),
    CONSTRAINT,
    gateway("public", "infra"),
    *(http_route(name, "infra") for name in ("good", "bad")),
    *(BROKEN, color("bad-2", "HTTPRoute", "bad"), color("good-1", "HTTPRoute", "good")),
    odd("odd"),
]


@asynccontextmanager
async def reviewing(opa_path: Path, folder: Path, strategy: str, **settings: Any) -> AsyncIterator[Served]:
    """A webhook beside an extension that fails on a Service, and this strategy, which cannot merge BROKEN."""
    async with loading(opa_path, whole=True) as bench:
        for name, text in {"odd": strategy, "below": FAILS_ON_ONE, "limits": LIMITS}.items():
            bench.put(name, text)
        await bench.until_active("odd", "below", "limits")
        async with (
            filling(bench, ScriptedSource(OBJECTS), TYPES),
            serving(
                folder,
                bench.managed.url,
                policies=policies_beside(bench),
                **{"webhook_decision": "", **settings},
            ) as webhook,
        ):
            yield webhook


@pytest.fixture
async def webhook(opa_path: Path, tmp_path: Path) -> AsyncIterator[Served]:
    """A webhook beside modules that fail."""
    async with reviewing(opa_path, tmp_path, STRATEGY) as served:
        yield served


async def test_objects_that_make_modules_fail_change_no_decision_on_others(webhook: Served) -> None:
    async def reviewed(obj: Object) -> tuple[bool, list[str]]:
        response = await webhook.review(review_of_object(obj))
        return response["allowed"], response.get("warnings", [])

    assert await reviewed(config_map("a", {}, "infra")) == (True, [])
    large = resource("v1", "ConfigMap", "a", "infra", metadata=LARGE)
    assert (await reviewed(large))[0] is False
    assert await reviewed(service("a", "infra")) == (True, [])
    allowed, warnings = await reviewed(color("good-2", "HTTPRoute", "good"))
    assert (allowed, len(warnings)) == (True, 2)
    # The Gateway's policy acts on the tenant's route too.
    assert await reviewed(color("all", "Gateway", "public")) == (True, UNKNOWN)
    assert (await reviewed(color("all", "Gateway", "public", metadata=LARGE)))[0] is False


async def test_update_that_repairs_a_policy_for_a_failing_strategy_is_admitted(webhook: Served) -> None:
    review = json.loads(review_of_object(color("bad-1", "HTTPRoute", "bad")))
    review["request"].update(operation="UPDATE", oldObject=BROKEN)
    assert (await webhook.review(json.dumps(review).encode()))["allowed"]


@pytest.mark.long
async def test_strategy_that_is_slow_at_a_tenants_route_does_not_deny_the_gateways_policy(
    opa_path: Path, tmp_path: Path
) -> None:
    async with reviewing(opa_path, tmp_path, SLOW, webhook_deadline=6.0) as webhook:
        response = await webhook.review(review_of_object(color("all", "Gateway", "public")))
        assert (response["allowed"], response.get("warnings")) == (True, UNKNOWN)


GUARDRAIL = """package bridge.guardrails.%s

violations contains {"message": "red is not allowed"} if _hue == "red"

_hue := input.policies["test.example.com/ColorPolicy"].spec.hue
"""
FAILS = (
    GUARDRAIL % "fails"
    + """
_hue := 2 if input.route
"""
)
LOOPS = (
    GUARDRAIL % "loops"
    + """
violations contains {"message": "never"} if {
	some i in numbers.range(1, 1000000)
	some j in numbers.range(1, 1000000)
	i * j < 0
}
"""
)
ON_GOOD = "HTTPRoute/infra/good: rule all via Gateway/infra/public#http-80: "


def guarding(name: str, failure_policy: str = "Ignore") -> Object:
    spec = {"policy": f"bridge.guardrails.{name}", "match": {"kinds": [{"kinds": ["HTTPRoute"]}]}}
    named = f"{name}-{failure_policy.lower()}"
    return resource("policybridge.io/v1alpha1", "Constraint", named, spec={**spec, "failurePolicy": failure_policy})


async def decided(opa_path: Path, folder: Path, modules: dict[str, str], *constraints: Object) -> dict[str, Any]:
    """The response to a policy that makes a route red, beside these guardrails."""
    kind = policy_kind("ColorPolicy", effectiveTarget="Target", **MANAGED)
    objects = [kind, gateway("public", "infra"), http_route("good", "infra"), *constraints]
    async with loading(opa_path, whole=True) as bench:
        for name, text in modules.items():
            bench.put(name, text)
        await bench.until_active(*modules)
        async with (
            filling(bench, ScriptedSource(objects), TYPES),
            serving(
                folder, bench.managed.url, policies=policies_beside(bench), webhook_decision="", webhook_deadline=20.0
            ) as webhook,
        ):
            return await webhook.review(review_of_object(color("red", "HTTPRoute", "good", hue="red")))


async def test_guardrail_that_fails_leaves_the_others_their_decision(opa_path: Path, tmp_path: Path) -> None:
    modules = {"sound": GUARDRAIL % "sound", "fails": FAILS}
    response = await decided(
        opa_path, tmp_path, modules, guarding("sound"), guarding("fails"), guarding("fails", "Fail")
    )
    messages, warnings = response["status"]["message"], response["warnings"]
    assert f"[sound-ignore] {ON_GOOD}red is not allowed" in messages
    assert "[fails-fail] HTTPRoute/infra/good: cannot be judged: " in messages
    assert "fails-ignore" not in messages
    assert any(one.startswith("[fails-ignore] HTTPRoute/infra/good: cannot be judged: ") for one in warnings)


@pytest.mark.long
async def test_guardrail_that_takes_too_long_leaves_the_others_their_decision(opa_path: Path, tmp_path: Path) -> None:
    modules = {"sound": GUARDRAIL % "sound", "loops": LOOPS}
    response = await decided(opa_path, tmp_path, modules, guarding("sound"), guarding("loops"))
    assert f"[sound-ignore] {ON_GOOD}red is not allowed" in response["status"]["message"]
    assert any(one.startswith("[loops-ignore]") and "judged" in one for one in response["warnings"])
