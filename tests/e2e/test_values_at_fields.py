"""Values at a field, as guardrails, `get targets --without` and `analyze` find them, of kinds of vendors."""

import json
from pathlib import Path
from typing import Any

import yaml

from tests.builders import policy, policy_kind, target_ref
from tests.e2e.conftest import Run

GATEWAY_API = "gateway.networking.k8s.io"
LIMITS = "kuadrant.io/RateLimitPolicy"


def _object(api_version: str, kind: str, name: str, spec: dict[str, Any], namespace: str = "web") -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def _constraint(guardrail: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "policybridge.io/v1alpha1",
        "kind": "Constraint",
        "metadata": {"name": guardrail.replace("_", "-")},
        "spec": {
            "policy": f"bridge.guardrails.{guardrail}",
            "match": {"kinds": [{"apiGroups": [GATEWAY_API], "kinds": ["HTTPRoute"]}]},
            "parameters": parameters,
        },
    }


def _policy(api_version: str, kind: str, name: str, target: tuple[str, str], spec: dict[str, Any]) -> dict[str, Any]:
    ref = {"group": GATEWAY_API, "kind": target[0], "name": target[1]}
    return _object(api_version, kind, name, {"targetRef": ref, **spec})


def _write(folder: Path, controller: str, *objects: dict[str, Any]) -> Path:
    listeners = [{"name": "web", "port": 80, "protocol": "HTTP"}]
    rules = [{"name": "all", "matches": [{"path": {"value": "/"}}]}]
    world = [
        _object(f"{GATEWAY_API}/v1", "GatewayClass", "edge", {"controllerName": controller}),
        _object(f"{GATEWAY_API}/v1", "Gateway", "edge", {"gatewayClassName": "edge", "listeners": listeners}),
        _object(f"{GATEWAY_API}/v1", "HTTPRoute", "site", {"parentRefs": [{"name": "edge"}], "rules": rules}),
    ]
    world[0]["metadata"].pop("namespace")
    file = folder / "world.yaml"
    file.write_text(yaml.safe_dump_all([*world, *objects]))
    return file


def _limits(limits: dict[str, Any] | None, target: tuple[str, str] = ("HTTPRoute", "site")) -> dict[str, Any]:
    name = f"of-{target[1]}"
    return _policy(
        "kuadrant.io/v1", "RateLimitPolicy", name, target, {"defaults": {"strategy": "merge", "limits": limits}}
    )


PER_USER = {"rates": [{"limit": 30, "window": "1m"}], "counters": [{"expression": "auth.identity.sub"}]}


def _messages(bridge: Run, world: Path) -> set[str]:
    return {row["message"] for row in json.loads(bridge("violations", "--manifests", world, "-o", "json").stdout)}


def test_a_field_inside_of_a_merge_unit_is_in_effect(bridge: Run, tmp_path: Path) -> None:
    required = _constraint("required_policy", {"kinds": [LIMITS], "field": "/limits/people/rates"})
    world = _write(tmp_path, "istio.io/gateway-controller", _limits({"people": PER_USER}), required)
    assert _messages(bridge, world) == set()
    field = "ratelimitpolicy.spec.limits.people"
    for name, uncovered in (("rates", False), ("when", True)):
        done = bridge("get", "targets", "--without", f"{field}.{name}", "--manifests", world, "-o", "name")
        assert ("HTTPRoute" in done.stdout) is uncovered


def test_a_change_inside_of_a_merge_unit_is_a_weakening(bridge: Run, tmp_path: Path) -> None:
    kept = _constraint("no_weakening", {"kinds": [LIMITS], "fields": ["/limits/people/counters"]})
    world = _write(tmp_path, "istio.io/gateway-controller", _limits({"people": PER_USER}), kept)
    change = tmp_path / "change.yaml"
    change.write_text(yaml.safe_dump(_limits({"people": {"rates": PER_USER["rates"]}})))
    lost = "fields of RateLimitPolicy/web/of-site are no longer in effect: limits.people.counters"
    for what in (["-f", change], ["--delete", "ratelimitpolicy/web/of-site"]):
        done = bridge("analyze", *what, "--manifests", world, "-o", "json")
        assert any(one["message"].endswith(lost) for one in json.loads(done.stdout)["problems"]["introduced"])


def test_a_value_that_a_null_removes_is_missing(bridge: Run, tmp_path: Path) -> None:
    """In a kind without a schema: of a field that is not nullable, an API server stores no null."""
    required = _constraint("required_policy", {"kinds": ["test.example.com/Awning"], "field": "/cover"})
    targets = [{"group": GATEWAY_API, "kind": name} for name in ("Gateway", "HTTPRoute")]
    kind = policy_kind("Awning", targets=targets, effectiveTarget="Route", defaultStrategy="PatchDefaults")
    covered = policy("Awning", "covered", [target_ref("Gateway", "edge")], "web", cover="wide")
    bare = policy("Awning", "bare", [target_ref("HTTPRoute", "site")], "web", cover=None)
    for policies, missing in (([covered], 0), ([covered, bare], 1)):
        world = _write(tmp_path, "example.com/gateway", kind, required, *policies)
        assert len(_messages(bridge, world)) == missing
        done = bridge("get", "targets", "--without", "awning.spec.cover", "--manifests", world, "-o", "name")
        assert ("HTTPRoute" in done.stdout) is bool(missing)


def test_sizes_of_nginx_are_compared_as_such(bridge: Run, tmp_path: Path) -> None:
    kind = "gateway.nginx.org/ClientSettingsPolicy"
    settings = _policy(
        "gateway.nginx.org/v1alpha1",
        "ClientSettingsPolicy",
        "site",
        ("HTTPRoute", "site"),
        {"body": {"maxSize": "64m", "timeout": "90"}},
    )

    def judged(field: str, maximum: str | int) -> set[str]:
        bounded = _constraint("bounded_field", {"kind": kind, "field": field, "maximum": maximum})
        controller = "gateway.nginx.org/nginx-gateway-controller"
        return _messages(bridge, _write(tmp_path, controller, settings, bounded))

    assert judged("/body/maxSize", "1g") == judged("/body/timeout", "2m") == set()
    assert len(judged("/body/maxSize", "63m")) == len(judged("/body/timeout", "1m")) == 1
    [message] = judged("/body/timeout", 100)
    assert message.endswith("must be at most 100, not 90, and they are not of one type")


def test_a_field_below_a_scalar_is_no_green_answer(bridge: Run, tmp_path: Path) -> None:
    bounded = _constraint(
        "bounded_field", {"kind": LIMITS, "field": "/limits/people/rates/0/window/seconds", "maximum": 60}
    )
    world = _write(tmp_path, "istio.io/gateway-controller", _limits({"people": PER_USER}), bounded)
    [message] = _messages(bridge, world)
    assert message.endswith('cannot be judged: limits.people.rates[0].window is "1m", which has no fields')


def test_authentication_of_a_gateway_is_not_known_at_a_tcp_route(bridge: Run, tmp_path: Path) -> None:
    tcp_listener = {"name": "pipe", "port": 9000, "protocol": "TCP"}
    gateway = _object(
        f"{GATEWAY_API}/v1", "Gateway", "pipes", {"gatewayClassName": "edge", "listeners": [tcp_listener]}
    )
    rules = [{"name": "all", "backendRefs": [{"name": "db", "port": 9000}]}]
    route = _object(f"{GATEWAY_API}/v1alpha2", "TCPRoute", "db", {"parentRefs": [{"name": "pipes"}], "rules": rules})
    required = _constraint("required_policy", {"kinds": ["gateway.envoyproxy.io/SecurityPolicy"]})
    required["spec"]["match"]["kinds"][0]["kinds"] = ["TCPRoute"]
    for spec, messages in (
        ({"jwt": {"providers": [{"name": "p", "remoteJWKS": {"uri": "https://id.test/keys"}}]}}, 1),
        ({"authorization": {"defaultAction": "Deny"}}, 0),
    ):
        lock = _policy("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", "lock", ("Gateway", "pipes"), spec)
        world = _write(tmp_path, "gateway.envoyproxy.io/gatewayclass-controller", gateway, route, lock, required)
        found = _messages(bridge, world)
        assert len(found) == messages
        assert all("Envoy Gateway ignores jwt at a TCPRoute" in message for message in found)
