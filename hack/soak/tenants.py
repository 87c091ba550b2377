"""A soak with a hostile tenant next to a well-behaved one; `WellBehaved` measures what the latter gets."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from hack.cluster import apply_all, running_cluster
from hack.figures import progress
from hack.processes import HERE, BridgeProcess, highest_memory
from hack.soak.hostile import ACTS
from hack.soak.hostile_objects import GATEWAY_API, GROUP, POLICIES
from hack.soak.soak import Failed
from hack.soak.well_behaved import FORBIDDEN, QUIET, WellBehaved
from tests.controlplane.api import ApiError, ApiServer
from tests.controlplane.process import ServerProcess
from tests.integration.objects import apply_crd, crd
from tests.scenarios.custom_resources import plural_of

OBJECTS = Path(__file__).with_suffix(".yaml")
VALUES = Path(__file__).parents[2] / "deploy" / "chart" / "values.yaml"
_IDLE_SHARE = 0.15  # of the time, before the hostile tenant comes
_IDLE_MOST = 60.0  # seconds
_TELL = 20.0  # seconds between two reports
_PATIENCE = 300.0  # seconds until the modules are active and admission decides
_CONFIG_MAPS = f"/api/v1/namespaces/{POLICIES}/configmaps"
_MODULES = ("labels", "below")


async def soak_tenants(minutes: float, seed: int, folder: Path, acts: Sequence[str] = ACTS) -> None:
    """Run a soak with logs in `folder` and these acts of the hostile tenant, and print figures. Raises Failed."""
    progress(f"seed {seed}; logs are in {folder}")
    webhook, page = _free_port(), _free_port()
    url = f"https://127.0.0.1:{webhook}/admission"
    settings = {"BRIDGE_WEBHOOK_URL": url, "BRIDGE_WEBHOOK_DECISION": "", "BRIDGE_TYPES": "example.com/Thing"}
    async with running_cluster(folder / "control-plane") as plane:
        options = ["--kubeconfig", str(plane.kubeconfig), "--listen", f"127.0.0.1:{page}"]
        bridge = BridgeProcess("tenants", folder, [*options, "--webhook-listen", f"127.0.0.1:{webhook}"], settings)
        hostile: ServerProcess | None = None
        try:
            await _define(plane.api, url)
            await bridge.start()
            async with WellBehaved(plane.api) as tenant:
                await _until_admission_decides(plane.api, bridge)
                await asyncio.to_thread(tenant.prepare)
                first = bridge.pids()
                idle = min(minutes * 60 * _IDLE_SHARE, _IDLE_MOST)
                await _measure(tenant, idle)
                tenant.measured.report("idle")
                tenant.start_over()
                command = [sys.executable, "-m", "hack.soak.hostile", str(plane.kubeconfig), str(seed)]
                hostile = ServerProcess([*command, str(webhook), str(page), ",".join(acts)], folder / "hostile.log")
                progress("the hostile tenant comes")
                await _measure(tenant, minutes * 60 - idle)
                wrong = [] if hostile.running else [f"the hostile tenant ended:\n{hostile.last_lines()}"]
                tenant.measured.report("beside the hostile tenant")
                wrong += [*tenant.measured.missed(), *_exceeded(bridge, first)]
                wrong += [line for line in bridge.errors() if "Traceback" in line or '"level": "critical"' in line]
                wrong += await asyncio.to_thread(_inactive_modules, plane.api)
                progress(f"acts of the hostile tenant: {hostile.last_lines(1)}")
                if wrong:
                    raise Failed("\n".join(wrong))
        finally:
            if hostile is not None:
                await asyncio.to_thread(hostile.kill)
            await asyncio.to_thread(bridge.kill)


def _exceeded(bridge: BridgeProcess, first: dict[str, int]) -> list[str]:
    """Return a line for each restart, and for each peak of memory above the limit in the chart's values."""
    values: dict[str, Any] = yaml.safe_load(VALUES.read_text())
    limits = {"bridge": values["resources"], "opa": values["opa"]["resources"]}
    wrong = [f"{name} has restarted" for name, pid in first.items() if bridge.pids().get(name) != pid]
    for name, pid in first.items():
        used, limit = highest_memory(pid), _mebibytes(limits[name]["limits"]["memory"])
        if used is not None:
            progress(f"{name} used at most {used:.0f} MiB of {limit:.0f}")
            if used > limit:
                wrong.append(f"{name} used {used:.0f} MiB; the chart's limit is {limit:.0f}")
    return wrong


def _mebibytes(quantity: str) -> float:
    return float(quantity[:-2]) * {"Ki": 2**-10, "Mi": 1.0, "Gi": 2.0**10}[quantity[-2:]]


async def _define(api: ApiServer, url: str) -> None:
    """Create the admin's objects for two tenants, and the webhook configuration."""
    for kind, group in (("LimitPolicy", GROUP), ("Thing", "example.com")):
        await apply_crd(api, crd(plural_of(kind), kind, group=group))
    await asyncio.to_thread(apply_all, api, yaml.safe_load_all(OBJECTS.read_text()))
    resources = [f"--resource=*.{group}" for group in (GATEWAY_API, GROUP)]
    command = HERE.command("webhook-config", "--url", url, *resources)
    printed = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    await asyncio.to_thread(apply_all, api, yaml.safe_load_all(printed.stdout))


async def _until_admission_decides(api: ApiServer, bridge: BridgeProcess) -> None:
    """Wait until the Constraint denies what it should."""
    metadata = {"name": "probe", "labels": {FORBIDDEN: "true"}}
    route = {"apiVersion": f"{GATEWAY_API}/v1", "kind": "HTTPRoute", "metadata": metadata, "spec": {"rules": [{}]}}
    path = f"/apis/{GATEWAY_API}/v1/namespaces/{QUIET}/httproutes?dryRun=All"
    async with asyncio.timeout(_PATIENCE):
        while bridge.running:
            try:
                await asyncio.to_thread(api.request, "POST", path, route)
            except ApiError as error:
                if "the label is forbidden" in str(error):
                    return
            await asyncio.sleep(0.5)


def _inactive_modules(api: ApiServer) -> list[str]:
    """Return the admin's modules that are not active."""
    found = []
    for name in _MODULES:
        annotations = api.request("GET", f"{_CONFIG_MAPS}/{name}")["metadata"].get("annotations") or {}
        status = annotations.get("policybridge.io/status", "{}")
        if json.loads(status).get("status") != "ok":
            found.append(f"the admin's module {name} is not active: {status}")
    return found


async def _measure(tenant: WellBehaved, seconds: float) -> None:
    """Let the tenant work for some time, and report now and then."""
    work = asyncio.create_task(tenant.run())
    try:
        while seconds > 0:
            done, _ = await asyncio.wait([work], timeout=min(_TELL, seconds))
            for task in done:
                task.result()
            seconds -= _TELL
            progress(str(tenant.measured))
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
