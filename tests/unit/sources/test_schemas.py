"""Values that an API server refuses. `tests/integration/test_values_like_the_api_server.py` compares with one."""

from typing import Any

import pytest
import yaml

from bridge.files import crds_root
from bridge.model.types import OWN_VERSIONS
from bridge.sources.defaults import Defaulter
from bridge.sources.schemas import Schemas, wrong_metadata

GATEWAY_API = "gateway.networking.k8s.io/v1"


def obj(kind: str, spec: Any, version: str = GATEWAY_API, **more: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "one"}, "spec": spec, **more}


def crd(spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": spec}, **more}
    versions = [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}]
    return {"spec": {"group": "example.com", "names": {"kind": "Widget"}, "versions": versions}}


@pytest.fixture(scope="module")
def released() -> Schemas:
    return Schemas()


LISTENER = {"name": "http", "port": 80, "protocol": "HTTP"}


@pytest.mark.parametrize(
    ("wrong", "message", "place"),
    [
        (
            obj("Gateway", {"gatewayClassName": "c", "listeners": [{**LISTENER, "port": "80"}]}),
            'spec.listeners[0].port: Invalid value: "string": must be of type integer: "80"',
            ("spec", "listeners", 0, "port"),
        ),
        (
            obj("HTTPRoute", {"parentRefs": {"name": "edge"}}),
            'spec.parentRefs: Invalid value: "object": must be of type array',
            ("spec", "parentRefs"),
        ),
        (
            obj("HTTPRoute", {"parentRefs": [{"kind": "Gateway"}]}),
            "spec.parentRefs[0]: Required value: name",
            ("spec", "parentRefs", 0),
        ),
        (
            obj("Gateway", {"gatewayClassName": "", "listeners": [LISTENER]}),
            'spec.gatewayClassName: Invalid value: "": must be at least 1 characters long',
            ("spec", "gatewayClassName"),
        ),
        (
            obj("HTTPRoute", {"rules": [{"matches": [{"method": "FETCH"}]}]}),
            (
                'spec.rules[0].matches[0].method: Unsupported value: "FETCH": supported values: "GET", "HEAD", "POST", '
                '"PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"'
            ),
            ("spec", "rules", 0, "matches", 0, "method"),
        ),
        (
            obj("Gateway", {"gatewayClassName": "c", "listeners": [LISTENER, {**LISTENER, "port": 81}]}),
            'spec.listeners: Duplicate value: {"name":"http"}',
            ("spec", "listeners"),
        ),
        (
            obj("HTTPRoute", {"rules": [{"backendRefs": [{"name": "cart", "group": "", "kind": "Service"}]}]}),
            "spec.rules[0].backendRefs[0]: Invalid value: Must have port for Service reference",
            ("spec", "rules", 0, "backendRefs", 0),
        ),
    ],
)
def test_wrong_value_has_its_field_and_the_reason_of_an_api_server(
    released: Schemas, wrong: dict[str, Any], message: str, place: tuple[Any, ...]
) -> None:
    (found,) = released.wrong_values(Defaulter().complete(wrong))
    assert (found.message, found.place) == (message, place)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"ports": {"port": 80}}, "spec.ports"),
        ({"ports": [{"port": "80"}]}, "spec.ports[0].port"),
        ({"ports": [{"name": "web"}]}, "spec.ports[0]"),
        ({"ports": [{"port": 80, "protocol": "HTTP"}]}, "spec.ports[0].protocol"),
        ({"selector": {"app": True}}, "spec.selector.app"),
    ],
)
def test_wrong_ports_and_selectors_of_services_are_reported(
    spec: dict[str, Any], field: str, released: Schemas
) -> None:
    found = [one.message.partition(":")[0] for one in released.wrong_values(obj("Service", spec, "v1"))]
    assert found == [field]
    right = {"ports": [{"port": 80, "name": "web", "targetPort": "web"}, {"port": 1}], "selector": {"app": "a"}}
    assert released.wrong_values(obj("Service", right, "v1")) == []


def test_rule_about_two_parts_of_a_policy_is_checked(released: Schemas) -> None:
    principal = {"jwt": {"provider": "p", "claims": [{"name": "groups", "valueType": "StringArray", "values": ["a"]}]}}
    rules = [{"name": "a", "action": "Allow", "principal": principal}]
    spec = {
        "targetRefs": [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "web"}],
        "authorization": {"defaultAction": "Deny", "rules": rules},
    }
    (found,) = released.wrong_values(obj("SecurityPolicy", spec, "gateway.envoyproxy.io/v1alpha1"))
    assert found.message.endswith("if authorization.rules.principal.jwt is used, jwt must be defined")


def test_status_and_nulls_are_no_wrong_values(released: Schemas) -> None:
    route = obj("HTTPRoute", {"hostnames": None, "parentRefs": [{"name": "edge"}]}, status={"parents": "all"})
    assert released.wrong_values(Defaulter().complete(route)) == []


def test_nulls_that_only_a_server_side_apply_refuses_are_known(released: Schemas) -> None:
    backend = {"name": "cart", "port": 80, "weight": None, "namespace": None}  # a weight has a default
    route = obj("HTTPRoute", {"hostnames": None, "rules": [{"matches": None, "backendRefs": [backend]}]}, status=None)
    text = "null is refused by a server-side apply, and dropped otherwise"
    assert [one.message for one in released.refused_nulls(route)] == [
        f"spec.hostnames: {text}",
        f"spec.rules[0].backendRefs[0].namespace: {text}",
    ]
    assert released.refused_nulls(obj("Service", {"selector": None}, "v1")) == []


def test_every_served_version_has_its_schema(released: Schemas) -> None:
    for version in ("v1", "v1beta1"):
        assert released.wrong_values(obj("HTTPRoute", {"hostnames": 1}, f"gateway.networking.k8s.io/{version}"))
    assert not released.wrong_values(obj("HTTPRoute", {"hostnames": 1}, "gateway.networking.k8s.io/v9"))
    assert not released.wrong_values(obj("ConfigMap", 1, "v1"))


def test_a_version_that_no_api_server_serves_is_reported(released: Schemas) -> None:
    for served in ("gateway.networking.k8s.io/v1", "gateway.networking.k8s.io/v1beta1"):
        assert released.unserved_version(obj("HTTPRoute", {}, served)) is None
    assert released.unserved_version(obj("Pod", {}, "v9")) == ("no version 'v9' of Pod, only v1", True)
    assert released.unserved_version(obj("Deployment", {}, "apps/v9")) is None
    message, certain = released.unserved_version(obj("HTTPRoute", {}, "gateway.networking.k8s.io/v9")) or ("", True)
    assert (message.partition(" in a release")[0], certain) == ("no version 'v9' of HTTPRoute, only v1, v1beta1", False)
    own = Schemas([crd({})])
    assert own.unserved_version(obj("Widget", {}, "example.com/v1")) is None
    assert own.unserved_version(obj("Widget", {}, "example.com/v2")) == ("no version 'v2' of Widget, only v1", True)
    constraint = released.unserved_version(obj("Constraint", {}, "policybridge.io/v1"))
    assert constraint == ("no version 'v1' of Constraint, only v1alpha1", True)


def test_a_misspelled_version_is_refused_for_certain(released: Schemas) -> None:
    for version, is_certain in {"v9": False, "v1alpah1": True, "1": True}.items():
        policy = obj("SecurityPolicy", {}, f"gateway.envoyproxy.io/{version}")
        unserved = released.unserved_version(policy)
        assert unserved is not None
        assert unserved[1] is is_certain


def test_versions_of_the_own_kinds_are_those_of_their_crds() -> None:
    crds = [yaml.safe_load(file.read_text(encoding="utf-8"))["spec"] for file in crds_root().glob("*.yaml")]
    served = {f"{one['group']}/{one['names']['kind']}": [each["name"] for each in one["versions"]] for one in crds}
    assert {type_id: list(versions) for type_id, versions in OWN_VERSIONS.items()} == served


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        (
            {
                "name": "one.v-1",
                "namespace": "shop",
                "labels": {"a.b/C_d": "", "e": "F.g_h"},
                "annotations": {"A.B/x": "y z"},
            },
            "",
        ),
        ({"name": "c\u00e4rt"}, "metadata.name"),
        ({"name": "Cart"}, "metadata.name"),
        ({"name": "-cart"}, "metadata.name"),
        ({"name": "cart\n"}, "metadata.name"),
        ({"name": "c" * 254}, "metadata.name"),
        ({"name": "cart", "namespace": "Shop"}, "metadata.namespace"),
        ({"name": "cart", "namespace": "shop.eu"}, "metadata.namespace"),
        ({"name": "cart", "labels": {"team name": "web"}}, "metadata.labels"),
        ({"name": "cart", "labels": {"team": "web team"}}, "metadata.labels.team"),
        ({"name": "cart", "annotations": {"a b/c": "d"}}, "metadata.annotations"),
    ],
)
def test_names_and_labels_that_an_api_server_refuses(metadata: dict[str, Any], field: str) -> None:
    found = [one.message.partition(": ")[0] for one in wrong_metadata({**obj("HTTPRoute", {}), "metadata": metadata})]
    assert found == ([field] if field else [])
    role = obj("Role", {}, "rbac.authorization.k8s.io/v1") | {"metadata": {"name": "system:Node"}}
    assert [*wrong_metadata(role)] == []


def test_schema_of_a_crd_counts_before_the_release() -> None:
    own = crd({"type": "object", "properties": {"hostnames": {"type": "integer"}}})
    own["spec"] |= {"group": "gateway.networking.k8s.io", "names": {"kind": "HTTPRoute"}}
    assert Schemas([own]).wrong_values(obj("HTTPRoute", {"hostnames": 1})) == []


def test_object_has_at_most_twenty_wrong_values(released: Schemas) -> None:
    assert len(released.wrong_values(obj("HTTPRoute", {"hostnames": [1] * 16, "parentRefs": [1] * 32}))) == 20


def test_rule_with_a_function_that_cel_lacks_is_counted_and_refuses_nothing() -> None:
    schemas = Schemas([crd({"type": "string", "x-kubernetes-validations": [{"rule": "quantity(self).isInteger()"}]})])
    assert schemas.wrong_values(obj("Widget", "1", "example.com/v1")) == []
    assert schemas.unchecked_rules() == {"example.com/Widget": 1}


def test_rule_about_a_change_is_not_checked() -> None:
    schemas = Schemas([crd({"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]})])
    assert schemas.wrong_values(obj("Widget", "1", "example.com/v1")) == []
    assert schemas.unchecked_rules() == {}


def test_rule_that_fails_to_evaluate_refuses_the_value() -> None:
    rule = {"rule": "self.a.b == 1", "message": "b must be 1"}
    schemas = Schemas([crd({"type": "object", "x-kubernetes-validations": [rule]})])
    (found,) = schemas.wrong_values(obj("Widget", {}, "example.com/v1"))
    assert found.message == "spec: Invalid value: b must be 1"


def test_rules_are_evaluated_for_valid_values_alone() -> None:
    schemas = Schemas([crd({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 3"}]})])
    (found,) = schemas.wrong_values(obj("Widget", "x", "example.com/v1"))
    assert "must be of type integer" in found.message


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 5},
        {"pattern": "("},
        {"properties": 1},
        {"x-kubernetes-validations": [{}]},
        {"minimum": "a"},
        {"enum": 1},
    ],
)
def test_schema_of_any_shape_is_read(schema: dict[str, Any]) -> None:
    Schemas([crd(schema)]).wrong_values(obj("Widget", {"a": "b"}, "example.com/v1"))
