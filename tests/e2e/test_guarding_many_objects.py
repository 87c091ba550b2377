"""Requests that concern more objects than a query of OPA judges, at the webhook of a running bridge."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.reviewing import Review, message_of, webhook_of
from tests.eventually import eventually_blocking

GATEWAY_API = "gateway.networking.k8s.io"
ENVOY = "gateway.envoyproxy.io"
TIMEOUT = 10  # seconds, as in the webhook's configuration
ROUTES = 2_100


def _resource(api: str, kind: str, namespace: str, name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def _lock(namespace: str, kind: str, name: str) -> dict[str, Any]:
    ref = {"group": GATEWAY_API, "kind": kind, "name": name}
    issuer = {"name": "id", "remoteJWKS": {"uri": "https://id.example.org/keys"}}
    return _resource(
        f"{ENVOY}/v1alpha1", "SecurityPolicy", namespace, f"of-{name}", targetRefs=[ref], jwt={"providers": [issuer]}
    )


def _route(number: int) -> dict[str, Any]:
    return _resource(
        f"{GATEWAY_API}/v1", "HTTPRoute", "town", f"house-{number:04}",
        parentRefs=[{"name": "wide", "namespace": "edge"}],
        hostnames=[f"house-{number}.example.org"],
        rules=[{"name": "all", "matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}],
    )  # fmt: skip


def _objects(routes: int, locked: range, **spec: Any) -> list[dict[str, Any]]:
    """A Gateway with a policy, routes below it, of which some have a policy of their own, and a Constraint."""
    listener = {"name": "web", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}}
    return [
        _resource(f"{GATEWAY_API}/v1", "GatewayClass", "", "eg", controllerName=f"{ENVOY}/gatewayclass-controller"),
        _resource(f"{GATEWAY_API}/v1", "Gateway", "edge", "wide", gatewayClassName="eg", listeners=[listener]),
        _lock("edge", "Gateway", "wide"),
        *map(_route, range(routes)),
        *(_lock("town", "HTTPRoute", f"house-{number:04}") for number in locked),
        _resource(
            "policybridge.io/v1alpha1", "Constraint", "", "locked",
            policy="bridge.guardrails.required_policy",
            match={"kinds": [{"kinds": ["HTTPRoute"]}]},
            parameters={"kinds": [f"{ENVOY}/SecurityPolicy"], "field": "/jwt"},
            **spec,
        ),
    ]  # fmt: skip


def _decided(review: Review, *, allowed: bool) -> dict[str, Any]:
    """The response to the deletion of the Gateway's policy, once all of it is judged."""
    return eventually_blocking(
        lambda: review("DELETE", _lock("edge", "Gateway", "wide"), None),
        lambda response: response["allowed"] == allowed and "could not compute it;" not in message_of(response),
        pause=0.5,
    )


def test_a_deletion_that_takes_the_policy_of_many_routes_is_denied(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    # The first 230 routes have a policy of their own: those that are judged first are no witnesses.
    with webhook_of(bridge_path, environment, tmp_path, _objects(250, range(230))) as review:
        response = _decided(review, allowed=False)
        witness = "[locked] HTTPRoute/town/house-0230: rule all via Gateway/edge/wide#web: no SecurityPolicy with jwt"
        assert witness in message_of(response), response
        assert "(because of SecurityPolicy/edge/of-wide)" in message_of(response)
        assert "; ways out: " in message_of(response)


@pytest.mark.long
def test_a_deletion_above_thousands_of_routes_is_denied_within_the_time_of_thewebhook_of(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    with webhook_of(bridge_path, environment, tmp_path, _objects(ROUTES, range(230)), TIMEOUT) as review:
        began = time.monotonic()
        response = review("DELETE", _lock("edge", "Gateway", "wide"), None)
        assert time.monotonic() - began < TIMEOUT
        assert not response["allowed"]
        # On a loaded machine the time may be over before the first witness, which is as good a reason.
        assert message_of(response).startswith("[locked] "), response


def test_a_change_that_violates_nothing_is_admitted_when_all_objects_are_judged(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    with webhook_of(bridge_path, environment, tmp_path, _objects(250, range(250))) as review:
        assert "warnings" not in _decided(review, allowed=True)


GUARDRAIL = """
apiVersion: v1
kind: ConfigMap
metadata: {name: slow, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data:
  slow.rego: |
    package bridge.guardrails.slow

    violations contains {"message": "never"} if {
      some i in numbers.range(1, 20000)
      some j in numbers.range(1, 20000)
      i * j < 0
    }
"""


@pytest.mark.parametrize(("policy", "allowed"), [("Fail", False), pytest.param("Ignore", True, marks=pytest.mark.long)])
def test_an_unjudged_change_is_denied_unless_the_constraint_ignores_failures(
    bridge_path: Path, environment: dict[str, str], tmp_path: Path, policy: str, *, allowed: bool
) -> None:
    objects = _objects(5, range(5), failurePolicy=policy)
    objects[-1]["spec"]["policy"] = "bridge.guardrails.slow"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "opa-policies"}}
    objects += [namespace, yaml.safe_load(GUARDRAIL)]
    with webhook_of(bridge_path, environment, tmp_path, objects, TIMEOUT) as review:
        # Until the guardrail is active, it finds nothing.
        response = eventually_blocking(
            lambda: review("DELETE", _lock("edge", "Gateway", "wide"), None),
            lambda answer: "[locked] " in _said(answer),
        )
        assert response["allowed"] == allowed, response
        assert "judged" in _said(response)


def _said(response: dict[str, Any]) -> str:
    return message_of(response) + "".join(response.get("warnings", ()))
