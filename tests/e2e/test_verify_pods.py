"""`pbctl verify --pods`: proxies of a cluster, by the port-forward of the API server with the user's permissions."""

import contextlib
import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.kube import port_forward
from hack.tools.vendor_crds import VENDORS, crds_of
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.kubelet import Kubelet
from tests.controlplane.plane import LIMITED_TOKEN, ControlPlane
from tests.e2e.conftest import ROOT, Run
from tests.e2e.test_verify_against_envoy import Served, served  # noqa: F401 - a fixture

FOLDER = ROOT / "examples/proxies"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ADMIN = 19000
HOME = "envoy-gateway-system"
LABELS = {
    "gateway.envoyproxy.io/owning-gateway-name": "public",
    "gateway.envoyproxy.io/owning-gateway-namespace": "shop",
}
Object = dict[str, Any]


@dataclass
class Cluster:
    """A cluster with the example's objects, and a kubelet for the Pods of proxies."""

    plane: ControlPlane
    kubelet: Kubelet
    bridge: Run
    stack: ExitStack

    def add_pod(
        self,
        name: str,
        port: int,
        labels: Object = LABELS,
        phase: str = "Running",
        admin: int = ADMIN,
        namespace: str = HOME,
    ) -> None:
        """Add a Pod with this phase whose admin interface is at a local port."""
        metadata, pods = {"name": name, "labels": labels}, f"/api/v1/namespaces/{namespace}/pods"
        spec = {"nodeName": "node", "containers": [{"name": "envoy", "image": "envoy"}]}
        self.plane.api.request("POST", pods, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        merge = "application/merge-patch+json"
        self.plane.api.request("PATCH", f"{pods}/{name}/status", {"status": {"phase": phase}}, merge)
        self.stack.callback(self.plane.api.request, "DELETE", f"{pods}/{name}", {"gracePeriodSeconds": 0})
        self.kubelet.ports[name, admin] = port

    def listen(self, port: int) -> None:
        """Change the port of the Gateway's listener."""
        listener = {"name": "http", "port": port, "protocol": "HTTP"}
        path = "/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways/public"
        merge = "application/merge-patch+json"
        self.plane.api.request("PATCH", path, {"spec": {"listeners": [listener]}}, merge)

    def verify(self, *arguments: str, kubeconfig: Path | None = None) -> tuple[int, Object, str]:
        """The exit code, the document and the errors of `pbctl verify --pods`."""
        done = self.bridge(
            "verify", "--pods", "--kubeconfig", kubeconfig or self.plane.kubeconfig, "-o", "json", *arguments
        )
        return done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr


@pytest.fixture(scope="module")
def example(
    module_control_plane: ControlPlane, kubectl_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ControlPlane, Kubelet]]:
    """A cluster with the example's objects and a kubelet."""
    plane, folder = module_control_plane, tmp_path_factory.mktemp("pods")
    crds = crds_of(VENDORS[0]).values()
    with plane.api.session() as session:
        session.map(lambda one, body: one.apply(f"{CRDS}/{body['metadata']['name']}", body), [*crds])
    plane.api.wait_for_crds({body["metadata"]["name"] for body in crds})
    objects = [*yaml.safe_load_all((FOLDER / "objects.yaml").read_text())]
    for obj in objects:
        obj["metadata"].pop("creationTimestamp", None)
        obj.get("spec", {}).pop("clusterIP", None)
    objects += [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (HOME, "elsewhere")]
    file = folder / "objects.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    Kubectl(kubectl_path, plane)("apply", "--server-side", "-f", file)
    with Kubelet(folder).running(plane) as kubelet:
        yield plane, kubelet


@pytest.fixture
def cluster(example: tuple[ControlPlane, Kubelet], bridge: Run) -> Iterator[Cluster]:
    """The cluster without Pods."""
    with ExitStack() as stack:
        yield Cluster(*example, bridge, stack)


def _serve(stack: ExitStack, dump: Object | str, status: int = 200, *, silent: bool = False) -> int:
    """An admin interface that answers a dump, in pieces of unknown total length; return its port.

    A silent one does not end its answer.
    """
    done = threading.Event()

    class Admin(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(status if self.path == "/config_dump" else 404)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            text = (dump if isinstance(dump, str) else json.dumps(dump)).encode()
            with contextlib.suppress(ConnectionError):
                for first in range(0, len(text), 100_000):
                    piece = text[first : first + 100_000]
                    self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                if silent:
                    done.wait()
                self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Admin)
    threading.Thread(target=server.serve_forever).start()
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
    stack.callback(done.set)
    return int(server.server_port)


@pytest.fixture
def dump() -> Object:
    """The dump of the example's proxy, which has all policies but one."""
    found: Object = json.loads((FOLDER / "config_dump.json").read_text())
    return found


def test_proxies_of_a_cluster_are_compared(cluster: Cluster, dump: Object) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, dump))
    cluster.add_pod("other", _serve(cluster.stack, {}), {"app": "other"})
    code, found, errors = cluster.verify()
    assert (code, errors) == (1, "")
    assert [*found["proxies"]] == ["envoy-gateway-system/edge-1"]
    assert found["counts"] == {"stale": 2, "verified": 13}
    code, found, _ = cluster.verify("httproute/cart#checkout", "-n", "shop")
    assert (code, {*found["counts"]}) == (0, {"verified"})


def test_pods_with_the_labels_of_proxies_in_other_namespaces_are_not_read(cluster: Cluster, dump: Object) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, dump))
    cluster.add_pod("forged", _serve(cluster.stack, {}), namespace="elsewhere")
    _, found, errors = cluster.verify()
    assert [*found["proxies"]] == ["envoy-gateway-system/edge-1"]
    assert "forged" not in errors
    _, found, errors = cluster.verify("--controller-namespace", "elsewhere")
    assert "Pod elsewhere/forged" in errors
    assert "edge-1" not in errors


def test_proxies_may_be_in_the_namespace_of_their_gateway(cluster: Cluster, dump: Object) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, dump), namespace="shop")
    _, found, _ = cluster.verify()
    assert [*found["proxies"]] == ["shop/edge-1"]


def test_explanations_have_the_states_of_the_cluster_proxies(cluster: Cluster, dump: Object) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, dump))
    command = ("explain", "httproute/cart#checkout", "-n", "shop", "--kind", "BackendTrafficPolicy", "--pods")
    done = cluster.bridge(*command, "--kubeconfig", cluster.plane.kubeconfig)
    assert "verified" in done.stdout, done.stderr


def test_proxies_that_disagree_are_named(cluster: Cluster, dump: Object) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, dump))
    other = json.loads(json.dumps(dump).replace('"timeout": "15s"', '"timeout": "16s"'))
    cluster.add_pod("edge-2", _serve(cluster.stack, other))
    target = ("httproute/cart#checkout", "-n", "shop")
    code, found, errors = cluster.verify(*target)
    assert code == 1
    differing = {row["proxy"] for row in found["rows"] if row["state"] != "verified"}
    assert differing == {"envoy-gateway-system/edge-2"}
    assert "the proxies of Gateway/shop/public disagree: only envoy-gateway-system/edge-2 differs" in errors


def test_pod_with_a_closed_admin_port_is_an_error_beside_the_others(cluster: Cluster, dump: Object) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, dump))
    cluster.add_pod("edge-2", 1, admin=1)
    code, found, errors = cluster.verify()
    assert code == 2
    assert found["counts"]["verified"] == 13
    assert (
        "error: Pod envoy-gateway-system/edge-2: its proxy cannot be read at port 19000: error forwarding port 19000"
        in errors
    )
    assert "refused" in errors


_HANGS = 60.0  # seconds


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param({"dump": {}, "status": 404}, "port 19000 answers 404 to /config_dump", id="404"),
        pytest.param({"dump": '{"configs": [ } broken' * 100_000}, "is not JSON", id="broken at its begin"),
        pytest.param({"dump": '{"configs": [', "silent": True}, "timed out", id="silent"),
    ],
)
def test_admin_interface_that_fails_is_an_error_without_a_wait(
    cluster: Cluster, dump: Object, answer: Object, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port_forward, "SECONDS", 2.0)
    cluster.add_pod("edge-1", _serve(cluster.stack, dump))
    cluster.add_pod("edge-2", _serve(cluster.stack, **answer))
    begin = time.monotonic()
    code, found, errors = cluster.verify()
    assert time.monotonic() - begin < _HANGS
    assert (code, found["counts"]["verified"]) == (2, 13)
    assert "error: Pod envoy-gateway-system/edge-2: " in errors
    assert why in errors


def test_dump_that_breaks_off_says_nothing_about_its_proxy(cluster: Cluster, dump: Object) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, dump))
    _, alone, _ = cluster.verify()
    clusters, *others = dump["configs"]
    clusters["dynamic_active_clusters"] *= 1_000  # several queries, before the end
    cluster.add_pod("edge-2", _serve(cluster.stack, json.dumps({"configs": [*others, clusters]})[:-10]))
    code, found, errors = cluster.verify()
    assert code == 2
    assert "error: Pod envoy-gateway-system/edge-2: its proxy cannot be read at port 19000" in errors
    assert found == alone
    assert "warning" not in errors


def test_explanation_has_the_exit_code_of_a_proxy_that_cannot_be_read(cluster: Cluster, dump: Object) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, dump))
    command = ("explain", "httproute/cart#checkout", "-n", "shop", "--kind", "BackendTrafficPolicy", "--pods")
    done = cluster.bridge(*command, "--kubeconfig", cluster.plane.kubeconfig)
    assert (done.returncode, done.stderr) == (0, "")
    cluster.add_pod("edge-2", 1, admin=1)
    done = cluster.bridge(*command, "--kubeconfig", cluster.plane.kubeconfig)
    assert done.returncode == 2
    assert "verified" in done.stdout
    assert "error: Pod envoy-gateway-system/edge-2: its proxy cannot be read" in done.stderr


def test_reason_of_a_port_that_cannot_be_forwarded_is_that_of_the_connection(cluster: Cluster, dump: Object) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, dump))
    for name in ("refused", "broken"):
        cluster.add_pod(name, 1)
    cluster.kubelet.refused = {"refused"}
    cluster.kubelet.broken = {"broken"}
    code, _, errors = cluster.verify()
    assert code == 2
    read = "its proxy cannot be read at port 19000"
    assert f"Pod envoy-gateway-system/refused: {read}: HTTP 500: the API server cannot forward to this Pod" in errors
    broken = "the connection to the Pod broke: Received frame with non-zero reserved"
    assert f"Pod envoy-gateway-system/broken: {read}: {broken}" in errors


def test_dumps_are_compared_without_pods(cluster: Cluster) -> None:
    code, found, errors = cluster.verify("--config-dump", str(FOLDER / "config_dump.json"))
    assert (code, found["counts"]) == (1, {"stale": 2, "verified": 13})
    assert "warning: Gateway/shop/public has no Pod of a proxy that runs" in errors
    assert "error" not in errors


def test_targets_without_a_gateway_have_no_proxies(cluster: Cluster, dump: Object) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, dump))
    services = "/api/v1/namespaces/shop/services"
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "alone"}, "spec": {"ports": [{"port": 80}]}}
    cluster.plane.api.request("POST", services, service)
    cluster.stack.callback(cluster.plane.api.request, "DELETE", f"{services}/alone")
    code, found, errors = cluster.verify("svc/alone", "-n", "shop")
    assert (code, found) == (2, {})
    assert "warning: no Gateway is known above the targets" in errors
    assert "error: no Pod of a proxy is running" in errors


def test_pods_with_names_that_begin_alike_have_their_own_errors(cluster: Cluster, dump: Object) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, {"configs": dump["configs"][:1]}))
    cluster.add_pod("edge-10", 1, admin=1)
    _, _, errors = cluster.verify()
    assert "error: Pod envoy-gateway-system/edge-1: " in errors
    assert "error: Pod envoy-gateway-system/edge-10: " in errors


def test_proxy_without_configuration_is_an_error_beside_the_others(cluster: Cluster, dump: Object) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, dump))
    cluster.add_pod("edge-2", _serve(cluster.stack, {"configs": dump["configs"][:1]}))
    code, _, errors = cluster.verify()
    assert code == 2
    assert "error: Pod envoy-gateway-system/edge-2: its proxy has no configuration of a Gateway" in errors


def test_cluster_without_proxies_is_an_error(cluster: Cluster) -> None:
    cluster.add_pod("edge-1", 1, phase="Pending")
    code, found, errors = cluster.verify()
    assert (code, found) == (2, {})
    assert "Pod envoy-gateway-system/edge-1 is Pending" in errors
    assert "Gateway/shop/public has no Pod of a proxy that runs, with the labels" in errors
    assert "no Pod of a proxy is running" in errors


def test_missing_permissions_are_named_and_the_role_grants_them(
    cluster: Cluster, dump: Object, kubectl_path: Path, tmp_path: Path
) -> None:
    cluster.add_pod("edge-1", _serve(cluster.stack, dump))
    limited = cluster.plane.write_kubeconfig(tmp_path / "limited", LIMITED_TOKEN)
    kubectl = Kubectl(kubectl_path, cluster.plane)

    def grant(*more: str) -> None:
        kubeconfig = ("--kubeconfig", cluster.plane.kubeconfig)
        role = cluster.bridge("admin", "rbac", "--reader", *kubeconfig, *more).stdout
        kubectl("apply", "-f", "-", text=role)

    kubectl("create", "clusterrolebinding", "limited", "--clusterrole=policy-bridge-reader", "--user=limited")
    grant()
    code, _, errors = cluster.verify(kubeconfig=limited)
    assert code == 2
    hint = "`pbctl admin rbac --reader --pods -n envoy-gateway-system` prints a role"
    assert f"you may not list the Pods of proxies in namespace envoy-gateway-system: {hint}" in errors
    forwards = yaml.safe_load(cluster.bridge("admin", "rbac", "--reader", "--pods", "-o", "json").stdout)
    rules = [rule for one in forwards["items"] for rule in one["rules"] if "pods/portforward" in rule["resources"]]
    assert [rule["verbs"] for rule in rules] == [["create", "get"]]
    kubectl("create", "clusterrole", "lists", "--verb=list", "--resource=pods")
    kubectl("create", "clusterrolebinding", "lists", "--clusterrole=lists", "--user=limited")
    code, _, errors = cluster.verify(kubeconfig=limited)
    assert code == 2
    assert (
        f"you may not forward ports of Pod envoy-gateway-system/edge-1 (get and create pods/portforward): {hint}"
        in errors
    )
    grant("--pods")
    code, found, errors = cluster.verify(kubeconfig=limited)
    assert (code, found["counts"]["verified"]) == (1, 13)


def test_a_namespace_that_the_user_may_not_read_is_never_silent(
    cluster: Cluster, dump: Object, kubectl_path: Path, tmp_path: Path
) -> None:
    """Pods of the Gateway may be in the controller's namespace or in its own."""
    reader = cluster.plane.write_kubeconfig(tmp_path / "limited", LIMITED_TOKEN)
    kubectl = Kubectl(kubectl_path, cluster.plane)
    kubectl("delete", "clusterrolebindings", "--ignore-not-found", "limited", "lists", "policy-bridge-reader")
    roles = cluster.bridge("admin", "rbac", "--reader", "--kubeconfig", cluster.plane.kubeconfig).stdout
    kubectl("apply", "-f", "-", text=roles)
    kubectl("create", "clusterrolebinding", "reads", "--clusterrole=policy-bridge-reader", "--user=limited")
    for namespace in (HOME, "shop"):
        cluster.add_pod(f"edge-{namespace}", _serve(cluster.stack, dump), namespace=namespace)
        pods = ("--verb=list,get,create", "--resource=pods,pods/portforward", "-n", namespace)
        kubectl("create", "role", "pods", *pods)
    kubectl("create", "rolebinding", "pods", "--role=pods", "--user=limited", "-n", "shop")
    code, _, errors = cluster.verify(kubeconfig=reader)
    assert code == 2
    assert f"error: you may not list the Pods of proxies in namespace {HOME}" in errors
    code, found, errors = cluster.verify("--controller-namespace", "shop", kubeconfig=reader)
    assert ([*found["proxies"]], "not read" in errors) == (["shop/edge-shop"], False)
    kubectl("delete", "rolebinding", "pods", "-n", "shop")
    kubectl("create", "rolebinding", "pods", "--role=pods", "--user=limited", "-n", HOME)
    code, found, errors = cluster.verify(kubeconfig=reader)
    assert [*found["proxies"]] == [f"{HOME}/edge-{HOME}"]
    assert "warning: not read: you may not list the Pods of proxies in namespace shop" in errors


def test_pods_of_manifests_are_a_usage_error(bridge: Run) -> None:
    done = bridge("verify", "--pods", "--manifests", FOLDER / "objects.yaml")
    assert done.returncode == 2
    assert "--pods reads the proxies of a cluster: it excludes --manifests and --opa" in done.stderr
    assert "no proxy: give --config-dump FILE, or --pods" in bridge("verify", "--manifests", FOLDER).stderr


@pytest.mark.long
def test_real_envoy_in_a_pod_is_verified(cluster: Cluster, served: Served) -> None:  # noqa: F811 - the fixture
    cluster.add_pod("edge-1", served.admin)
    cluster.listen(served.port)
    code, found, errors = cluster.verify()
    cluster.listen(80)
    assert (code, errors) == (0, "")
    assert found["counts"]["verified"] > 10
