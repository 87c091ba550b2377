"""Dumps of proxies that the page's server cannot read."""

import asyncio
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from bridge.opa.client import Opa
from bridge.web.proxies import Proxies
from tests.ports import free_port

TARGET = "gateway.networking.k8s.io/HTTPRoute/shop/cart#view"


def _explained() -> list[dict[str, Any]]:
    fields = [{"field": "/timeout", "policies": []}]
    return [{"target": TARGET, "policyKind": "example.com/P", "paths": [{"path": [TARGET], "fields": fields}]}]


async def test_a_failure_to_read_is_remembered_for_all_explanations() -> None:
    asked: list[str] = []

    async def fail(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=503)

    app = web.Application()
    app.router.add_get("/{name}/dump", fail)
    async with TestServer(app) as server, Opa(f"http://127.0.0.1:{free_port()}") as opa:
        proxies = Proxies([str(server.make_url("/one/dump")), str(server.make_url("/other/dump"))])
        explained = [_explained() for _ in range(3)]
        await asyncio.gather(*(proxies.explain(opa, {"target": TARGET}, one) for one in explained))
    assert sorted(asked) == ["/one/dump", "/other/dump"]
    assert [one[0]["paths"][0]["fields"][0]["proxy"] for one in explained] == ["cannot be read"] * 3
