"""A hostile tenant in its own process: its objects, statuses and connections, and slow writes in its namespace.

Each kind of its floods of connections uses its own loopback address, so that a server can distinguish the attackers
from the API server.

.venv/bin/python -m hack.soak.hostile KUBECONFIG SEED WEBHOOK_PORT PAGE_PORT ACTS
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import random
import ssl
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from hack.certificates import write_certificate
from hack.cluster import collection
from hack.soak.hostile_objects import ATTACKS, GROUP, HOSTILE, Object, odd_statuses
from tests.controlplane.api import ApiError, ApiServer

_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_NAME = "slow.example.com"


class SlowWrites:
    """Allow every status write in a namespace after some seconds. `delayed` counts them."""

    def __init__(self, api: ApiServer, namespace: str, groups: list[str], seconds: float, folder: Path) -> None:
        self.delayed = 0
        self._api = api
        self._namespace = namespace
        self._groups = groups
        self._seconds = seconds
        self._folder = folder
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        write_certificate(self._folder)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._folder / "tls.crt", self._folder / "tls.key")
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/", self._allow)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = self._runner.addresses[0][1]
        body = self._configuration(f"https://127.0.0.1:{port}/", (self._folder / "ca.crt").read_bytes())
        await asyncio.to_thread(self._api.apply, f"{_CONFIGURATIONS}/{_NAME}", body)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner:
            await self._runner.cleanup()

    async def _allow(self, request: web.Request) -> web.Response:
        review = json.loads(await request.read())
        self.delayed += 1
        await asyncio.sleep(self._seconds)
        answer = {"uid": review["request"]["uid"], "allowed": True}
        return web.json_response({**review, "request": None, "response": answer})

    def _configuration(self, url: str, authority: bytes) -> dict[str, Any]:
        resources = [
            {"apiGroups": [group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["*/status"]}
            for group in self._groups
        ]
        webhook = {
            "name": _NAME,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": url, "caBundle": base64.b64encode(authority).decode()},
            "failurePolicy": "Ignore",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self._namespace}},
            "rules": resources,
            "sideEffects": "None",
            "timeoutSeconds": 30,
        }
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": _NAME},
            "webhooks": [webhook],
        }


_AGAIN = 2.0  # seconds until a connection that the server closed, or refused, is opened again
_PIECE = 1 << 18
_BETWEEN = 0.05  # seconds between two pieces: many such requests together must not be a test of bandwidth
_NEVER = 3600.0


def _request(body: bytes, path: str = "/admission?timeout=1ns") -> bytes:
    head = (f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json")
    return "\r\n".join((*head, f"Content-Length: {len(body)}", "", "")).encode() + body


_CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "invented", "namespace": "quiet"}}
_REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "u",
        "operation": "CREATE",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "invented",
        "namespace": "quiet",
        "object": _CONFIG_MAP,
    },
}


@dataclass(frozen=True, slots=True)
class Flood:
    """Connections of one kind: what each sends, and how many are open at a time to a port.

    `tls`: it uses TLS, if the port does. `stays`: seconds until the client leaves, if the server does not answer.
    """

    name: str
    data: bytes
    tls: bool = True
    stays: float = _NEVER


SILENT = Flood("silent", b"", tls=False)
IDLE = Flood("idle", b"POST /admis")
SLOW = Flood("slow", _request(b" " * (8 << 20))[:-1])  # the last byte is missing
PASTE = Flood("paste", _request(b"- []\n" * 800_000, "/api/changes"), stays=_AGAIN / 2)  # takes long to read
REVIEW = Flood("review", _request(json.dumps(_REVIEW).encode()))  # by a client that is not the API server


@dataclass
class Floods:
    """Keep floods running to ports; `counts` has the number of opened, and of closed or refused connections."""

    counts: Counter[str] = field(default_factory=Counter)

    async def run(self, port: int, floods: dict[Flood, int], network: int, *, tls: bool) -> None:
        """Keep these numbers of connections open until cancelled, from addresses in 127.0.`network`."""
        context = _any_certificate() if tls else None
        async with asyncio.TaskGroup() as tasks:
            for place, (flood, count) in enumerate(floods.items()):
                source = f"127.0.{network}.{place + 2}"
                for _ in range(count):
                    tasks.create_task(self._again(flood, port, source, context if flood.tls else None))
                await asyncio.sleep(1)

    async def _again(self, flood: Flood, port: int, source: str, context: ssl.SSLContext | None) -> None:
        while True:
            self.counts[f"{flood.name}_opened"] += 1
            try:
                await _connect(flood, port, source, context)
            except OSError:
                self.counts[f"{flood.name}_cut"] += 1
            await asyncio.sleep(_AGAIN)


async def _connect(flood: Flood, port: int, source: str, context: ssl.SSLContext | None) -> None:
    """Send the data, in pieces if it is long, and wait for an answer or the end of the connection."""
    handshake = _NEVER if context else None
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, local_addr=(source, 0), ssl_handshake_timeout=handshake
    )
    try:
        for start in range(0, len(flood.data), _PIECE):
            writer.write(flood.data[start : start + _PIECE])
            await writer.drain()
            await asyncio.sleep(_BETWEEN)
        async with asyncio.timeout(flood.stays):
            await reader.read(1 << 16)
    finally:
        writer.transport.abort()


def _any_certificate() -> ssl.SSLContext:
    """Return a client's context that does not verify the server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


ACTS = ("statuses", "floods", "slow", *ATTACKS)
WEBHOOK = {SILENT: 1_500, IDLE: 300, SLOW: 16, REVIEW: 4}  # connections to the ports
PAGE = {SILENT: 500, IDLE: 300, SLOW: 16, REVIEW: 4, PASTE: 7}
NUMBERS = 6  # of each attack, so many at once
_PAUSE = 0.6  # seconds between two attacks, on average
_STATUS_PAUSE = 0.2  # seconds between two statuses that are overwritten
_SLOW = 7.0  # seconds that a status write takes: longer than a Lease's renewal
_REPORT = 20.0
_NICE = 10  # what an attacker computes, he computes elsewhere


class Hostile:
    """Create objects of ATTACKS and overwrite statuses. `counts` has the API server's responses."""

    def __init__(self, api: ApiServer, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._api = api
        self._chance = random.Random(seed)

    async def make_objects(self, attacks: list[str]) -> None:
        """Create objects of each of these attacks in turn, until cancelled."""
        while True:
            name = self._chance.choice(attacks)
            for obj in ATTACKS[name](self._chance.randrange(NUMBERS)):
                await asyncio.to_thread(self._replace, name, obj)
            await asyncio.sleep(self._chance.uniform(0, 2 * _PAUSE))

    async def overwrite_statuses(self) -> None:
        """Overwrite the statuses of the tenant's policies, until cancelled."""
        while True:
            for obj in odd_statuses(self._chance.randrange(NUMBERS)):
                await asyncio.to_thread(self._overwrite, obj)
                await asyncio.sleep(_STATUS_PAUSE)

    def _replace(self, attack: str, obj: Object) -> None:
        path = collection(obj)
        try:
            with contextlib.suppress(ApiError):
                self._api.request("DELETE", f"{path}/{obj['metadata']['name']}")
            self._api.request("POST", path, {name: value for name, value in obj.items() if name != "status"})
        except ApiError as error:
            self.counts[f"{attack}_refused_{error.status}"] += 1
        except (OSError, ValueError):  # it took longer than 30 s, or is more than json can write
            self.counts[f"{attack}_failed"] += 1
        else:
            self.counts[attack] += 1

    def _overwrite(self, obj: Object) -> None:
        path = f"{collection(obj)}/{obj['metadata']['name']}/status"
        try:
            self._api.request("PATCH", path, {"status": obj.get("status")}, "application/merge-patch+json")
        except ApiError as error:
            self.counts[f"status_refused_{error.status}"] += 1
            if error.status == HTTPStatus.NOT_FOUND:
                self._replace("odd_statuses", obj)
        except OSError:
            self.counts["status_failed"] += 1
        else:
            self.counts["status"] += 1


def api_of(kubeconfig: Path) -> ApiServer:
    """Return a client of the API server in a kubeconfig of the tests."""
    config: dict[str, Any] = json.loads(kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    return ApiServer(cluster["server"], config["users"][0]["user"]["token"], context)


async def attack(kubeconfig: Path, seed: int, webhook_port: int, page_port: int, acts: set[str]) -> None:
    """Run these ACTS until cancelled, and print a line of JSON with the counts every few seconds."""
    api = api_of(kubeconfig)
    hostile = Hostile(api, seed)
    floods = Floods()
    with tempfile.TemporaryDirectory(prefix="policy-bridge-slow-") as folder:
        slow = SlowWrites(api, HOSTILE, [GROUP], _SLOW, Path(folder))
        async with slow if "slow" in acts else contextlib.nullcontext(), asyncio.TaskGroup() as tasks:
            if "statuses" in acts:
                tasks.create_task(hostile.overwrite_statuses())
            if "floods" in acts:
                tasks.create_task(floods.run(webhook_port, WEBHOOK, 1, tls=True))
                tasks.create_task(floods.run(page_port, PAGE, 2, tls=False))
            if attacks := sorted(acts & ATTACKS.keys()):
                tasks.create_task(hostile.make_objects(attacks))
            while True:
                await asyncio.sleep(_REPORT)
                counts = {**hostile.counts, **floods.counts, "slow_writes": slow.delayed}
                sys.stdout.write(f"{json.dumps(counts, sort_keys=True)}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    os.nice(_NICE)
    sys.setrecursionlimit(100_000)  # json writes nested values by recursion
    _, path, drawn, webhook, page, chosen = sys.argv
    asyncio.run(attack(Path(path), int(drawn), int(webhook), int(page), set(chosen.split(","))))
