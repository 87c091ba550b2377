"""A soak with a hostile tenant next to a well-behaved one; `WellBehaved` measures what the latter gets."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from hack.bench.api import session_of
from hack.cluster import apply_all, running_cluster
from hack.figures import percentile, progress, short, table
from hack.processes import HERE, BridgeProcess, highest_memory
from hack.soak.hostile import ACTS
from hack.soak.hostile_objects import GATEWAY_API, GROUP, POLICIES, SHARED
from hack.soak.soak import Failed
from tests.controlplane.api import ApiError, ApiServer
from tests.controlplane.process import ServerProcess
from tests.integration.objects import apply_crd, crd
from tests.scenarios.custom_resources import plural_of

QUIET = "quiet"  # its namespace
FORBIDDEN = "forbidden"  # a label that the Constraint of the soak refuses
KINDS = ("status", "admission", "api_server")
STATUS_P99 = 2.0  # seconds
ADMISSION_P99 = 1.0
_PAUSE = 0.2  # seconds between two measurements
_POLL = 0.02
_GIVE_UP = 60.0  # seconds; what takes longer counts as that long
_ROUTES = f"/apis/{GATEWAY_API}/v1/namespaces/{QUIET}/httproutes"
_POLICY = f"/apis/{GROUP}/v1/namespaces/{QUIET}/limitpolicies"
_MERGE = "application/merge-patch+json"

Object = dict[str, Any]


@dataclass
class Measured:
    """Seconds of each kind, and errors, a line each."""

    status: list[float] = field(default_factory=list)
    admission: list[float] = field(default_factory=list)
    api_server: list[float] = field(default_factory=list)  # the same request for an object that no webhook sees
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Return a readable form."""
        p99 = {kind: percentile(found, 0.99) for kind in KINDS if (found := getattr(self, kind))}
        return (
            "p99: "
            + ", ".join(f"{kind} {seconds:.2f} s" for kind, seconds in p99.items())
            + (f"; {len(self.wrong)} wrong answers")
        )

    def report(self, name: str) -> None:
        """Print figures; `name` is the phase."""
        rows = [
            [kind, *(short(value) for value in (percentile(found, 0.5), percentile(found, 0.99), max(found)))]
            for kind in KINDS
            if (found := getattr(self, kind))
        ]
        rows.append(["wrong answers", "", "", str(len(self.wrong))])
        print(table([f"{name}, seconds", "p50", "p99", "most"], rows))

    def missed(self) -> list[str]:
        """Return one line for each missed objective."""
        found = self.wrong[:10]
        for kind, bound in (("status", STATUS_P99), ("admission", ADMISSION_P99)):
            seen = getattr(self, kind)
            if not seen or percentile(seen, 0.99) > bound:
                p99 = f"{percentile(seen, 0.99):.2f} s" if seen else "not measured"
                found.append(f"{kind} latency p99 of the well-behaved tenant: {p99}, more than {bound} s")
        return found


class WellBehaved:
    """The tenant. Its requests to the API server use few connections, as a controller's do."""

    def __init__(self, api: ApiServer, session: aiohttp.ClientSession) -> None:
        self.measured = Measured()
        self._api = api
        self._session = session
        self._changes = 0

    def prepare(self) -> None:
        """Create its objects. Blocks."""
        spec = {"parentRefs": [dict(SHARED)], "hostnames": ["quiet.example.com"], "rules": [_rule()]}
        self._api.request("POST", _ROUTES, _object(f"{GATEWAY_API}/v1", "HTTPRoute", "cart", spec))
        ref = {"group": GATEWAY_API, "kind": "HTTPRoute", "name": "cart"}
        self._api.request("POST", _POLICY, _object(f"{GROUP}/v1", "LimitPolicy", "cart", {"targetRefs": [ref]}))

    def start_over(self) -> None:
        """Discard the measured values."""
        self.measured = Measured()

    async def run(self) -> None:
        """Measure until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for measure in (self._change_the_policy, self._have_an_object_admitted, self._ask_the_api_server_alone):
                tasks.create_task(self._again(measure))

    async def _again(self, measure: Any) -> None:
        while True:
            try:
                await measure()
            except (aiohttp.ClientError, TimeoutError) as error:
                self.measured.wrong.append(f"{measure.__name__.strip('_')}: {error!r}")
            await asyncio.sleep(_PAUSE)

    async def _change_the_policy(self) -> None:
        """Return the seconds from the response to a change until the status describes it."""
        self._changes += 1
        status, answer = await self._send("PATCH", f"{_POLICY}/cart", {"spec": {"requests": self._changes}}, _MERGE)
        if status != HTTPStatus.OK:
            self.measured.wrong.append(f"a change of the policy: {status} {str(answer)[:300]}")
            return
        generation = answer["metadata"]["generation"]
        began = time.monotonic()
        while not _is_about(answer, generation) and time.monotonic() - began < _GIVE_UP:
            await asyncio.sleep(_POLL)
            _, answer = await self._send("GET", f"{_POLICY}/cart")
        self.measured.status.append(time.monotonic() - began)
        if not _is_about(answer, generation):
            self.measured.wrong.append(f"no status for generation {generation} after {_GIVE_UP:.0f} s")

    async def _have_an_object_admitted(self) -> None:
        """Return the seconds of a request that the webhook allows, and of one that it denies."""
        spec = {"parentRefs": [dict(SHARED)], "rules": [_rule()]}
        for labels, wanted in (({}, HTTPStatus.CREATED), ({FORBIDDEN: "true"}, HTTPStatus.FORBIDDEN)):
            route = _object(f"{GATEWAY_API}/v1", "HTTPRoute", "wanted", spec)
            route["metadata"]["labels"] = labels
            began = time.monotonic()
            status, answer = await self._send("POST", f"{_ROUTES}?dryRun=All", route)
            self.measured.admission.append(time.monotonic() - began)
            if status != wanted:
                self.measured.wrong.append(f"admission answered {status}, not {wanted}: {str(answer)[:300]}")

    async def _ask_the_api_server_alone(self) -> None:
        body = {**_object("v1", "ConfigMap", "wanted", {}), "data": {}}
        began = time.monotonic()
        await self._send("POST", f"/api/v1/namespaces/{QUIET}/configmaps?dryRun=All", body)
        self.measured.api_server.append(time.monotonic() - began)

    async def _send(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, Any]:
        headers, timeout = {"Content-Type": content_type}, aiohttp.ClientTimeout(total=_GIVE_UP)
        async with self._session.request(method, path, json=body, headers=headers, timeout=timeout) as answer:
            return answer.status, await answer.json(content_type=None)


def _is_about(policy: Object, generation: int) -> bool:
    conditions = policy.get("status", {}).get("conditions", [])
    return any(one["type"] == "Programmed" and one.get("observedGeneration") == generation for one in conditions)


def _rule() -> Object:
    return {"backendRefs": [{"name": "cart", "port": 80}]}


def _object(api_version: str, kind: str, name: str, spec: Object) -> Object:
    metadata = {"name": name, "namespace": QUIET}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | ({"spec": spec} if spec else {})


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
            async with session_of(plane) as session:
                tenant = WellBehaved(plane.api, session)
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
