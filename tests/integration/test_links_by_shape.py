"""Links by shape are the links that OPA computes for each object."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from bridge.model.changes import Object
from bridge.model.keys import key_of
from bridge.opa.client import Opa
from bridge.opa.executable import ensure_opa
from bridge.replicator.links import LinkFields, examples
from tests.builders import GATEWAY_API, http_route, resource
from tests.warm_opa import WarmOpa

SCENARIOS = Path(__file__).parents[1] / "scenarios"


async def by_shape(opa: Opa, objects: list[Object]) -> tuple[dict[str, Any], int]:
    """The links of the objects that have a shape, in the form of the query, and the number of shapes."""
    reading = LinkFields(await opa.query("link_fields", {}), await opa.query("link_shapes", {}))
    found = {str(key_of(obj)): reading.find_shape(key_of(obj), obj, reading.select(obj)) for obj in objects}
    shapes = {key: shape for key, shape in found.items() if shape}
    new = list({shape.text: None for shape in shapes.values()})
    answer = await opa.query("links", {"objects": examples(new), "reads": reading.fields})
    reading.shapes.learn(new, answer)
    return {key: links for key, shape in shapes.items() if (links := reading.shapes.links(shape))}, len(new)


def in_order(links: dict[str, Any]) -> dict[str, Any]:
    """Links with their entries in one order: it means nothing."""
    return {**links, "entries": sorted(links["entries"], key=msgspec.json.encode)}


async def assert_equal(opa: Opa, objects: list[Object]) -> tuple[int, int]:
    """The links by shape are those of the query; the numbers of objects with a shape and of shapes."""
    found, shapes = await by_shape(opa, objects)
    direct = await opa.query("links", {"objects": objects})
    assert {key: in_order(links) for key, links in found.items()} == {key: in_order(direct[key]) for key in found}
    return len(found), shapes


async def test_links_by_shape_of_all_scenarios_are_those_that_opa_computes() -> None:
    objects = [
        obj
        for file in sorted(SCENARIOS.glob("*/objects.yaml"))
        for obj in yaml.load_all(file.read_text(), yaml.CSafeLoader)
        if obj and obj["kind"].endswith("Route")
    ]
    async with WarmOpa(ensure_opa().path) as managed, Opa(managed.url) as opa:
        routes, shapes = await assert_equal(opa, objects)
    assert routes > 0.8 * len(objects)
    assert shapes < routes


async def test_routes_that_differ_in_names_share_a_shape() -> None:
    routes = [http_route(f"route-{number}", f"team-{number}", parents=[f"gateway-{number}"]) for number in range(10)]
    routes[3]["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    async with WarmOpa(ensure_opa().path) as managed, Opa(managed.url) as opa:
        assert await assert_equal(opa, routes) == (10, 1)


TEXTS = ["a", "b", "shop", "a.test", "*.a.test", "A.test", "*", "", "-", "All", "a-b", "zz1qz", "core", "x#y", "ü", "1"]
PARTS = ["a", "b", "", "A", "a.b", "*"]


class Routes:
    """Random routes, whose texts are often equal, and often no names."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def made(self, number: int) -> Object:
        """One route."""
        spec = self._some(
            parentRefs=self._list(3, self._ref),
            hostnames=self._list(40, self._text),
            rules=self._list(3, self._rule),
            useDefaultGateways=self._random.choice(["All", "None"]),
        )
        kind = self._random.choice(["HTTPRoute", "HTTPRoute", "GRPCRoute", "TLSRoute"])
        name = self._random.choice([f"route-{number}", f"r{number}.a", "shop", f"Route-{number}"])
        return resource(f"{GATEWAY_API}/v1", kind, name, f"{self._random.choice('ab')}{number}", spec=spec)

    def _rule(self) -> Object:
        filters = self._list(2, lambda: {"type": "RequestMirror", "requestMirror": {"backendRef": self._ref()}})
        matches = self._list(20, lambda: {"path": self._some(value=self._path(), type=self._type())})
        return self._some(name=self._text(), matches=matches, backendRefs=self._list(3, self._ref), filters=filters)

    def _ref(self) -> Object:
        return {"name": self._text(), **self._some(namespace=self._text(), sectionName=self._text(), port=80)}

    def _path(self) -> str:
        return "/" + "/".join(self._list(3, lambda: self._random.choice(PARTS)))

    def _type(self) -> str:
        return self._random.choice(["Exact", "PathPrefix", "RegularExpression"])

    def _text(self) -> str:
        return self._random.choice(TEXTS)

    def _list(self, most: int, made: Callable[[], Any]) -> list[Any]:
        return [made() for _ in range(self._random.choice([0, 1, 2, self._random.randint(0, most)]))]

    def _some(self, **fields: Any) -> Object:
        return {name: value for name, value in fields.items() if self._random.random() < 0.7}


@pytest.mark.parametrize("seed", range(3))
async def test_links_by_shape_of_random_routes_are_those_that_opa_computes(seed: int) -> None:
    routes = Routes(seed)
    async with WarmOpa(ensure_opa().path) as managed, Opa(managed.url) as opa:
        with_shape, _ = await assert_equal(opa, [routes.made(number) for number in range(400)])
    assert with_shape > 50
