"""What changes cost OPA beside objects of a tenant whose links make many paths, or who names the objects of others."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridge.model.changes import Object
from bridge.opa.client import Opa
from bridge.opa.errors import QueryError
from tests import builders
from tests.builders import target_ref
from tests.integration.scripted import BARRIER
from tests.integration.test_replicator import bridge
from tests.processes import opa_below
from tests.warm_opa import WarmOpa

GROUP = "gateway.networking.k8s.io"
LIMIT, QUOTA = "test.example.com/LimitPolicy", "test.example.com/QuotaPolicy"
TYPES = (
    *(f"{GROUP}/{kind}" for kind in ("GatewayClass", "Gateway", "HTTPRoute")),
    *("core/Service", "policybridge.io/PolicyKind", LIMIT, QUOTA, BARRIER),
)
SMALL = {"targets": {}, "kept": {}, "former": [], "observed": False, "most": 100}
CHANGE: dict[str, Any] = {"was": {}, "wanted": {"scopes": {}, "objects": {}, "policies": {}, "remediation": SMALL}}
MOST_SECONDS = 1.5  # of OPA's processor time; without the bounds each of these queries takes more than 5


def policy_kind(kind: str, **spec: Any) -> Object:
    return builders.policy_kind(kind, mode="Manage", controllerName="example.com/c", **spec)


def policy(kind: str, name: str, refs: Sequence[Object], namespace: str = "hostile") -> Object:
    created = {"creationTimestamp": "2024-01-01T00:00:00Z"}
    return builders.policy(kind, name, refs, namespace, metadata=created, requests=1)


def gateway(name: str, listeners: int) -> Object:
    return builders.gateway(name, "hostile", ports=range(80, 80 + listeners))


def route(name: str, gateways: int, backends: Sequence[str], namespace: str = "hostile") -> Object:
    rules = [builders.backends(backend) for backend in backends]
    return builders.http_route(name, namespace, parents=[f"g{number}" for number in range(gateways)], rules=rules)


@asynccontextmanager
async def holding(opa_path: Path, objects: list[Object]) -> AsyncIterator[tuple[WarmOpa, Opa]]:
    """An OPA with these objects, as the replicator writes them."""
    async with WarmOpa(opa_path) as managed, Opa(managed.url, timeout=60) as opa:
        async with bridge(managed.url, objects, types=TYPES, timeout=60) as one:
            await one.filled()
        yield managed, opa


def seconds_of(managed: WarmOpa) -> float:
    """The processor time that OPA has had."""
    assert managed.pid is not None
    fields = Path(f"/proc/{opa_below(managed.pid)}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def answer_and_cost(managed: WarmOpa, opa: Opa, name: str, query_input: Any) -> tuple[Any, float]:
    before = seconds_of(managed)
    answer = await opa.query(name, query_input)
    return answer, seconds_of(managed) - before


MANY_PATHS = [
    *(gateway(f"g{number}", 64) for number in range(32)),
    *(route(f"r{number}", 32, ["cart0"] * 8 + [f"cart{rule}" for rule in range(8)]) for number in range(3)),
]


@pytest.mark.parametrize("level", ["Backend", "Rule"])
@pytest.mark.parametrize(
    "changed",
    [f"{GROUP}/HTTPRoute/hostile/r0", f"{GROUP}/Gateway/hostile/g0", f"{LIMIT}/hostile/section"],
    ids=["route", "gateway", "policy"],
)
async def test_change_of_objects_with_many_paths_is_answered_soon(opa_path: Path, level: str, changed: str) -> None:
    listener = target_ref("Gateway", "g0", "http-80")
    objects = [
        policy_kind("LimitPolicy", effectiveTarget=level),
        *MANY_PATHS,
        *(builders.service(f"cart{number}", "hostile") for number in range(8)),
        policy("LimitPolicy", "section", [listener]),
        policy("LimitPolicy", "service", [target_ref("Service", "cart0")]),
    ]
    async with holding(opa_path, objects) as (managed, opa):
        found, seconds = await answer_and_cost(managed, opa, "outdated", {**CHANGE, "keys": [changed]})
        assert seconds < MOST_SECONDS
        assert found["remediation"] == {}
        targets = found["scopes"][LIMIT]
        with pytest.raises(QueryError, match="more than 4096 paths lead to the targets together"):
            await opa.query("outcomes", {"policyKind": LIMIT, "targets": targets})
        _, seconds = await answer_and_cost(managed, opa, "outcomes", {"policyKind": LIMIT, "targets": targets[:1]})
        assert seconds < MOST_SECONDS


async def test_service_with_too_many_paths_has_an_error_in_place_of_an_effective_policy(opa_path: Path) -> None:
    objects = [
        policy_kind("LimitPolicy", effectiveTarget="Backend"),
        *MANY_PATHS,
        builders.service("cart0", "hostile"),
        policy("LimitPolicy", "route", [target_ref("HTTPRoute", "r0")]),
    ]
    async with holding(opa_path, objects) as (managed, opa):
        found, seconds = await answer_and_cost(managed, opa, "effective", {"targets": ["core/Service/hostile/cart0"]})
        assert seconds < MOST_SECONDS
        (path,) = found[0]["paths"]
        assert path["error"]["code"] == "BoundExceeded"


async def test_change_costs_little_where_policies_of_others_name_the_object_without_leave(opa_path: Path) -> None:
    named = [{**target_ref("HTTPRoute", f"r{number}"), "namespace": "quiet"} for number in range(256)]
    objects = [
        policy_kind("LimitPolicy", effectiveTarget="Rule"),
        builders.service("cart", "quiet"),
        route("r1", 0, ["cart"], "quiet"),
        policy("LimitPolicy", "own", [target_ref("HTTPRoute", "r1")], "quiet"),
        *(policy("LimitPolicy", f"p{number}", named) for number in range(60)),
    ]
    async with holding(opa_path, objects) as (managed, opa):
        query_input = {**CHANGE, "keys": [f"{GROUP}/HTTPRoute/quiet/r1"]}
        found, seconds = await answer_and_cost(managed, opa, "outdated", query_input)
    assert found["policies"] == [f"{LIMIT}/quiet/own"]
    assert seconds < 0.15


async def test_change_costs_little_where_policies_of_others_name_classes(opa_path: Path) -> None:
    refs = [{**target_ref("Service", f"s{number}"), "className": "main"} for number in range(256)]
    objects = [
        policy_kind("QuotaPolicy", **{"class": "Direct"}),
        builders.service("cart", "quiet"),
        *(policy("QuotaPolicy", f"p{number}", refs) for number in range(60)),
    ]
    async with holding(opa_path, objects) as (managed, opa):
        query_input = {"keys": ["core/Service/quiet/cart"], "was": {}}
        _, seconds = await answer_and_cost(managed, opa, "dependents", query_input)
    assert seconds < 0.08


@pytest.mark.long
@pytest.mark.parametrize("same_level", [{}, {"sameLevel": "ConflictOnOverlap"}], ids=["merged", "compared"])
async def test_query_costs_little_where_many_large_policies_have_one_target(
    opa_path: Path, same_level: dict[str, str]
) -> None:
    spec = {f"field{number}": {"x": number, "y": number} for number in range(1450)}
    objects = [
        policy_kind("LimitPolicy", effectiveTarget="Rule", **same_level),
        builders.service("cart", "hostile"),
        route("r1", 0, ["cart"]),
        *(policy("LimitPolicy", f"p{number}", [target_ref("HTTPRoute", "r1")]) for number in range(100)),
    ]
    for large in objects[3:]:
        large["spec"] |= spec
    async with holding(opa_path, objects) as (managed, opa):
        found, seconds = await answer_and_cost(
            managed, opa, "effective", {"targets": [f"{GROUP}/HTTPRoute/hostile/r1#[0]"]}
        )
        path = found[0]["paths"][0]
    if not same_level:
        assert path["error"]["code"] == "BoundExceeded"
        assert len(path["policies"]) == 100
    assert seconds < MOST_SECONDS
