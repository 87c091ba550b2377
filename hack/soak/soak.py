"""A soak: random changes and faults for some minutes, with pauses in which all results must become correct."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from hack.bench.figures import figure, percentile
from hack.soak.cluster import Places
from hack.soak.comparing import Equal, until_equal
from hack.soak.faults import Faults
from hack.soak.life import Life
from hack.soak.memory import Memories
from hack.soak.progress import progress
from hack.soak.replica import Replica
from hack.tools import ensure, ensure_crds
from tests.controlplane.plane import ControlPlane
from tests.integration.objects import apply_crd, crd
from tests.properties.small_world import GROUP, POLICY_KINDS

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
RESTS = 12  # in a soak, at most
_SHORTEST = 25.0  # seconds between two rests
_FAULT_EVERY = 8.0  # seconds between two faults, on average


class Failed(Exception):
    """The remaining errors, a line each."""


async def soak(minutes: float, seed: int, folder: Path) -> None:
    """Run a soak with logs in `folder`, and print figures. Raises Failed, or Different in a pause."""
    etcd, server = await asyncio.gather(*(asyncio.to_thread(ensure, name) for name in ("etcd", "kube-apiserver")))
    await asyncio.to_thread(ensure, "opa")
    crds = await asyncio.to_thread(ensure_crds)
    plane = ControlPlane(folder / "control-plane", etcd=etcd.path, kube_apiserver=server.path)
    replicas = [Replica(name, plane.kubeconfig, folder) for name in ("first", "second")]
    try:
        progress(f"seed {seed}; logs are in {folder}")
        await asyncio.to_thread(plane.start)
        await asyncio.to_thread(plane.api.apply_crds, crds / "experimental")
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
        errors = [line for one in replicas for line in one.errors()]
        _report(minutes, life, faults, rests, memories)
        figure("soak_errors_logged", len(errors), "lines")
        wrong = [*errors[:20], *memories.grown()]
        if wrong:
            raise Failed("\n".join(wrong))
    finally:
        for one in replicas:
            await asyncio.to_thread(one.kill)
        await asyncio.to_thread(plane.stop)


async def define_bridge(plane: ControlPlane) -> None:
    """Apply the bridge's own CRDs."""
    for file in sorted(CRDS.glob("*.yaml")):
        name = f"{file.stem}.policybridge.io"
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        await asyncio.to_thread(plane.api.apply, path, file.read_text())
        await asyncio.to_thread(plane.api.wait_for_crds, {name})


async def _define(plane: ControlPlane) -> None:
    await define_bridge(plane)
    policies = {"direct": "Direct", "selecting": "Direct", "rule": "Inherited", "backend": "Inherited"}
    for kind in POLICY_KINDS:
        body = crd("backendpolicies" if kind == "BackendPolicy" else f"{kind.lower()[:-1]}ies", kind, group=GROUP)
        label = policies[kind.lower().removesuffix("policy")]
        body["metadata"]["labels"] = {"gateway.networking.k8s.io/policy": label}
        await apply_crd(plane.api, body)
    await apply_crd(plane.api, crd("things", "Thing", group="example.com"))


async def _rests(
    seconds: float, places: Places, life: Life, faults: Faults, replicas: list[Replica]
) -> tuple[list[Equal], Memories]:
    """Run changes and faults with pauses, the last one at the end; in each pause everything must become equal."""
    every = max(seconds / RESTS, _SHORTEST)
    ends = time.monotonic() + seconds
    rests: list[Equal] = []
    memories = Memories()
    while not rests or time.monotonic() < ends:
        life.resume()
        faults.resume()
        await asyncio.sleep(min(every, max(ends - time.monotonic(), 1.0)))
        await faults.rest()
        await life.rest()
        progress(f"rest after {life.changes} changes: everything must come right")
        equal = await until_equal(places, {one.name: one.opa_url for one in replicas}, life.values)
        rests.append(equal)
        memories.note(replicas)
        progress(
            f"equal after {equal.seconds:.1f} s: {equal.objects} objects, {equal.statuses} statuses,"
            f" {equal.affected} affected objects; MiB: {memories.last}"
        )
    return rests, memories


def _report(minutes: float, life: Life, faults: Faults, rests: list[Equal], memories: Memories) -> None:
    figure("soak_minutes", minutes, "min", rests=len(rests))
    figure("soak_changes", life.changes, "changes", refused_by_the_api_server=life.refused)
    for name, count in sorted(faults.counts.items()):
        figure(f"soak_{name}", count, "times")
    last = rests[-1]
    figure("soak_objects_equal", last.objects, "objects", replicas=2)
    figure("soak_statuses_equal", last.statuses, "statuses", affected=last.affected)
    took = [rest.seconds for rest in rests]
    figure("soak_rest_to_equal", percentile(took, 0.5), "s", most=max(took))
    memories.report()
