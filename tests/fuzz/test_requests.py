"""No crash, no error of a server but the documented ones, and no wrong admission, whatever is sent."""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fuzz.bridge import FuzzedBridge, running_bridge
from tests.fuzz.raw_requests import Sent, requests

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "10000"))
WARM = 200  # requests after which memory is measured for the first time
AT_ONCE = 8
MOST_GROWTH = {"bridge": 200.0, "opa": 600.0}  # MiB; OPA parses bodies of megabytes, eight at a time


@pytest.mark.long
async def test_whatever_is_sent_breaks_nothing(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    async with running_bridge(tmp_path) as bridge:
        await bridge.check_that_it_works()
        await asyncio.to_thread(_send, loop, bridge, WARM)
        before = bridge.process.memories()
        await asyncio.to_thread(_send, loop, bridge, REQUESTS - WARM)
        await bridge.check_that_it_works()
        for name, size in bridge.process.memories().items():
            assert size - before[name] <= MOST_GROWTH[name], f"memory of {name} grew from {before[name]} to {size} MiB"
        assert bridge.process.errors() == []
        assert sum(bridge.answers.values()) >= REQUESTS - AT_ONCE, bridge.answers


def _send(loop: asyncio.AbstractEventLoop, bridge: FuzzedBridge, count: int) -> None:
    @settings(
        max_examples=max(1, count // AT_ONCE),
        deadline=None,
        database=None,
        phases=[Phase.generate],  # each request is judged by itself, so there is little to shrink
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(requests(), min_size=AT_ONCE, max_size=AT_ONCE))
    def send(group: list[Sent]) -> None:
        asyncio.run_coroutine_threadsafe(bridge.check(group), loop).result()

    send()
