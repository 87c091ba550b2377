"""A bridge that gets requests as bytes, and a check of its answers."""

import asyncio
import base64
import contextlib
import json
import re
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hack.certificates import write_certificate
from tests.cluster import rego_config_map
from tests.fuzz.raw_requests import DENIED, POLICY, Listener, Sent, well_formed
from tests.processes import ROOT, BridgeProcess

# Of the 5xx in docs/reference/http.md, 503 (OPA is briefly unavailable) is allowed; 502 would be an error in our Rego.
DOCUMENTED = {"page": {503}, "webhook": set[int](), "probes": {503}}
LONGEST = 60.0  # seconds for one answer; the longest that is documented is a bundle's long poll
_REST = 0.3  # seconds that a client waits for an answer to a request that may be incomplete
_LARGEST = 16 << 20  # bytes of an answer that are read


@dataclass(frozen=True)
class Answer:
    """A response: the status (0 if the connection ended without one), and the received part of the body."""

    status: int
    body: bytes


@dataclass
class FuzzedBridge:
    """The bridge and its ports; `answers` has the number of each answer."""

    process: BridgeProcess
    ports: dict[Listener, int]
    context: ssl.SSLContext
    answers: Counter[str] = field(default_factory=Counter)

    async def send(self, sent: Sent) -> Answer:
        """Send a request, and read the whole response. Raises TimeoutError and OSError without one."""
        secure = self.context if sent.listener == "webhook" else None
        async with asyncio.timeout(LONGEST):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.ports[sent.listener], ssl=secure)
            try:
                data = await _exchange(reader, writer, sent)
            finally:
                writer.transport.abort()
        found = re.match(rb"HTTP/1\.[01] (\d{3})[^\r\n]*\r\n", data)
        status = int(found[1]) if found else 0
        self.answers[f"{sent.listener} {status or 'none'}"] += 1
        return Answer(status, data.partition(b"\r\n\r\n")[2])

    async def check(self, group: list[Sent]) -> None:
        """Send requests at once. Raises AssertionError for a wrong answer."""
        for sent, answer in zip(group, await asyncio.gather(*map(self.send, group)), strict=True):
            wrong = wrong_answer(sent, answer)
            assert not wrong, f"{sent.what} to the {sent.listener}: {wrong}; sent {sent.data[:2000]!r}"

    async def check_that_it_works(self) -> None:
        """Send requests whose answers are known. Raises AssertionError."""
        for path in ("/livez", "/readyz"):
            answer = await self.send(Sent("probes", path, well_formed(path, b"", "GET")))
            assert answer.status == 200, f"{path} answers {answer.status}: {answer.body[:300]!r}"
        body = json.dumps({"input": {"targets": ["gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout"]}}).encode()
        answer = await self.send(Sent("page", "effective", well_formed("/api/query/effective", body)))
        assert b'"theme":"light"' in answer.body, f"effective answers {answer.status}: {answer.body[:300]!r}"


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: Sent) -> bytes:
    data = b""
    with contextlib.suppress(OSError, TimeoutError):  # it may respond and close before the whole request has arrived
        writer.write(sent.data)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(writer.drain(), 5)
        while len(data) < _LARGEST and b"text/event-stream" not in data[:2000]:  # a stream does not end
            chunk = await asyncio.wait_for(reader.read(1 << 16), _REST if sent.is_broken else LONGEST)
            if not chunk:
                break
            data += chunk
    return data


def wrong_answer(sent: Sent, answer: Answer) -> str:
    """Return what is wrong with an answer; empty if nothing is."""
    response = _response(answer)
    if answer.status >= 500 and answer.status not in DOCUMENTED[sent.listener]:
        return f"status {answer.status}: {answer.body[:300]!r}"
    if not answer.status and not sent.is_broken:
        return "no answer"
    if sent.never_allowed and response.get("allowed") is True:
        return "admitted what the policy denies"
    if sent.verdict is None:
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


@contextlib.asynccontextmanager
async def running_bridge(folder: Path) -> AsyncIterator[FuzzedBridge]:
    """Start a bridge with the example and a policy that denies by a label. `folder` is for its files."""
    context = write_certificate(folder)
    (folder / "policy.json").write_text(json.dumps(rego_config_map("fuzz", POLICY)))
    settings = {"BRIDGE_WEBHOOK_CERT_FILE": str(folder / "tls.crt"), "BRIDGE_WEBHOOK_KEY_FILE": str(folder / "tls.key")}
    manifests = [f"--manifests={ROOT / 'examples' / 'shop'}", f"--manifests={folder / 'policy.json'}"]
    listeners = [f"--{name}=127.0.0.1:0" for name in ("listen", "webhook-listen", "probe-listen")]
    async with BridgeProcess(folder, [*manifests, *listeners], settings) as process:
        for event in ("OPA synced", "modules activated"):
            await process.logged(event)
        webhook = await process.logged("admission webhook started")
        probes = await process.logged("probe and metrics server started")
        urls: dict[Listener, str] = {"page": process.url, "webhook": webhook["at"], "probes": probes["at"]}
        ports = {name: int(url.rpartition(":")[2]) for name, url in urls.items()}
        yield FuzzedBridge(process, ports, context)
