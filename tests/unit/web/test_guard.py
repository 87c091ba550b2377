"""Who is answered."""

from collections.abc import Mapping

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bridge.http.bodies import BODIES, Bodies
from bridge.model.addresses import is_loopback
from bridge.web.site import Guard

SECRET = "a-secret-of-the-page-0123456789-abc"
Client = TestClient[web.Request, web.Application]


async def _hello(_: web.Request) -> web.StreamResponse:
    return web.Response(text="hello")


def _served(guard: Guard) -> Client:
    app = web.Application()
    app[BODIES] = Bodies(1 << 20, 0)
    app.router.add_get("/page", guard.open(_hello))
    app.router.add_get("/data", guard.closed(_hello))
    app.router.add_post("/data", guard.closed(_hello))
    app.router.add_post("/api/login", guard.open(guard.login))
    return TestClient(TestServer(app))


@pytest.mark.parametrize(
    ("host", "yes"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("[::1]", True),
        ("::1", True),
        ("LocalHost", True),
        ("0.0.0.0", False),  # noqa: S104 - that is the point
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.evil.example", False),
        ("", False),
    ],
)
def test_addresses_of_this_machine_alone_are_known(host: str, yes: bool) -> None:
    assert is_loopback(host) is yes


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:9"}, 200),
        ({"Host": "[::1]:9"}, 200),
        ({"Host": "rebound.example"}, 421),
        ({"Host": "rebound.example:8282"}, 421),
        ({"Host": "[::1"}, 421),
        ({"Host": "localhost", "Origin": "http://localhost"}, 200),
        ({"Host": "localhost", "Origin": "http://evil.example"}, 403),
        ({"Host": "localhost", "Origin": "http://localhost:81"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
async def test_only_this_machine_and_the_page_itself_are_answered_without_a_token(
    headers: Mapping[str, str], status: int
) -> None:
    async with _served(Guard(None)) as client:
        for path in ("/page", "/data"):
            response = await client.get(path, headers=headers)
            assert response.status == status, await response.text()


async def test_a_page_of_another_site_sends_nothing_even_by_navigating() -> None:
    async with _served(Guard(None)) as client:
        sent = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert (await client.post("/data", headers=sent)).status == 403


async def test_a_token_is_needed_for_data_under_any_host_and_not_for_the_page() -> None:
    async with _served(Guard(lambda: SECRET)) as client:
        far = {"Host": "bridge.example"}
        assert (await client.get("/page", headers=far)).status == 200
        refused = await client.get("/data", headers=far)
        assert refused.status == 401
        assert refused.headers["WWW-Authenticate"].startswith("Bearer")
        for given, status in ((f"Bearer {SECRET}", 200), (f"bearer {SECRET}", 200), ("Bearer no", 401), (SECRET, 401)):
            assert (await client.get("/data", headers={**far, "Authorization": given})).status == status


async def test_a_login_gives_a_cookie_that_ends_with_the_token() -> None:
    tokens = ["the-first-token-0123456789-abcdefgh"]
    async with _served(Guard(lambda: tokens[-1])) as client:
        assert (await client.post("/api/login", json={"token": "wrong"})).status == 401
        assert (await client.post("/api/login", json={"token": 3})).status == 401
        assert (await client.post("/api/login", data=b"{")).status == 400
        given = await client.post("/api/login", json={"token": tokens[0]})
        assert given.status == 200
        cookie = given.cookies["policy-bridge"]
        assert cookie["httponly"]
        assert cookie["samesite"] == "Strict"
        assert tokens[0] not in cookie.value
        # The client keeps no cookie of an address, as browsers do.
        kept = {"Cookie": f"policy-bridge={cookie.value}"}
        assert (await client.get("/data", headers=kept)).status == 200
        tokens.append("the-second-token-0123456789-abcdefg")
        assert (await client.get("/data", headers=kept)).status == 401


async def test_an_empty_short_or_unreadable_token_lets_no_client_in() -> None:
    def gone() -> str:
        raise FileNotFoundError

    for token in (lambda: "", lambda: "x", lambda: 40 * "x", gone):
        async with _served(Guard(token)) as client:
            for given in ("", "x", 40 * "x"):
                assert (await client.get("/data", headers={"Authorization": f"Bearer {given}"})).status == 503
            assert (await client.post("/api/login", json={"token": ""})).status == 503


async def test_wrong_tokens_are_counted_and_logged_and_keep_no_right_one_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Clients behind one proxy or node share an address."""
    guard = Guard(lambda: SECRET)
    async with _served(guard) as client:
        for number in range(20):
            wrong = {"Authorization": f"Bearer {number}"}
            assert (await client.get("/data", headers=wrong)).status == 401
            assert (await client.post("/api/login", json={"token": f"wrong {number}"})).status == 401
        right = {"Authorization": f"Bearer {SECRET}"}
        assert (await client.get("/data", headers=right)).status == 200
        assert (await client.post("/api/login", json={"token": SECRET})).status == 200
    assert guard.wrong_tokens.total == 40
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "wrong token" in line]
    assert "peer=127.0.0.1" in line
    assert "listener=page" in line
