"""What is shipped for clusters, and the example, is what a real API server takes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.plane import ControlPlane

ROOT = Path(__file__).resolve().parents[2]
CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


# Where the API server serves the kinds of the example.
PLURALS = {
    "CustomResourceDefinition": "customresourcedefinitions",
    "GatewayClass": "gatewayclasses",
    "HTTPRoute": "httproutes",
    "ColorPolicy": "colorpolicies",
    "TimeoutPolicy": "timeoutpolicies",
}


def _objects(*paths: Path) -> Iterator[dict[str, Any]]:
    for path in paths:
        yield from (obj for obj in yaml.safe_load_all(path.read_text(encoding="utf-8")) if obj)


def _path(obj: dict[str, Any]) -> str:
    version = obj["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = obj["metadata"].get("namespace")
    plural = PLURALS.get(obj["kind"], f"{obj['kind'].lower()}s")
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def _apply(plane: ControlPlane, obj: dict[str, Any]) -> Any:
    return plane.api.apply(f"{_path(obj)}/{obj['metadata']['name']}", obj)


@pytest.fixture(scope="module")
def with_policykinds(control_plane: ControlPlane) -> ControlPlane:
    """The control plane with the CRD PolicyKind."""
    for crd in _objects(*sorted((ROOT / "deploy" / "crds").glob("*.yaml"))):
        control_plane.api.apply(f"{CRD_PATH}/{crd['metadata']['name']}", crd)
        control_plane.api.wait_for_crds({crd["metadata"]["name"]})
    return control_plane


def test_an_api_server_accepts_the_example(with_policykinds: ControlPlane) -> None:
    """Every object of examples/shop is applied in the order of its files, which refuses unknown fields."""
    for obj in _objects(*sorted((ROOT / "examples" / "shop").glob("*.yaml"))):
        _apply(with_policykinds, obj)
        if obj["kind"] == "CustomResourceDefinition":
            with_policykinds.api.wait_for_crds({obj["metadata"]["name"]})
