"""A bridge with exactly the rights that `pbctl admin rbac` prints does all its work, and uses all of them."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.admission.webhook_configuration import API_VERSION, KINDS
from bridge.cli.kind_source import KindSource
from bridge.cli.rbac import read_needs
from bridge.kube.discovery import find_missing_access
from bridge.kube.kube_client import KubeClient
from bridge.kube.report_client import FORMS
from bridge.model.types import Access
from bridge.sidecar.permissions import rules
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.audit_log import audited_plane
from tests.e2e.conftest import ROOT, SHOP, Run
from tests.e2e.serving import bridge_starts
from tests.eventually import equal_to, eventually, eventually_blocking
from tests.ports import free_address

NAMESPACE = "policy-bridge"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:policy-bridge"
pytestmark = pytest.mark.long

PATIENCE = 300.0  # seconds
PLACEMENT = ROOT / "examples" / "placement"
CONSTRAINTS = ROOT / "examples" / "constraints"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
REGO_POLICY = """
apiVersion: policybridge.io/v1alpha1
kind: RegoPolicy
metadata: {name: hello}
spec: {modules: {main.rego: "package hello\\n\\nx := 1\\n"}}
"""
BROKEN = """
apiVersion: v1
kind: ConfigMap
metadata: {name: broken, namespace: opa-policies, labels: {openpolicyagent.org/policy: rego}}
data: {broken.rego: "package broken\\n\\nx := \\n"}
"""


@dataclass
class Installed:
    """A control plane that audits, with the examples and a bridge's ServiceAccount and roles."""

    plane: ControlPlane
    kubectl: Kubectl
    folder: Path
    port: int
    config: Path = field(init=False)

    def __post_init__(self) -> None:
        self.config = self.folder / "bridge.yaml"
        settings = {
            **yaml.safe_load((ROOT / "examples" / "placement-settings.yaml").read_text()),
            "lease_namespace": NAMESPACE,
            "webhook_listen": f"127.0.0.1:{self.port}",
            "webhook_url": f"https://127.0.0.1:{self.port}/admission",
        }
        settings["types"] = [*settings["types"], "core/Pod"]
        self.config.write_text(yaml.safe_dump(settings))

    def apply(self, *paths: Path, text: str = "") -> None:
        """Apply files, with the CRDs among them first."""
        files = [file for path in paths for file in sorted(path.glob("*.yaml"))]
        crds = [file for file in files if "kind: CustomResourceDefinition" in file.read_text()]
        for batch in (crds, [file for file in files if file not in crds]):
            if batch:
                self.kubectl("apply", *(f"--filename={file}" for file in batch))
                self.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        if text:
            self.kubectl("apply", "-f", "-", text=text)

    def token(self) -> str:
        """A token of the bridge's ServiceAccount."""
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/policy-bridge/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        return str(self.plane.api.request("POST", path, body)["status"]["token"])

    def requested(self) -> list[dict[str, Any]]:
        """What the bridge has requested the API server for, of resources."""
        lines = (self.folder / "audit.log").read_text().splitlines()
        events = [json.loads(line) for line in lines if line.endswith("}")]
        return [
            one for one in events if one["user"]["username"] == ACCOUNT and one.get("objectRef", {}).get("resource")
        ]

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition."""
        eventually_blocking(condition, about=lambda: f"{what}\n{(self.folder / 'bridge.log').read_text()}")


@pytest.fixture(scope="module")
def installed(
    tmp_path_factory: pytest.TempPathFactory, gateway_api_crds: Path, kubectl_path: Path
) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("rights")
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"]}
    text = yaml.safe_dump({**policy, "rules": [{"level": "Metadata"}]})
    port = int(free_address().rpartition(":")[2])
    with audited_plane(folder, (), gateway_api_crds / "experimental", text) as plane:
        made = Installed(plane, Kubectl(kubectl_path, plane), folder, port)
        made.kubectl("create", "namespace", NAMESPACE)
        made.kubectl("create", "serviceaccount", "policy-bridge", "-n", NAMESPACE)
        made.apply(ROOT / "deploy" / "crds", SHOP, PLACEMENT, CONSTRAINTS, text=f"{REGO_POLICY}\n---\n{BROKEN}")
        yield made


@pytest.fixture(scope="module")
def worked(installed: Installed, bridge: Run, bridge_path: Path, environment: dict[str, str]) -> Installed:
    """The same after a bridge has done all that it has to do, with the rights that `pbctl admin rbac` prints."""
    cluster = ["--config", installed.config, "--kubeconfig", installed.plane.kubeconfig]
    printed = bridge("rbac", *cluster)
    assert printed.returncode == 0, printed.stderr
    installed.apply(text=printed.stdout)
    webhook = bridge("webhook-config", "--config", installed.config, "--resource", "deployments.apps")
    installed.apply(text=webhook.stdout)
    kubeconfig = installed.plane.write_kubeconfig(installed.folder / "account", installed.token())
    options = ("--config", installed.config, "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0")
    with bridge_starts(bridge_path, environment, installed.folder / "bridge.log", *options) as process:
        _wait_for_everything(installed)
        process.terminate()
        process.wait(PATIENCE)
    return installed


def _wait_for_everything(installed: Installed) -> None:
    def shows(path: str, pattern: str) -> None:
        """Wait until an object looks so."""
        get = installed.plane.api.get
        installed.until(lambda: bool(re.search(pattern, json.dumps(get(path)))), f"{path} does not show {pattern}")

    own, gateway = "/apis/policybridge.io/v1alpha1", "/apis/gateway.networking.k8s.io/v1"
    shows("/apis/example.com/v1/namespaces/blog/colorpolicies/posts-contrast", '"Overridden"')
    shows("/api/v1/namespaces/shop/services/catalog", "TimeoutPolicyAffected")
    shows(f"{gateway}/namespaces/infra/gateways/public", "ColorPolicyAffected")
    shows(f"{gateway}/namespaces/shop/httproutes/cart", "ColorPolicyAffected")
    shows("/apis/apps/v1/namespaces/shop/deployments/checkout", "replica-set-preferences")
    shows("/api/v1/namespaces/opa-policies/configmaps/broken", '"policybridge.io[^"]*":')
    for kind, name in (("regopolicies", "hello"), ("policykinds", "colorpolicies.example.com")):
        shows(f"{own}/{kind}/{name}", '"Accepted"')
    shows(f"{own}/constraints/memory-limits", "totalViolations")
    shows("/apis/events.k8s.io/v1/namespaces/opa-policies/events", '"broken')
    for which in KINDS:
        shows(f"/apis/{API_VERSION}/{which.plural}/policy-bridge", '"Fail"')
        shows(f"/apis/{API_VERSION}/{which.plural}/policy-bridge", "caBundle")


def test_nothing_that_it_requested_was_forbidden(worked: Installed) -> None:
    refused = {(one["verb"], one["requestURI"]) for one in worked.requested() if one["responseStatus"]["code"] == 403}
    assert refused == set()


def test_no_resource_was_granted_that_it_did_not_use(worked: Installed) -> None:
    """Nor a verb, except get beside list and watch, and verbs for rare events."""
    another_day = {
        ("patch", "events"),  # the same once more
        ("patch", "gatewayclasses/status"),  # the example attaches nothing to a class
        # CRDs of reports are not installed here.
        *((verb, one.plural) for form in FORMS for one in form for verb in ("create", "delete", "patch")),
    }
    used = {(one["verb"], _resource(one["objectRef"])) for one in worked.requested()}
    granted = set()
    for kind in ("clusterroles", f"namespaces/{NAMESPACE}/roles", "namespaces/opa-policies/roles"):
        for rule in worked.plane.api.get(f"{RBAC}/{kind}/policy-bridge")["rules"]:
            granted |= {(verb, resource) for verb in rule["verbs"] for resource in rule["resources"]}
    read = {resource for verb, resource in granted if verb == "list"}
    unused = {
        (verb, resource) for verb, resource in granted - used if not (verb in {"get", "list"} and resource in read)
    }
    assert unused - another_day == set()


def _resource(reference: dict[str, str]) -> str:
    return "/".join(filter(None, (reference["resource"], reference.get("subresource"))))


def test_a_bridge_with_all_rights_lacks_nothing(worked: Installed, bridge: Run) -> None:
    fine = bridge(*_check(worked))
    assert (fine.returncode, fine.stdout) == (0, "")
    *warnings, verdict = fine.stderr.splitlines()
    assert verdict == f"{ACCOUNT} has all the permissions that the bridge needs."
    assert all(
        line.startswith("warning: rejected Rego is not included in this result: ConfigMap/opa-policies/broken")
        for line in warnings
    )


def test_a_missing_right_is_reported_with_its_purpose(worked: Installed, bridge: Run) -> None:
    path = f"{RBAC}/namespaces/{NAMESPACE}/roles/policy-bridge"
    role = worked.plane.api.get(path)
    worked.plane.api.request(
        "PUT", path, {**role, "rules": [one for one in role["rules"] if one["verbs"] != ["create"]]}
    )
    reported = bridge(*_check(worked))
    worked.plane.api.apply(path, {name: value for name, value in role.items() if name != "metadata"} | _named(role))
    assert reported.returncode == 1, reported.stderr
    assert [line.split()[:3] for line in reported.stdout.splitlines()[1:]] == [
        [NAMESPACE, "leases.coordination.k8s.io", "create"],
    ]


async def test_each_rule_that_is_missing_is_reported(worked: Installed) -> None:
    needs, _ = await asyncio.to_thread(read_needs, worked.config, KindSource((), str(worked.plane.kubeconfig)))
    assert rules(needs).keys() == {"", NAMESPACE, "opa-policies"}
    async with await KubeClient.connect(str(worked.plane.kubeconfig)) as client:
        for namespace, granted in rules(needs).items():
            place = f"namespaces/{namespace}/roles" if namespace else "clusterroles"
            path = f"{RBAC}/{place}/policy-bridge"
            role = await client.get(path)
            del role["metadata"]["resourceVersion"]
            for index, rule in enumerate(granted):
                await client.put(path, {**role, "rules": [*granted[:index], *granted[index + 1 :]]})
                await _until_lacking(client, needs, {namespace: [rule]})
            await client.put(path, {**role, "rules": granted})
            await _until_lacking(client, needs, {})


async def _until_lacking(client: KubeClient, needs: list[Access], wanted: dict[str, list[dict[str, Any]]]) -> None:
    """The API server applies a changed role a moment later."""

    async def lacking() -> dict[str, list[dict[str, Any]]]:
        return rules(await find_missing_access(client, needs, ACCOUNT))

    await eventually(lacking, equal_to(wanted))


def _check(worked: Installed) -> list[str | Path]:
    cluster: list[str | Path] = ["--config", worked.config, "--kubeconfig", worked.plane.kubeconfig]
    return ["rbac", *cluster, "--check", "--as", ACCOUNT]


def _named(role: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": role["metadata"]["name"], "namespace": role["metadata"]["namespace"]}}
