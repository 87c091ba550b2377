from typing import Any

import pytest

from bridge.sources.defaults import Defaulter, drop_nulls, set_defaults
from hack.tools.fields import defaults_of

GATEWAY_API = "gateway.networking.k8s.io"
EG = "gateway.envoyproxy.io/v1alpha1"


def obj(kind: str, api_version: str = "v1", /, metadata: Any = None, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", **(metadata or {})}, **fields}


def crd(schema: dict[str, Any], *, scope: str = "Namespaced", served: bool = True) -> dict[str, Any]:
    version = {"name": "v1", "served": served, "schema": {"openAPIV3Schema": {"type": "object", "properties": schema}}}
    spec = {"group": "example.com", "names": {"kind": "Thing"}, "scope": scope, "versions": [version]}
    return obj("CustomResourceDefinition", "apiextensions.k8s.io/v1", spec=spec)


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ({}, {"properties": {"a": {"default": 1}}}, {"a": 1}),
        ({"a": 2}, {"properties": {"a": {"default": 1}}}, {"a": 2}),
        ({"a": None}, {"properties": {"a": {"default": 1}}}, {"a": 1}),
        ({"a": None}, {"properties": {"a": {"default": 1, "nullable": True}}}, {"a": None}),
        ({}, {"properties": {"a": {"properties": {"b": {"default": 1}}}}}, {}),
        ({}, {"properties": {"a": {"default": {}, "properties": {"b": {"default": 1}}}}}, {"a": {"b": 1}}),
        ({"a": [{}, {"b": 2}]}, {"properties": {"a": {"items": {"properties": {"b": {"default": 1}}}}}},
         {"a": [{"b": 1}, {"b": 2}]}),
        ([None], {"items": {"default": 1}}, [1]),
        ({"a": {}, "b": None}, {"additionalProperties": {"default": {}, "properties": {"c": {"default": 1}}}},
         {"a": {"c": 1}, "b": {"c": 1}}),
        ({"a": "text"}, {"properties": {"a": {"properties": {"b": {"default": 1}}}}}, {"a": "text"}),
        ({"a": 1}, {"properties": "broken", "items": 7}, {"a": 1}),
    ],
)  # fmt: skip
def test_defaults_go_where_the_api_server_puts_them(value: Any, schema: Any, expected: Any) -> None:
    set_defaults(value, schema)
    assert value == expected


def test_a_default_is_copied_for_each_place() -> None:
    value: dict[str, Any] = {"a": [{}, {}]}
    set_defaults(value, {"properties": {"a": {"items": {"properties": {"b": {"default": []}}}}}})
    assert value["a"][0]["b"] is not value["a"][1]["b"]


def test_nulls_go_where_the_schema_knows_the_field_and_does_not_allow_them() -> None:
    value = {"a": None, "b": None, "unknown": None, "c": [None, {"d": None}]}
    drop_nulls(
        value,
        {"properties": {"a": {"type": "string"}, "b": {"nullable": True},
                        "c": {"items": {"properties": {"d": {"type": "string"}}}}}},
    )  # fmt: skip
    assert value == {"b": None, "unknown": None, "c": [None, {}]}


def test_a_null_of_a_vendors_policy_is_not_stored_unless_its_field_is_nullable() -> None:
    limit = {"global": None, "local": {"rules": [None, {"limit": None}]}, "unknown": None}
    done = Defaulter().complete(obj("BackendTrafficPolicy", EG, spec={"timeout": None, "rateLimit": limit}))
    assert done["spec"] == {"rateLimit": {"local": {"rules": [None, {}]}, "unknown": None}}
    tracing = [{"disableSpanReporting": None, "customTags": None}]
    done = Defaulter().complete(obj("Telemetry", "telemetry.istio.io/v1", spec={"tracing": tracing}))
    assert done["spec"] == {"tracing": [{"disableSpanReporting": None}]}


def test_a_null_in_a_version_without_a_schema_stays() -> None:
    assert Defaulter().complete(obj("BackendTrafficPolicy", EG + "9", spec={"timeout": None}))["spec"] == {
        "timeout": None
    }


def test_only_the_parts_of_a_schema_that_lead_to_a_default_are_kept() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"default": 1, "type": "integer"}}}},
        },
    }
    assert defaults_of(schema) == {"properties": {"b": {"items": {"properties": {"c": {"default": 1}}}}}}


def test_a_crd_among_the_manifests_gives_its_kind_defaults_scope_and_generation() -> None:
    defaulter = Defaulter([crd({"spec": {"properties": {"color": {"default": "red"}}}}, scope="Cluster")])
    done = defaulter.complete(obj("Thing", "example.com/v1", {"namespace": "gone"}, spec={}))
    assert done == obj("Thing", "example.com/v1", {"generation": 1}, spec={"color": "red"})
    assert str(defaulter.key_of(done)) == "example.com/Thing/-/x"


def test_a_version_that_is_not_served_gives_no_defaults() -> None:
    defaulter = Defaulter([crd({"color": {"default": "red"}}, served=False)])
    assert "color" not in defaulter.complete(obj("Thing", "example.com/v1"))


def test_a_crd_gives_no_defaults_to_metadata() -> None:
    defaulter = Defaulter([crd({"metadata": {"properties": {"labels": {"default": {"a": "b"}}}}})])
    assert "labels" not in defaulter.complete(obj("Thing", "example.com/v1"))["metadata"]


@pytest.mark.parametrize("spec", [None, [], {}, {"group": 1}, {"group": "a", "names": {"kind": "B"}, "versions": [3]}])
def test_a_crd_that_is_none_affects_nothing_else(spec: Any) -> None:
    defaulter = Defaulter([obj("CustomResourceDefinition", "apiextensions.k8s.io/v1", spec=spec)])
    assert defaulter.complete(obj("Thing", "example.com/v1"))["metadata"]["namespace"] == "default"


def test_gateway_apis_kinds_get_the_defaults_of_their_crds() -> None:
    route = Defaulter().complete(
        obj("HTTPRoute", f"{GATEWAY_API}/v1", spec={"parentRefs": [{"name": "gw"}], "hostnames": None})
    )
    assert route["spec"] == {
        "parentRefs": [{"group": GATEWAY_API, "kind": "Gateway", "name": "gw"}],
        "rules": [{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}],
    }
    gateway = Defaulter().complete(obj("Gateway", f"{GATEWAY_API}/v1", spec={"listeners": [{"name": "a"}]}))
    assert gateway["spec"]["listeners"] == [{"name": "a", "allowedRoutes": {"namespaces": {"from": "Same"}}}]


def test_a_crd_of_gateway_api_among_the_manifests_takes_the_place_of_the_shipped_defaults() -> None:
    own = crd({"spec": {"properties": {"own": {"default": True}}}})
    own["spec"] |= {"group": GATEWAY_API, "names": {"kind": "HTTPRoute"}}
    done = Defaulter([own]).complete(obj("HTTPRoute", f"{GATEWAY_API}/v1", spec={}))
    assert done["spec"] == {"own": True}


def test_a_services_ports_get_protocol_and_target() -> None:
    done = Defaulter().complete(
        obj("Service", spec={"ports": [{"port": 80}, {"port": 53, "protocol": "UDP", "targetPort": "dns"}]})
    )
    assert done["spec"]["ports"] == [
        {"port": 80, "protocol": "TCP", "targetPort": 80},
        {"port": 53, "protocol": "UDP", "targetPort": "dns"},
    ]


def test_a_namespace_has_its_name_as_a_label() -> None:
    done = Defaulter().complete(obj("Namespace", "v1", {"labels": {"team": "a"}}))
    assert done["metadata"] == {"name": "x", "labels": {"team": "a", "kubernetes.io/metadata.name": "x"}}


@pytest.mark.parametrize(
    ("kind", "api_version", "key"),
    [
        ("Service", "v1", "core/Service/default/x"),
        ("Namespace", "v1", "core/Namespace/-/x"),
        ("GatewayClass", f"{GATEWAY_API}/v1", f"{GATEWAY_API}/GatewayClass/-/x"),
        ("XMesh", "gateway.networking.x-k8s.io/v1alpha1", "gateway.networking.x-k8s.io/XMesh/-/x"),
        ("PolicyKind", "policybridge.io/v1alpha1", "policybridge.io/PolicyKind/-/x"),
        ("RegoPolicy", "policybridge.io/v1alpha1", "policybridge.io/RegoPolicy/-/x"),
        ("ClusterRole", "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io/ClusterRole/-/x"),
        ("Unknown", "example.org/v1", "example.org/Unknown/default/x"),
    ],
)
def test_scope_decides_the_namespace(kind: str, api_version: str, key: str) -> None:
    assert str(Defaulter().key_of(obj(kind, api_version))) == key


def test_defaults_that_only_a_cluster_knows_are_left_out_and_given_values_stay() -> None:
    done = Defaulter().complete(obj("ColorPolicy", "example.com/v1", {"labels": None}))
    assert done["metadata"] == {"name": "x", "namespace": "default", "generation": 1}
    given = {"name": "x", "namespace": "shop", "generation": 7, "creationTimestamp": "2024-01-01T00:00:00Z", "uid": "u"}
    assert Defaulter().complete(obj("ColorPolicy", "example.com/v1", given))["metadata"] == given


def test_the_object_that_was_given_is_left_as_it_was() -> None:
    given = obj("Service", spec={"ports": [{"port": 80}]})
    Defaulter().complete(given)
    assert given == obj("Service", spec={"ports": [{"port": 80}]})
