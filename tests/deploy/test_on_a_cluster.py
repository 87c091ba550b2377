"""What is in deploy/ on a real API server: applied by kubectl, and installed and upgraded by helm."""

import base64
import copy
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

from bridge.admission.certificates import create_certificate
from bridge.admission.webhook_configuration import API_VERSION, KINDS
from bridge.destinations.federation import federation_config
from bridge.destinations.urls import place_of
from bridge.model.views import FEDERATION
from bridge.opa.bundle import BundleTrust, edge_config
from bridge.opa.credentials import kept_credentials
from hack.manifests.parts import CHART, ROOT, HelmError, helm, one, template
from tests.controlplane.api import ApiError
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.long

DEPLOY = ROOT / "deploy"
EDGE = ROOT / "deploy" / "edge"
INSTALL = ROOT / "docs" / "how-to" / "install-on-a-cluster.md"
CONFIGURATIONS = [f"/apis/{API_VERSION}/{which.plural}" for which in KINDS]


def _crd_of_cert_manager(kind: str) -> str:
    """A CRD with the name of cert-manager's, which takes every field."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "cert-manager.io", "scope": "Namespaced", "names": {"plural": plural, "kind": kind}}
    metadata = {"name": f"{plural}.cert-manager.io"}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata}
    return yaml.safe_dump({**crd, "spec": {**spec, "versions": [version]}})


@pytest.fixture(scope="module")
def applied(plane: ControlPlane, kubectl: Kubectl) -> ControlPlane:
    """The manifests, as a person applies them to a cluster that has cert-manager and nothing of them: once."""
    kubectl("apply", "-f", "-", text="---\n".join(map(_crd_of_cert_manager, ("Certificate", "Issuer"))))
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    done = kubectl.run("apply", "-k", DEPLOY / "manifests")
    assert done.returncode == 0, done.stderr
    assert "would violate" not in done.stderr
    return plane


def test_applied_twice_the_manifests_change_nothing(applied: ControlPlane, kubectl: Kubectl) -> None:
    again = kubectl("apply", "-k", DEPLOY / "manifests").splitlines()
    assert again
    # kubectl replaces the selector of a PodDisruptionBudget whole, and always reports it as configured.
    named = "poddisruptionbudget.policy/policy-bridge configured"
    assert [line for line in again if not line.endswith(" unchanged") and line != named] == []
    budget = applied.api.get("/apis/policy/v1/namespaces/policy-bridge/poddisruptionbudgets/policy-bridge")
    assert budget["metadata"]["generation"] == 1


def test_the_api_server_takes_every_field(applied: ControlPlane, kubectl: Kubectl) -> None:
    """With strict validation a field that no API server knows is an error."""
    kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", "-k", DEPLOY / "manifests")


def test_the_overlay_is_taken_and_gives_rights_for_its_kinds(applied: ControlPlane, kubectl: Kubectl) -> None:
    objects = list(yaml.safe_load_all(kubectl("kustomize", DEPLOY / "overlays" / "example")))
    kubectl("apply", "--dry-run=server", "-k", DEPLOY / "overlays" / "example")
    deployment = one(objects, "Deployment")["spec"]
    bridge, opa = deployment["template"]["spec"]["containers"]
    assert deployment["replicas"] == 3
    assert bridge["image"] == "registry.example.com/platform/policy-bridge:0.1.0"
    assert opa["resources"]["limits"]["memory"] == "4Gi"
    granted = {resource for rule in one(objects, "ClusterRole")["rules"] for resource in rule["resources"]}
    assert {"colorpolicies", "colorpolicies/status", "services/status"} <= granted


def test_other_settings_of_an_overlay_make_other_pods(kubectl: Kubectl, overlay: Path) -> None:
    def settings_of_pods(folder: Path) -> tuple[str, str]:
        objects = list(yaml.safe_load_all(kubectl("kustomize", folder)))
        pod = one(objects, "Deployment")["spec"]["template"]["spec"]
        (name,) = [volume["configMap"]["name"] for volume in pod["volumes"] if volume["name"] == "settings"]
        return name, one(objects, "ConfigMap", name)["data"]["bridge.yaml"]

    before = settings_of_pods(DEPLOY / "manifests")
    text = (DEPLOY / "manifests" / "bridge.yaml").read_text() + "log_level: debug\n"
    (overlay / "bridge.yaml").write_text(text)
    # What the how-to shows.
    (documented,) = re.findall(r"^(configMapGenerator:\n(?:[- ].*\n)+)", INSTALL.read_text(), re.MULTILINE)
    with (overlay / "kustomization.yaml").open("a") as file:
        file.write(documented)
    name, settings = settings_of_pods(overlay)
    assert name != before[0]
    assert (settings, before[1]) == (text, text.replace("log_level: debug\n", ""))


def test_another_namespace_by_kustomize_is_refused_and_not_half_done(kubectl: Kubectl, overlay: Path) -> None:
    with (overlay / "kustomization.yaml").open("a") as file:
        file.write("namespace: elsewhere\n")
    done = kubectl.run("kustomize", overlay)
    assert done.returncode != 0
    assert "namespace transformation produces ID conflict" in done.stderr


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """A folder with the manifests and an overlay of them that changes nothing; gives the overlay."""
    for name in ("manifests", "crds"):
        shutil.copytree(DEPLOY / name, tmp_path / name)
    made = tmp_path / "overlay"
    made.mkdir()
    (made / "kustomization.yaml").write_text("resources: [../manifests]\n")
    return made


def test_a_pod_meets_the_restricted_standard(applied: ControlPlane) -> None:
    """The namespace enforces it, so the API server would refuse one that does not."""
    namespace = applied.api.get("/api/v1/namespaces/policy-bridge")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    deployment = applied.api.get("/apis/apps/v1/namespaces/policy-bridge/deployments/policy-bridge")
    pod = copy.deepcopy(deployment["spec"]["template"])
    pod["metadata"]["name"] = "tried"
    made = applied.api.request("POST", "/api/v1/namespaces/policy-bridge/pods?dryRun=All", {**pod, "kind": "Pod"})
    assert [container["name"] for container in made["spec"]["containers"]] == ["bridge", "opa"]


def test_an_upgrade_by_helm_leaves_the_failure_policy_that_the_bridge_set(plane: ControlPlane, tmp_path: Path) -> None:
    """Without its failurePolicy, admission would have a gap until the bridge has put it back."""
    name = "other-policy-bridge"
    place: list[str | Path] = ["--namespace", "other", "--kubeconfig", plane.kubeconfig]
    values = ["--set", "crds.install=false", "--set", "policyNamespaces={team-policies}"]
    values += ["--set", "webhook.certificate.source=Helm"]
    helm("install", "other", CHART, "--create-namespace", *place, *values, home=tmp_path)
    for path in CONFIGURATIONS:
        assert plane.api.get(f"{path}/{name}")["webhooks"][0]["failurePolicy"] == "Ignore"
    kept = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"}]
    for path in CONFIGURATIONS:
        plane.api.request("PATCH", f"{path}/{name}", kept, "application/json-patch+json")
    helm("upgrade", "other", CHART, *place, *values, "--set", "replicas=3", home=tmp_path)
    for path in CONFIGURATIONS:
        after = plane.api.get(f"{path}/{name}")["webhooks"][0]
        assert after["failurePolicy"] == "Fail"
    deployment = plane.api.get(f"/apis/apps/v1/namespaces/other/deployments/{name}")
    assert deployment["spec"]["replicas"] == 3
    helm("uninstall", "other", *place, home=tmp_path)
    assert plane.api.get("/api/v1/namespaces/team-policies")["metadata"]["name"] == "team-policies"


def test_a_certificate_by_helm_is_kept_and_trusted(plane: ControlPlane, tmp_path: Path) -> None:
    """Pods serve the Secret and the API server trusts its authority: an upgrade must not change one of them."""
    place: list[str | Path] = ["--namespace", "kept", "--kubeconfig", plane.kubeconfig]
    values = ["--set", "crds.install=false", "--set", "createPolicyNamespaces=false"]

    def found() -> tuple[dict[str, str], set[str]]:
        secret = plane.api.get("/api/v1/namespaces/kept/secrets/kept-policy-bridge-webhook")["data"]
        webhooks = [one for path in CONFIGURATIONS for one in plane.api.get(f"{path}/kept-policy-bridge")["webhooks"]]
        return secret, {one["clientConfig"]["caBundle"] for one in webhooks}

    chosen = [*values, "--set", "webhook.certificate.source=Helm"]
    helm("install", "kept", CHART, "--create-namespace", *place, *chosen, home=tmp_path)
    secret, trusted = found()
    assert trusted == {secret["ca.crt"]}
    # By default, too, and though the cluster may have cert-manager's CRDs now.
    helm("upgrade", "kept", CHART, *place, *values, "--set", "replicas=3", home=tmp_path)
    assert found() == (secret, trusted)
    plane.api.request("DELETE", "/api/v1/namespaces/kept/secrets/kept-policy-bridge-webhook")
    helm("upgrade", "kept", CHART, *place, *chosen, home=tmp_path)
    renewed, trusted = found()
    assert renewed["ca.crt"] != secret["ca.crt"]
    assert trusted == {renewed["ca.crt"]}
    helm("uninstall", "kept", *place, home=tmp_path)


def test_keys_of_views_are_kept(plane: ControlPlane, tmp_path: Path) -> None:
    """Edges verify bundles with the key, and reject those of another."""
    place: list[str | Path] = ["--namespace", "hub", "--kubeconfig", plane.kubeconfig]
    values = ["--set", "crds.install=false", "--set", "createPolicyNamespaces=false", "--set", "webhook.enabled=false"]
    values += ["--set", "views.enabled=true", "--set", "views.tlsSecret=views-tls", "--set", "settings.publish={all}"]

    def found() -> dict[str, str]:
        data: dict[str, str] = plane.api.get("/api/v1/namespaces/hub/secrets/hub-policy-bridge-views")["data"]
        return data

    helm("install", "hub", CHART, "--create-namespace", *place, *values, home=tmp_path)
    made = found()
    assert sorted(made) == ["signing-key.pem", "token"]
    ports = plane.api.get("/api/v1/namespaces/hub/services/hub-policy-bridge")["spec"]["ports"]
    assert {"views": 8484}.items() <= {port["name"]: port["port"] for port in ports}.items()
    helm("upgrade", "hub", CHART, *place, *values, "--set", "replicas=3", home=tmp_path)
    assert found() == made
    helm("uninstall", "hub", *place, home=tmp_path)
    assert found() == made


def _edge_values(folder: Path, kind: str) -> dict[str, str]:
    trust = kept_credentials(folder / "keys").trust
    authority = create_certificate(("localhost",), folder).authority.decode()
    values = {"view": "infra.public.effective", "verificationKey": trust.public_key, "authority": authority}
    return {**values, "kind": kind, **({"tokenSecret": "mine"} if kind == "Sidecar" else {"token": "a-token\n"})}


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "Sidecar"])
def test_an_edge_is_accepted_and_has_the_configuration_of_the_command(
    plane: ControlPlane, tmp_path: Path, kind: str
) -> None:
    file, name = tmp_path / "edge.yaml", f"edge-{kind.lower()}"
    values = _edge_values(tmp_path, kind) | ({} if kind == "Sidecar" else {"tlsSecret": "edge-tls"})
    file.write_text(yaml.safe_dump(values))
    place: list[str | Path] = ["--namespace", "gateways", "--kubeconfig", plane.kubeconfig]
    helm("install", name, EDGE, "--create-namespace", *place, "--values", file, home=tmp_path)
    data = plane.api.get(f"/api/v1/namespaces/gateways/configmaps/{name}")["data"]
    config = yaml.safe_load(data["opa.yaml"])
    assert config.pop("persistence_directory") == "/var/lib/opa"
    trust = BundleTrust(values["verificationKey"], token_path="/etc/edge/token/token")
    hub = "https://policy-bridge.policy-bridge.svc:8484"
    assert config == edge_config(hub, trust, values["view"], "/etc/edge/config/ca.crt")
    assert data["ca.crt"] == values["authority"]
    if kind == "Sidecar":
        with pytest.raises(ApiError, match="404"):
            plane.api.get(f"/api/v1/namespaces/gateways/secrets/{name}")
        return
    secret = plane.api.get(f"/api/v1/namespaces/gateways/secrets/{name}")["data"]
    assert base64.b64decode(secret["token"]) == b"a-token"
    pod = plane.api.get(f"/apis/apps/v1/namespaces/gateways/{kind.lower()}s/{name}")["spec"]["template"]["spec"]
    assert "--config-file=/etc/edge/config/opa.yaml" in pod["containers"][0]["args"]
    assert plane.api.get(f"/api/v1/namespaces/gateways/services/{name}")["spec"]["internalTrafficPolicy"] == (
        "Local" if kind == "DaemonSet" else "Cluster"
    )


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"view": ""}, "/view"),
        ({"view": None}, "missing property 'view'"),
        ({"verificationKey": ""}, "/verificationKey"),
        ({"token": ""}, "token or tokenSecret"),
        ({"url": "https://hub: 8484"}, "/url"),
        ({"token": "one\ntwo\n"}, "/token"),
    ],
)
def test_an_edge_needs_its_view_the_key_an_address_and_one_token(
    tmp_path: Path, wrong: dict[str, str | None], why: str
) -> None:
    with pytest.raises(HelmError, match=why):
        template(EDGE, tmp_path / "home", {**_edge_values(tmp_path, "Deployment"), **wrong})


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet"])
def test_edge_without_a_certificate_listens_on_loopback_and_has_no_service(tmp_path: Path, kind: str) -> None:
    objects = template(EDGE, tmp_path / "home", _edge_values(tmp_path, kind))
    assert "Service" not in {each["kind"] for each in objects}
    (workload,) = (each for each in objects if each["kind"] == kind)
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    assert "--addr=127.0.0.1:8181" in container["args"]
    assert [port["name"] for port in container["ports"]] == ["diagnostic"]


STORED = [
    "s3://fleet/east?region=eu-central-1",
    "gs://fleet-views/east",
    "az://fleet/east?account=exampleviews",
    "oci://registry.example.com/policy/east",
]


@pytest.mark.parametrize("url", [*STORED, FEDERATION])
def test_edge_takes_the_configuration_of_the_command_for_each_kind_of_destination(tmp_path: Path, url: str) -> None:
    trust = kept_credentials(tmp_path / "keys").trust
    view = FEDERATION if url == FEDERATION else "infra.public"
    place = place_of(STORED[0] if url == FEDERATION else url)
    config = edge_config("", trust, view, source=place.source_of(view))
    if url == FEDERATION:
        config = federation_config(config, {"west": (place_of(STORED[1]), trust.public_key)})
    values = {
        "config": yaml.safe_dump(config),
        "envFrom": [{"secretRef": {"name": "storage"}}],
        "serviceAccountName": "reader",
        "bundleVolume": {"persistentVolumeClaim": {"claimName": "last-view"}},
    }
    objects = {each["kind"]: each for each in template(EDGE, tmp_path / "home", values)}
    assert yaml.safe_load(objects["ConfigMap"]["data"]["opa.yaml"]) == config
    assert "Secret" not in objects
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "reader"
    assert pod["containers"][0]["envFrom"] == values["envFrom"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert volumes.keys() == {"config", "kept"}
    assert volumes["kept"]["persistentVolumeClaim"] == {"claimName": "last-view"}


def test_removed_as_documented_crds_and_policies_stay(applied: ControlPlane, kubectl: Kubectl) -> None:
    """Runs last: it removes the installation."""
    (command,) = re.findall(r"^    (kubectl delete -k .*)$", INSTALL.read_text(), re.MULTILINE)
    arguments = [str(ROOT / word) if word.startswith("deploy/") else word for word in shlex.split(command)[1:]]
    kubectl(*arguments)
    label = "app.kubernetes.io/name=policy-bridge"
    kinds = "deployments,services,configmaps,roles,rolebindings,clusterroles,networkpolicies"
    kinds += "".join(f",{which.plural}" for which in KINDS)
    assert kubectl("get", kinds, "--all-namespaces", "-l", label, "-o", "name") == ""
    for namespace in ("policy-bridge", "opa-policies"):
        assert applied.api.get(f"/api/v1/namespaces/{namespace}")["status"]["phase"] == "Active"
    kubectl("get", "policykinds,constraints,regopolicies")
