"""The slice of a folder or a cluster for a question about one route: what OPA lacks, and what it must have."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridge.model.changes import Object
from bridge.model.keys import key_of
from bridge.offline.slicing import Mentions, Withheld
from bridge.opa.client import Opa
from tests.builders import GATEWAY_API, gateway, http_route, policy, policy_kind, resource, target_ref
from tests.properties.test_slices import answers, filled, sliced
from tests.warm_opa import WarmOpa

COLOR = policy_kind("ColorPolicy", effectiveTarget="Rule", defaultStrategy="PatchDefaults")
ALL = resource("security.istio.io/v1", "AuthorizationPolicy", "all", "shop", spec={})
ROUTE = f"{GATEWAY_API}/HTTPRoute"


def folder_of(number: int) -> list[Object]:
    """So many routes at one Gateway, each with a Service and a policy of its own."""
    found = [COLOR, gateway("edge")]
    for name in (f"route-{index}" for index in range(number)):
        rules = [{"backendRefs": [{"name": f"{name}-backend", "port": 80}]}]
        found += [
            http_route(name, parents=["edge"], rules=rules),
            policy("ColorPolicy", name, [target_ref("HTTPRoute", name)], a=1),
        ]
    return found


async def test_slice_lacks_routes_and_policies_that_share_only_a_gateway(opa_path: Path) -> None:
    objects = folder_of(20)
    target = key_of(http_route("route-7"))
    async with sliced(opa_path, objects, target) as (part, lacking), filled(opa_path, objects) as whole:
        assert lacking == 2 * 18  # it has the first of each type
        assert await answers(part, target) == await answers(whole, target)


@pytest.mark.parametrize(
    ("more", "name", "expected"), [([], "route-7", True), ([], "rout-7", False), ([ALL], "route-7", False)]
)
async def test_no_slice_of_objects_without_the_name_or_with_a_policy_that_selects(
    opa_path: Path, more: list[Object], name: str, expected: bool
) -> None:
    async with WarmOpa(opa_path) as managed, Opa(managed.url) as opa:
        withheld = Withheld(**await opa.query("withheld", {}))
    assert withheld.spares([*folder_of(10), *more], {name}) is expected


async def test_slice_has_a_route_that_shares_a_backend_by_another_namespace(opa_path: Path) -> None:
    shared = {"name": "route-7-backend", "port": 80}
    here = http_route(
        "other", "far", rules=[{"backendRefs": [{**shared, "namespace": http_route("x")["metadata"]["namespace"]}]}]
    )
    namesake = http_route("namesake", "far", rules=[{"backendRefs": [shared]}])
    async with sliced(opa_path, [*folder_of(10), here, namesake], key_of(http_route("route-7"))) as (part, lacking):
        assert lacking == 2 * 8 + 1
        assert await part.get(f"objects/{GATEWAY_API}/HTTPRoute/far/other/kind")


@pytest.mark.parametrize(
    ("kind", "group", "name"),
    [("HTTPRoute", GATEWAY_API, "*"), ("label", "delegation.kgateway.dev", "team")],
)
async def test_slice_below_a_gateway_has_routes_that_a_route_names_together(
    opa_path: Path, kind: str, group: str, name: str
) -> None:
    rules = [{"name": "all", "backendRefs": [{"group": group, "kind": kind, "name": name}]}]
    above = http_route("above", parents=["edge"], rules=rules)
    below = http_route("below", rules=[{"backendRefs": [{"name": "cart", "port": 80}]}])
    below["metadata"]["labels"] = {"delegation.kgateway.dev/label": "team"}
    limit = policy("ColorPolicy", "limit", [target_ref("HTTPRoute", "above")], b=2)
    for target in (above, below):
        objects = [*folder_of(20), above, below, limit]
        async with sliced(opa_path, objects, key_of(target)) as (part, _), filled(opa_path, objects) as whole:
            assert await answers(part, key_of(target)) == await answers(whole, key_of(target))


@pytest.mark.parametrize("raw", [False, True])
def test_policies_are_withheld_if_they_name_only_routes(raw: bool) -> None:
    withheld = Withheld(frozenset({ROUTE}), ["targetRefs", "targetRef"], ["targetSelectors"], (), ())
    route, edge = target_ref("HTTPRoute", "a"), target_ref("Gateway", "edge")
    specs: list[tuple[Any, bool]] = [
        ({"targetRefs": [route, route]}, True),
        ({"targetRef": route}, True),
        ({"targetRefs": [route, edge]}, False),
        ({"targetRefs": [route], "targetSelectors": []}, False),
        ({"targetRefs": []}, False),
        ({"targetRefs": "a"}, False),
        ({"targetRefs": [None]}, False),
        ({"other": 1}, False),
        (None, False),
        (["targetRefs"], False),
    ]
    for spec, expected in specs:
        written = msgspec.Raw(msgspec.json.encode(spec)) if raw else spec
        assert withheld.has(resource("example.com/v1", "ColorPolicy", "p", "shop", spec=written)) is expected, spec


def test_names_are_found_in_the_namespace_and_where_that_is_named() -> None:
    def route(name: str, namespace: str, ref: Object) -> Object:
        return http_route(name, namespace, rules=[{"backendRefs": [ref]}])

    objects = [
        route("same", "shop", {"name": "cart"}),
        route("far", "blog", {"name": "cart", "namespace": "shop"}),
        route("namesake", "blog", {"name": "cart"}),
        route("longer", "shop", {"name": "cart-2"}),
    ]
    mentions = Mentions({key_of(obj): obj for obj in objects})
    assert {key.name for key in mentions.of_name("shop", "cart")} == {"same", "far"}
    assert {key.name for key in mentions.of_name("-", "cart")} == {"same", "far", "namesake"}
    several_forms = 'a"b'  # in JSON
    assert {key.name for key in mentions.of_name("shop", several_forms)} == {"same", "far", "longer"}
