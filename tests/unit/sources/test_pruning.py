import copy
from typing import Any

import msgspec
import pytest

from bridge.model.changes import Upserted
from bridge.model.types import Fields
from bridge.replicator.intake import Pending
from bridge.sources.pruning import choose, prune

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def test_managed_fields_and_last_applied_are_dropped_and_nothing_else() -> None:
    obj: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "a", "managedFields": [{}], "annotations": {LAST_APPLIED: "{}", "mine": "1"}},
        "spec": {"ports": []},
        "status": {"loadBalancer": {}},
    }
    before = copy.deepcopy(obj)
    assert prune(obj) == {**obj, "metadata": {"name": "a", "annotations": {"mine": "1"}}}
    assert obj == before


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("Pod", {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "phase": "Running", "conditions": []}),
        ("Node", {"addresses": [{"type": "InternalIP", "address": "10.0.0.2"}], "capacity": {"cpu": "4"}}),
        ("Ingress", {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}),
    ],
)
def test_the_whole_status_is_kept_unless_the_setting_drops_it(kind: str, status: dict[str, Any]) -> None:
    obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, "status": status}
    assert choose(prune(obj), Fields()) == obj
    assert "status" not in choose(prune(obj), Fields(drop=("/status",)))


def test_a_secret_keeps_no_data() -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a"},
        "type": "Opaque",
        "data": {"key": "eA=="},
    }
    assert prune(secret) == {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "type": "Opaque"}


def test_fields_that_are_json_text_still_are_treated_alike() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": msgspec.Raw(b'{"key": "eA=="}')}
    assert prune({**secret, "type": msgspec.Raw(b'"Opaque"')}) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a"},
        "type": "Opaque",
    }
    crd = _crd({"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"description": "long"}}}]})
    text = msgspec.Raw(msgspec.json.encode(crd["spec"]))
    assert prune({**crd, "spec": text}) == prune(crd)


def test_a_secret_keeps_no_data_in_its_last_applied_annotation() -> None:
    annotations = {LAST_APPLIED: '{"data": {"key": "eA=="}}'}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "annotations": annotations}}
    assert "eA==" not in str(prune(secret))


def test_a_crd_keeps_the_names_and_types_of_its_properties() -> None:
    schema = {
        "type": "object",
        "description": "long",
        "properties": {
            "status": {
                "properties": {"ancestors": {"type": "array", "items": {"type": "object", "description": "long"}}},
                "x-kubernetes-validations": [],
            }
        },
    }
    pruned = prune(_crd({"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}))
    assert pruned["spec"]["versions"][0] == {
        "name": "v1",
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"status": {"properties": {"ancestors": {"type": "array", "items": {"type": "object"}}}}},
            }
        },
    }
    assert "status" not in pruned


def _nested(depth: int) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": _nested(depth - 1)} if depth else {}}


@pytest.mark.parametrize(
    "spec",
    [
        None,
        [],
        {"versions": None},
        {"versions": [None, 1]},
        {"versions": [{"name": "v1"}, {"schema": None}, {"schema": {"openAPIV3Schema": {"properties": None}}}]},
        *(
            {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {name: ref}}}}}}]}
            for name, ref in (("targetRef", _nested(20)), ("targetRefs", {"items": _nested(20)}), ("targetRef", "text"))
        ),
    ],
)
def test_an_odd_crd_is_taken(spec: Any) -> None:
    assert prune(_crd(spec))["kind"] == "CustomResourceDefinition"


def test_a_crd_keeps_the_parts_of_its_schemas_that_discovery_reads() -> None:
    kind = {"type": "string", "enum": ["Gateway"], "maxLength": 63}
    schema = {"properties": {"kind": kind, "open": {"x-kubernetes-preserve-unknown-fields": True}}}
    pruned = prune(_crd({"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}))
    assert pruned["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] == {
        "kind": {"type": "string", "enum": ["Gateway"]},
        "open": {"x-kubernetes-preserve-unknown-fields": True},
    }


def test_a_crd_keeps_the_rules_about_its_spec_and_its_target_refs() -> None:
    def ruled(*rules: str, **others: Any) -> dict[str, Any]:
        return {"x-kubernetes-validations": [{"rule": rule, "message": "why"} for rule in rules], **others}

    ref = ruled("a == b", type="object", properties={"kind": ruled("self == 'Gateway'", type="string")})
    fields = {
        "targetRef": ref,
        "targetRefs": ruled("size(self) > 0", type="array", items=ref),
        "limits": ruled("self.low < self.high", type="object"),
    }
    alternatives = [{"required": ["targetRef"]}, {"not": {"required": ["limits"]}}]
    spec = ruled("has(self.targetRef) != has(self.targetRefs)", properties=fields, oneOf=alternatives)
    schema = {"openAPIV3Schema": ruled("size(self.metadata.name) < 9", properties={"spec": spec})}
    pruned = prune(_crd({"versions": [{"name": "v1", "schema": schema}]}))
    kept = pruned["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

    def rules(schema: dict[str, Any]) -> list[dict[str, Any]] | None:
        return schema.get("x-kubernetes-validations")

    assert rules(kept) is None
    kept_spec = kept["properties"]["spec"]
    assert rules(kept_spec) == [{"rule": "has(self.targetRef) != has(self.targetRefs)"}]
    assert kept_spec["oneOf"] == [{"required": ["targetRef"]}]
    parts = kept_spec["properties"]
    assert rules(parts["limits"]) is None
    assert rules(parts["targetRefs"]) == [{"rule": "size(self) > 0"}]
    for one in (parts["targetRef"], parts["targetRefs"]["items"]):
        assert rules(one) == [{"rule": "a == b"}]
        assert rules(one["properties"]["kind"]) == [{"rule": "self == 'Gateway'"}]


def test_a_crd_without_a_spec_is_taken() -> None:
    crd = _crd(None)
    del crd["spec"]
    assert prune(crd)["kind"] == "CustomResourceDefinition"


@pytest.mark.parametrize("annotations", [None, [], "text"])
def test_odd_annotations_are_taken(annotations: Any) -> None:
    obj = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "annotations": annotations}}
    assert prune(obj) == obj


def _crd(spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "a.b"},
        "spec": spec,
        "status": {"conditions": []},
    }


THING = {
    "apiVersion": "example.com/v1",
    "kind": "Thing",
    "metadata": {"name": "a", "labels": {"x": "y"}},
    "spec": msgspec.Raw(b'{"large": {"a": 1, "b": 2}, "small": 3}'),
    "status": msgspec.Raw(b'{"conditions": [], "other": 1}'),
}
SPEC = {"large": {"a": 1, "b": 2}, "small": 3}


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        (Fields(), {"spec": SPEC, "status": {"conditions": [], "other": 1}}),
        (Fields(drop=()), {"spec": SPEC, "status": {"conditions": [], "other": 1}}),
        (Fields(drop=("/spec/large/a", "/status")), {"spec": {"large": {"b": 2}, "small": 3}}),
        (Fields(drop=("/spec/large/nothing/there", "/none", "/status")), {"spec": SPEC}),
        (Fields(keep=("/spec/small", "/spec/large/b", "/spec/none")), {"spec": {"small": 3, "large": {"b": 2}}}),
        (Fields(keep=()), {}),
    ],
)
def test_wanted_fields_of_an_object_stay(fields: Fields, left: dict[str, Any]) -> None:
    whole = {name: THING[name] for name in ("apiVersion", "kind", "metadata")}
    assert _parsed(choose(THING, fields)) == {**whole, **left}
    assert "status" in THING


def test_metadata_may_be_dropped_in_part() -> None:
    assert choose(THING, Fields(drop=("/metadata/labels",)))["metadata"] == {"name": "a"}


def test_fields_are_chosen_by_type_and_a_secret_gives_nothing_in_any_case() -> None:
    pending = Pending(lambda _: set(), {"example.com/Thing": Fields(keep=())})
    other = {**THING, "kind": "Other"}
    pending.take_in(Upserted("example.com/Thing", (THING,)))
    pending.take_in(Upserted("example.com/Other", (other,)))
    kept, whole = pending.objects().values()
    assert kept is not None
    assert "spec" not in kept
    assert whole == other
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"key": "eA=="}}
    assert "data" not in choose(prune(secret), Fields(keep=("/data",)))


def _parsed(obj: dict[str, Any]) -> Any:
    return msgspec.json.decode(msgspec.json.encode(obj))
