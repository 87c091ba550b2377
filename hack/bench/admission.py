"""Measure the webhook: its responses over TLS, compared with OPA as a webhook and with OPA's data API."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import os
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from bridge.admission.certificates import new_authority, new_server
from bridge.admission.endpoint import MUTATING_PATH
from hack.bench.figures import figure, percentile, processor_time, progress, spread_of
from hack.bench.opa_webhook import opa_webhook

BRIDGE = Path(sys.executable).parent / "bridge"
CLIENTS = (1, 16, 64)
REQUESTS = 1_600  # of each measurement
ROUNDS = 3  # both sides in turn, because the machine may be busier now and then
DECISION = "io/k8s/federation/admission"
POLICY = """package io.k8s.federation.admission

annotations["example.com/clusters"] := clusters if input.metadata.annotations["example.com/eu"] == "true"

clusters := {name: {"weight": 1} | some name in ["gce-europe-west1", "gce-europe-west2"]}

errors contains "no image is named" if {
	some container in input.spec.template.spec.containers
	not container.image
}
"""
OBJECT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "nginx", "namespace": "shop", "annotations": {"example.com/eu": "true"}},
    "spec": {
        "replicas": 4,
        "selector": {"matchLabels": {"app": "nginx"}},
        "template": {
            "metadata": {"labels": {"app": "nginx"}},
            "spec": {
                "containers": [
                    {
                        "name": f"container-{number}",
                        "image": "registry.example.com/nginx:1",
                        "env": [{"name": f"VARIABLE_{place}", "value": "x" * 40} for place in range(10)],
                    }
                    for number in range(2)
                ]
            },
        },
    },
}
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
        "object": OBJECT,
        "oldObject": None,
        "dryRun": False,
    },
}


# A Constraint on a type that nothing here has, without which the shipped rules are not queried for a Deployment.
EVERY_TYPE = {
    "apiVersion": "policybridge.io/v1alpha1",
    "kind": "Constraint",
    "metadata": {"name": "every-type"},
    "spec": {"policy": "bench.nothing", "match": {}},
}
NOTHING = 'package bench.nothing\n\nviolation contains {"msg": "no name"} if not input.review.name\n'


@dataclass(frozen=True, slots=True)
class Served:
    """A bridge with a webhook: its process, its address, its OPA, and a folder with the certificate."""

    pid: int
    url: str
    opa_url: str
    folder: Path
    context: ssl.SSLContext

    def connector(self) -> aiohttp.TCPConnector:
        """Return a connector for a client of the webhook, without a limit of connections."""
        return aiohttp.TCPConnector(ssl=self.context, limit=0)


async def measure(_: int) -> None:
    """Measure latencies with 1, 16 and 64 clients, and the requests per second of one processor.

    Once of a type that no shipped rule is about, and once of one that a Constraint matches.
    """
    for judged in (False, True):
        async with (
            webhook(judged=judged) as served,
            opa_webhook(served.folder, POLICY, served.context) as alone,
            aiohttp.ClientSession(connector=served.connector()) as session,
        ):
            await _compare(session, served, alone, judged=judged)


@asynccontextmanager
async def webhook(*, judged: bool = False) -> AsyncIterator[Served]:
    """Start a bridge whose webhook evaluates POLICY, and with `judged` also a Constraint."""
    now = dt.datetime.now(dt.UTC)
    authority = new_authority(now)
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    with tempfile.TemporaryDirectory() as folder:
        pair = new_server(authority, ["127.0.0.1"], now)
        Path(folder, "tls.crt").write_bytes(pair.certificate)
        Path(folder, "tls.key").write_bytes(pair.key)
        Path(folder, "objects").mkdir()
        Path(folder, "objects", "policy.json").write_text(json.dumps(_config_map()))
        if judged:
            Path(folder, "objects", "constraint.json").write_text(json.dumps(EVERY_TYPE))
        async with _serving(Path(folder), context) as served:
            async with aiohttp.ClientSession(connector=served.connector()) as session:
                await _active(session, served)
            yield served


def _config_map() -> dict[str, Any]:
    """Return the ConfigMap with the policy."""
    labels = {"openpolicyagent.org/policy": "rego"}
    metadata = {"name": "placement", "namespace": "opa-policies", "labels": labels}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"placement.rego": POLICY, "nothing.rego": NOTHING},
    }


async def _active(session: aiohttp.ClientSession, served: Served) -> None:
    """Wait until the policy decides."""
    async with asyncio.timeout(60):
        while True:
            async with session.post(f"{served.url}{MUTATING_PATH}", json=REVIEW) as answer:
                if b'"patch"' in await answer.read():
                    return
            await asyncio.sleep(0.1)


async def _compare(session: aiohttp.ClientSession, served: Served, alone: str, *, judged: bool) -> None:
    sides: dict[str, Callable[[int], Any]] = {
        "opa": lambda clients: _ask(session, f"{served.opa_url}/v1/data/{DECISION}", {"input": OBJECT}, clients),
        "opa_webhook": lambda clients: _ask(session, f"{alone}/", REVIEW, clients),
        "webhook": lambda clients: _ask(session, f"{served.url}{MUTATING_PATH}?timeout=10s", REVIEW, clients),
    }
    for clients in CLIENTS:
        progress(f"webhook and OPA, {clients} clients")
        found: dict[str, list[float]] = {name: [] for name in sides}
        used = 0.0
        for _ in range(ROUNDS):
            for name, side in sides.items():
                before = processor_time(served.pid)
                found[name] += await side(clients)
                after = processor_time(served.pid)
                used += (after or 0) - (before or 0) if name == "webhook" else 0
        for name, took in found.items():
            figure(f"admission_{name}", percentile(took, 0.5), "ms", clients=clients, judged=judged, **spread_of(took))
        for share, named in ((0.5, "p50"), (0.99, "p99")):
            for other, figure_name in (("opa", "admission_ratio"), ("opa_webhook", "admission_to_opa_webhook")):
                ratio = percentile(found["webhook"], share) / percentile(found[other], share)
                figure(f"{figure_name}_{named}", ratio, "ratio", clients=clients, judged=judged)
        if used:
            figure(
                "admission_requests_a_second_of_processor",
                len(found["webhook"]) / used,
                "requests/s",
                clients=clients,
                judged=judged,
            )


async def _ask(session: aiohttp.ClientSession, url: str, body: Any, clients: int) -> list[float]:
    """Return the milliseconds of each request, with this number of sequential clients."""
    data = json.dumps(body).encode()
    took: list[float] = []

    async def client() -> None:
        for _ in range(REQUESTS // clients):
            began = time.perf_counter()
            async with session.post(url, data=data, headers={"Content-Type": "application/json"}) as answer:
                said = await answer.read()
            took.append((time.perf_counter() - began) * 1e3)
            if answer.status != 200 or b"failed" in said:
                raise RuntimeError(said.decode()[:500])

    async with asyncio.TaskGroup() as tasks:
        for _ in range(clients):
            tasks.create_task(client())
    return took


@asynccontextmanager
async def _serving(folder: Path, context: ssl.SSLContext) -> AsyncIterator[Served]:
    settings = {
        "BRIDGE_WEBHOOK_LISTEN": "127.0.0.1:0",
        "BRIDGE_WEBHOOK_CERT_FILE": str(folder / "tls.crt"),
        "BRIDGE_WEBHOOK_KEY_FILE": str(folder / "tls.key"),
        "BRIDGE_WEBHOOK_DECISION": DECISION,
        "BRIDGE_LOG_FORMAT": "json",
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("BRIDGE_")}
    process = await asyncio.create_subprocess_exec(
        *(str(BRIDGE), "run", "--manifests", str(folder / "objects"), "--listen", "127.0.0.1:0"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=inherited | settings,
    )
    drained: asyncio.Task[None] | None = None
    try:
        async with asyncio.timeout(120):
            served = await _address(process, folder, context)
        drained = asyncio.create_task(_drain(process))
        yield served
    finally:
        process.terminate()
        await process.wait()
        if drained is not None:
            await asyncio.gather(drained, return_exceptions=True)


async def _address(process: asyncio.subprocess.Process, folder: Path, context: ssl.SSLContext) -> Served:
    events: dict[str, dict[str, Any]] = {}
    if process.stderr is None:
        raise RuntimeError("the bridge's log cannot be read")
    async for line in process.stderr:
        event = json.loads(line)
        events[event["event"]] = event
        if events.keys() >= {"running", "OPA synced", "admission webhook started"}:
            return Served(
                process.pid, events["admission webhook started"]["at"], events["running"]["opa"], folder, context
            )
    raise RuntimeError(f"the bridge ended: {events}")


async def _drain(process: asyncio.subprocess.Process) -> None:
    """Read its log on, which has a line for each request."""
    if process.stderr is not None:
        async for _ in process.stderr:
            pass
