"""Measure starts: of OPA, of one command, and of changed Rego in a ConfigMap. All in processor time."""

import asyncio
from pathlib import Path
from statistics import median

import aiohttp

from bridge.model.changes import Object
from tests.bench.load import options_for, write
from tests.bench.table import Figures
from tests.cluster import rego_config_map
from tests.eventually import equal_to, eventually
from tests.processes import ROOT, BridgeProcess, Program

RUNS = 3
CHANGES = 8
PATIENCE = 120.0  # seconds until one change is active
COMMAND = ("effective", "httproute/orders#read", "-n", "shop", "--manifests", str(ROOT / "examples/three-gateways"))


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the figures; the number of routes does not matter."""
    runs = [await asyncio.to_thread(program.processor_time, *COMMAND) for _ in range(RUNS)]
    options = options_for(folder, [_config_map(0)])
    async with BridgeProcess(folder, options, program=program) as bridge, aiohttp.ClientSession() as session:
        await bridge.logged("OPA synced")
        start = bridge.processor_times()["opa"]
        await _active(session, bridge.opa_url, 0)
        before = bridge.processor_times()["opa"]
        for number in range(1, CHANGES + 1):
            write(folder / "manifests" / "load.yaml", [_config_map(number)])
            await _active(session, bridge.opa_url, number)
        changes = (bridge.processor_times()["opa"] - before) / CHANGES
    return {"command": median(runs), "start_opa": start, "config_map": changes}


def _config_map(number: int) -> Object:
    return rego_config_map("changed", f"package bench.changed\n\nvalue := {number}\n")


async def _active(session: aiohttp.ClientSession, opa_url: str, number: int) -> None:
    """Wait until OPA uses this version of the ConfigMap."""

    async def value() -> object:
        async with session.get(f"{opa_url}/v1/data/bench/changed/value") as answer:
            return (await answer.json())["result"]

    await eventually(value, equal_to(number), patience=PATIENCE)
