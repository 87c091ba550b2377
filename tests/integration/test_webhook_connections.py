"""Clients that hold the webhook's connections, and reviews that are answered all the same."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from bridge.http.reviews import LARGEST
from bridge.opa.process import ManagedOpa
from bridge.settings.model import Settings
from tests.integration.served_webhook import Served, serving
from tests.integration.webhook import BUNDLE, PLACEMENT
from tests.ports import free_port

ALLOWED = {"region": "eu"}
ATTACKER = "127.0.0.2"  # another address of the loopback network


@pytest_asyncio.fixture
async def opa(opa_path: Path, tmp_path: Path) -> AsyncIterator[ManagedOpa]:
    """An OPA with the shipped rules and a placement decision."""
    async with ManagedOpa(opa_path, {}, bundle=BUNDLE, port=free_port()) as opa:
        async with (
            aiohttp.ClientSession() as session,
            session.put(f"{opa.url}/v1/policies/placement", data=PLACEMENT) as answer,
        ):
            assert answer.status == 200
        yield opa


async def _answers(ask: Served, count: int = 20) -> None:
    for _ in range(count):
        async with asyncio.timeout(5):
            assert (await ask(ALLOWED))["allowed"]


async def test_bodies_that_are_held_back_keep_no_small_review_waiting(tmp_path: Path, opa: ManagedOpa) -> None:
    async with serving(tmp_path, opa.url) as ask:
        head = "POST /admission HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        writers = []
        for _ in range(16):
            _, writer = await asyncio.open_connection("127.0.0.1", ask.port, ssl=ask.context, local_addr=(ATTACKER, 0))
            writer.write((head % LARGEST).encode() + b"x" * (LARGEST - 1))
            writers.append(writer)
        await asyncio.sleep(1)
        await _answers(ask)
        for writer in writers:
            writer.transport.abort()


@pytest.mark.long
async def test_two_thousand_idle_tls_connections_keep_no_review_waiting(tmp_path: Path, opa: ManagedOpa) -> None:
    async with serving(tmp_path, opa.url) as ask:
        held: list[asyncio.StreamWriter] = []

        async def hold(source: str) -> None:
            try:
                opened = asyncio.open_connection("127.0.0.1", ask.port, ssl=ask.context, local_addr=(source, 0))
                _, writer = await asyncio.wait_for(opened, 30)
            except OSError:  # closed before its handshake
                return
            held.append(writer)

        for begin in range(0, 2000, 100):
            source = ATTACKER if begin < 1000 else "127.0.0.1"  # the half from where the API server is, too
            await asyncio.gather(*(hold(source) for _ in range(100)))
        gate = ask.webhook.gate
        assert gate is not None
        assert gate.open <= Settings().webhook_connections
        assert gate.closed["peer"] + gate.closed["displaced"] > 1000
        await _answers(ask)
        for writer in held:
            writer.transport.abort()


@pytest.mark.long
async def test_four_thousand_silent_connections_are_counted_before_tls(tmp_path: Path, opa: ManagedOpa) -> None:
    async with serving(tmp_path, opa.url) as ask:
        held = []
        for _ in range(4000):
            _, writer = await asyncio.open_connection("127.0.0.1", ask.port, local_addr=(ATTACKER, 0))
            held.append(writer)
        gate = ask.webhook.gate
        assert gate is not None
        assert gate.open <= Settings().webhook_connections_per_peer
        await _answers(ask)
        for writer in held:
            writer.transport.abort()


async def test_verified_client_is_answered_while_its_own_address_floods_the_port(
    tmp_path: Path, opa: ManagedOpa
) -> None:
    async with serving(
        tmp_path,
        opa.url,
        webhook_client_ca_file=str(tmp_path / "ca.crt"),
        webhook_client_names=["kube-apiserver"],
        webhook_connections=16,
        webhook_connections_per_peer=8,
    ) as ask:
        await _answers(ask, 1)
        held = [await asyncio.open_connection("127.0.0.1", ask.port) for _ in range(200)]
        await _answers(ask)
        assert ask.webhook.gate is not None
        assert ask.webhook.gate.open <= 9
        for _, writer in held:
            writer.transport.abort()
