"""Requests that no page sends: each is refused, and none is an error of the bridge."""

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from yarl import URL

from bridge.http.bodies import BODIES, Bodies
from bridge.settings.model import Settings
from bridge.web.site import site_of


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/{'a' * 5000}.js", 404),
        ("/a%00.js", 404),
        ("/%2e%2e/site.py", 404),
        ("//etc/hosts.txt", 404),
        (f"/api/topology?limit={'9' * 5000}", 400),
        ("/main.js", 200),
        ("/", 200),
    ],
)
async def test_odd_path_or_number_is_refused(path: str, status: int) -> None:
    app = web.Application()
    app[BODIES] = Bodies(1 << 20, 0)
    site_of(Settings()).add_to(app)
    async with TestClient(TestServer(app)) as client:
        host = f"http://127.0.0.1:{client.port}"
        async with client.session.get(URL(host + path, encoded=True)) as answer:
            assert answer.status == status, await answer.text()
