"""Admins' Rego on a real API server, by kubectl: loaded into OPA, rejected with file and line, fixed, deleted."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.e2e.serving import bridge_runs, fetch
from tests.eventually import eventually_blocking as until
from tests.integration.api_objects import make_namespace

CRD = Path(__file__).parents[2] / "deploy" / "crds" / "regopolicies.yaml"
SHARING = 6  # namespaces: as many as tests ask for
BRIDGE = Path(sys.executable).parent / "pbctl"
STATUS = "policybridge.io/status"
REGO_POLICIES = "/apis/policybridge.io/v1alpha1/regopolicies"
POLICY, DATA = "openpolicyagent.org/policy=rego", "openpolicyagent.org/data=opa"
GOOD = "package {name}\n\nallow := {value}\n"
BROKEN = "package {name}\n\nallow if {{\n\tx > 1\n}}\n"


@dataclass
class Bridge:
    """A running bridge with an OPA of its own."""

    url: str
    opa: str

    def ask(self, path: str) -> Any:
        """A document of OPA's; None where there is none."""
        return json.loads(fetch(f"{self.opa}/v1/data/{path}")[1]).get("result")

    def ready(self) -> str:
        """What `/readyz?verbose` says."""
        return fetch(f"{self.url}/readyz?verbose")[1]


class Admin:
    """A user with kubectl and a namespace for policies."""

    def __init__(self, kubectl: Path, plane: ControlPlane, namespace: str) -> None:
        self.namespace = namespace
        self.run = Kubectl(kubectl, plane)

    def apply(self, name: str, data: dict[str, str], label: str = POLICY, **more: Any) -> None:
        """Create or change a ConfigMap."""
        key, _, value = label.partition("=")
        metadata = {"name": name, "namespace": self.namespace, "labels": {key: value}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data, **more}
        self.run("apply", "--server-side", "-f", "-", text=json.dumps(body))

    def delete(self, name: str) -> None:
        """Delete a ConfigMap."""
        self.run("delete", "configmap", name, "-n", self.namespace)

    def status(self, name: str) -> dict[str, Any]:
        """The annotation with the result for a ConfigMap."""
        # Not by kubectl: it is requested in a loop, and each start of kubectl costs the bridge a tenth of a second.
        obj = self.run.plane.api.get(f"/api/v1/namespaces/{self.namespace}/configmaps/{name}")
        annotations = obj["metadata"].get("annotations", {})
        found: dict[str, Any] = json.loads(annotations.get(STATUS, "{}"))
        return found


@contextmanager
def running(plane: ControlPlane, opa_path: Path, folder: Path, namespaces: str, lease: str) -> Iterator[Bridge]:
    """A bridge, once it is ready."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
    settings = {"BRIDGE_OPA": str(opa_path), "BRIDGE_LEASE_NAME": lease, "BRIDGE_POLICY_NAMESPACES": namespaces}
    options = ("--kubeconfig", plane.kubeconfig, "--listen", "127.0.0.1:0")
    with bridge_runs(BRIDGE, others | settings, folder / "log", *options) as serving:
        bridge = Bridge(serving.url, serving.opa_url)
        until(lambda: bridge.ready().endswith("ok\n"))
        yield bridge


@pytest.fixture(scope="module")
def crd(control_plane: ControlPlane) -> None:
    name = "regopolicies.policybridge.io"
    control_plane.api.apply(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}", CRD.read_text())
    control_plane.api.wait_for_crds({name})


@pytest.fixture
def admin(control_plane: ControlPlane, kubectl_path: Path, namespace: str) -> Admin:
    return Admin(kubectl_path, control_plane, namespace)


@dataclass
class Shared:
    """A bridge for several tests, and the namespaces whose Rego it loads: each test takes others."""

    bridge: Bridge
    namespaces: list[str]


@pytest.fixture(scope="module")
def shared(
    control_plane: ControlPlane, opa_path: Path, tmp_path_factory: pytest.TempPathFactory, crd: None
) -> Iterator[Shared]:
    namespaces = [asyncio.run(make_namespace(control_plane.api)) for _ in range(SHARING)]
    folder = tmp_path_factory.mktemp("shared")
    with running(control_plane, opa_path, folder, ",".join(namespaces), namespaces[0]) as bridge:
        yield Shared(bridge, namespaces)


@pytest.fixture
def tenant(shared: Shared, control_plane: ControlPlane, kubectl_path: Path) -> Admin:
    """A user with kubectl and a namespace whose Rego the shared bridge loads."""
    return Admin(kubectl_path, control_plane, shared.namespaces.pop())


def test_a_config_map_is_active_refused_fixed_and_gone(
    control_plane: ControlPlane, opa_path: Path, tmp_path: Path, admin: Admin
) -> None:
    name = admin.namespace.replace("-", "_")
    admin.apply("first", {"main.rego": GOOD.format(name=name, value=1)})
    with running(control_plane, opa_path, tmp_path, admin.namespace, admin.namespace) as bridge:
        assert bridge.ask(name) == {"allow": 1}  # it existed before the bridge: ready means active
        admin.apply("first", {"main.rego": GOOD.format(name=name, value=2)})
        until(lambda: bridge.ask(name) == {"allow": 2})
        until(lambda: admin.status("first") == {"status": "ok"})
        admin.apply("first", {"main.rego": BROKEN.format(name=name)})
        until(lambda: admin.status("first")["status"] == "error")
        (error,) = admin.status("first")["error"]["errors"]
        assert error["location"] == {"file": "main.rego", "row": 4, "col": 2}
        assert error["code"] == "rego_unsafe_var_error"
        assert bridge.ask(name) == {"allow": 2}
        described = admin.run("describe", "configmap", "first", "-n", admin.namespace)
        assert "PolicyRefused" in described
        assert "main.rego:4:2: var x is unsafe; the last good version stays active" in described
        admin.apply("first", {"main.rego": GOOD.format(name=name, value=3), "more": f"package {name}\n\nmore := 4\n"})
        until(lambda: bridge.ask(name) == {"allow": 3, "more": 4})
        until(lambda: admin.status("first") == {"status": "ok"})
        admin.delete("first")
        until(lambda: bridge.ask(name) is None)


@pytest.mark.long
def test_data_stands_where_kube_mgmt_puts_it_and_goes_alone(shared: Shared, tenant: Admin) -> None:
    bridge = shared.bridge
    tenant.apply("one", {"x.json": '{"a": [1, 2]}', "y": "b: true\n"}, DATA)
    tenant.apply("two", {"z": "[3]"}, DATA)
    until(
        lambda: bridge.ask(tenant.namespace) == {"one": {"x.json": {"a": [1, 2]}, "y": {"b": True}}, "two": {"z": [3]}}
    )
    tenant.apply("one", {"x.json": '{"a": 1,\n "b" 2}', "y": "b: false\n"}, DATA)
    until(lambda: tenant.status("one")["status"] == "error")
    assert tenant.status("one")["error"]["message"].startswith("x.json:2: invalid JSON: Expecting ':' delimiter")
    assert bridge.ask(f"{tenant.namespace}/one/y") == {"b": True}
    held = bridge.ask("objects/core/Namespace")
    tenant.delete("one")
    until(lambda: bridge.ask(tenant.namespace) == {"two": {"z": [3]}})
    assert bridge.ask("objects/core/Namespace") == held  # kube-mgmt would have emptied OPA here


@pytest.mark.long
def test_rego_written_for_kube_mgmt_comes_from_several_namespaces_and_binary_data_is_reported(
    shared: Shared, tenant: Admin, admin: Admin, control_plane: ControlPlane, kubectl_path: Path
) -> None:
    other, outside = Admin(kubectl_path, control_plane, shared.namespaces.pop()), admin
    one, two, three = (who.namespace.replace("-", "_") for who in (tenant, other, outside))
    bridge = shared.bridge
    for who, name in ((tenant, one), (other, two), (outside, three)):
        who.apply("same", {"no-suffix": GOOD.format(name=name, value=1)})
    until(lambda: bridge.ask(one) == bridge.ask(two) == {"allow": 1})
    binary = {"b.rego": base64.b64encode(b"package b").decode()}
    tenant.apply("binary", {"a.rego": "package a"}, binaryData=binary)
    until(lambda: "binaryData" in tenant.status("binary")["error"]["message"])
    assert bridge.ask(three) is None
    assert not outside.status("same")


def test_a_rego_policy_is_tested_before_it_becomes_active(shared: Shared, tenant: Admin) -> None:
    package, name = tenant.namespace.replace("-", "_"), tenant.namespace

    def put(value: int) -> None:
        test = f"package {package}_test\n\nimport data.{package}\n\ntest_it_is_small if {package}.allow < 10\n"
        spec = {"modules": {"main.rego": GOOD.format(name=package, value=value)}, "tests": {"main_test.rego": test}}
        body = {"apiVersion": "policybridge.io/v1alpha1", "kind": "RegoPolicy", "metadata": {"name": name}}
        tenant.run("apply", "--server-side", "-f", "-", text=json.dumps({**body, "spec": spec}))

    def status() -> dict[str, Any]:
        found: dict[str, Any] = tenant.run.plane.api.get(f"{REGO_POLICIES}/{name}").get("status", {})
        return found

    def shown(kind: str) -> str:
        return next(f"{one['status']}{one['reason']}" for one in status()["conditions"] if one["type"] == kind)

    bridge = shared.bridge
    put(1)
    until(lambda: bridge.ask(package) == {"allow": 1})
    until(lambda: shown("Programmed") == "TrueProgrammed")
    revision = status()["inForce"]["revision"]
    assert revision
    put(11)
    until(lambda: shown("Accepted") == "FalseTestFailed")
    assert shown("Programmed") == "FalseLastGoodVersion"
    (problem,) = status()["problems"]
    assert (problem["file"], problem["line"]) == ("main_test.rego", 5)
    assert status()["inForce"]["revision"] == revision
    assert status()["observedGeneration"] == 2
    assert bridge.ask(package) == {"allow": 1}
    put(2)
    until(lambda: shown("Programmed") == "TrueProgrammed")
    assert bridge.ask(package) == {"allow": 2}
    tenant.run("delete", "regopolicy", name)
    until(lambda: bridge.ask(package) is None)
