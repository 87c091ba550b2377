"""CRDs and policies of vendors that are not as the presets expect them: reported, and the rest works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.conftest import Run
from tests.integration.objects import crd

pytestmark = pytest.mark.long

GATEWAY = Path("examples/envoy-gateway")
GATEWAY_API = "gateway.networking.k8s.io"
ENVOY = "gateway.envoyproxy.io"
CART = {"group": GATEWAY_API, "kind": "HTTPRoute", "name": "cart"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of manifests beside the example of Envoy Gateway."""
    return tmp_path


def _write(folder: Path, *objects: dict[str, Any]) -> None:
    (folder / "more.yaml").write_text(yaml.safe_dump_all(objects))


def _policy(api_version: str, kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "creationTimestamp": "2026-01-01T00:00:09Z"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _crd(kind: str, group: str, versions: tuple[str, ...], fields: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = crd(f"{kind.lower()[:-1]}ies", kind, group=group, versions=versions)
    spec = {"type": "object", "properties": fields}
    for version in body["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return body


def _effective(bridge: Run, folder: Path, rule: str, kind: str) -> tuple[list[dict[str, Any]], str]:
    answer = bridge(
        "effective",
        f"httproute/cart#{rule}",
        "-n",
        "shop",
        "--kind",
        kind,
        "--manifests",
        GATEWAY,
        folder,
        "-o",
        "json",
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout), answer.stderr


def test_a_newer_version_with_unknown_fields_is_merged_like_any(bridge: Run, folder: Path) -> None:
    refs = {"type": "array", "items": {"type": "object", "properties": {name: {"type": "string"} for name in CART}}}
    fields = {"targetRefs": refs, "mergeType": {"type": "string"}, "mirroring": {"type": "object"}}
    newer = _policy(
        f"{ENVOY}/v1beta1", "EnvoyExtensionPolicy", "new", {"targetRefs": [CART], "mirroring": {"share": 5}}
    )
    _write(folder, _crd("EnvoyExtensionPolicy", ENVOY, ("v1alpha1", "v1beta1"), fields), newer)
    (entry,), said = _effective(bridge, folder, "pages", "EnvoyExtensionPolicy")
    assert [path["spec"] for path in entry["paths"]] == [{"mirroring": {"share": 5}}]
    assert said == ""


def test_a_crd_of_another_shape_is_reported_and_the_rest_works(bridge: Run, folder: Path) -> None:
    option = _policy(
        "gateway.solo.io/v1", "RouteOption", "moved", {"targetRefs": [CART], "settings": {"prefixRewrite": "/"}}
    )
    body = crd("routeoptions", "RouteOption", group="gateway.solo.io")
    schema = _crd(
        "RouteOption", "gateway.solo.io", ("v1",), {"targetRefs": {"type": "array"}, "settings": {"type": "object"}}
    )
    body["spec"]["versions"] = schema["spec"]["versions"]
    _write(folder, body, option)
    (entry,), said = _effective(bridge, folder, "pages", "BackendTrafficPolicy")
    assert entry["paths"][0]["spec"]["timeout"] == {"http": {"requestTimeout": "5s"}}
    missing = "the preset reads /spec/options, and the schema has no such field: the preset is for another release"
    assert f"CustomResourceDefinition routeoptions.gateway.solo.io: {missing}" in said
    problems = json.loads(bridge("problems", "--manifests", GATEWAY, folder, "-o", "json").stdout)
    assert ("UnknownField", missing) in {(one["reason"], one["message"]) for one in problems}


def test_of_two_classes_with_one_controller_the_policies_count_below_both(bridge: Run, folder: Path) -> None:
    second = {
        "apiVersion": f"{GATEWAY_API}/v1",
        "kind": "GatewayClass",
        "metadata": {"name": "envoy-internal"},
        "spec": {"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"},
    }
    gateway = {
        "apiVersion": f"{GATEWAY_API}/v1",
        "kind": "Gateway",
        "metadata": {"name": "internal", "namespace": "shop"},
        "spec": {"gatewayClassName": "envoy-internal", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
    }
    route = _policy(
        f"{GATEWAY_API}/v1", "HTTPRoute", "second", {"parentRefs": [{"name": "internal"}], "rules": [{"name": "all"}]}
    )
    policy = _policy(
        f"{ENVOY}/v1alpha1",
        "BackendTrafficPolicy",
        "second",
        {"targetRefs": [{**CART, "name": "second"}], "retry": {"numRetries": 9}},
    )
    _write(folder, second, gateway, route, policy)
    answer = bridge("effective", "httproute/second#all", "-n", "shop", "--manifests", GATEWAY, folder, "-o", "json")
    (entry,) = json.loads(answer.stdout)
    assert [path["spec"] for path in entry["paths"]] == [{"retry": {"numRetries": 9}}]
    assert f"{GATEWAY_API}/GatewayClass/-/envoy-internal" in entry["paths"][0]["path"]


def test_policies_left_behind_count_until_another_controller_owns_the_class_or_claims_the_kind(
    bridge: Run, folder: Path
) -> None:
    controllers = ["gateway.envoyproxy.io/gatewayclass-controller", "example.com/fork"]
    kind = {
        "apiVersion": "policybridge.io/v1alpha1",
        "kind": "PolicyKind",
        "metadata": {"name": "backendtrafficpolicies"},
        "spec": {"group": ENVOY, "kind": "BackendTrafficPolicy", "controllers": controllers},
    }
    forked = {
        "apiVersion": f"{GATEWAY_API}/v1",
        "kind": "GatewayClass",
        "metadata": {"name": "envoy"},
        "spec": {"controllerName": "example.com/fork"},
    }
    copied = folder / "example"
    copied.mkdir()
    for file in sorted((Path(__file__).parents[2] / GATEWAY).glob("*.yaml")):
        documents = [doc for doc in yaml.safe_load_all(file.read_text()) if doc["kind"] != "GatewayClass"]
        (copied / file.name).write_text(yaml.safe_dump_all(documents))
    requested = ("effective", "httproute/cart#pages", "-n", "shop", "--kind", "BackendTrafficPolicy", "-o", "json")
    # What a vendor leaves behind: neither its CRDs nor its GatewayClass exist, and its policies count as before.
    assert json.loads(bridge(*requested, "--manifests", folder).stdout)[0]["paths"]
    _write(folder, forked)
    assert json.loads(bridge(*requested, "--manifests", folder).stdout) == []
    _write(folder, forked, kind)
    assert json.loads(bridge(*requested, "--manifests", folder).stdout)[0]["paths"]
