"""Unknown kinds and fields of manifests, by the releases that the bridge knows and by CRDs."""

from typing import Any

import pytest

from bridge.sources.known_fields import KnownFields, fields_of, without_unknown_fields

GATEWAY_API = "gateway.networking.k8s.io/v1"


def written(kind: str, spec: dict[str, Any], version: str = GATEWAY_API, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "one", **metadata}, "spec": spec}


def widgets(*schemas: dict[str, Any]) -> dict[str, Any]:
    versions = [
        {"name": f"v{number}", "served": True, "schema": {"openAPIV3Schema": {"properties": {"spec": schema}}}}
        for number, schema in enumerate(schemas)
    ]
    return {"spec": {"group": "example.com", "names": {"kind": "Widget"}, "versions": versions}}


@pytest.fixture(scope="module")
def released() -> KnownFields:
    return KnownFields()


def test_kind_that_a_policy_kind_describes_is_not_unknown() -> None:
    policy = written("WidgetPolicy", {}, "gateway.networking.k8s.io/v1")
    assert [one.reason for one in KnownFields().doubts(policy)] == ["UnknownKind"]
    assert KnownFields(described=["gateway.networking.k8s.io/WidgetPolicy"]).doubts(policy) == []


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (
            written("HTTPRute", {}),
            'unknown kind "HTTPRute" in the group gateway.networking.k8s.io; did you mean "HTTPRoute"?',
        ),
        (
            written("HTTPRoute", {}, "gateway.networking.k8.io/v1"),
            'unknown group "gateway.networking.k8.io" of the kind HTTPRoute; did you mean "gateway.networking.k8s.io"?',
        ),
        (
            written("Constrant", {}, "policybridge.io/v1alpha1"),
            'unknown kind "Constrant" in the group policybridge.io; did you mean "Constraint"?',
        ),
        (
            written("PolicyKind", {}, "policybrige.io/v1alpha1"),
            'unknown group "policybrige.io" of the kind PolicyKind; did you mean "policybridge.io"?',
        ),
        (
            written("httproute", {}),
            'unknown kind "httproute" in the group gateway.networking.k8s.io; did you mean "HTTPRoute"?',
        ),
        (written("Servce", {}, "v1"), 'unknown kind "Servce" in the group core; did you mean "Service"?'),
        (
            written("HTTPRoute", {}, "v1"),
            'unknown kind "HTTPRoute" in the group core; did you mean the group gateway.networking.k8s.io?',
        ),
        (
            written("HTTPRoute", {}, "gateway.networking.k8s.io"),
            'unknown kind "HTTPRoute" in the group core; did you mean the group gateway.networking.k8s.io?',
        ),
        (written("Service", {}, "apps/v1"), 'unknown kind "Service" in the group apps; did you mean the group core?'),
        (written("HTTPRoute", {"parentRef": []}), 'unknown field "spec.parentRef"; did you mean "parentRefs"?'),
        (
            written("HTTPRoute", {"rules": [{}, {"backendRef": []}]}),
            'unknown field "spec.rules[1].backendRef"; did you mean "backendRefs"?',
        ),
        (
            written("RateLimitPolicy", {"targetRefs": []}, "kuadrant.io/v1"),
            'unknown field "spec.targetRefs"; did you mean "targetRef"?',
        ),
        (
            written("BackendTrafficPolicy", {"timeouts": {}}, "gateway.envoyproxy.io/v1alpha1"),
            'unknown field "spec.timeouts"; did you mean "timeout"?',
        ),
        (written("HTTPRoute", {}, lables={}), 'unknown field "metadata.lables"; did you mean "labels"?'),
    ],
)
def test_misspelled_name_is_reported_with_the_nearest_one(
    released: KnownFields, obj: dict[str, Any], message: str
) -> None:
    (doubt,) = released.doubts(obj)
    assert (doubt.message, doubt.certain) == (message, True)


def test_unknown_name_that_resembles_no_other_may_be_of_a_newer_release(released: KnownFields) -> None:
    (doubt,) = released.doubts(written("HTTPRoute", {"quota": 1}))
    assert not doubt.certain
    assert doubt.message.startswith('unknown field "spec.quota" in Gateway API v')


@pytest.mark.parametrize(
    "obj",
    [
        written("Deployment", {"anything": 1}, "apps/v1"),
        written("Pod", {"anything": 1}, "v1"),
        written("Service", {"anything": 1}, "serving.knative.dev/v1"),
        written("ColorPolicy", {"anything": 1}, "example.com/v1"),
        written("HTTPRoute", {"rules": [{"name": "a", "backendRefs": [{"name": "b", "port": 80}]}]}, labels={"a": "b"}),
        written(
            "RateLimitPolicy", {"limits": {"any-name": {"rates": [{"limit": 1, "window": "1s"}]}}}, "kuadrant.io/v1"
        ),
        {**written("HTTPRoute", {}), "spec": "no mapping"},
        {**written("HTTPRoute", {}), "status": {"anything": 1}},
    ],
)
def test_known_fields_free_maps_and_kinds_without_a_schema_have_no_doubts(
    released: KnownFields, obj: dict[str, Any]
) -> None:
    assert released.doubts(obj) == []


def test_field_that_the_schema_of_a_crd_lacks_is_certain() -> None:
    known = KnownFields([widgets({"properties": {"size": {"type": "integer"}}})])
    (doubt,) = known.doubts(written("Widget", {"colour": 1}, "example.com/v1"))
    assert (doubt.message, doubt.certain) == ('unknown field "spec.colour"', True)


def test_crd_counts_before_the_release() -> None:
    crd = {"spec": {"group": "gateway.networking.k8s.io", "names": {"kind": "HTTPRoute"}, "versions": []}}
    crd["spec"]["versions"] = widgets({"properties": {"quota": {}}})["spec"]["versions"]
    assert KnownFields([crd]).doubts(written("HTTPRoute", {"quota": 1})) == []


def test_field_of_any_served_version_is_known() -> None:
    ((_, fields),) = fields_of(widgets({"properties": {"old": {}}}, {"properties": {"new": {}}}))
    assert fields == {"spec": {"old": None, "new": None}}


def test_everything_is_accepted_where_the_schema_keeps_unknown_fields() -> None:
    known = KnownFields([widgets({"x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {}}})])
    assert known.doubts(written("Widget", {"b": 1}, "example.com/v1")) == []


@pytest.mark.parametrize("crd", [{}, {"spec": []}, {"spec": {"versions": {}}}, widgets(), widgets({"properties": 1})])
def test_crd_of_any_shape_is_read(crd: dict[str, Any]) -> None:
    KnownFields([crd])


def test_object_has_at_most_twenty_doubts(released: KnownFields) -> None:
    assert len(released.doubts(written("HTTPRoute", {f"x{number}": 1 for number in range(1000)}))) == 20


def test_an_object_without_properties_keeps_no_field() -> None:
    obj = written("Widget", {"closed": {"a": 1}, "open": {"a": 1}, "free": {"a": 1}}, "example.com/v0")
    fields = {
        "closed": {"type": "object"},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "free": {"type": "object", "additionalProperties": True},
    }
    found = KnownFields([widgets({"type": "object", "properties": fields})]).doubts(obj)
    assert [doubt.message for doubt in found] == ['unknown field "spec.closed.a"']


def test_an_api_server_reads_an_object_without_the_fields_that_its_crd_lacks() -> None:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    items = {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}}
    named = {"type": "object", "additionalProperties": {"type": "object", "properties": {"c": {"type": "string"}}}}
    crd = widgets({"type": "object", "properties": {"a": items, "free": free, "named": named}})
    spec = {"a": [{"b": "1", "x": 2}], "free": {"x": 3}, "named": {"any": {"c": "4", "x": 5}}, "x": 6}
    obj = written("Widget", spec, "example.com/v1", labels={"x": "y"}) | {"status": {"x": 7}, "other": 8}
    [(_, fields)] = fields_of(crd)
    expected = written("Widget", {"a": [{"b": "1"}], "free": {"x": 3}, "named": {"any": {"c": "4"}}}, "example.com/v1")
    expected["metadata"]["labels"] = {"x": "y"}
    assert without_unknown_fields(obj, fields) == expected | {"status": {"x": 7}}
