"""A folder refuses the values that an API server refuses, and no others."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from bridge.sources.defaults import Defaulter
from bridge.sources.schemas import Schemas
from hack.tools.vendor_crds import VENDORS, crds_of
from tests.controlplane.api import ApiError
from tests.scenarios.cases import all_cases

if TYPE_CHECKING:
    from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.long

GATEWAY_API = "gateway.networking.k8s.io/"
ENVOY_GATEWAY = next(vendor for vendor in VENDORS if vendor.name == "envoy-gateway")
VALUES: tuple[Any, ...] = (
    *(
        None,
        "",
        "x",
        "a.b",
        "*.example.com",
        "-1s",
        "10s",
        "Service",
        "Gateway",
        "http",
        "TLS",
        "HTTPS",
        "/a/../b",
        "[0]",
    ),
    *(True, 0, -1, 1, 65536, 2**40, 1.5, [], {}, [None], [{}], ["x", "x"], {"name": "a"}, {"": ""}, "y" * 300),
)
# A schema that shows each kind of refusal, also by Kubernetes' own extensions.
CRD = yaml.safe_load("""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shapes.values.example.com}
spec:
  group: values.example.com
  names: {kind: Shape, plural: shapes, singular: shape, listKind: ShapeList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-validations: [{rule: "self.metadata.name != 'forbidden'"}]
        properties:
          spec:
            type: object
            properties:
              size: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}
              maybe: {type: string, nullable: true, enum: [a, b]}
              small: {type: integer, format: int32}
              ratio:
                type: number
                minimum: 0
                exclusiveMinimum: true
                x-kubernetes-validations: [{rule: self * 2.0 <= 2.0, message: too much}]
              names: {type: array, maxItems: 5, x-kubernetes-list-type: set, items: {type: string, maxLength: 10}}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, in: {type: string}}}
              range:
                type: object
                properties: {min-x: {type: integer}, in: {type: integer}}
                x-kubernetes-validations:
                - rule: self.min__dash__x < self.__in__
                  messageExpression: "self.min__dash__x < 0 ? 'negative' : 'too large'"
              wait: {type: string, format: duration, x-kubernetes-validations: [{rule: self < duration('1h')}]}
              at:
                type: string
                format: date-time
                x-kubernetes-validations: [{rule: "self > timestamp('2020-01-01T00:00:00Z')"}]
              raw: {type: string, format: byte}
              url:
                type: string
                maxLength: 200
                x-kubernetes-validations: [{rule: isURL(self) && url(self).getHost() == 'a.test'}]
              address: {type: string, maxLength: 200, x-kubernetes-validations: [{rule: isIP(self) || isCIDR(self)}]}
              word:
                type: string
                maxLength: 300
                x-kubernetes-validations:
                - rule: >-
                    !format.qualifiedName().validate(self).hasValue() ||
                    !format.dns1123Subdomain().validate(self).hasValue()
              one:
                type: object
                properties: {a: {type: string}, b: {type: string}}
                oneOf: [{required: [a]}, {required: [b]}]
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
""")
# fmt: off
SPECS: tuple[dict[str, Any], ...] = (
    {"size": 1}, {"size": "1"}, {"size": 1.5}, {"size": True}, {"maybe": None}, {"maybe": "a"}, {"maybe": "c"},
    {"maybe": 1}, {"small": 2**31}, {"small": 2**31 - 1}, {"small": 1.0}, {"small": 1.5}, {"small": "1"},
    {"small": None}, {"ratio": 0}, {"ratio": 1}, {"ratio": 0.5}, {"ratio": 2}, {"ratio": "1"}, {"names": ["a", "b"]},
    {"names": ["a", "a"]}, {"names": [*"abcdef"]}, {"names": ["a" * 11]}, {"names": [None]}, {"names": {}},
    {"parts": [{"name": "a"}, {"name": "b"}]}, {"parts": [{"name": "a"}, {"name": "a"}]}, {"parts": [{}]},
    {"parts": [{"name": None}]}, {"range": {"min-x": 1, "in": 2}}, {"range": {"min-x": 2, "in": 1}},
    {"range": {"in": 1}}, {"range": {}}, {"wait": "30m"}, {"wait": "2h"}, {"wait": "1 hour"}, {"wait": "soon"},
    {"at": "2026-01-01T00:00:00Z"}, {"at": "2001-01-01T00:00:00Z"}, {"at": "yesterday"}, {"raw": "YQ=="},
    {"raw": "a b"}, {"raw": ""}, {"url": "http://a.test/x"}, {"url": "http://b.test"}, {"url": "a.test"},
    {"url": ""}, {"address": "10.0.0.1"}, {"address": "10.0.0.1/33"}, {"address": "10.0.0.1/8"},
    {"address": "10.0.0"}, {"address": "::1"}, {"address": "::ffff:1.2.3.4"}, {"address": "fe80::1%eth0"},
    {"one": {"a": "x"}}, {"one": {"a": "x", "b": "y"}}, {"one": {}}, {"free": {"a": [1, None]}}, {"unknown": 1},
    {"free": 1}, {"word": "a.b/c_d"}, {"word": "a/b/c"}, {"word": "-a"}, {"word": "A"}, {"word": "a" * 64},
    {"word": "A" * 64}, {"word": "a." * 130}, {"word": "a" + ".b" * 126}, {"word": ""}, {"word": "x" * 254 + "/a"},
)
# fmt: on


@pytest.fixture
def served(control_plane: ControlPlane) -> ControlPlane:
    crds = [CRD, *crds_of(ENVOY_GATEWAY).values()]
    for crd in crds:
        control_plane.api.apply(
            f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd['metadata']['name']}", crd
        )
    control_plane.api.wait_for_crds({crd["metadata"]["name"] for crd in crds})
    return control_plane


def test_values_of_a_custom_kind_are_refused_as_by_the_api_server(served: ControlPlane) -> None:
    schemas = Schemas([CRD])
    objects = [
        {"apiVersion": "values.example.com/v1", "kind": "Shape", "metadata": {"name": "one"}, "spec": dict(spec)}
        for spec in SPECS
    ]
    objects.append({**objects[0], "metadata": {"name": "forbidden"}})
    differing = [found for obj in objects if (found := compare(served, schemas, Defaulter([CRD]), obj))]
    assert not differing, differing


def test_nulls_are_refused_by_a_server_side_apply_as_a_folder_says(served: ControlPlane) -> None:
    schemas, path = Schemas([CRD]), "/apis/values.example.com/v1/namespaces/default/shapes/one"
    head = {"apiVersion": "values.example.com/v1", "kind": "Shape", "metadata": {"name": "one"}}
    specs: tuple[dict[str, Any], ...] = ({"small": None}, {"maybe": None}, {"one": None}, {"free": {"a": None}})
    refused = []
    for spec in specs:
        try:
            query = "dryRun=All&fieldManager=tests&force=true"
            served.api.request("PATCH", f"{path}?{query}", {**head, "spec": spec}, "application/apply-patch+yaml")
        except ApiError:
            refused.append(spec)
    objects = [{**head, "spec": spec} for spec in specs]
    wrong = [
        one for one in objects if schemas.refused_nulls(one) or schemas.wrong_values(Defaulter([CRD]).complete(one))
    ]
    assert refused == [one["spec"] for one in wrong]


@pytest.mark.parametrize("seed", range(4))
def test_changed_objects_of_gateway_api_and_a_vendor_are_refused_as_by_the_api_server(
    seed: int, served: ControlPlane
) -> None:
    chance = random.Random(seed)
    schemas, defaulter = Schemas(), Defaulter()
    objects = [
        obj
        for case in all_cases()
        for obj in case.raw()
        if obj["apiVersion"].startswith((GATEWAY_API, "gateway.envoyproxy.io/")) and "spec" in obj
    ]
    differing = []
    for _ in range(150):
        obj = copy.deepcopy(chance.choice(objects))
        place = chance.choice([*places(obj["spec"], ("spec",))])
        holder: Any = obj
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = copy.deepcopy(chance.choice(VALUES))
        if found := compare(served, schemas, defaulter, obj):
            differing.append(found)
    assert not differing, differing


def compare(served: ControlPlane, schemas: Schemas, defaulter: Defaulter, obj: dict[str, Any]) -> tuple[Any, ...]:
    """Return what differs between a folder's answer about an object and the API server's, empty if nothing does."""
    refused = refusal(served, obj)
    wrong = schemas.wrong_values(defaulter.complete(obj))
    fields = [one.message.partition(": ")[0] for one in wrong]
    if bool(wrong) == bool(refused) and all(field in refused or field == "the object" for field in fields):
        return ()
    return obj, refused, wrong


def refusal(served: ControlPlane, obj: dict[str, Any]) -> str:
    """Return why the API server refuses to create an object; empty if it does not."""
    group, _, version = obj["apiVersion"].partition("/")
    metadata = {"name": obj["metadata"]["name"]}
    namespaced = obj["kind"] != "GatewayClass"
    path = f"/apis/{group}/{version}/{'namespaces/default/' if namespaced else ''}{plural(obj['kind'])}"
    try:
        served.api.request("POST", f"{path}?dryRun=All&fieldValidation=Ignore", {**obj, "metadata": metadata})
    except ApiError as error:
        if error.status not in {HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.BAD_REQUEST}:
            raise
        return str(error)
    return ""


def plural(kind: str) -> str:
    """Return the resource of a kind."""
    return (
        f"{kind.lower()}s"
        if kind.endswith("way")
        else f"{kind.lower().removesuffix('y')}ies"
        if kind.endswith("y")
        else f"{kind.lower()}{'es' * kind.endswith('s') or 's'}"
    )


def places(value: Any, at: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value inside of a value, and its own."""
    yield at
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from places(inner, (*at, step))
