"""OPA's work for an answer grows in proportion to the objects that it depends on, whatever their shape."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from bridge.model.changes import Object
from bridge.offline.engine import open_engine
from tests.bench.load import POLICY_KIND, Load, namespace_of, rule_key, write
from tests.bench.opa import expressions
from tests.builders import GATEWAY_API, gateway, http_route, policy, policy_kind, resource, target_ref

CLASS = resource(f"{GATEWAY_API}/v1", "GatewayClass", "main", spec={"controllerName": "example.com/gateway"})
MANAGED = {"mode": "Manage", "controllerName": "example.com/limits"}


async def work(objects: list[Object], folder: Path, query: str, query_input: dict[str, Any]) -> int:
    """The number of terms that OPA substitutes in a query on a folder with these objects: its work, without a clock."""
    (folder / "objects.yaml").write_text(yaml.safe_dump_all(objects))
    async with open_engine(manifests=[str(folder)]) as engine, aiohttp.ClientSession() as session:
        url = f"{engine.opa.url}/v1/data/bridge/v1/{query}?metrics=true&instrument=true"
        async with session.post(url, json={"input": query_input}) as response:
            answer = await response.json()
    assert answer["result"]
    count: int = answer["metrics"]["histogram_eval_op_plug"]["count"]
    return count


@pytest.mark.parametrize("same_level", ["Conflict", pytest.param("ConflictOnOverlap", marks=pytest.mark.long)])
async def test_policies_of_one_kind_at_one_gateway_cost_in_proportion_to_their_number(
    tmp_path: Path, same_level: str
) -> None:
    counts = []
    for number in (40, 160):
        kind = policy_kind("LimitPolicy", effectiveTarget="Rule", defaultStrategy="PatchDefaults", sameLevel=same_level)
        policies = [policy("LimitPolicy", f"p{i:03}", [target_ref("Gateway", "edge")], limit=i) for i in range(number)]
        objects = [CLASS, gateway("edge"), http_route("cart", parents=["edge"]), kind, *policies]
        counts.append(
            await work(objects, tmp_path, "effective", {"targets": [f"{GATEWAY_API}/HTTPRoute/shop/cart#all"]})
        )
    assert counts[1] < 4.4 * counts[0]


async def test_a_policy_above_many_listeners_costs_few_expressions_for_each_path(tmp_path: Path) -> None:
    kind = policy_kind("LimitPolicy", effectiveTarget="Rule", defaultStrategy="PatchDefaults", **MANAGED)
    edge = gateway("edge", ports=range(8000, 8016))
    routes = [http_route(f"r{number}", parents=["edge"], rules=[{"name": "a"}, {"name": "b"}]) for number in range(4)]
    on_all = policy("LimitPolicy", "p", [target_ref("Gateway", "edge")], limit=1)
    write(tmp_path / "objects.yaml", [CLASS, edge, kind, on_all, *routes])
    asked = {"policies": ["test.example.com/LimitPolicy/shop/p"]}
    async with open_engine(manifests=[str(tmp_path)]) as engine, aiohttp.ClientSession() as session:
        assert "Programmed on 128 paths" in str(await engine.opa.query("status", asked))
        assert await expressions(session, engine.opa.url, "status", asked) < 45 * 128
        targets = [f"{GATEWAY_API}/HTTPRoute/shop/r{number}#{rule}" for number in range(4) for rule in "ab"]
        rows = {"policyKind": "test.example.com/LimitPolicy", "targets": targets}
        assert await expressions(session, engine.opa.url, "outcomes", rows) < 60 * 128


async def test_queries_about_one_object_evaluate_no_more_expressions_than_they_did(tmp_path: Path) -> None:
    load = Load(100)
    route = load.routes_with_policy()[0]
    policy = f"{POLICY_KIND}/{namespace_of(route)}/route-{route}"
    write(tmp_path / "load.yaml", load.objects())
    small = {"targets": {}, "kept": {}, "former": [], "observed": True, "most": 100}
    change = {
        "keys": [policy],
        "was": {},
        "wanted": {"scopes": {}, "objects": {}, "policies": {}, "remediation": small},
    }
    most: dict[str, tuple[dict[str, Any], int]] = {
        "effective": ({"targets": [rule_key(5, "[1]")], "policyKind": POLICY_KIND}, 792),
        "explain": ({"target": rule_key(5, "[1]")}, 2_026),
        "links": ({"keys": [policy]}, 662),
        "policies_below": ({"target": rule_key(5, "[1]").partition("#")[0]}, 470),
        "outdated": (change, 3_156),
    }
    async with open_engine(manifests=[str(tmp_path)]) as engine, aiohttp.ClientSession() as session:
        counts = {name: await expressions(session, engine.opa.url, name, asked) for name, (asked, _) in most.items()}
    assert all(counts[name] <= bound for name, (_, bound) in most.items()), counts
