"""The newcomer's path: a cluster with three vendors' CRDs and policies, nothing of the bridge, and one command."""

import json
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from bridge.model.changes import Object
from bridge.offline.engine import open_engine
from hack.tools.vendor_crds import VENDORS, crds_of
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.conftest import ROOT, Run
from tests.in_process import run_with_opa
from tests.integration.api_objects import crd

pytestmark = pytest.mark.long

EXAMPLE = ROOT / "examples" / "three-gateways"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TARGETS = (
    ("httproute/storefront", "shop"),
    ("httproute/orders", "shop"),
    ("httproute/ledger", "payments"),
    ("gateway/public", "infra"),
    ("gateway/partners", "infra"),
    ("gateway/internal", "infra"),
    ("service/ledger", "payments"),
)
SHAPING = """\
apiVersion: shaping.example.com/v1
kind: ShapingPolicy
metadata: {name: slow, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: orders}]
"""


def _example() -> list[Object]:
    return [obj for file in sorted(EXAMPLE.glob("*.yaml")) for obj in yaml.safe_load_all(file.read_text())]


def _policies() -> set[str]:
    return {
        f"{obj['apiVersion'].partition('/')[0]}/{obj['kind']}/{obj['metadata']['namespace']}/{obj['metadata']['name']}"
        for obj in _example()
        if {"targetRef", "targetRefs"} & obj.get("spec", {}).keys()
    }


@pytest.fixture(scope="module")
def cluster(module_control_plane: ControlPlane, kubectl_path: Path) -> ControlPlane:
    """A cluster with the CRDs of the three systems, and the example's objects, with the statuses of their vendors."""
    plane, kubectl = module_control_plane, Kubectl(kubectl_path, module_control_plane)
    crds = [body for vendor in VENDORS for body in crds_of(vendor).values()]
    with plane.api.session() as session:
        session.map(lambda one, body: one.apply(f"{CRDS}/{body['metadata']['name']}", body), crds)
    plane.api.wait_for_crds({body["metadata"]["name"] for body in crds})
    kubectl("apply", "--server-side", "-f", EXAMPLE)
    for obj in _example():
        if "status" in obj:
            group, namespace = obj["apiVersion"].partition("/")[0], obj["metadata"]["namespace"]
            name = f"{obj['kind'].lower()}.{group}/{obj['metadata']['name']}"
            patch = json.dumps({"status": obj["status"]})
            kubectl("patch", name, "-n", namespace, "--subresource=status", "--type=merge", "-p", patch)
    return plane


@pytest.fixture(scope="module")
def folder(cluster: ControlPlane, kubectl_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with the ages that the objects have on the cluster, because older policies come first."""
    there = json.loads(Kubectl(kubectl_path, cluster)("get", "-f", EXAMPLE, "-o", "json"))["items"]
    ages = {_identity(obj): obj["metadata"]["creationTimestamp"] for obj in there}
    objects = _example()
    for obj in objects:
        obj["metadata"]["creationTimestamp"] = ages[_identity(obj)]
    written = tmp_path_factory.mktemp("example")
    (written / "all.yaml").write_text(yaml.safe_dump_all(objects))
    return written


def _identity(obj: Object) -> tuple[str, str, str, str]:
    metadata = obj["metadata"]
    return obj["apiVersion"].partition("/")[0], obj["kind"], metadata.get("namespace", ""), metadata["name"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ask(cluster: ControlPlane, folder: Path) -> AsyncIterator[Callable[..., tuple[Any, Any]]]:
    """Runs a command on the cluster and on the example's folder, each read once; both must succeed silently."""
    async with open_engine(kubeconfig=str(cluster.kubeconfig)) as one, open_engine(manifests=[str(folder)]) as other:

        @cache
        def requested(*arguments: str) -> tuple[Any, Any]:
            answers = []
            for engine in (one, other):
                answer = run_with_opa(engine.opa.url, *arguments, "-o", "json")
                assert (answer.returncode, answer.stderr) == (0, "")
                answers.append(json.loads(answer.stdout))
            return answers[0], answers[1]

        assert not one.problems + one.rejected + other.problems
        yield requested


@pytest.mark.parametrize(("target", "namespace"), TARGETS, ids=[target for target, _ in TARGETS])
def test_explain_is_the_same_on_a_cluster_as_in_the_folder(
    ask: Callable[..., tuple[Any, Any]], target: str, namespace: str
) -> None:
    on_cluster, in_folder = ask("explain", target, "-n", namespace)
    assert on_cluster == in_folder
    assert on_cluster


def test_every_policy_is_explained_at_its_target(ask: Callable[..., tuple[Any, Any]]) -> None:
    explained = json.dumps([ask("explain", target, "-n", namespace)[0] for target, namespace in TARGETS])
    assert {policy for policy in _policies() if f'"{policy}"' not in explained} == set()


def test_every_policy_has_a_status_with_the_conditions_of_its_vendor(ask: Callable[..., tuple[Any, Any]]) -> None:
    found: dict[str, Any] = {}
    for namespace in ("infra", "shop", "payments"):
        on_cluster, _ = ask("status", "-n", namespace)
        found |= {
            f"{obj['apiVersion'].partition('/')[0]}/{obj['kind']}/{namespace}/{obj['metadata']['name']}": obj
            for obj in on_cluster
        }
    assert found.keys() >= _policies()
    annotations = found["kuadrant.io/AuthPolicy/shop/orders"]["metadata"]["annotations"]
    assert "the status reports Unknown" in annotations["policybridge.io/differs"]


def test_kubectl_runs_it_as_a_plugin(
    cluster: ControlPlane, bridge: Run, bridge_path: Path, kubectl_path: Path, environment: dict[str, str]
) -> None:
    requested = ("explain", "httproute/orders", "-n", "shop")
    path = os.pathsep.join([str(bridge_path.parent), environment["PATH"]])
    answer = subprocess.run(
        [kubectl_path, "bridge", *requested],
        env={**environment, "PATH": path, "KUBECONFIG": str(cluster.kubeconfig)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout == bridge(*requested, "--manifests", EXAMPLE).stdout
    for kind in ("SecurityPolicy", "BackendTrafficPolicy", "RateLimitPolicy", "AuthPolicy"):
        assert kind in answer.stdout


def test_policy_of_a_kind_that_no_preset_knows_is_not_silent(
    cluster: ControlPlane, bridge: Run, kubectl_path: Path
) -> None:
    kubectl = Kubectl(kubectl_path, cluster)
    body = crd("shapingpolicies", "ShapingPolicy", group="shaping.example.com")
    reference = {"type": "object", "properties": {name: {"type": "string"} for name in ("group", "kind", "name")}}
    spec = {"type": "object", "properties": {"targetRefs": {"type": "array", "items": reference}}}
    for version in body["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    name = body["metadata"]["name"]
    cluster.api.apply(f"{CRDS}/{name}", body)
    try:
        cluster.api.wait_for_crds({name})
        kubectl("apply", "--server-side", "-f", "-", text=SHAPING)
        answer = bridge("explain", "httproute/orders", "-n", "shop", "--kubeconfig", cluster.kubeconfig, "-o", "json")
        assert answer.returncode == 0
        assert "shaping.example.com/ShapingPolicy: it has no PolicyKind" in answer.stderr
        (entry,) = [
            one for one in json.loads(answer.stdout) if one["policyKind"] == "shaping.example.com/ShapingPolicy"
        ]
        assert [one["reason"] for one in entry["attachments"]] == ["NotDescribed"]
    finally:
        cluster.api.request("DELETE", f"{CRDS}/{name}")
