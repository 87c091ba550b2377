"""How often the bridge checks an OPA that does not have the bridge's modules."""

import asyncio

import pytest

from bridge.opa.client import Opa
from bridge.replicator import replicator
from bridge.replicator.replicator import wait_for_active_modules


async def test_a_missing_kind_is_checked_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicator, "BRISK", 0.1)
    looks = 0

    def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal looks
        looks += 1
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with Opa(f"http://127.0.0.1:{port}") as opa:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(wait_for_active_modules(opa, lambda: ""), 3)
    assert 5 < looks < 40  # two a look (the client tries twice): 0.03 s apart at first, then 0.06 s, 0.12 s, 0.24 s …
