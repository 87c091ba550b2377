"""Measure many policy kinds: ten kinds of five vendors, compared with as many policies of one kind."""

from __future__ import annotations

import os
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from bridge.model.changes import Object
from bridge.opa.client import Opa
from bridge.queries.statuses import statuses
from hack.bench.figures import descendants, figure, memory, opa_below, percentile, processor_time, progress
from hack.bench.load import Load, gateway_of, namespace_of, rule_key
from hack.bench.opa_alone import WHERE, filled_with
from hack.bench.queries import ask
from tests.integration.objects import crd
from tests.scenarios.custom_resources import plural_of

RULES = 200  # rules to query, one at a time
ROUNDS = 12  # the same rules each time; OPA collects what is left of the initial sync during the first ones
STATUS_ROUNDS = 2
_NAMES = ("fill", "effective", "explain", "statuses", "memory")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind with a preset. `controller` is the controller of the Gateways below which its policies have an effect."""

    api_version: str
    kind: str
    controller: str
    spec: Object

    def crd(self) -> Object:
        """Return its CRD."""
        group, _, version = self.api_version.partition("/")
        found: Object = crd(plural_of(self.kind), self.kind, group=group, versions=(version,))
        return found

    def policy(self, route: int) -> Object:
        """Return a policy for a route. Kuadrant's kinds have one ref, the others a list."""
        ref = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": f"route-{route}"}
        refs: Object = {"targetRef": ref} if self.api_version.startswith("kuadrant.io/") else {"targetRefs": [ref]}
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "metadata": {"name": f"route-{route}", "namespace": namespace_of(route)},
            "spec": {**refs, **self.spec},
        }


_ENVOY, _ENVOY_CLASS = "gateway.envoyproxy.io/v1alpha1", "gateway.envoyproxy.io/gatewayclass-controller"
_KUADRANT, _ISTIO_CLASS = "kuadrant.io/v1", "istio.io/gateway-controller"
_NGINX, _NGINX_CLASS = "gateway.nginx.org/v1alpha1", "gateway.nginx.org/nginx-gateway-controller"
_LIMITS = {"limits": {"global": {"rates": [{"limit": 5, "window": "10s"}]}}}
KINDS = (
    Kind(_ENVOY, "BackendTrafficPolicy", _ENVOY_CLASS, {"retry": {"numRetries": 2}}),
    Kind(_ENVOY, "SecurityPolicy", _ENVOY_CLASS, {"cors": {"allowOrigins": ["https://example.com"]}}),
    Kind(_ENVOY, "EnvoyExtensionPolicy", _ENVOY_CLASS, {"lua": [{"type": "Inline", "inline": "-"}]}),
    Kind(_KUADRANT, "RateLimitPolicy", _ISTIO_CLASS, _LIMITS),
    Kind(_KUADRANT, "TokenRateLimitPolicy", _ISTIO_CLASS, _LIMITS),
    Kind(_KUADRANT, "AuthPolicy", _ISTIO_CLASS, {"rules": {"authentication": {"users": {"anonymous": {}}}}}),
    Kind(_NGINX, "ClientSettingsPolicy", _NGINX_CLASS, {"body": {"maxSize": "10m"}}),
    Kind(_NGINX, "ProxySettingsPolicy", _NGINX_CLASS, {"timeout": {"read": "9s"}}),
    Kind("gateway.kgateway.dev/v1alpha1", "TrafficPolicy", "kgateway.dev/kgateway", {"timeouts": {"request": "5s"}}),
    Kind("gateway.solo.io/v1", "RouteOption", "solo.io/gloo-gateway", {"options": {"prefixRewrite": "/"}}),
)
ONE = KINDS[3]  # its policies count below every Gateway


@dataclass(frozen=True, slots=True)
class Filled:
    """An OPA with the policies of some kinds. `found` has its figures so far, by name."""

    url: str
    pid: int | None
    kinds: int
    found: dict[str, float]

    def least(self, name: str, value: float) -> None:
        """Keep the smallest measured value, which other processes influence least."""
        self.found[name] = min(value, self.found.get(name, value))


async def measure(routes: int) -> None:
    """Measure with a policy on every route: a tenth of them of each kind, in turn with all of one kind."""
    load = Load(routes)
    async with _filled(load, KINDS) as many, _filled(load, (ONE,)) as one, aiohttp.ClientSession() as session:
        chosen = random.Random(3).sample(range(routes), min(RULES, routes))
        for _ in range(ROUNDS):
            for query in ("effective", "explain"):
                for opa in (many, one):
                    opa.least(query, percentile([await _one(session, opa.url, query, route) for route in chosen], 0.5))
        for _ in range(STATUS_ROUNDS):
            for opa in (many, one):
                progress(f"all statuses of {opa.kinds} kinds")
                opa.least("statuses", await _statuses(opa, load))
    more = {"routes": routes, "where": WHERE}
    for opa in (many, one):
        for name, unit in zip(_NAMES, ("s", "ms", "ms", "s", "MiB"), strict=True):
            figure(f"vendors_{name}", opa.found[name], unit, kinds=opa.kinds, **more)
    for name in _NAMES:
        figure("vendors_to_one_kind", many.found[name] / one.found[name], "ratio", of=name, kinds=len(KINDS), **more)


@asynccontextmanager
async def _filled(load: Load, kinds: tuple[Kind, ...]) -> AsyncIterator[Filled]:
    """Start an OPA with the load. Its figures have the processor time of the initial sync, and the memory after it."""
    progress(f"{load.routes:,} policies of {len(kinds)} kinds")
    others = descendants(os.getpid())
    async with filled_with(_objects(load, kinds)) as (url, fill, _):
        pid = opa_below(os.getpid(), others)
        found = {"fill": processor_time(pid) or fill, "memory": (memory(pid) if pid else None) or 1.0}
        yield Filled(url, pid, len(kinds), found)


async def _statuses(filled: Filled, load: Load) -> float:
    """OPA's processor time for all statuses, in seconds."""
    before = processor_time(filled.pid) or 0.0
    async with Opa(filled.url, timeout=600) as opa:
        answer = await statuses(opa, with_objects=False, with_affected=False)
    took = (processor_time(filled.pid) or 0.0) - before or 1.0
    _check(answer.policies, load)
    return took


async def _one(session: aiohttp.ClientSession, url: str, query: str, route: int) -> float:
    """OPA's time for one rule and every kind, in milliseconds."""
    target = rule_key(route, "first")
    query_input = {"targets": [target]} if query == "effective" else {"target": target}
    result, opa, _ = await ask(session, url, query, query_input)
    if not any(entry["paths"] for entry in result):
        raise RuntimeError(f"{target} has no effective policy")
    return opa * 1e3


def _check(policies: list[dict[str, Any]], load: Load) -> None:
    """Every policy is in effect, so that the same work is compared."""
    if len(policies) != load.routes:
        raise RuntimeError(f"{load.routes} policies expected, {len(policies)} have a status")
    for entry in policies:
        conditions = entry.get("conditions") or entry["ancestors"][0]["conditions"]
        if {condition["status"] for condition in conditions} != {"True"}:
            raise RuntimeError(f"not in effect: {entry}")


def _objects(load: Load, kinds: tuple[Kind, ...]) -> Iterator[Object]:
    """The load below Gateways of the kinds' controllers: every Gateway has the policies of one kind."""
    yield from (kind.crd() for kind in kinds)
    for controller in dict.fromkeys(kind.controller for kind in KINDS):
        yield _class(controller)
    for obj in load.bases():
        if obj["kind"] == "Gateway":
            number = int(obj["metadata"]["name"].rpartition("-")[2])
            controller = KINDS[number % len(KINDS)].controller
            yield {**obj, "spec": {**obj["spec"], "gatewayClassName": _class_name(controller)}}
        else:
            yield obj
    yield from load.http_routes()
    yield from (kinds[gateway_of(route) % len(kinds)].policy(route) for route in range(load.routes))


def _class(controller: str) -> Object:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "GatewayClass",
        "metadata": {"name": _class_name(controller)},
        "spec": {"controllerName": controller},
    }


def _class_name(controller: str) -> str:
    return controller.replace("/", "-")
