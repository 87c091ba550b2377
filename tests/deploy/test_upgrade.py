"""A rolling update of the chart's Pods, with a stream of requests at the API server: admission has no gap."""

import base64
import json
import ssl
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from hack.manifests.parts import CHART, ROOT, Objects, one, template
from tests.controlplane.api import ApiError
from tests.controlplane.kubectl import Kubectl
from tests.controlplane.plane import ControlPlane
from tests.deploy.pod import Pod, wait_until_ready
from tests.deploy.service import Service
from tests.eventually import eventually_blocking

pytestmark = pytest.mark.long

PATIENCE = 300.0  # seconds
HEARS_LATE = 1.0  # seconds after which an API server knows that a Pod goes
CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/policy-bridge"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/policy-bridge/leases/policy-bridge"
READERS = {"enabled": True, "bridgeTokenSecret": "own", "tokensSecret": "readers", "tlsSecret": "opa-tls"}
AUTHORITY = trustme.CA()
SERVED = AUTHORITY.issue_cert("127.0.0.1")
PEM = {"tls.crt": SERVED.cert_chain_pems[0].bytes().decode(), "tls.key": SERVED.private_key_pem.bytes().decode()}
CERTIFICATE = {
    "source": "Secret",
    "secretName": "served",
    "caBundle": base64.b64encode(AUTHORITY.cert_pem.bytes()).decode(),
}
VALUES = {
    "webhook": {
        "resources": ["configmaps"],
        "decision": "io.k8s.federation.admission",
        "certificate": CERTIFICATE,
    },
    "opa": {"readers": READERS},
    "drainSeconds": 4,
    "terminationSeconds": 20,
}
# The release before: other images and settings, a shorter drain, and readers of OPA without TLS.
VALUES_BEFORE = {
    **VALUES,
    "image": {"tag": "0.0.9"},
    "opa": {"image": {"tag": "1.21.0-static"}, "readers": {**READERS, "tlsSecret": ""}},
    "settings": {"status_writes_per_second": 5},
    "drainSeconds": 3,
}
TOKENS = {"opa-token/token": "token-of-the-bridge-itself", "opa-readers/gateway": "token-of-a-reader-of-opa"}
SECRETS = {**TOKENS, **{f"{place}/{name}": PEM[name] for place in ("opa-tls", "certificate") for name in PEM}}
POLICY = """package io.k8s.federation.admission

annotations["example.com/seen"] := "yes"

errors contains "not here" if startswith(input.metadata.name, "refused")
"""


@pytest.fixture
def installed(plane: ControlPlane, kubectl: Kubectl, gateway_api_crds: Path, tmp_path: Path) -> Objects:
    """The objects of the release before, applied, with a policy, before any Pod runs."""
    plane.api.apply_crds(gateway_api_crds / "standard")
    kubectl("apply", "-f", ROOT / "deploy" / "crds")
    kubectl("create", "namespace", "policy-bridge")
    objects = _release(VALUES_BEFORE, kubectl, tmp_path)
    policy = {"metadata": {"name": "placement", "labels": {"openpolicyagent.org/policy": "rego"}}}
    policy |= {"apiVersion": "v1", "kind": "ConfigMap", "data": {"placement.rego": POLICY}}  # type: ignore[dict-item]
    kubectl("apply", "-n", "opa-policies", "-f", "-", text=json.dumps(policy))
    return objects


def _release(values: dict[str, Any], kubectl: Kubectl, tmp_path: Path) -> Objects:
    """Apply the chart's objects, except those that run Pods or need the address of a Service, and return all."""
    objects = template(CHART, tmp_path / "helm", {**values, "crds": {"install": False}})
    left_out = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "Deployment"}
    applied = [obj for obj in objects if obj["kind"] not in left_out]
    applied.sort(key=lambda obj: obj["kind"] != "Namespace")
    kubectl("apply", "-f", "-", text=json.dumps({"apiVersion": "v1", "kind": "List", "items": applied}))
    return objects


def test_a_rolling_update_leaves_no_request_undecided(
    installed: Objects, plane: ControlPlane, kubectl: Kubectl, tmp_path: Path
) -> None:
    service = Service()
    webhook = one(installed, "MutatingWebhookConfiguration")
    for one_webhook in webhook["webhooks"]:
        one_webhook["clientConfig"] = {**one_webhook["clientConfig"], "url": f"{service.url}/admission"}
        del one_webhook["clientConfig"]["service"]
    plane.api.apply(CONFIGURATION, webhook)
    account = plane.write_kubeconfig(tmp_path / "account", _token(plane))
    with service.serving(), _pod(installed, service, account) as old:
        wait_until_ready(old, PATIENCE)
        service.ends = [old.webhook]
        _until(lambda: plane.api.get(CONFIGURATION)["webhooks"][0].get("failurePolicy") == "Fail", old)
        bundle = plane.api.get(CONFIGURATION)["webhooks"][0]["clientConfig"]["caBundle"]
        assert base64.b64decode(bundle).startswith(b"-----BEGIN CERTIFICATE")
        holder = _holder(plane)
        upgraded = _release(VALUES, kubectl, tmp_path)
        assert _checksum(upgraded) != _checksum(installed)
        with _pod(upgraded, service, account) as new, _stream(plane) as outcomes:
            _flow(outcomes, old)
            wait_until_ready(new, PATIENCE)
            service.ends = [old.webhook, new.webhook]
            _flow(outcomes, new)
            old.stop()
            time.sleep(HEARS_LATE)
            service.ends = [new.webhook]
            assert old.ended(PATIENCE) == {"bridge": 0, "opa": 0}, old.log()
            _until(lambda: _holder(plane) not in {"", holder}, new)
            _flow(outcomes, new)
            after = plane.api.get(CONFIGURATION)["webhooks"][0]
            said = old.log()
            answers = [_query_opa(new, token) for token in ("", *TOKENS.values())]
    assert set(outcomes) == {"seen", "refused"}, outcomes
    assert min(outcomes.values()) > 50
    assert answers == [(401, 401), (200, 200), (200, 401)], "who reads what of OPA: a query, and an object"
    assert "forbidden" not in said
    assert (after["failurePolicy"], after["clientConfig"]["caBundle"]) == ("Fail", bundle)


def _checksum(objects: Objects) -> str:
    """The checksum by which a Pod template changes with the settings."""
    metadata = one(objects, "Deployment")["spec"]["template"]["metadata"]
    return str(metadata["annotations"]["checksum/config"])


def _query_opa(pod: Pod, token: str) -> tuple[int, ...]:
    """OPA's status codes at the readers' port: for a query, and for a read of an object."""
    trusting = ssl.create_default_context(cadata=AUTHORITY.cert_pem.bytes().decode())
    codes = []
    for path in ("bridge/v1/types", "objects/core/Namespace/-/default"):
        request = urllib.request.Request(f"https://127.0.0.1:{pod.opa}/v1/data/{path}")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=30, context=trusting) as answer:  # noqa: S310 (loopback)
                codes.append(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                codes.append(error.code)
    return tuple(codes)


def _flow(outcomes: Counter[str], pod: Pod) -> None:
    """Let forty more requests be answered."""
    wanted = outcomes.total() + 40
    _until(lambda: outcomes.total() >= wanted, pod)


@contextmanager
def _pod(objects: Objects, service: Service, account: Path) -> Iterator[Pod]:
    with tempfile.TemporaryDirectory(prefix="pod-") as folder:
        pod = Pod(objects, Path(folder), service.url, account, SECRETS)
        pod.start()
        try:
            yield pod
        finally:
            pod.kill()


@contextmanager
def _stream(plane: ControlPlane) -> Iterator[Counter[str]]:
    """Make ConfigMaps one after the other, every other one of which must be refused, and count the outcomes."""
    outcomes: Counter[str] = Counter()
    stopping = threading.Event()

    def send() -> None:
        number = 0
        while not stopping.is_set():
            number += 1
            outcomes[_outcome(plane, "allowed" if number % 2 else "refused", number)] += 1

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield outcomes
    finally:
        stopping.set()
        thread.join()


def _outcome(plane: ControlPlane, name: str, number: int) -> str:
    path = "/api/v1/namespaces/default/configmaps?dryRun=All"
    try:
        made = plane.api.request("POST", path, {"metadata": {"name": f"{name}-{number}"}})
    except ApiError as error:
        denied = error.status == 403 and "not here" in str(error) and name == "refused"
        return "refused" if denied else f"{name}: {error}"
    seen = made["metadata"].get("annotations") == {"example.com/seen": "yes"} and name == "allowed"
    return "seen" if seen else f"{name}: admitted without a decision"


def _token(plane: ControlPlane) -> str:
    path = "/api/v1/namespaces/policy-bridge/serviceaccounts/policy-bridge/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(plane.api.request("POST", path, body)["status"]["token"])


def _holder(plane: ControlPlane) -> str:
    return str(plane.api.get(LEASE)["spec"].get("holderIdentity") or "")


def _until(holds: Any, pod: Pod) -> None:
    eventually_blocking(holds, patience=PATIENCE, about=pod.log)
