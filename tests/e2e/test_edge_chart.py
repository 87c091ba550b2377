"""The chart of an edge: what it gives OPA is enough to answer from a bridge's view, and it answers nothing else."""

import base64
import http.client
import os
import ssl
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.admission.certificates import create_certificate
from hack.manifests.parts import ROOT, HelmError, Objects, one, template
from tests.e2e.test_views import STOREFRONT, Fleet, free_address, query
from tests.eventually import eventually_blocking

pytestmark = pytest.mark.needs("helm")

VALUES = {
    "view": "infra.public.effective",
    "url": "https://hub.example.com:8484",
    "verificationKey": "-----BEGIN PUBLIC KEY-----\nx\n",
    "token": "t" * 40,
}


def rendered(home: Path, values: dict[str, Any]) -> Objects:
    """The objects of a release."""
    return template(ROOT / "deploy" / "edge", home, values, release="edge")


def kinds(objects: Objects) -> set[str]:
    """The kinds of the objects."""
    return {obj["kind"] for obj in objects}


def pod_of(objects: Objects) -> dict[str, Any]:
    """The spec of the Pods of a Deployment."""
    spec: dict[str, Any] = one(objects, "Deployment", "edge")["spec"]["template"]["spec"]
    return spec


def test_edge_without_a_certificate_listens_on_loopback_and_has_no_service(tmp_path: Path) -> None:
    objects = rendered(tmp_path / "helm", VALUES)
    arguments = pod_of(objects)["containers"][0]["args"]
    assert "--addr=127.0.0.1:8181" in arguments
    assert "--authorization=basic" in arguments
    assert kinds(objects) == {"ConfigMap", "Secret", "Deployment", "NetworkPolicy"}
    assert [rule["ports"] for rule in one(objects, "NetworkPolicy", "edge")["spec"]["ingress"]] == [[{"port": 8383}]]


def test_edge_with_a_certificate_is_reached_by_its_clients_alone(tmp_path: Path) -> None:
    clients = [{"namespaceSelector": {"matchLabels": {"gateways": "true"}}}]
    objects = rendered(tmp_path / "helm", {**VALUES, "tlsSecret": "edge-tls", "networkPolicy": {"clients": clients}})
    assert "Service" in kinds(objects)
    assert one(objects, "NetworkPolicy", "edge")["spec"]["ingress"][0] == {"from": clients, "ports": [{"port": 8181}]}
    secrets = {volume["secret"]["secretName"] for volume in pod_of(objects)["volumes"] if "secret" in volume}
    assert secrets == {"edge", "edge-tls"}


def test_configuration_for_storage_needs_no_bridge_and_a_claim_keeps_the_last_view(tmp_path: Path) -> None:
    config = yaml.safe_dump({"services": {"storage": {"url": "https://fleet.example.com"}}})
    claim = {"persistentVolumeClaim": {"claimName": "last-view"}}
    more = {"envFrom": [{"secretRef": {"name": "storage"}}], "serviceAccountName": "edge", "bundleVolume": claim}
    objects = rendered(tmp_path / "helm", {"config": config, **more})
    pod = pod_of(objects)
    assert one(objects, "ConfigMap", "edge")["data"]["opa.yaml"] == config
    assert kinds(objects) == {"ConfigMap", "Deployment", "NetworkPolicy"}
    assert pod["containers"][0]["envFrom"] == more["envFrom"]
    assert pod["serviceAccountName"] == "edge"
    assert {"name": "kept", **claim} in pod["volumes"]


@pytest.mark.parametrize("missing", ["view", "verificationKey", "token"])
def test_edge_needs_its_view_a_key_and_a_token(tmp_path: Path, missing: str) -> None:
    with pytest.raises(HelmError, match=missing):
        rendered(tmp_path / "helm", {name: value for name, value in VALUES.items() if name != missing})


@pytest.mark.long
def test_opa_with_the_files_and_arguments_of_the_chart_answers_queries_alone(
    bridge_path: Path, opa_path: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    with ExitStack() as stack:
        fleet = Fleet(tmp_path, bridge_path, opa_path, environment, stack)
        certificate = create_certificate(("localhost",), tmp_path)
        settings = tmp_path / "bridge.yaml"
        settings.write_text(f"publish_cert_file: {certificate.certificate}\npublish_key_file: {certificate.key}\n")
        fleet.start_hub("Gateway/infra/public=effective", settings=settings)
        values = {
            "view": "infra.public.effective",
            "url": f"https://localhost:{fleet.address.rpartition(':')[2]}",
            "verificationKey": fleet.credentials.trust.public_key,
            "authority": certificate.authority.decode(),
            "token": fleet.credentials.token,
            "tlsSecret": "edge-tls",
        }
        objects = rendered(tmp_path / "helm", values)
        token = base64.b64decode(one(objects, "Secret", "edge")["data"]["token"]).decode()
        tls = {"tls.crt": Path(certificate.certificate).read_text(), "tls.key": Path(certificate.key).read_text()}
        mounts = {"config": one(objects, "ConfigMap", "edge")["data"], "token": {"token": token}, "tls": tls}
        replaced = {
            ":8181": (edge := free_address()),
            "http://:8383": (diagnostic := f"http://{free_address()}"),
            "/etc/edge": str(tmp_path / "mounted"),
            "/var/lib/opa": str(tmp_path / "kept"),
        }
        for mount, files in mounts.items():
            (tmp_path / "mounted" / mount).mkdir(parents=True)
            for name, text in files.items():
                (tmp_path / "mounted" / mount / name).write_text(_replace(text, replaced))
        arguments = [_replace(argument, replaced) for argument in pod_of(objects)["containers"][0]["args"]]
        process = subprocess.Popen([opa_path, *arguments], env={**os.environ, "HOSTNAME": "edge"})
        stack.enter_context(process)
        stack.callback(process.kill)
        health = f"{diagnostic}/health?bundles"
        eventually_blocking(lambda: _ask(health, certificate.authority)[0], lambda status: status == 200, patience=60)
        url = f"https://localhost:{edge.rpartition(':')[2]}"
        body = b'{"input": {"targets": ["%s"]}}' % STOREFRONT.encode()
        status, answer = _ask(f"{url}/v1/data/bridge/v1/effective", certificate.authority, body)
        wanted = query(fleet.opa_url, "effective", {"targets": [STOREFRONT]})
        assert (status, yaml.safe_load(answer)["result"]) == (200, wanted)
        assert wanted
        assert _ask(f"{url}/v1/query", certificate.authority, b'{"query": "x = opa.runtime()"}')[0] == 401
        assert _ask(f"{url}/v1/config", certificate.authority)[0] == 401


def _replace(text: str, replaced: dict[str, str]) -> str:
    for old, new in replaced.items():
        text = text.replace(old, new)
    return text


def _ask(url: str, authority: bytes, body: bytes | None = None) -> tuple[int, bytes]:
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    trust = ssl.create_default_context(cadata=authority.decode())
    connection = (
        http.client.HTTPSConnection(host, timeout=60, context=trust)
        if scheme == "https"
        else http.client.HTTPConnection(host, timeout=60)
    )
    try:
        connection.request("POST" if body else "GET", f"/{path}", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
