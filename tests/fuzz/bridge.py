"""Send requests to a real bridge, and find wrong responses."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
import ssl
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from hack.certificates import write_certificate
from hack.fuzz.requests import DENIED, POLICY, Listener, Sent, requests, well_formed
from hack.processes import ROOT, BridgeProcess

AT_ONCE = 8
# Of the 5xx in docs/reference/http.md, 503 (OPA is briefly unavailable) is allowed; 502 would be an error in our Rego.
DOCUMENTED = {"page": {503}, "webhook": set[int](), "probes": {503}}
WARM = 200  # requests after which memory is measured for the first time
MOST_GROWTH = {"bridge": 200.0, "opa": 600.0}  # MiB; OPA parses bodies of megabytes, eight at a time
LONGEST = 60.0  # seconds for one answer; the longest that is documented is a bundle's long poll
_LARGEST = 16 << 20  # bytes of an answer that are read


async def fuzz_bridge(count: int, number: int) -> Counter[str]:
    """Send about `count` requests that hypothesis draws by the seed `number`; return the number of each answer.

    Raises AssertionError for a wrong answer, for an error in the log, and for memory that grows.
    """
    with tempfile.TemporaryDirectory(prefix="policy-bridge-fuzz-") as folder:
        async with target(Path(folder)) as bridge:
            await _check_that_it_works(bridge)
            await _send_all(bridge, min(WARM, count), number)
            before = bridge.process.memories()
            await _send_all(bridge, count - WARM, number + 1)
            await _check_that_it_works(bridge)
            for name, size in bridge.process.memories().items():
                grown = f"memory of {name} grew from {before[name]:.0f} to {size:.0f} MiB"
                assert size - before[name] <= MOST_GROWTH[name], grown
            errors = bridge.process.errors()
            assert not errors, "\n".join(["errors in the log:", *errors[:20]])
            return bridge.answers


async def _send_all(bridge: Target, count: int, number: int) -> None:
    if count < AT_ONCE:
        return
    loop = asyncio.get_running_loop()

    @seed(number)
    @settings(
        max_examples=count // AT_ONCE,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # each request is judged by itself, so there is little to shrink
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(requests(), min_size=AT_ONCE, max_size=AT_ONCE))
    def send(group: list[Sent]) -> None:
        asyncio.run_coroutine_threadsafe(_send_at_once(bridge, group), loop).result()

    await asyncio.to_thread(send)


async def _send_at_once(bridge: Target, group: list[Sent]) -> None:
    """Send a group, and check each answer."""
    answers = await asyncio.gather(*(bridge.send(sent) for sent in group))
    for sent, answer in zip(group, answers, strict=True):
        wrong = wrong_answer(sent, answer)
        assert not wrong, f"{sent.what} to the {sent.listener}: {wrong}; sent {str(sent.pieces)[:1000]}"


def wrong_answer(sent: Sent, answer: Answer) -> str:
    """Return what is wrong with an answer; empty if nothing is."""
    response = _response(answer)
    if answer.error:
        return answer.error
    if answer.status >= 500 and answer.status not in DOCUMENTED[sent.listener]:
        return f"status {answer.status}: {answer.body[:300]!r}"
    if sent.never_allowed and response.get("allowed") is True:
        return "admitted what the policy denies"
    if sent.verdict is None or sent.incomplete:
        return ""
    if response.get("allowed") is not sent.verdict or response.get("uid") != sent.uid:
        return f"{answer.status} {answer.body[:300]!r} where allowed must be {sent.verdict}"
    if not sent.verdict and DENIED not in response["status"]["message"]:
        return f"denied for another reason: {response['status']['message']}"
    return ""


def _response(answer: Answer) -> dict[str, Any]:
    """Return the response in an AdmissionReview; empty if there is none, or if its patch is not JSON."""
    try:
        found = json.loads(answer.body)["response"]
        if "patch" in found:
            json.loads(base64.b64decode(found["patch"]))
        return dict(found) if answer.status == 200 else {}
    except (ValueError, KeyError, TypeError):
        return {}


async def _check_that_it_works(bridge: Target) -> None:
    for path in ("/livez", "/readyz"):
        answer = await bridge.send(Sent("probes", path, (well_formed(path, b"", "GET"),)))
        assert answer.status == 200, f"{path} answers {answer.status}: {answer.body[:300]!r}"
    body = json.dumps({"input": {"targets": ["gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout"]}}).encode()
    answer = await bridge.send(Sent("page", "effective", (well_formed("/api/query/effective", body),)))
    assert b'"theme":"light"' in answer.body, f"effective answers {answer.status}: {answer.body[:300]!r}"


@dataclass(frozen=True)
class Answer:
    """A response: the status (0 if the connection ended without one), the received body, and what failed."""

    status: int = 0
    body: bytes = b""
    error: str = ""


@dataclass
class Target:
    """The bridge and its ports; `answers` has the number of each answer."""

    process: BridgeProcess
    ports: dict[Listener, int]
    context: ssl.SSLContext
    answers: Counter[str] = field(default_factory=Counter)

    async def send(self, sent: Sent) -> Answer:
        """Send a request in its pieces, and read the whole response."""
        secure = self.context if sent.listener == "webhook" else None
        try:
            async with asyncio.timeout(LONGEST):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.ports[sent.listener], ssl=secure)
                try:
                    data = await _exchange(reader, writer, sent)
                finally:
                    writer.transport.abort()
        except (TimeoutError, OSError) as error:
            return Answer(error=f"no answer: {error!r}")
        found = re.match(rb"HTTP/1\.[01] (\d{3})[^\r\n]*\r\n", data)
        status = int(found[1]) if found else 0
        self.answers[f"{sent.listener} {status or 'none'}"] += 1
        return Answer(status, data.partition(b"\r\n\r\n")[2])


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: Sent) -> bytes:
    data = b""
    with contextlib.suppress(OSError):  # the bridge may respond and close before the whole request has arrived
        for piece in sent.pieces:
            writer.write(piece)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(writer.drain(), 5)
        if sent.incomplete:
            with contextlib.suppress(TimeoutError):  # half a request gets no response: the client stops waiting
                data = await asyncio.wait_for(reader.read(_LARGEST), 0.3)
            return data
        while len(data) < _LARGEST and (chunk := await reader.read(1 << 16)):
            data += chunk
            if b"text/event-stream" in data[:2000] or (sent.what == "http" and _is_complete(data)):
                break  # a stream and a keep-alive connection do not end
    return data


def _is_complete(data: bytes) -> bool:
    head, end, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return bool(end and length and len(body) >= int(length[1]))


@contextlib.asynccontextmanager
async def target(folder: Path) -> AsyncIterator[Target]:
    """Start a bridge with the example and a policy that denies by a label. `folder` is for its files."""
    context = write_certificate(folder)
    metadata = {"name": "fuzz", "namespace": "opa-policies", "labels": {"openpolicyagent.org/policy": "rego"}}
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"fuzz.rego": POLICY}}
    (folder / "policy.json").write_text(json.dumps(config_map))
    settings = {"BRIDGE_WEBHOOK_CERT_FILE": str(folder / "tls.crt"), "BRIDGE_WEBHOOK_KEY_FILE": str(folder / "tls.key")}
    manifests = [f"--manifests={ROOT / 'examples' / 'shop'}", f"--manifests={folder / 'policy.json'}"]
    listeners = [f"--{name}=127.0.0.1:0" for name in ("listen", "webhook-listen", "probe-listen")]
    async with BridgeProcess(folder, [*manifests, *listeners], settings) as process:
        for event in ("OPA synced", "modules activated"):
            await process.logged(event)
        webhook = await process.logged("admission webhook started")
        probes = await process.logged("probe and metrics server started")
        ports = {"page": _port(process.url), "webhook": _port(webhook["at"]), "probes": _port(probes["at"])}
        yield Target(process, ports, context)  # type: ignore[arg-type]  # a dict of literals


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])
