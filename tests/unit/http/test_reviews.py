import asyncio
import io
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, Request

from bridge.admission.review import MUTATING_PATH as PATH
from bridge.admission.review import ReviewError, Terms, read_review
from bridge.http import reviews
from bridge.http.reviews import LARGEST, SMALL, make_app, seconds

Client = TestClient[Request, Application]


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async def review(body: bytes, terms: Terms) -> bytes:
        assert not terms.verified
        if body == b"{}":
            read_review(body)
        return f'{{"size": {len(body)}, "budget": {terms.budget:.3f}}}'.encode()

    async with TestClient(TestServer(make_app(review, lambda: 10.0))) as client:
        yield client


JSON = {"Content-Type": "application/json"}


async def test_a_review_gets_the_time_that_the_api_server_waits_less_the_way_back(client: Client) -> None:
    for query, budget in [("", 9.5), ("?timeout=5s", 4.5), ("?timeout=500ms", 0.45), ("?timeout=1m", 9.5)]:
        async with client.post(PATH + query, data=b"[]", headers=JSON) as answer:
            assert await answer.json() == {"size": 2, "budget": pytest.approx(budget, abs=0.1)}


@pytest.mark.parametrize(
    ("method", "body", "content_type", "status", "said"),
    [
        ("GET", b"", "application/json", 405, "Method Not Allowed"),
        ("POST", b"{}", "application/yaml", 415, "send application/json"),
        ("POST", b"x" * (LARGEST + 1), "application/json", 413, "larger than"),
        ("POST", b"{}", "application/json", 400, "this is not an AdmissionReview"),
    ],
)
async def test_a_body_that_cannot_be_reviewed_is_refused(
    client: Client, method: str, body: bytes, content_type: str, status: int, said: str
) -> None:
    async with client.request(method, PATH, data=io.BytesIO(body), headers={"Content-Type": content_type}) as answer:
        assert answer.status == status
        assert said in await answer.text()


async def test_a_review_with_two_objects_of_3_megabytes_comes_through(client: Client) -> None:
    async with client.post(PATH, data=io.BytesIO(b"x" * (6 << 20)), headers=JSON) as answer:
        assert (await answer.json())["size"] == 6 << 20


async def test_a_wrong_timeout_is_refused(client: Client) -> None:
    async with client.post(f"{PATH}?timeout=soon", data=b"[]", headers=JSON) as answer:
        assert answer.status == 400
        assert "timeout=soon is not a duration such as 10s" in await answer.text()


def test_durations_are_read_as_go_writes_them() -> None:
    assert [seconds(text) for text in ("10s", "1m30s", "1.5s", "250ms", "1h")] == [10, 90, 1.5, 0.25, 3600]
    for text in ("", "10", "s", "10s!", "-1s"):
        with pytest.raises(ReviewError):
            seconds(text)


def test_long_timeout_is_refused_without_a_search() -> None:
    began = time.process_time()
    with pytest.raises(ReviewError, match="8000 characters"):
        seconds("9" * 8000)
    assert time.process_time() - began < 0.1


async def _never() -> AsyncIterator[bytes]:
    yield b"{"
    await asyncio.sleep(60)


async def test_a_body_that_does_not_come_is_given_up() -> None:
    async def review(body: bytes, terms: Terms) -> bytes:
        raise AssertionError

    async with (
        TestClient(TestServer(make_app(review, lambda: 0.2))) as client,
        client.post(PATH, data=_never(), headers=JSON) as answer,
    ):
        assert answer.status == 408
        assert "did not arrive within 0.2 s" in await answer.text()


async def test_time_for_the_body_reduces_the_time_for_the_decision(client: Client) -> None:
    async def slow() -> AsyncIterator[bytes]:
        yield b"["
        await asyncio.sleep(0.5)
        yield b"]"

    async with client.post(f"{PATH}?timeout=2s", data=slow(), headers=JSON) as answer:
        assert await answer.json() == {"size": 2, "budget": pytest.approx(1.3, abs=0.15)}


async def test_body_may_take_the_timeout_of_its_request_and_no_longer(client: Client) -> None:
    async with client.post(f"{PATH}?timeout=300ms", data=_never(), headers=JSON) as answer:
        assert answer.status == 408
        assert "did not arrive within 0.3 s" in await answer.text()


@asynccontextmanager
async def held_back(client: Client, size: int) -> AsyncIterator[None]:
    """A review that waits for its last byte."""
    end = asyncio.Event()

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(size // 65536):
            yield b"x" * 65536
        await end.wait()

    waiting = asyncio.ensure_future(client.post(PATH, data=parts(), headers=JSON))
    await asyncio.sleep(0.3)
    yield
    end.set()
    (await waiting).release()


async def test_large_reviews_that_are_held_back_leave_room_for_others() -> None:
    async def review(body: bytes, terms: Terms) -> bytes:
        return b"{}"

    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(TestClient(TestServer(make_app(review, lambda: 10.0))))
        for _ in range(16):
            await stack.enter_async_context(held_back(client, LARGEST))
        for size in (SMALL, 1 << 20):
            async with client.post(PATH, data=io.BytesIO(b"x" * size), headers=JSON) as answer:
                assert answer.status == 200


async def test_large_review_is_refused_while_others_of_its_address_are_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "MOST_LARGE", 3 << 20)
    decided = asyncio.Event()

    async def review(body: bytes, terms: Terms) -> bytes:
        await decided.wait()
        return b"{}"

    async with TestClient(TestServer(make_app(review, lambda: 10.0))) as client:
        first = asyncio.ensure_future(client.post(PATH, data=io.BytesIO(b"x" * (1 << 20)), headers=JSON))
        await asyncio.sleep(0.3)
        async with client.post(PATH, data=io.BytesIO(b"x" * (1 << 20)), headers=JSON) as answer:
            assert answer.status == 429
            assert "too many large requests at once, and this review" in await answer.text()
        decided.set()
        async with await first as answer:
            assert answer.status == 200
        for _ in range(3):
            async with client.post(PATH, data=io.BytesIO(b"x" * (1 << 20)), headers=JSON) as answer:
                assert answer.status == 200


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_body_that_is_not_encoded_as_it_says_is_refused(client: Client, encoding: str) -> None:
    headers = {**JSON, "Content-Encoding": encoding}
    async with client.post(PATH, data=b"no such encoding", headers=headers) as answer:
        assert answer.status == 400
