import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected


@pytest.mark.parametrize(
    ("headers", "wait"),
    [({"Retry-After": "7"}, 7.0), ({"Retry-After": "soon"}, 0.0), ({"Retry-After": "²"}, 0.0), ({}, 0.0)],
)
async def test_a_server_that_asks_to_wait_is_respected(headers: dict[str, str], wait: float) -> None:
    async def busy(_: web.Request) -> web.Response:
        return web.Response(status=429, text="busy", headers=headers)

    app = web.Application()
    app.router.add_post("/{path:.*}", busy)
    async with TestServer(app) as server, Opa(str(server.make_url("/"))) as opa:
        with pytest.raises(OpaRejected, match="429") as caught:
            await opa.answer("a", {})
    assert caught.value.retry_after == wait
