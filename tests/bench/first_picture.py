"""Measure the page of a bridge on a folder: from the first request until the picture has everything."""

import asyncio
import time
from pathlib import Path

import aiohttp

from tests.bench.load import Load, options_for
from tests.bench.table import Figures
from tests.figures import progress
from tests.processes import BridgeProcess, Program

PATIENCE = 900.0
PAUSE = 0.1


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the seconds and OPA's processor time until the picture is whole; a restarted bridge has none of it."""
    options = options_for(folder, Load(routes).objects())
    async with BridgeProcess(folder, options, program=program) as bridge, aiohttp.ClientSession() as session:
        await bridge.logged("OPA synced")
        before = bridge.processor_times()["opa"]
        progress("the page is opened")
        began = time.monotonic()
        async with asyncio.timeout(PATIENCE):
            while True:
                async with session.get(f"{bridge.url}/api/topology", params={"limit": "1"}) as answer:
                    answer.raise_for_status()
                    picture = await answer.json()
                if picture["whole"]:
                    break
                await asyncio.sleep(PAUSE)
        took = time.monotonic() - began
        return {"page_live": took, "page_opa": (bridge.processor_times()["opa"] - before) / picture["total"] * 1e3}
