import asyncio
import operator
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from bridge.http import bundles as module
from bridge.http.bundles import BundleEndpoint
from bridge.opa.bundle import BUNDLE_CONTENT_TYPE, BUNDLE_PATH, Bundle, build_bundle
from tests.bundle_trust import unguarded
from tests.eventually import eventually


def bundle(number: int) -> Bundle:
    return build_bundle({"a.rego": f"package bridge.a\nx := {number}\n"}, {}, ["bridge"])


@dataclass
class Served:
    """The endpoint with a client. `starts` counts who came without a bundle."""

    endpoint: BundleEndpoint
    client: "TestClient[web.Request, web.Application]"
    starts: list[int] = field(default_factory=list)

    async def get(self, etag: str = "", wait: str = "") -> tuple[int, str, bytes]:
        """Status, ETag and body of an answer."""
        headers = {**({"If-None-Match": etag} if etag else {}), **({"Prefer": wait} if wait else {})}
        async with self.client.get(BUNDLE_PATH, headers=headers) as answer:
            assert answer.headers["Content-Type"] == BUNDLE_CONTENT_TYPE
            return answer.status, answer.headers["ETag"], await answer.read()


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    starts: list[int] = []
    endpoint = BundleEndpoint(BUNDLE_PATH, operator.attrgetter("content"), bundle(1))
    endpoint.on_fresh_start(lambda: starts.append(1))
    app = web.Application()
    endpoint.add_to(app, unguarded)
    async with TestClient(TestServer(app)) as client:
        yield Served(endpoint, client, starts)


async def test_opa_without_modules_gets_the_bundle_and_is_reported(served: Served) -> None:
    status, etag, body = await served.get()
    assert (status, etag, body) == (200, f'"{bundle(1).revision}"', bundle(1).content)
    assert served.starts == [1]


async def test_a_client_with_the_bundle_gets_nothing(served: Served) -> None:
    _, etag, _ = await served.get()
    assert await served.get(etag) == (304, etag, b"")
    assert served.starts == [1]


async def test_a_client_with_an_old_bundle_gets_the_new_one_at_once(served: Served) -> None:
    _, etag, _ = await served.get()
    await served.endpoint.serve_next(bundle(2))
    async with asyncio.timeout(60):
        status, _, body = await served.get(etag, "modes=snapshot;wait=60")
    assert (status, body) == (200, bundle(2).content)


async def test_a_waiting_client_gets_the_next_bundle_when_it_is_served(served: Served) -> None:
    _, etag, _ = await served.get()
    waiting = [asyncio.create_task(served.get(etag, "modes=snapshot,delta;wait=60")) for _ in range(3)]
    await asyncio.sleep(0.1)
    assert not any(task.done() for task in waiting)
    await served.endpoint.serve_next(bundle(2))
    async with asyncio.timeout(60):
        for status, _, body in await asyncio.gather(*waiting):
            assert (status, body) == (200, bundle(2).content)


async def test_the_same_bundle_again_is_no_news(served: Served) -> None:
    _, etag, _ = await served.get()
    waiting = asyncio.create_task(served.get(etag, "wait=1"))
    await asyncio.sleep(0.1)
    await served.endpoint.serve_next(bundle(1))
    assert await waiting == (304, etag, b"")


async def test_a_wait_ends_when_the_client_wants_or_at_the_bound(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, etag, _ = await served.get()
    monkeypatch.setattr(module, "LONGEST_WAIT", 0.2)
    async with asyncio.timeout(60):
        assert await served.get(etag, "wait=3600") == (304, etag, b"")


@pytest.mark.parametrize("preference", ["", "wait=soon", "wait=-1", "wait", "wait=²", "respond-async", "wait=0"])
async def test_a_client_without_a_wish_to_wait_is_answered_at_once(served: Served, preference: str) -> None:
    _, etag, _ = await served.get()
    async with asyncio.timeout(60):
        assert await served.get(etag, preference) == (304, etag, b"")


async def test_before_the_first_bundle_an_opa_keeps_its_own_and_one_without_waits() -> None:
    endpoint = BundleEndpoint(BUNDLE_PATH, operator.attrgetter("content"))
    app = web.Application()
    endpoint.add_to(app, unguarded)
    async with TestClient(TestServer(app)) as client:
        async with client.get(BUNDLE_PATH) as answer:
            assert answer.status == 503
        async with client.get(BUNDLE_PATH, headers={"If-None-Match": '"before"'}) as answer:
            assert answer.status == 304
        waiting = asyncio.create_task(client.get(BUNDLE_PATH, headers={"Prefer": "wait=60"}))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        await endpoint.serve_next(bundle(1))
        async with asyncio.timeout(60), await waiting as answer:
            assert (answer.status, await answer.read()) == (200, bundle(1).content)
        assert endpoint.handed_revision == bundle(1).revision


class Crowd:
    """Clients that download a bundle larger than the buffers of connections, and read it only when told."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._requests = [asyncio.create_task(session.get(url)) for _ in range(8)]

    @property
    def begun(self) -> list[asyncio.Task[aiohttp.ClientResponse]]:
        """The requests whose responses have begun."""
        return [one for one in self._requests if one.done()]

    async def read(self) -> list[str]:
        """Read all downloads to their ends; return their ETags."""
        etags = []
        for one in asyncio.as_completed(self._requests):
            async with await one as answer:
                assert len(await answer.read()) == LARGE
                etags.append(answer.headers["ETag"])
        return etags


LARGE = 32 << 20


@pytest.fixture
async def crowd(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[BundleEndpoint, Crowd]]:
    monkeypatch.setattr(module, "DOWNLOADS", 3)
    endpoint = BundleEndpoint(BUNDLE_PATH, lambda _: bytes(LARGE), bundle(1))
    app = web.Application()
    endpoint.add_to(app, unguarded)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        yield endpoint, Crowd(session, str(server.make_url(BUNDLE_PATH)))


async def test_clients_at_once_download_in_turns_and_the_later_ones_get_the_newest(
    crowd: tuple[BundleEndpoint, Crowd],
) -> None:
    endpoint, clients = crowd
    await eventually(lambda: len(clients.begun) == 3)
    await endpoint.serve_next(bundle(2))
    await asyncio.sleep(0.2)
    assert len(clients.begun) == 3
    etags = await clients.read()
    assert etags == [f'"{bundle(1).revision}"'] * 3 + [f'"{bundle(2).revision}"'] * 5
    assert endpoint.downloads == 8


async def test_clients_that_read_slowly_do_not_keep_others_from_their_turn(
    crowd: tuple[BundleEndpoint, Crowd], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_TURN", 0.1)
    _, clients = crowd
    await eventually(lambda: len(clients.begun) == 8)
    assert len(await clients.read()) == 8


async def test_slow_clients_keep_few_former_bundles_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_TURN", 0.1)
    monkeypatch.setattr(module, "SUPERSEDED", 2 * LARGE)
    endpoint = BundleEndpoint(BUNDLE_PATH, lambda _: bytes(LARGE), bundle(0))
    app = web.Application()
    endpoint.add_to(app, unguarded)
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        answers = []
        for number in range(1, 6):
            answers.append(await session.get(server.make_url(BUNDLE_PATH)))
            await endpoint.serve_next(bundle(number))
        await eventually(lambda: len(endpoint._sending) == 2)
        for answer in answers[:3]:
            with pytest.raises(aiohttp.ClientError):
                await answer.read()
        for answer in answers[3:]:
            assert len(await answer.read()) == LARGE


async def test_client_that_leaves_gives_up_its_turn(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    served.endpoint._archive = lambda _: bytes(LARGE)
    await served.endpoint.serve_next(bundle(2))
    for _ in range(2 * module.DOWNLOADS):
        answer = await served.client.get(BUNDLE_PATH)
        answer.close()
    async with asyncio.timeout(60):
        assert (await served.get())[0] == 200
    assert not caplog.records
