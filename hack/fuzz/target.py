"""A real bridge with a real OPA, its webhook and its page, as the target of requests."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import json
import os
import re
import ssl
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from bridge.admission.certificates import new_authority, new_server
from hack.fuzz.requests import Listener, Sent
from hack.fuzz.reviews import POLICY

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0  # seconds until the bridge has started
LONGEST = 60.0  # seconds for one answer; the longest that is documented is a bundle's long poll
_LARGEST = 16 << 20  # bytes of an answer that are read

CONFIG_MAP = f"""
apiVersion: v1
kind: ConfigMap
metadata:
  name: fuzz
  namespace: opa-policies
  labels: {{openpolicyagent.org/policy: rego}}
data:
  fuzz.rego: |
{"".join(f"    {line}{chr(10)}" for line in POLICY.strip().splitlines())}"""


@dataclass(frozen=True)
class Answer:
    """A response: the status (0 if the connection ended without one), and the received part of the body."""

    status: int
    body: bytes


@dataclass
class Target:
    """The bridge: its process, its ports, its log."""

    process: asyncio.subprocess.Process
    ports: dict[Listener, int]
    context: ssl.SSLContext
    log: Path

    async def send(self, sent: Sent) -> Answer:
        """Send a request in its pieces, and read the whole response. Raises TimeoutError if it does not end."""
        secure = self.context if sent.listener == "webhook" else None
        async with asyncio.timeout(LONGEST):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.ports[sent.listener], ssl=secure)
            try:
                return await _talk(reader, writer, sent)
            finally:
                writer.transport.abort()

    def memory(self) -> dict[str, int]:
        """Return the resident memory of the bridge and of its OPA in bytes; empty if the system does not report it."""
        found = {}
        for name, pid in (("bridge", self.process.pid), ("opa", _opa_of(self.process.pid))):
            with contextlib.suppress(OSError):
                resident = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
                if resident:
                    found[name] = int(resident[1]) << 10
        return found

    def complaints(self) -> list[str]:
        """Return log lines about unexpected failures."""
        found = []
        for line in self.log.read_text(errors="replace").splitlines():
            try:
                level = json.loads(line).get("level")
            except ValueError:
                level = "no line of the log"  # a traceback, or what a library prints
            if level not in {"info", "warning", "debug"}:
                found.append(line)
        return found


@contextlib.asynccontextmanager
async def target(folder: Path) -> AsyncIterator[Target]:
    """Start a bridge with the example and a policy that denies by a label. `folder` is for its files."""
    authority = new_authority(dt.datetime.now(dt.UTC))
    pair = new_server(authority, ["127.0.0.1"], dt.datetime.now(dt.UTC))
    (folder / "tls.crt").write_bytes(pair.certificate)
    (folder / "tls.key").write_bytes(pair.key)
    (folder / "policy.yaml").write_text(CONFIG_MAP)
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("BRIDGE_OPA", "KUBE"))}
    environment |= {
        "BRIDGE_WEBHOOK_CERT_FILE": str(folder / "tls.crt"),
        "BRIDGE_WEBHOOK_KEY_FILE": str(folder / "tls.key"),
        "BRIDGE_LOG_FORMAT": "json",
    }
    manifests = (f"--manifests={ROOT / 'examples' / 'shop'}", f"--manifests={folder / 'policy.yaml'}")
    log = folder / "log"
    with log.open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bridge.cli.main", "run", *manifests),
            *("--listen=127.0.0.1:0", "--webhook-listen=127.0.0.1:0", "--probe-listen=127.0.0.1:0"),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=said,
            env=environment,
            cwd=ROOT,
        )
    try:
        yield Target(process, await _ports(process, log), context, log)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


_SAID: dict[Listener, str] = {
    "page": r'"bridge": "http://[^"]+:(\d+)"',
    "webhook": r'"at": "https://[^"]+:(\d+)"',
    "probes": r'"at": "http://[^"]+:(\d+)"',
}


async def _ports(process: asyncio.subprocess.Process, log: Path) -> dict[Listener, int]:
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while asyncio.get_running_loop().time() < deadline and process.returncode is None:
        text = log.read_text(errors="replace")
        found = {listener: re.search(said, text) for listener, said in _SAID.items()}
        ports = {listener: int(where[1]) for listener, where in found.items() if where}
        if len(ports) == len(_SAID) and "OPA synced" in text and "modules activated" in text:
            return ports
        await asyncio.sleep(0.1)
    raise RuntimeError(f"the bridge does not start: {log.read_text(errors='replace')}")


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


def _opa_of(pid: int | None) -> int:
    """The OPA that a bridge has started: a shell's child."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            fields = status.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(status.parent.name))
    below = [child for shell in children.get(pid or 0, []) for child in children.get(shell, [])]
    names = {child: _name(child) for child in below}
    return next((child for child, name in names.items() if name.startswith("opa")), 0)


def _name(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""
