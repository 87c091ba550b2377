"""Measure starts: of OPA, of one command, and of changed Rego in a ConfigMap. All in processor time."""

import asyncio
import json
from pathlib import Path
from statistics import median

import aiohttp

from hack.bench.table import Figures
from hack.cluster import rego_config_map
from hack.processes import ROOT, BridgeProcess, Program
from tests.eventually import equal_to, eventually

RUNS = 3
CHANGES = 8
PATIENCE = 120.0  # seconds until one change is active
COMMAND = ("effective", "httproute/orders#read", "-n", "shop", "--manifests", str(ROOT / "examples/three-gateways"))


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the figures; the number of routes does not matter."""
    runs = [await asyncio.to_thread(program.processor_time, *COMMAND) for _ in range(RUNS)]
    manifests = folder / "manifests"
    manifests.mkdir()
    _write(manifests, 0)
    options = ["--manifests", str(manifests), "--listen", "127.0.0.1:0"]
    async with BridgeProcess(folder, options, program=program) as bridge, aiohttp.ClientSession() as session:
        await bridge.logged("OPA synced")
        start = bridge.processor_times()["opa"]
        await _active(session, bridge.opa_url, 0)
        before = bridge.processor_times()["opa"]
        for number in range(1, CHANGES + 1):
            _write(manifests, number)
            await _active(session, bridge.opa_url, number)
        changes = (bridge.processor_times()["opa"] - before) / CHANGES
    return {"command": median(runs), "start_opa": start, "config_map": changes}


def _write(folder: Path, number: int) -> None:
    config_map = rego_config_map("changed", f"package bench.changed\n\nvalue := {number}\n")
    (folder / "changed.json").write_text(json.dumps(config_map))


async def _active(session: aiohttp.ClientSession, opa_url: str, number: int) -> None:
    """Wait until OPA uses this version of the ConfigMap."""

    async def value() -> object:
        async with session.get(f"{opa_url}/v1/data/bench/changed/value") as answer:
            return (await answer.json())["result"]

    await eventually(value, equal_to(number), patience=PATIENCE)
