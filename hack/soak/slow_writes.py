"""A third party's admission webhook that delays status writes in one namespace, on the real API server."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from pathlib import Path
from typing import Any, Self

from aiohttp import web

from hack.certificates import write_certificate
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
