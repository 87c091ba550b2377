"""A third party's admission webhook that delays status writes in one namespace, on the real API server."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import json
import ssl
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from bridge.admission.certificates import new_authority, new_server
from tests.controlplane.api import ApiServer

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
        authority = new_authority(dt.datetime.now(dt.UTC))
        server = new_server(authority, ["127.0.0.1"], dt.datetime.now(dt.UTC))
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "slow.pem").write_bytes(server.certificate + server.key)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._folder / "slow.pem")
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/", self._allow)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = self._runner.addresses[0][1]
        body = self._configuration(f"https://127.0.0.1:{port}/", authority.certificate)
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
