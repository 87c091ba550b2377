"""A soak: random changes and faults for some minutes, with pauses in which all results must become correct."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

from hack.cluster import running_cluster
from hack.figures import percentile, progress, short, table
from hack.processes import BridgeProcess
from hack.soak.comparing import SELECTED, Equal, Places, until_equal
from hack.soak.faults import Faults
from hack.soak.life import Life
from tests.controlplane.plane import ControlPlane
from tests.integration.objects import apply_crd, crd
from tests.properties.small_world import GROUP, POLICY_KINDS

RESTS = 12  # in a soak, at most
_SHORTEST = 25.0  # seconds between two rests
_FAULT_EVERY = 8.0  # seconds between two faults, on average
_SETTINGS = {
    "BRIDGE_TYPES": ",".join(SELECTED),
    "BRIDGE_STATUS_WRITES_PER_SECOND": "1000",  # what is compared is what they say, not how fast they come
}
# Of memory in MiB in the pauses: the first replica's bridge is never killed; its OPA is, and Go keeps freed memory.
_GROWTH = {"bridge": (1.15, 10.0), "opa": (1.5, 40.0)}  # from the first third to the last: a factor, and more beside
_MOST = {"bridge": 200.0, "opa": 400.0}  # at any rest: the cluster is small
_THIRDS = 3


class Failed(Exception):
    """The remaining errors, a line each."""


async def soak(minutes: float, seed: int, folder: Path) -> None:
    """Run a soak with logs in `folder`, and print figures. Raises Failed, or Different in a pause."""
    progress(f"seed {seed}; logs are in {folder}")
    async with running_cluster(folder / "control-plane") as plane:
        options = ["--kubeconfig", str(plane.kubeconfig), "--listen", "127.0.0.1:0"]
        replicas = [BridgeProcess(name, folder, options, _SETTINGS) for name in ("first", "second")]
        try:
            await _define(plane)
            places = await asyncio.to_thread(Places, plane.api)
            life = Life(plane.api, places, seed)
            await asyncio.to_thread(life.prepare)
            await asyncio.gather(*(one.start() for one in replicas))
            faults = Faults(plane, replicas, seed, _FAULT_EVERY)
            async with asyncio.TaskGroup() as tasks:
                background = [tasks.create_task(work) for work in (*life.works(), faults.happen())]
                try:
                    rests, memories = await _rests(minutes * 60, places, life, faults, replicas)
                finally:
                    for task in background:
                        task.cancel()
        finally:
            for one in replicas:
                await asyncio.to_thread(one.kill)
    errors = [line for one in replicas for line in one.errors()]
    _report(life, faults, rests, memories)
    if wrong := [*errors[:20], *_grown(memories)]:
        raise Failed("\n".join(wrong))


async def _define(plane: ControlPlane) -> None:
    policies = {"direct": "Direct", "selecting": "Direct", "rule": "Inherited", "backend": "Inherited"}
    for kind in POLICY_KINDS:
        body = crd("backendpolicies" if kind == "BackendPolicy" else f"{kind.lower()[:-1]}ies", kind, group=GROUP)
        label = policies[kind.lower().removesuffix("policy")]
        body["metadata"]["labels"] = {"gateway.networking.k8s.io/policy": label}
        await apply_crd(plane.api, body)
    await apply_crd(plane.api, crd("things", "Thing", group="example.com"))


async def _rests(
    seconds: float, places: Places, life: Life, faults: Faults, replicas: list[BridgeProcess]
) -> tuple[list[Equal], list[dict[str, float]]]:
    """Run changes and faults with pauses, the last one at the end; in each pause everything must become equal.

    Returns each pause's result, and the MiB of the first replica's bridge and OPA in it.
    """
    every = max(seconds / RESTS, _SHORTEST)
    ends = time.monotonic() + seconds
    rests: list[Equal] = []
    memories: list[dict[str, float]] = []
    while not rests or time.monotonic() < ends:
        life.resume()
        faults.resume()
        await asyncio.sleep(min(every, max(ends - time.monotonic(), 1.0)))
        await faults.rest()
        await life.rest()
        progress(f"rest after {life.changes} changes: everything must come right")
        equal = await until_equal(places, {one.name: one.opa_url for one in replicas}, life.values)
        rests.append(equal)
        memories.append(replicas[0].memories())
        progress(f"equal after {equal.seconds:.1f} s: {equal.objects} objects; MiB: {memories[-1]}")
    return rests, memories


def _grown(memories: list[dict[str, float]]) -> Iterator[str]:
    """Yield one line for each growth between the first and the last third of the pauses."""
    third = max(1, len(memories) // _THIRDS)
    for name, (factor, beside) in _GROWTH.items():
        seen = [found[name] for found in memories if name in found]
        if not seen:
            continue
        before, after = max(seen[:third]), min(seen[-third:])
        if len(seen) >= _THIRDS and after > before * factor + beside:
            yield f"the memory of {name} grew from {before:.0f} to {after:.0f} MiB"
        if max(seen) > _MOST[name]:
            yield f"the memory of {name} was {max(seen):.0f} MiB at a rest, more than {_MOST[name]:.0f}"


def _report(life: Life, faults: Faults, rests: list[Equal], memories: list[dict[str, float]]) -> None:
    last, took = rests[-1], [rest.seconds for rest in rests]
    rows = [
        ["changes", f"{life.changes}, {life.refused} refused by the API server"],
        ["faults", ", ".join(f"{count} {name}" for name, count in sorted(faults.counts.items()))],
        ["pauses", f"{len(rests)}; equal after {short(percentile(took, 0.5))} s (p50), {short(max(took))} s (most)"],
        ["equal in the last", f"{last.objects} objects, {last.statuses} statuses, {last.affected} affected objects"],
    ]
    for name, first in memories[0].items():
        rows.append([f"memory of {name}", f"{first:.0f} MiB at first, {memories[-1].get(name, 0):.0f} MiB at last"])
    print(table(["soak", ""], rows))
