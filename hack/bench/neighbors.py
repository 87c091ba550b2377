"""Measure a tenant with a noisy neighbor: wide policies, many target refs, expensive regular expressions."""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from bridge.admission.webhook_configuration import MUTATING, Target, webhook_configuration
from bridge.model.changes import Object
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped_bundle
from bridge.resources import rego_root
from hack.bench.admission import POLICY
from hack.bench.api import Watched, session_of, watching
from hack.bench.figures import figure, opa_below, percentile, progress, spread_of, step
from hack.bench.sidecar import running_bridge
from hack.tools import ensure, ensure_crds
from tests.controlplane.plane import ControlPlane
from tests.integration.objects import crd
from tests.integration.webhook import free_port

WIDE, LEAVES = 6, 20_000
REFS = 12_000
SAMPLES = 100  # changes of the quiet tenant
WARM_UP = 5  # changes before them, while first statuses are written
LONGEST = 120.0  # seconds for all of them, once there are three
PATIENCE = 60.0  # seconds for one
SETTLE = 300.0  # seconds for the first statuses of all policies
PATTERNS = 1_000
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "bench.example.com"
ALL_POLICIES = f"/apis/{GROUP}/v1/paintpolicies"
POLICIES = f"/apis/{GROUP}/v1/namespaces/{{}}/paintpolicies"
ROUTES = "/apis/gateway.networking.k8s.io/v1/namespaces/{}/httproutes"


async def neighbor(_: int) -> None:
    """Measure the latency of one tenant's statuses and admission, alone and next to a noisy one."""
    port = free_port()
    environment = {
        "BRIDGE_WEBHOOK_LISTEN": f"127.0.0.1:{port}",
        "BRIDGE_WEBHOOK_URL": f"https://127.0.0.1:{port}/admission",
    }
    async with _cluster() as plane, session_of(plane) as api, watching(api, ALL_POLICIES) as watched:
        await _create(api, "", _configuration(port))
        with step("idle"):
            async with running_bridge(plane, environment):
                await watched.until_all_observed(WIDE + 4, SETTLE)
                await asyncio.sleep(5)
                idle = await _tenant(api, watched, "idle")
        with step("noisy"):
            async with running_bridge(plane, environment):
                await asyncio.sleep(5)
                noise = asyncio.create_task(_noise(api))
                await asyncio.sleep(5)
                noisy = await _tenant(api, watched, "noisy")
                if noise.done():
                    noise.result()
                noise.cancel()
    figure("tenants_status_p99_to_idle", noisy / idle, "ratio", policies=WIDE, leaves=LEAVES, refs=REFS)


@asynccontextmanager
async def _cluster() -> AsyncIterator[ControlPlane]:
    etcd, server = await asyncio.gather(*(asyncio.to_thread(ensure, name) for name in ("etcd", "kube-apiserver")))
    crds = await asyncio.to_thread(ensure_crds)
    with tempfile.TemporaryDirectory(prefix="policy-bridge-bench-") as folder:
        plane = ControlPlane(Path(folder), etcd=etcd.path, kube_apiserver=server.path)
        try:
            await asyncio.to_thread(plane.start)
            own = crd("paintpolicies", "PaintPolicy", group=GROUP)
            await asyncio.to_thread(plane.api.apply_crds, crds / "standard")
            for file in (Path(__file__).parents[2] / "deploy" / "crds").glob("*.yaml"):
                await asyncio.to_thread(plane.api.apply, f"{CRDS}/{file.stem}.policybridge.io", file.read_bytes())
            async with session_of(plane) as api:
                await _create(api, CRDS, own)
                await asyncio.to_thread(plane.api.wait_for_crds, {own["metadata"]["name"]})
                for path, obj in _objects():
                    await _create(api, path, obj)
            yield plane
        finally:
            await asyncio.to_thread(plane.stop)


def _objects() -> list[tuple[str, Object]]:
    """Return the objects of both tenants, and a policy of admins, so that admission fails closed."""
    spaces = ("infra", "quiet", "noisy", "opa-policies")
    found: list[tuple[str, Object]] = [("/api/v1/namespaces", {"metadata": {"name": name}}) for name in spaces]
    labels = {"openpolicyagent.org/policy": "rego"}
    found.append(
        (
            "/api/v1/namespaces/opa-policies/configmaps",
            {"metadata": {"name": "placement", "labels": labels}, "data": {"placement.rego": POLICY}},
        )
    )
    gateways = "/apis/gateway.networking.k8s.io/v1"
    found.append(
        (f"{gateways}/gatewayclasses", {"metadata": {"name": "bench"}, "spec": {"controllerName": "example.com/bench"}})
    )
    listener = {"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": {"namespaces": {"from": "All"}}}
    gateway = {"metadata": {"name": "public"}, "spec": {"gatewayClassName": "bench", "listeners": [listener]}}
    found.append((f"{gateways}/namespaces/infra/gateways", gateway))
    for tenant in ("quiet", "noisy"):
        rules = [{"backendRefs": [{"name": "app", "port": 80}]}]
        spec = {"parentRefs": [{"name": "public", "namespace": "infra"}], "rules": rules, "hostnames": [f"{tenant}.io"]}
        found.append((ROUTES.format(tenant), {"metadata": {"name": "app"}, "spec": spec}))
        found.append((POLICIES.format(tenant), _policy("own", {"color": "red"})))
    found.append((POLICIES.format("quiet"), _policy("floor", {}, [_ref("none")])))
    found += [(POLICIES.format("noisy"), _policy(f"wide-{number}", _wide(number))) for number in range(WIDE)]
    refs = [_ref(f"r{number}") for number in range(REFS)]
    found.append((POLICIES.format("noisy"), _policy("refs", {"color": "blue"}, refs)))
    described = {
        "group": GROUP,
        "kind": "PaintPolicy",
        "mode": "Manage",
        "controllerName": "example.com/bench",
        "effectiveTarget": "Rule",
        "defaultStrategy": "PatchDefaults",
    }
    kind = {"metadata": {"name": "paint"}, "spec": described}
    found.append(("/apis/policybridge.io/v1alpha1/policykinds", kind))
    return found


def _policy(name: str, spec: Object, refs: Sequence[Object] = ()) -> Object:
    return {"metadata": {"name": name}, "spec": {"targetRefs": list(refs) or [_ref("app")], **spec}}


def _ref(name: str) -> Object:
    return {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": name}


def _wide(number: int) -> Object:
    return {"values": {f"f{leaf}": number for leaf in range(LEAVES)}}


def _configuration(port: int) -> Object:
    """Return a webhook only for Gateway API's kinds, so that the noisy policies are stored."""
    return webhook_configuration(
        MUTATING,
        "policy-bridge",
        Target(url=f"https://127.0.0.1:{port}/admission"),
        exempt=["kube-system"],
        timeout=10,
        resources=["*.gateway.networking.k8s.io"],
        policies=False,
    )


async def _noise(api: aiohttp.ClientSession) -> None:
    """Change all policies of the noisy tenant, again and again."""
    for number in itertools.count():
        for name in (*(f"wide-{one}" for one in range(WIDE)), "refs"):
            await _patch(api, f"{POLICIES.format('noisy')}/{name}", {"spec": {"turn": number}})
        await asyncio.sleep(0.2)


async def _tenant(api: aiohttp.ClientSession, watched: Watched, beside: str) -> float:
    """Change the quiet tenant's policy and its route alternately; return the p99 of its status (s)."""
    status: list[float] = []
    floor: list[float] = []
    routes: list[float] = []
    denied = 0
    began = time.perf_counter()
    for number in range(-WARM_UP, SAMPLES):
        if number == 0:
            status.clear()
            floor.clear()
            routes.clear()
            began = time.perf_counter()
        if len(status) >= 3 and time.perf_counter() - began > LONGEST:
            break
        path = f"{POLICIES.format('quiet')}/own"
        _, changed = await _patch(api, path, {"spec": {"color": f"c{beside}{number}"}})
        answered = time.perf_counter()
        flooring = asyncio.create_task(_floor(api, watched, changed))
        while time.perf_counter() - answered < PATIENCE:
            async with api.get(path) as response:
                conditions = (await response.json()).get("status", {}).get("conditions", [])
            if conditions and all(
                one.get("observedGeneration") == changed["metadata"]["generation"] for one in conditions
            ):
                break
            await asyncio.sleep(0.005)
        status.append(time.perf_counter() - answered)
        floor.append(await flooring - answered)
        sent = time.perf_counter()
        hostname = f"h{number + WARM_UP}.quiet.io"
        code, _ = await _patch(api, f"{ROUTES.format('quiet')}/app", {"spec": {"hostnames": [hostname]}})
        routes.append((time.perf_counter() - sent) * 1e3)
        denied += code != 200
        await asyncio.sleep(0.05)
    slowest = percentile(status, 0.99)
    figure("tenants_status_p99", slowest * 1e3, "ms", beside=beside, **spread_of([one * 1e3 for one in status]))
    about = spread_of([one * 1e3 for one in floor])
    figure("tenants_status_floor_p99", percentile(floor, 0.99) * 1e3, "ms", beside=beside, **about)
    bridge = [max(0.0, whole - least) * 1e3 for whole, least in zip(status, floor, strict=True)]
    figure("tenants_status_bridge_p99", percentile(bridge, 0.99), "ms", beside=beside, **spread_of(bridge))
    figure("tenants_admission_p99", percentile(routes, 0.99), "ms", beside=beside, **spread_of(routes))
    figure("tenants_admission_denied", denied, "requests", beside=beside, of=len(routes))
    return slowest


async def _floor(api: aiohttp.ClientSession, watched: Watched, changed: Object) -> float:
    """Do what the API server needs for any status: deliver the change and store a status; gives the time at its end.

    The status is that of another policy, so that the bridge's own write has no conflict.
    """
    await watched.until_delivered(changed)
    change = {"status": {"turn": changed["metadata"]["generation"]}}
    await _patch(api, f"{POLICIES.format('quiet')}/floor/status", change)
    return time.perf_counter()


async def _create(api: aiohttp.ClientSession, path: str, obj: Object) -> None:
    path = path or "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    group = path.split("/")
    version = "v1" if group[1] == "api" else f"{group[2]}/{group[3]}"
    kinds = {
        "paintpolicies": "PaintPolicy",
        "httproutes": "HTTPRoute",
        "gateways": "Gateway",
        "gatewayclasses": "GatewayClass",
        "policykinds": "PolicyKind",
        "namespaces": "Namespace",
        "configmaps": "ConfigMap",
        "customresourcedefinitions": "CustomResourceDefinition",
        "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
    }
    body = {"apiVersion": version, "kind": kinds[group[-1]], **obj}
    async with api.post(path, json=body) as response:
        if response.status != 201:
            raise RuntimeError(f"{path}: {(await response.text())[:500]}")


async def _patch(api: aiohttp.ClientSession, path: str, change: Object) -> tuple[int, Any]:
    headers = {"Content-Type": "application/merge-patch+json"}
    async with api.patch(path, data=json.dumps(change), headers=headers) as response:
        return response.status, await response.json()


async def patterns(_: int) -> None:
    """Measure the time and OPA's memory of one request, with a route whose patterns are expensive to compile."""
    executable = await asyncio.to_thread(ensure, "opa")
    gateway = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "public", "namespace": "infra"},
        "spec": {"gatewayClassName": "bench", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
    }
    matches = [
        {"headers": [{"name": "x", "type": "RegularExpression", "value": "[a-k1]{1000}" * 85 + str(number)}]}
        for number in range(PATTERNS)
    ]
    route = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "hostile", "namespace": "infra"},
        "spec": {"parentRefs": [{"name": "public"}], "rules": [{"matches": matches}]},
    }
    query_input = {"host": "a.io", "headers": {"x": "abc" * 50}, "changes": {"upsert": [gateway, route]}}
    async with ManagedOpa(executable.path, {}, bundle=shipped_bundle(rego_root())) as managed, Opa(managed.url) as opa:
        began = time.perf_counter()
        answer = "none"
        try:
            answer = (await opa.query("request", query_input))["nearest"]["reason"]
        except OpaError as error:
            progress(str(error))
        about = {"patterns": PATTERNS, "answer": answer}
        figure("tenants_request_of_heavy_patterns", time.perf_counter() - began, "s", **about)
        status = Path(f"/proc/{opa_below(managed.pid)}/status")
        if status.exists():
            (line,) = [one for one in status.read_text().splitlines() if one.startswith("VmHWM")]
            figure("tenants_request_of_heavy_patterns_memory", int(line.split()[1]) / 1024, "MiB", **about)
