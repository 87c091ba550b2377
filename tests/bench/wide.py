"""Measure one change with the widest effect: the policy of a Gateway that all routes are attached to."""

import asyncio
import random
from pathlib import Path

import aiohttp

from tests.bench.load import POLICY_KIND, Load, gateway_policy, options_for, rule_key, write
from tests.bench.opa import ask
from tests.bench.table import Figures
from tests.figures import progress
from tests.processes import BridgeProcess, Program

BATCH = 1_000
PATIENCE = 1_800.0  # seconds until everything is quiet
IDLE = 0.1  # of a core, which a bridge and its OPA need at rest
QUIET = 3.0  # seconds of it


async def measure(program: Program, routes: int, folder: Path) -> Figures:
    """Return the processor time of a change until it is quiet again, relative to one batched query of all rules."""
    load = Load(routes, gateways=1)
    others = (obj for obj in load.objects() if (obj["kind"], obj["metadata"]["name"]) != ("ColorPolicy", "gateway-0"))
    options = options_for(folder, others)
    write(folder / "manifests" / "policy.yaml", [gateway_policy(0, 6)])
    settings = {"BRIDGE_STATUS_WRITES_PER_SECOND": "100000"}  # what is measured is the bridge, not its budget
    async with BridgeProcess(folder, options, settings, program) as bridge:
        await bridge.logged("OPA synced")
        await quiet(bridge)
        before = sum(bridge.processor_times().values())
        for color in (3, 6):
            progress("the policy of the Gateway changes")
            write(folder / "manifests" / "policy.yaml", [gateway_policy(0, color)])
            await asyncio.sleep(1)  # until the bridge has noticed
            await quiet(bridge)
        changed = (sum(bridge.processor_times().values()) - before) / 2
        return {"gateway_change": changed / await _one_batched_query(bridge, load)}


async def quiet(bridge: BridgeProcess) -> None:
    """Wait until the bridge and its OPA have been idle for some time."""
    async with asyncio.timeout(PATIENCE):
        used = QUIET
        while used > IDLE * QUIET:
            before = sum(bridge.processor_times().values())
            await asyncio.sleep(QUIET)
            used = sum(bridge.processor_times().values()) - before


async def _one_batched_query(bridge: BridgeProcess, load: Load) -> float:
    """Return the processor time of OPA for `effective` of all rules in batches."""
    rules = [rule_key(number, name) for number in range(load.routes) for name in ("first", "[1]")]
    random.Random(2).shuffle(rules)
    before = bridge.processor_times()["opa"]
    async with aiohttp.ClientSession() as session:
        for start in range(0, len(rules), BATCH):
            batch = {"targets": rules[start : start + BATCH], "policyKind": POLICY_KIND}
            await ask(session, bridge.opa_url, "effective", batch)
    return bridge.processor_times()["opa"] - before
