"""Send requests to a bridge, and find wrong responses."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import random
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


@dataclass
class Report:
    """The results of a run: `findings`, and `statuses`, the number of each response."""

    seed: int
    findings: list[str] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        """Return a readable form."""
        answered = ", ".join(f"{name}: {count}" for name, count in sorted(self.statuses.items()))
        lines = [f"seed {self.seed}", f"answered: {answered}", *self.findings, f"{len(self.findings)} findings"]
        return "\n".join(lines)


async def fuzz(count: int, number: int) -> Report:
    """Send about `count` requests that hypothesis draws by the seed `number`, until one gets a wrong response."""
    report = Report(number)
    with tempfile.TemporaryDirectory(prefix="policy-bridge-fuzz-") as folder:
        async with target(Path(folder)) as bridge:
            await _still_works(bridge, report, "before")
            await _send_all(bridge, report, min(WARM, count))
            before = bridge.bridge.memories()
            await _send_all(bridge, report, count - WARM)
            await _still_works(bridge, report, "after")
            for name, size in bridge.bridge.memories().items():
                if size - before.get(name, size) > MOST_GROWTH[name]:
                    report.findings.append(f"memory of {name} grew from {before[name]:.0f} to {size:.0f} MiB")
            report.findings += [f"log: {line[:500]}" for line in bridge.complaints()[:20]]
    return report


async def _send_all(bridge: Target, report: Report, count: int) -> None:
    if count < AT_ONCE:
        return
    loop = asyncio.get_running_loop()

    @seed(random.Random(f"{report.seed} {count}").randrange(1 << 32))
    @settings(
        max_examples=count // AT_ONCE,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # each request is judged by itself, so there is little to shrink
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(requests(), min_size=AT_ONCE, max_size=AT_ONCE))
    def send(group: list[Sent]) -> None:
        found = asyncio.run_coroutine_threadsafe(_findings(bridge, report, group), loop).result()
        assert not found, "\n".join(found)

    try:
        await asyncio.to_thread(send)
    except AssertionError as error:
        report.findings.append(str(error))


async def _findings(bridge: Target, report: Report, group: list[Sent]) -> list[str]:
    """Send a group at once, and return a line for each wrong response."""
    judged = await asyncio.gather(*(_judged(bridge, report, sent) for sent in group))
    return [
        f"{sent.what} to the {sent.listener}: {finding}; sent {str(sent.pieces)[:1000]}"
        for sent, findings in zip(group, judged, strict=True)
        for finding in findings
    ]


async def _judged(bridge: Target, report: Report, sent: Sent) -> list[str]:
    try:
        answer = await bridge.send(sent)
    except TimeoutError:
        return ["no answer"]
    except OSError as error:
        return [f"no connection: {error}"]
    report.statuses[f"{sent.listener} {answer.status or 'none'}"] += 1
    findings = []
    if answer.status >= 500 and answer.status not in DOCUMENTED[sent.listener]:
        findings.append(f"status {answer.status}: {answer.body[:300]!r}")
    if sent.listener == "webhook":
        findings += _wrong_admission(sent, answer)
    return findings


def _wrong_admission(sent: Sent, answer: Answer) -> list[str]:
    response = _response(answer)
    allowed = response.get("allowed")
    if sent.never_allowed and allowed is True:
        return [f"admitted what the policy denies: {sent.pieces!r}"[:2000]]
    if sent.verdict is None or sent.incomplete:
        return []
    if answer.status != 200 or allowed is not sent.verdict or response.get("uid") != sent.uid:
        return [f"{answer.status} {answer.body[:300]!r} where allowed must be {sent.verdict}"]
    if not sent.verdict and DENIED not in response["status"]["message"]:
        return [f"denied for another reason: {response['status']['message']}"]
    return []


def _response(answer: Answer) -> dict[str, Any]:
    if answer.status != 200:
        return {}
    try:
        found = json.loads(answer.body)["response"]
        if "patch" in found:
            json.loads(base64.b64decode(found["patch"]))
    except (ValueError, KeyError, TypeError):
        return {}
    return dict(found)


async def _still_works(bridge: Target, report: Report, when: str) -> None:
    for path in ("/livez", "/readyz"):
        await _expect(bridge, report, Sent("probes", path, (well_formed(path, b"", "GET"),)), when)
    body = json.dumps({"input": {"targets": ["gateway.networking.k8s.io/HTTPRoute/shop/cart#checkout"]}}).encode()
    found = await _expect(bridge, report, Sent("page", "effective", (well_formed("/api/query/effective", body),)), when)
    if b'"theme":"light"' not in found:
        report.findings.append(f"{when} all: effective answers {found[:300]!r}")


async def _expect(bridge: Target, report: Report, sent: Sent, when: str) -> bytes:
    try:
        answer = await bridge.send(sent)
    except OSError as error:
        report.findings.append(f"{when} all: {sent.what}: {error!r}")
        return b""
    if answer.status != 200:
        report.findings.append(f"{when} all: {sent.what} answers {answer.status}: {answer.body[:300]!r}")
    return answer.body


LONGEST = 60.0  # seconds for one answer; the longest that is documented is a bundle's long poll
_LARGEST = 16 << 20  # bytes of an answer that are read


@dataclass(frozen=True)
class Answer:
    """A response: the status (0 if the connection ended without one), and the received part of the body."""

    status: int
    body: bytes


@dataclass
class Target:
    """The bridge and its ports."""

    bridge: BridgeProcess
    ports: dict[Listener, int]
    context: ssl.SSLContext

    async def send(self, sent: Sent) -> Answer:
        """Send a request in its pieces, and read the whole response. Raises TimeoutError if it does not end."""
        secure = self.context if sent.listener == "webhook" else None
        async with asyncio.timeout(LONGEST):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.ports[sent.listener], ssl=secure)
            try:
                return await _talk(reader, writer, sent)
            finally:
                writer.transport.abort()

    def complaints(self) -> list[str]:
        """Return log lines about unexpected failures."""
        found = []
        for line in self.bridge.log.read_text(errors="replace").splitlines():
            try:
                level = json.loads(line).get("level")
            except ValueError:
                level = "error" if line.startswith(("Traceback", "Task exception")) else "info"
            if level not in {"info", "warning", "debug"}:
                found.append(line)
        return found


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
    bridge = BridgeProcess("fuzz", folder, [*manifests, *listeners], settings)
    try:
        await bridge.start()
        for event in ("OPA synced", "modules activated"):
            await bridge.logged(event)
        started = ("admission webhook started", "probe and metrics server started")
        webhook, probes = [(await bridge.logged(event))["at"] for event in started]
        ports = {"page": _port(bridge.url), "webhook": _port(webhook), "probes": _port(probes)}
        yield Target(bridge, ports, context)  # type: ignore[arg-type]  # a dict of literals
    finally:
        await asyncio.to_thread(bridge.kill)


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])


async def _talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, sent: Sent) -> Answer:
    data = b""
    try:
        for piece in sent.pieces:
            writer.write(piece)
            # The bridge may respond and close before the whole request has arrived.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(writer.drain(), 5)
            if sent.pause:
                await asyncio.sleep(sent.pause)
        if sent.incomplete:
            with contextlib.suppress(TimeoutError):  # half a request gets no response: the client stops waiting
                data = await asyncio.wait_for(reader.read(_LARGEST), 0.3)
            return _read(data)
        while len(data) < _LARGEST and (chunk := await reader.read(1 << 16)):
            data += chunk
            if b"text/event-stream" in data[:2000] or (sent.what == "http" and _complete(data)):
                break  # a stream and a keep-alive connection do not end
    except (OSError, ssl.SSLError):
        pass
    return _read(data)


def _complete(data: bytes) -> bool:
    head, end, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return bool(end and length and len(body) >= int(length[1]))


def _read(data: bytes) -> Answer:
    found = re.match(rb"HTTP/1\.[01] (\d{3})[^\r\n]*\r\n", data)
    return Answer(int(found[1]) if found else 0, data.partition(b"\r\n\r\n")[2])
