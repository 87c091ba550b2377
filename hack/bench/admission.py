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
from hack.processes import BridgeProcess, Program, opa_below, processor_time
from hack.tools import ensure
from tests.controlplane.process import ServerProcess

CLIENTS = 16
REQUESTS = 1_600  # of each round
ROUNDS = 3  # both sides in turn, because the machine may be busier now and then
PATIENCE = 120.0
_JSON = {"Content-Type": "application/json"}
DECISION = "io/k8s/federation/admission"
FILES = Path(__file__).parent / "webhook"  # the decision, OPA's main rule that makes it a webhook, and a review
REVIEW = (FILES / "review.json").read_bytes()


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the ratio of the p50 of both, for a type without shipped rules; the number of routes does not matter."""
    context = write_certificate(folder)
    (folder / "objects").mkdir()
    labels = {"openpolicyagent.org/policy": "rego"}
    policy = (FILES / "policy.rego").read_text()
    metadata = {"name": "placement", "namespace": "opa-policies", "labels": labels}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"placement.rego": policy}}
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
        async with _opa_webhook(folder, context) as (alone, pid), aiohttp.ClientSession(connector=connector) as session:
            url = f"{started['at']}/admission?timeout=10s"
            await _until_decided(session, url)
            took: dict[str, list[float]] = {url: [], alone: []}
            before = sum(bridge.processor_times().values()), processor_time(pid)
            for _ in range(ROUNDS):
                for side in took:
                    took[side] += await _ask(session, side)
            used = sum(bridge.processor_times().values()) - before[0], processor_time(pid) - before[1]
            return {
                "webhook": percentile(took[url], 0.5) / percentile(took[alone], 0.5),
                "webhook_cpu": used[0] / used[1],
            }
    finally:
        await asyncio.to_thread(bridge.kill)


async def _until_decided(session: aiohttp.ClientSession, url: str) -> None:
    """Wait until the policy decides."""
    async with asyncio.timeout(PATIENCE):
        while True:
            async with session.post(url, data=REVIEW, headers=_JSON) as answer:
                if b'"patch"' in await answer.read():
                    return
            await asyncio.sleep(0.1)


async def _ask(session: aiohttp.ClientSession, url: str) -> list[float]:
    """Return the milliseconds of each request, with CLIENTS sequential clients."""
    took: list[float] = []

    async def client() -> None:
        for _ in range(REQUESTS // CLIENTS):
            began = time.perf_counter()
            async with session.post(url, data=REVIEW, headers=_JSON) as answer:
                body = await answer.read()
            took.append((time.perf_counter() - began) * 1e3)
            if answer.status != 200 or b'"patch"' not in body:
                raise RuntimeError(body.decode()[:500])

    async with asyncio.TaskGroup() as tasks:
        for _ in range(CLIENTS):
            tasks.create_task(client())
    return took


@asynccontextmanager
async def _opa_webhook(folder: Path, context: ssl.SSLContext) -> AsyncIterator[tuple[str, int | None]]:
    """Start an OPA that answers AdmissionReviews by the policy, with the folder's certificate; yield its URL and id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"https://127.0.0.1:{port}"
    certificate = ["--tls-cert-file", str(folder / "tls.crt"), "--tls-private-key-file", str(folder / "tls.key")]
    command = [str(ensure("opa").path), "run", "--server", "--addr", url, "--log-level=error", "--skip-version-check"]
    process = ServerProcess([*command, *certificate, *map(str, FILES.glob("*.rego"))], folder / "opa-webhook.log")
    try:
        connector = aiohttp.TCPConnector(ssl=context)
        async with asyncio.timeout(PATIENCE), aiohttp.ClientSession(connector=connector) as session:
            while True:
                with contextlib.suppress(aiohttp.ClientError):
                    async with session.get(f"{url}/health") as answer:
                        if answer.status == 200:
                            break
                await asyncio.sleep(0.05)
        yield f"{url}/", opa_below(process.pid)
    finally:
        await asyncio.to_thread(process.kill)
