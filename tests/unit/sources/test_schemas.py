"""Values that an API server refuses. `tests/integration/test_values_like_the_api_server.py` compares with one."""

from typing import Any

import pytest

from bridge.sources.defaults import Defaulter
from bridge.sources.schemas import Schemas

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


def test_every_served_version_has_its_schema(released: Schemas) -> None:
    for version in ("v1", "v1beta1"):
        assert released.wrong_values(obj("HTTPRoute", {"hostnames": 1}, f"gateway.networking.k8s.io/{version}"))
    assert not released.wrong_values(obj("HTTPRoute", {"hostnames": 1}, "gateway.networking.k8s.io/v9"))
    assert not released.wrong_values(obj("ConfigMap", 1, "v1"))


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
