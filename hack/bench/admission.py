"""Measure the webhook's responses over TLS, compared with an OPA that is the webhook itself."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from hack.bench.table import Figures
from hack.certificates import write_certificate
from hack.figures import percentile
from hack.processes import BridgeProcess, Program
from hack.tools import ensure
from tests.controlplane.process import ServerProcess

CLIENTS = 16
REQUESTS = 1_600  # of each round
ROUNDS = 3  # both sides in turn, because the machine may be busier now and then
PATIENCE = 120.0
DECISION = "io/k8s/federation/admission"
POLICY = """package io.k8s.federation.admission

annotations["example.com/clusters"] := clusters if input.metadata.annotations["example.com/eu"] == "true"

clusters := {name: {"weight": 1} | some name in ["gce-europe-west1", "gce-europe-west2"]}

errors contains "no image is named" if {
	some container in input.spec.template.spec.containers
	not container.image
}
"""
# OPA evaluates `data.system.main` for a POST to its root, with the body as input.
MAIN = """package system

main := {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}

response := {"uid": input.request.uid, "allowed": count(_errors) == 0, "patchType": "JSONPatch", "patch": _patch}

_errors := errors if errors := data.io.k8s.federation.admission.errors with input as input.request.object

_annotations := found if found := data.io.k8s.federation.admission.annotations with input as input.request.object

_patch := base64.encode(json.marshal([{"op": "add", "path": "/metadata/annotations", "value": _texts}]))

_texts := object.union(
	input.request.object.metadata.annotations,
	{name: json.marshal(value) | some name, value in _annotations},
)
"""
_ENVIRONMENT = [{"name": f"VARIABLE_{place}", "value": "x" * 40} for place in range(10)]
_CONTAINERS = [
    {"name": f"container-{number}", "image": "registry.example.com/nginx:1", "env": _ENVIRONMENT} for number in range(2)
]
REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
        "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
        "operation": "CREATE",
        "name": "nginx",
        "namespace": "shop",
        "userInfo": {"username": "admin", "groups": ["system:authenticated"]},
        "object": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "nginx", "namespace": "shop", "annotations": {"example.com/eu": "true"}},
            "spec": {
                "replicas": 4,
                "selector": {"matchLabels": {"app": "nginx"}},
                "template": {"metadata": {"labels": {"app": "nginx"}}, "spec": {"containers": _CONTAINERS}},
            },
        },
        "oldObject": None,
        "dryRun": False,
    },
}


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the ratio of the p50 of both, for a type without shipped rules; the number of routes does not matter."""
    context = write_certificate(folder)
    (folder / "objects").mkdir()
    labels = {"openpolicyagent.org/policy": "rego"}
    metadata = {"name": "placement", "namespace": "opa-policies", "labels": labels}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"placement.rego": POLICY}}
    (folder / "objects" / "policy.json").write_text(json.dumps(config_map))
    settings = {
        "BRIDGE_WEBHOOK_LISTEN": "127.0.0.1:0",
        "BRIDGE_WEBHOOK_CERT_FILE": str(folder / "tls.crt"),
        "BRIDGE_WEBHOOK_KEY_FILE": str(folder / "tls.key"),
        "BRIDGE_WEBHOOK_DECISION": DECISION,
    }
    options = ["--manifests", str(folder / "objects"), "--listen", "127.0.0.1:0"]
    bridge = BridgeProcess("admission", folder, options, settings, program)
    try:
        await bridge.start()
        started = await bridge.logged("admission webhook started")
        connector = aiohttp.TCPConnector(ssl=context, limit=0)
        async with _opa_webhook(folder, context) as alone, aiohttp.ClientSession(connector=connector) as session:
            url = f"{started['at']}/admission?timeout=10s"
            await _until_decided(session, url)
            took: dict[str, list[float]] = {url: [], f"{alone}/": []}
            for _ in range(ROUNDS):
                for side in took:
                    took[side] += await _ask(session, side)
            return {"webhook": percentile(took[url], 0.5) / percentile(took[f"{alone}/"], 0.5)}
    finally:
        await asyncio.to_thread(bridge.kill)


async def _until_decided(session: aiohttp.ClientSession, url: str) -> None:
    """Wait until the policy decides."""
    async with asyncio.timeout(PATIENCE):
        while True:
            async with session.post(url, json=REVIEW) as answer:
                if b'"patch"' in await answer.read():
                    return
            await asyncio.sleep(0.1)


async def _ask(session: aiohttp.ClientSession, url: str) -> list[float]:
    """Return the milliseconds of each request, with CLIENTS sequential clients."""
    data = json.dumps(REVIEW).encode()
    took: list[float] = []

    async def client() -> None:
        for _ in range(REQUESTS // CLIENTS):
            began = time.perf_counter()
            async with session.post(url, data=data, headers={"Content-Type": "application/json"}) as answer:
                body = await answer.read()
            took.append((time.perf_counter() - began) * 1e3)
            if answer.status != 200 or b'"patch"' not in body:
                raise RuntimeError(body.decode()[:500])

    async with asyncio.TaskGroup() as tasks:
        for _ in range(CLIENTS):
            tasks.create_task(client())
    return took


@asynccontextmanager
async def _opa_webhook(folder: Path, context: ssl.SSLContext) -> AsyncIterator[str]:
    """Start an OPA that answers AdmissionReviews by POLICY, with the folder's certificate; yield its URL."""
    modules = [folder / "main.rego", folder / "policy.rego"]
    for file, text in zip(modules, (MAIN, POLICY), strict=True):
        file.write_text(text)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"https://127.0.0.1:{port}"
    certificate = ["--tls-cert-file", str(folder / "tls.crt"), "--tls-private-key-file", str(folder / "tls.key")]
    command = [str(ensure("opa").path), "run", "--server", "--addr", url, "--log-level=error", "--skip-version-check"]
    process = ServerProcess([*command, *certificate, *map(str, modules)], folder / "opa-webhook.log")
    try:
        connector = aiohttp.TCPConnector(ssl=context)
        async with asyncio.timeout(PATIENCE), aiohttp.ClientSession(connector=connector) as session:
            while True:
                with contextlib.suppress(aiohttp.ClientError):
                    async with session.get(f"{url}/health") as answer:
                        if answer.status == 200:
                            break
                await asyncio.sleep(0.05)
        yield url
    finally:
        await asyncio.to_thread(process.kill)
