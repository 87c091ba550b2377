"""Measure `analyze`: one changed policy over a folder, compared with the time to load the folder."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from bridge.model.changes import Object
from bridge.offline.engine import open_engine
from bridge.queries.analysis import analyze
from hack.bench.figures import figure, opa_below, processor_time, progress
from hack.bench.folder import write_folder
from hack.bench.load import Load, route_policy

WHERE = "folder"
FARTHER = 3  # the new policy's number differs by this from the old one's


async def measure(routes: int) -> None:
    """Analyze a changed policy of one route, and one of a Gateway, over a folder of YAML files."""
    load = Load(routes)
    with tempfile.TemporaryDirectory() as folder:
        await asyncio.to_thread(write_folder, Path(folder), load)
        progress(f"a folder of {routes:,} routes")
        began, wall = _used(), time.perf_counter()
        async with open_engine(manifests=[folder]) as engine:
            loading, wall = _used() - began, time.perf_counter() - wall
            figure("folder_load_cpu", loading, "s", routes=routes, where=WHERE, wall=wall)
            number = load.routes_with_policy()[0]
            for about, changed in (
                ("route", route_policy(number, number + FARTHER)),
                ("gateway", _other_gateway_policy(load)),
            ):
                before, wall = _used(), time.perf_counter()
                found = await analyze(engine.opa, [changed], [])
                used = _used() - before
                if not found.effective:
                    raise RuntimeError(f"{changed['metadata']['name']} changes nothing")
                more = {"routes": routes, "where": WHERE, "policy": about, "differences": len(found.effective)}
                figure("analyze_cpu", used, "s", wall=time.perf_counter() - wall, **more)
                figure("analyze_with_loading_ratio", (loading + used) / loading, "ratio", **more)


def _used() -> float:
    """The processor time of this process and of its OPA so far."""
    return time.process_time() + (processor_time(opa_below(os.getpid())) or 0.0)


def _other_gateway_policy(load: Load) -> Object:
    policy: Object = next(one for one in load.policies() if one["metadata"]["name"] == "gateway-1")
    spec: dict[str, Any] = json.loads(json.dumps(policy["spec"]).replace('"defaults"', '"overrides"'))
    return {**policy, "spec": {**spec, "overrides": {"strategy": "atomic", "theme": "plain"}}}
