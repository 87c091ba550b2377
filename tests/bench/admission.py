"""Measure the webhook's responses over TLS, compared with an OPA that is the webhook itself."""

import asyncio
import json
import time
from pathlib import Path

import aiohttp

from hack.certificates import write_certificate
from tests.bench.opa import plain_opa
from tests.bench.table import Figures
from tests.cluster import rego_config_map
from tests.eventually import eventually
from tests.figures import percentile
from tests.processes import BridgeProcess, Program, opa_below, processor_time

CLIENTS = 16
REQUESTS = 1_600  # of each round
ROUNDS = 3  # both sides in turn, because the machine may be busier now and then
PATIENCE = 120.0
_JSON = {"Content-Type": "application/json"}
FILES = Path(__file__).parent / "webhook"  # the decision, OPA's main rule that makes it a webhook, and a review
REVIEW = (FILES / "review.json").read_bytes()


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the ratio of the p50 of both, for a type without shipped rules; the number of routes does not matter."""
    context = write_certificate(folder)
    certificate, key = str(folder / "tls.crt"), str(folder / "tls.key")
    config_map = rego_config_map("placement", (FILES / "policy.rego").read_text())
    (folder / "objects").mkdir()
    (folder / "objects" / "policy.json").write_text(json.dumps(config_map))
    settings = {
        "BRIDGE_WEBHOOK_LISTEN": "127.0.0.1:0",
        "BRIDGE_WEBHOOK_CERT_FILE": certificate,
        "BRIDGE_WEBHOOK_KEY_FILE": key,
        "BRIDGE_WEBHOOK_DECISION": "io/k8s/federation/admission",
    }
    options = ["--manifests", str(folder / "objects"), "--listen", "127.0.0.1:0"]
    arguments = ["--tls-cert-file", certificate, "--tls-private-key-file", key, *map(str, FILES.glob("*.rego"))]
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=0)) as session,
        BridgeProcess(folder, options, settings, program) as bridge,
        plain_opa(folder, session, *arguments, scheme="https") as (alone, shell),
    ):
        url = f"{(await bridge.logged('admission webhook started'))['at']}/admission?timeout=10s"

        async def is_decided() -> bool:
            async with session.post(url, data=REVIEW, headers=_JSON) as answer:
                return b'"patch"' in await answer.read()

        await eventually(is_decided, patience=PATIENCE)
        pid = opa_below(shell) or 0
        took: dict[str, list[float]] = {url: [], f"{alone}/": []}
        before = sum(bridge.processor_times().values()), processor_time(pid)
        for _ in range(ROUNDS):
            for side in took:
                took[side] += await _ask(session, side)
        used = sum(bridge.processor_times().values()) - before[0], processor_time(pid) - before[1]
        ours, opas = (percentile(times, 0.5) for times in took.values())
        return {"webhook": ours / opas, "webhook_cpu": used[0] / used[1]}


async def _ask(session: aiohttp.ClientSession, url: str) -> list[float]:
    """Return the seconds of each request, with CLIENTS sequential clients."""
    took: list[float] = []

    async def client() -> None:
        for _ in range(REQUESTS // CLIENTS):
            began = time.perf_counter()
            async with session.post(url, data=REVIEW, headers=_JSON) as answer:
                body = await answer.read()
            took.append(time.perf_counter() - began)
            if answer.status != 200 or b'"patch"' not in body:
                raise RuntimeError(body.decode()[:500])

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return took
