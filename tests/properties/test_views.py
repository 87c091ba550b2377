"""Random clusters: an OPA with the documents of a view answers as the hub does, and no change of a view is missed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bridge.files import rego_root
from bridge.model.changes import Notice
from bridge.model.keys import Key, key_of, parse_key
from bridge.model.types import GATEWAY_API
from bridge.model.views import View
from bridge.opa.client import Opa
from bridge.opa.shipped import edge_bundle
from bridge.replicator.answer_table import ANSWERS, AnswerTable
from bridge.replicator.documents import OBJECTS
from bridge.replicator.documents import Path as IndexPath
from bridge.replicator.slices import Marks, Slice, query_slice
from tests.builders import resource
from tests.properties.drawing import Drawing, Object
from tests.properties.random_clusters import random_cluster
from tests.properties.random_requests import random_requests, random_routing
from tests.properties.small_world import PARAMETERS, SmallWorld
from tests.properties.test_incremental_statuses import Bridge, settled
from tests.properties.test_requests_against_the_reference import answered, request_input
from tests.properties.thorough import STEPS, TIMES
from tests.reference.cluster_objects import Node
from tests.warm_opa import WarmOpa

SHOP = "core/Namespace/-/shop"


@pytest.mark.parametrize("seed", range(2 * TIMES))
async def test_views_have_the_answers_of_the_hub(seed: int, opa_path: Path) -> None:
    await compare_views(random_cluster(seed), seed, opa_path)


@pytest.mark.parametrize("seed", range(2 * TIMES))
async def test_views_serve_requests_as_the_hub(seed: int, opa_path: Path) -> None:
    await compare_views(random_routing(seed), seed, opa_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 110))
async def test_views_of_many_clusters_have_the_answers_of_the_hub(seed: int, opa_path: Path) -> None:
    await compare_views(random_cluster(seed), seed, opa_path)
    await compare_views(random_routing(seed), seed, opa_path)


@pytest.mark.parametrize("seed", range(1, 1 + TIMES))
async def test_every_change_of_a_view_concerns_it(seed: int, opa_path: Path) -> None:
    await walk(seed, STEPS, opa_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 10))
async def test_every_of_many_changes_of_views_concerns_them(seed: int, opa_path: Path) -> None:
    await walk(seed, 200, opa_path)


@pytest.mark.parametrize("seed", range(2 * TIMES))
async def test_edges_with_answers_answer_as_the_hub(seed: int, opa_path: Path) -> None:
    await compare_answers(random_cluster(seed), seed, opa_path)
    await compare_answers(_with_patterns(random_routing(seed), seed), seed, opa_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 60))
async def test_edges_with_answers_of_many_clusters_answer_as_the_hub(seed: int, opa_path: Path) -> None:
    await compare_answers(random_cluster(seed), seed, opa_path)
    await compare_answers(_with_patterns(random_routing(seed), seed), seed, opa_path)


async def test_edges_at_envoy_gateway_answer_about_streams_as_the_hub(opa_path: Path) -> None:
    spec = {"controllerName": "gateway.envoyproxy.io/gatewayclass-controller"}
    listeners = [
        {"name": "tcp", "port": 80, "protocol": "TCP"},
        {"name": "tls", "port": 443, "protocol": "TLS", "tls": {"mode": "Terminate"}},
    ]
    objects = [
        resource("v1", "Namespace", "infra"),
        resource(f"{GATEWAY_API}/v1", "GatewayClass", "main", spec=spec),
        resource(
            f"{GATEWAY_API}/v1", "Gateway", "one", "infra", spec={"gatewayClassName": "main", "listeners": listeners}
        ),
        resource(
            f"{GATEWAY_API}/v1alpha2", "TCPRoute", "db", "infra", spec={"parentRefs": [{"name": "one"}], "rules": [{}]}
        ),
    ]
    await compare_answers(objects, 1, opa_path)


@pytest.mark.parametrize("seed", range(1, 1 + TIMES))
async def test_answers_after_changes_are_those_computed_from_scratch(seed: int, opa_path: Path) -> None:
    await walk_answers(seed, STEPS, opa_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 10))
async def test_answers_after_many_changes_are_those_computed_from_scratch(seed: int, opa_path: Path) -> None:
    await walk_answers(seed, 200, opa_path)


@pytest.mark.parametrize("seed", range(1, 1 + TIMES))
async def test_views_of_gateways_that_share_proxies_follow_every_change(seed: int, opa_path: Path) -> None:
    await walk(seed, STEPS, opa_path, merging=True)
    await walk_answers(seed, STEPS // 2, opa_path, merging=True)


@pytest.mark.parametrize("seed", range(TIMES))
async def test_views_of_gateways_that_share_proxies_have_the_answers_of_the_hub(seed: int, opa_path: Path) -> None:
    objects = _with_shared_proxies(random_routing(seed), seed)
    await compare_views(objects, seed, opa_path)
    await compare_answers(objects, seed, opa_path)
    await compare_views(_with_shared_proxies(random_cluster(seed), seed), seed, opa_path)


async def compare_answers(objects: list[Object], seed: int, opa_path: Path) -> None:
    async with (
        settled(opa_path, objects) as hub,
        WarmOpa(opa_path, bundle=edge_bundle(rego_root())) as other,
        Opa(other.url) as edge,
    ):
        gateways = [key_of(obj) for obj in objects if obj["kind"] == "Gateway"]
        for view in _views_of(gateways):
            found = await AnswerTable(view, hub.opa).read()
            if not found.objects:
                continue
            await edge.put(ANSWERS, found.documents[ANSWERS])
            whole = (await query_slice(hub.opa, view)).documents[OBJECTS]
            tree = await hub.opa.query("tree", {"root": str(view.root or SHOP)})
            for target in tree["nodes"]:
                # An edge answers about what is below the roots of its view.
                if not _is_in(target, whole) or (target.startswith("core/Namespace/") and target != SHOP):
                    continue
                wanted = await hub.opa.query("effective", {"targets": [target]})
                _leave_out_other_paths(wanted, whole)
                wanted = [one for one in wanted if _is_in(one["target"], whole)]
                assert await edge.query("effective", {"targets": [target]}) == wanted, (seed, view, target)
            if view.root not in gateways:
                continue
            for request in random_requests(seed, objects, 40):
                asked = request_input(replace(request, gateway=Node(*view.root[:4]), source=""))
                assert await edge.query("request", asked) == _far(await hub.opa.query("request", asked)), (seed, asked)


def _with_patterns(objects: list[Object], seed: int) -> list[Object]:
    """Make some matches patterns, some too heavy to be compiled; the data plane may put patterns before prefixes."""
    draw = Drawing(seed, frozenset())
    matches = [
        match for obj in objects for rule in obj.get("spec", {}).get("rules", ()) for match in rule.get("matches", ())
    ]
    for match in matches:
        place = match.get("path") or match.get("method")
        if isinstance(place, dict) and draw.chance(0.4):
            place["type"] = "RegularExpression"
            name = "value" if "value" in place else draw.pick(sorted(place.keys() & {"service", "method"}))
            place[name] += draw.pick((".*", "(/one)?", "x?[a-k1]{1000}"))
        for header in match.get("headers", ()):
            header.update(draw.maybe("type", "RegularExpression", 0.3))
    spec = {"controllerName": draw.pick(("example.com/main", "gateway.envoyproxy.io/gatewayclass-controller"))}
    gateway_class = resource(f"{GATEWAY_API}/v1", "GatewayClass", "main", spec=spec)
    return [gateway_class, *objects]


def _with_shared_proxies(objects: list[Object], seed: int) -> list[Object]:
    """Let the Gateways of all classes share proxies, and have different ages."""
    draw = Drawing(seed, frozenset())
    group, kind = PARAMETERS.split("/")
    ref = {"group": group, "kind": kind, "namespace": "infra", "name": "fleet"}
    spec = {"controllerName": f"{group}/gatewayclass-controller", "parametersRef": ref}
    classes = [resource(f"{GATEWAY_API}/v1", "GatewayClass", name, spec=spec) for name in ("main", "other")]
    parameters = resource(f"{group}/v1alpha1", kind, "fleet", "infra", spec={"mergeGateways": True})
    kept = [obj for obj in objects if obj["kind"] != "GatewayClass"]
    for obj in kept:
        if obj["kind"] == "Gateway":
            obj["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:0{draw.pick((1, 2))}Z"
    return [*classes, parameters, *kept]


def _far(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without the near misses, which an edge without objects does not know."""
    if answer["nearest"] is None or answer["undecided"]:
        return answer
    return answer | {"nearest": answer["nearest"] | {"candidates": []}}


@dataclass(frozen=True)
class Change:
    """A change in OPA, with all paths of each object in the index, before and after it."""

    notice: Notice
    paths: Mapping[str, tuple[IndexPath, ...]]

    @classmethod
    def of(cls, hub: Bridge, notice: Notice) -> "Change":
        """A change that has just been written."""
        keys = (*notice.keys, *notice.reported)
        return cls(notice, {str(key): (*notice.was.get(key, ()), *hub.replicator.paths_of(key)) for key in keys})

    async def marks(self, opa: Opa) -> dict[str, list[str]]:
        """The marks of each object. Changed statuses have the objects' own."""
        asked = {"keys": [*map(str, self.notice.keys)], "was": {}, "wanted": {"marks": {"now": self.paths}}}
        found: dict[str, list[str]] = (await opa.query("outdated", asked))["marks"]
        return found | {str(key): [str(key)] for key in self.notice.reported}


async def walk_answers(seed: int, steps: int, opa_path: Path, *, merging: bool = False) -> None:
    """Change random objects; what is kept of the answers and brought up to date is what is computed from scratch."""
    world = SmallWorld(seed, merging=merging)
    async with settled(opa_path, world.objects.values()) as hub:
        kept = {view.name: AnswerTable(view, hub.opa) for view in _views_of(_gateways(world))}
        marks: dict[str, Marks | None] = {}
        changes: list[Change] = []
        hub.replicator.listen(lambda notice: changes.append(Change.of(hub, notice)))
        for _ in range(steps):
            step = hub.step(world)
            await hub.settled()
            for change in changes:
                found_marks = await change.marks(hub.opa)
                for name, table in kept.items():
                    if change.notice.kinds:
                        table.forget()
                    for key, paths in change.paths.items():
                        known = marks.get(name)
                        if known is None or not known.isdisjoint(found_marks[key]):
                            table.add_change(key, paths)
            changes.clear()
            for view in _views_of(_gateways(world)):
                table = kept.setdefault(view.name, AnswerTable(view, hub.opa))
                found = await table.read()
                marks[view.name] = found.marks
                fresh = await AnswerTable(view, hub.opa).read()
                assert not _differing(found.documents, fresh.documents), (seed, view.name, step)


def _differing(found: Any, wanted: Any, path: tuple[str, ...] = ()) -> list[Any]:
    """The paths at which two documents differ, with both values."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        names = sorted(found.keys() | wanted.keys())
        return [one for name in names for one in _differing(found.get(name), wanted.get(name), (*path, name))]
    return [] if found == wanted else [("/".join(path), found, wanted)]


def _gateways(world: SmallWorld) -> list[Key]:
    return [key for key in world.objects if key.kind == "Gateway"]


async def compare_views(objects: list[Object], seed: int, opa_path: Path) -> None:
    async with (
        settled(opa_path, objects) as hub,
        WarmOpa(opa_path) as other,
        Opa(other.url) as edge,
    ):
        keys = [key_of(obj) for obj in objects]
        gateways = [key for key in keys if key.kind == "Gateway"]
        for view in _views_of(gateways):
            found = await query_slice(hub.opa, view)
            if not found.objects:
                continue
            for name, document in found.documents.items():
                await edge.put(name, document)
            missing = {key for key in map(str, keys) if not _is_in(key, found.documents[OBJECTS])}
            for name, query_input in await _questions(hub.opa, str(view.root or SHOP)):
                wanted, answer = await hub.opa.query(name, query_input), await edge.query(name, query_input)
                if name == "problems":  # a view has none that a route shares with one of another Gateway
                    wanted = [one for one in wanted if one["about"].partition("#")[0] not in missing]
                for one in (wanted, answer):
                    _leave_out_what_is_elsewhere(name, query_input, one, found.documents[OBJECTS])
                assert answer == wanted, (seed, view, name, query_input)
            if view.root in gateways:
                node = Node(*view.root[:4])
                for request in random_requests(seed, objects, 5):
                    asked = replace(request, gateway=node)
                    assert await answered(edge, asked, {}) == await answered(hub.opa, asked, {}), (seed, asked)


async def _questions(hub: Opa, root: str) -> list[tuple[str, dict[str, Any]]]:
    """Queries about all nodes below a root, and about its objects.

    The problems of backends are about routes of other Gateways, too.
    """
    tree = await hub.query("tree", {"root": root})
    nodes = {name: node for name, node in tree["nodes"].items() if node["level"] != "Namespace" or name == root}
    own = [name for name, node in nodes.items() if node["level"] not in {"Backend", "Port"}]
    objects = sorted({name.partition("#")[0] for name in own})
    return [
        *(("effective", {"targets": [name]}) for name in nodes),
        *(("explain", {"target": name}) for name in own),
        ("problems", {"objects": [key for key in objects if "/GatewayClass/" not in key or key == root]}),
    ]


_BACKENDS = ("core/Service/", "example.com/Thing/")


def _leave_out_what_is_elsewhere(name: str, query_input: dict[str, Any], found: list[Any], objects: Any) -> None:
    """Leave of backends only the paths through routes of the view; all of what is above in the answers about it.

    A backend that no route of the view reaches is in the view as one that no route names. That a Gateway's class is
    missing is a warning only where there are other classes.
    """
    if name == "problems":
        found[:] = [one for one in found if "/GatewayClass/" not in one["about"]]
        return
    about_backends = query_input.get("targets", [""])[0].startswith(_BACKENDS)
    _leave_out_other_paths(found, objects, everything=not about_backends)
    for one in found:
        if one["target"].startswith(_BACKENDS):
            one["paths"] = [path for path in one["paths"] if any("Route/" in node for node in path["path"])]
            one["links"] = []  # of all its routes, and of what is above these
    found[:] = [one for one in found if one["paths"] or one.get("links") or one.get("attachments")]


def _leave_out_other_paths(found: list[Any], objects: Any, *, everything: bool = True) -> None:
    """Leave only paths through objects of the view; with `everything` all of them at routes and what is above."""
    for one in found:
        whole = [path for path in one["paths"] if all(_is_in(node, objects) for node in path["path"])]
        if everything and not one["target"].startswith(_BACKENDS):
            assert whole == one["paths"], one["target"]
        one["paths"] = whole
    found[:] = [one for one in found if one["paths"] or one.get("links") or one.get("attachments")]


def _is_in(node: str, objects: Any) -> bool:
    key = parse_key(node)
    return key.name in objects.get(key.group, {}).get(key.kind, {}).get(key.namespace, {})


async def walk(seed: int, steps: int, opa_path: Path, *, merging: bool = False) -> None:
    """Change random objects; a view that differs afterwards has a mark in common with the changes."""
    world = SmallWorld(seed, merging=merging)
    async with settled(opa_path, world.objects.values()) as hub:
        changes: list[Change] = []
        hub.replicator.listen(lambda notice: changes.append(Change.of(hub, notice)))
        before: dict[str, Slice] = {}
        skipped = 0
        for _ in range(steps):
            step = hub.step(world)
            await hub.settled()
            noted = [(change.notice, await change.marks(hub.opa)) for change in changes]
            changes.clear()
            after = {view.name: await query_slice(hub.opa, view) for view in _views_of(_gateways(world))}
            for name in after.keys() & before.keys():
                marks = before[name].marks
                assert marks is not None
                concerned = any(
                    one.kinds or any(not marks.isdisjoint(some) for some in more.values()) for one, more in noted
                )
                skipped += not concerned
                if not concerned:
                    assert after[name].documents == before[name].documents, (seed, name, step)
            before = after
        assert skipped  # otherwise nothing is tested


def _views_of(gateways: Iterable[Key]) -> list[View]:
    return [
        *(View(f"{key.namespace}.{key.name}", key) for key in gateways),
        View("main", Key(GATEWAY_API, "GatewayClass", "-", "main")),
        View("shop", namespaces={"matchLabels": {"kubernetes.io/metadata.name": "shop"}}),
    ]
