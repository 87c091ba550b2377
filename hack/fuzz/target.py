"""A real bridge with a real OPA, its webhook and its page, as the target of requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from hack.certificates import write_certificate
from hack.fuzz.requests import POLICY, Listener, Sent
from hack.processes import ROOT, BridgeProcess

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
