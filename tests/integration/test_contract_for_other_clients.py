"""The queries of the contract answer clients that know nothing of the bridge."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
from opa_client.opa_async import AsyncOpaClient

from tests.warm_opa import WarmOpa


@pytest.fixture
async def client(opa: WarmOpa) -> AsyncIterator[AsyncOpaClient]:
    address = urlsplit(opa.url)
    async with AsyncOpaClient(host=address.hostname, port=address.port, timeout=30.0) as found:
        yield found


async def test_library_queries_the_contract(client: AsyncOpaClient) -> None:
    assert await client.check_health()
    answer = await client.query_rule({"targets": []}, "bridge.v1", "effective")
    assert answer["result"] == []


async def test_library_shows_why_an_input_is_invalid(client: AsyncOpaClient) -> None:
    answer = await client.query_rule({"targets": 7}, "bridge.v1", "effective")
    assert set(answer["result"]["error"]) == {"code", "message"}
