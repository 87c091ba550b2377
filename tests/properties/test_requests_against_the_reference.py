"""Random routing: the engine attaches routes and serves requests as the reference does.

A failure prints the seed, the request, and the fewest objects with which the two still differ.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.opa.client import Opa
from tests.properties.drawing import Object
from tests.properties.random_requests import random_requests, random_routing
from tests.properties.test_incremental_statuses import settled
from tests.reference.cluster_objects import ROUTES, Cluster, node_of
from tests.reference.hierarchy import parents_of
from tests.reference.listeners import NOT_ALLOWED, unaccepted
from tests.reference.serving_rules import Request, served
from tests.warm_opa import WarmOpa

EACH = 10  # requests a routing


@pytest.fixture
async def opa(opa_path: Path) -> AsyncIterator[Opa]:
    async with WarmOpa(opa_path) as managed, Opa(managed.url) as client:
        yield client


async def test_100_random_requests_are_served_as_the_reference_serves_them(opa: Opa) -> None:
    await every_request_agrees(opa, range(10))


async def test_20_random_routings_attach_as_the_reference_attaches(opa: Opa) -> None:
    await every_attachment_agrees(opa, range(20))


@pytest.mark.long
async def test_5000_random_requests_are_served_as_the_reference_serves_them(opa: Opa) -> None:
    await every_request_agrees(opa, range(1000, 1500))


@pytest.mark.long
async def test_1000_random_routings_attach_as_the_reference_attaches(opa: Opa) -> None:
    await every_attachment_agrees(opa, range(1000, 2000))


async def test_replicated_routing_has_the_answers_of_the_reference(opa_path: Path) -> None:
    for seed in range(3):
        objects = random_routing(seed)
        async with settled(opa_path, objects) as bridge:
            assert await attached(bridge.opa, objects, {}) == attached_by_the_reference(objects)
            for request in random_requests(seed, objects, EACH):
                assert await answered(bridge.opa, request, {}) == served(Cluster.of(objects), request), request


async def every_request_agrees(opa: Opa, seeds: range) -> None:
    for seed in seeds:
        objects = random_routing(seed)
        for request in random_requests(seed, objects, EACH):

            async def differ(some: list[Object], request: Request = request) -> tuple[Any, Any]:
                return served(Cluster.of(some), request), await answered(opa, request, {"upsert": some})

            await agree(differ, objects, f"seed {seed}, {request}")


async def every_attachment_agrees(opa: Opa, seeds: range) -> None:
    for seed in seeds:

        async def differ(some: list[Object]) -> tuple[Any, Any]:
            return attached_by_the_reference(some), await attached(opa, some, {"upsert": some})

        await agree(differ, random_routing(seed), f"seed {seed}")


async def agree(differ: Callable[[list[Object]], Awaitable[tuple[Any, Any]]], objects: list[Object], what: str) -> None:
    """Both sides of `differ` are equal for the objects. Fails with the fewest objects for which they are not."""
    reference, engine = await differ(objects)
    if reference == engine:
        return
    again = True
    while again:
        again = False
        for obj in list(objects):
            if obj["kind"] == "Gateway" or obj["kind"] == "Service":
                continue
            fewer = [other for other in objects if other is not obj]
            reference, engine = await differ(fewer)
            if reference != engine:
                objects, again = fewer, True
    reference, engine = await differ(objects)
    text = yaml.safe_dump_all(json.loads(json.dumps(objects)))
    pytest.fail(f"{what}\n{text}\nreference: {reference}\nengine: {engine}", pytrace=False)


async def answered(opa: Opa, request: Request, changes: dict[str, Any]) -> dict[str, str]:
    """The engine's answer in the form of the reference's."""
    answer = await opa.query("request", request_input(request) | ({"changes": changes} if changes else {}))
    entries = [answer, *answer["also"]] if answer["gateway"] else []
    return {entry["listener"] or "": entry["rule"] or "" for entry in entries}


def request_input(request: Request) -> dict[str, Any]:
    """The input of the query `request`."""
    query_input: dict[str, Any] = {
        "gateway": str(request.gateway),
        "sourceNamespace": request.source,
        "headers": request.headers,
        **({"port": request.port} if request.port else {}),
        **({"protocol": request.protocol} if request.protocol else {}),
        **({"grpc": dict(zip(("service", "method"), request.call, strict=True))} if request.call else {}),
    }
    if request.protocol not in {"TCP", "UDP"}:
        query_input["sni" if request.protocol == "TLS" else "host"] = request.host
    if request.call is None:
        query_input |= {"path": request.path, "method": request.method}
    return query_input


async def attached(opa: Opa, objects: list[Object], changes: dict[str, Any]) -> dict[str, list[str]]:
    """What is directly above each route, and why a listener or ListenerSet is not accepted, as a picture shows it."""
    keys = [str(node_of(obj)) for obj in objects if obj["kind"] in {*ROUTES, "Gateway", "ListenerSet"}]
    picture = await opa.query("picture", {"objects": keys, **({"changes": changes} if changes else {})})
    found: dict[str, list[str]] = {}
    for key, entry in picture.items():
        if key.split("/")[1] in ROUTES:
            found[key] = sorted(parent for parent, child in entry["edges"] if child == key)
        else:
            found |= {
                link["child"]: [link["reason"]]
                for link in entry["refused"]
                if (link["parent"] == key and "#" in link["child"]) or link["reason"] == NOT_ALLOWED
            }
    return found


def attached_by_the_reference(objects: list[Object]) -> dict[str, list[str]]:
    """The same, by the reference."""
    cluster = Cluster.of(objects)
    # The picture reports a ListenerSet that is not allowed once, not for each of its listeners.
    found = {
        str(node): [reason] for node, reason in unaccepted(cluster).items() if reason != NOT_ALLOWED or not node.section
    }
    for obj in objects:
        if obj["kind"] in ROUTES:
            found[str(node_of(obj))] = sorted(map(str, parents_of(cluster, node_of(obj))))
    return found
