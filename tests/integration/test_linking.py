"""Links made by a real OPA, when they are needed and ahead of that."""

import asyncio
import contextlib
import http.client
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.opa.client import Opa, Requests
from bridge.opa.process import ManagedOpa
from bridge.replicator.documents import Documents, Entries
from bridge.replicator.links import BATCH, Linking, Made
from tests.builders import backends, http_route
from tests.warm_opa import sync_bundle


@pytest.fixture
async def opa_url(opa_path: Path) -> AsyncIterator[str]:
    async with ManagedOpa(opa_path, {}, bundle=sync_bundle()) as managed:
        yield managed.url


def no_retry(key: Key, _: Object) -> None:
    """No object is slow here."""
    raise AssertionError(key)


@pytest.fixture
def documents() -> Documents:
    made = Documents()
    made.begin()
    return made


@pytest.fixture
async def linking(opa_url: str, documents: Documents) -> AsyncIterator[Linking]:
    async with Opa(opa_url) as opa:
        yield Linking(opa, documents, no_retry)


def put_module(url: str, name: str, module: bytes) -> int:
    """Put a module into an OPA; gives the HTTP status."""
    with contextlib.closing(http.client.HTTPConnection(url.removeprefix("http://"), timeout=180)) as connection:
        connection.request("PUT", f"/v1/policies/{name}", module)
        return connection.getresponse().status


def _write(documents: Documents, objects: Mapping[Key, Object], made: Mapping[Key, Made]) -> None:
    for key, obj in objects.items():
        documents.plan_object(key, obj, made[key].links, made[key].made_from)


def _entries(made: Made) -> Entries:
    return made.links.entries if made.links else []


def _route(number: int, gateway: str = "public") -> Object:
    return http_route(f"route-{number}", parents=[gateway], rules=[backends("cart", port=None)])


def _by_key(*objects: Object) -> dict[Key, Object]:
    return {key_of(obj): obj for obj in objects}


async def test_links_of_many_objects_come_from_several_queries(linking: Linking) -> None:
    routes = _by_key(*(_route(number) for number in range(2 * BATCH + 1)))
    found = await linking.query(routes)
    assert found.keys() == routes.keys()


async def test_a_batch_queried_ahead_gives_the_same_as_later(linking: Linking) -> None:
    routes = _by_key(*(_route(number) for number in range(BATCH)))
    now = await linking.query(routes)
    assert await linking.ahead(routes)
    assert await linking.query(routes) == now


async def test_less_than_a_batch_is_not_queried_ahead(linking: Linking) -> None:
    assert not await linking.ahead(_by_key(_route(1)))


async def test_answers_queried_ahead_are_not_queried_again(linking: Linking) -> None:
    routes = _by_key(*(_route(number) for number in range(BATCH)))
    assert await linking.ahead(routes)
    assert not await linking.ahead(routes)


async def test_a_running_query_is_waited_for_and_not_repeated(opa_url: str) -> None:
    routes = _by_key(*(_route(number) for number in range(BATCH)))
    requests = Requests()
    async with Opa(opa_url, requests=requests) as opa:
        linking = Linking(opa, Documents(), no_retry)
        await linking.query(_by_key(_route(0)))
        ahead, now = await asyncio.gather(linking.ahead(routes), linking.query(routes))
    assert ahead
    assert len(now) == BATCH
    assert requests.seconds["links"].count == 2


async def test_queries_that_failed_ahead_are_repeated(opa_path: Path) -> None:
    routes = _by_key(*(_route(number) for number in range(BATCH)))
    async with ManagedOpa(opa_path, {}, bundle=sync_bundle()) as managed:
        port = int(managed.url.rpartition(":")[2])
        async with Opa(managed.url) as opa:
            linking = Linking(opa, Documents(), no_retry)
            assert await linking.query(_by_key(_route(1)))
            await managed.stop()
            assert not await linking.ahead(routes)
            async with ManagedOpa(opa_path, {}, port=port, bundle=sync_bundle()):
                assert len(await linking.query(routes)) == BATCH


async def test_an_object_that_changed_after_it_was_queried_ahead_is_queried_again(linking: Linking) -> None:
    routes = _by_key(*(_route(number) for number in range(BATCH)))
    assert await linking.ahead(routes)
    changed = _route(0, gateway="internal")
    found = await linking.query(routes | _by_key(changed))
    paths = {path for path, _ in _entries(found[key_of(changed)])}
    assert ("children", "gateway.networking.k8s.io/Gateway/shop/internal") in paths
    assert ("children", "gateway.networking.k8s.io/Gateway/shop/public") not in paths


async def test_links_made_from_the_same_are_not_made_again(linking: Linking, documents: Documents) -> None:
    first, labelled = ({**_route(1), "metadata": {**_route(1)["metadata"], "labels": {"team": team}}} for team in "ab")
    requested = _by_key(first, _route(2))
    before = await linking.query(requested)
    route, other = requested
    moved = _route(2, gateway="internal")
    _write(documents, requested, before)
    after = await linking.query({route: labelled, other: moved})
    assert after[route] == Made(before[route].made_from, None)
    assert _entries(after[other])


async def test_a_module_that_comes_has_all_links_made_again(
    linking: Linking, documents: Documents, opa_url: str
) -> None:
    requested = _by_key(_route(1))
    before = await linking.query(requested)
    module = b"""package bridge.extensions.hierarchy.acme
links contains ["acme.io/Plan/shop/p", sprintf("core/Service/shop/%v", [input.object.spec.hostnames[0]])]"""
    assert put_module(opa_url, "acme.rego", module) == 200
    linking.begin()
    labelled = {**_route(1), "spec": {**_route(1)["spec"], "hostnames": ["from-the-module"]}}
    _write(documents, requested, before)
    (links,) = (await linking.query(_by_key(labelled))).values()
    assert links.made_from is None
    assert ("parents", "core/Service/shop/from-the-module") in {path for path, _ in _entries(links)}


async def test_ahead_too_links_made_from_the_same_are_not_made_again(linking: Linking, documents: Documents) -> None:
    routes = _by_key(*(_route(number) for number in range(BATCH)))
    _write(documents, routes, await linking.query(routes))
    assert await linking.ahead(routes)
    assert all(links.links is None for links in (await linking.query(routes)).values())
    assert await linking.ahead(routes)
    for key in routes:
        documents.remove(key)
    assert all(_entries(links) for links in (await linking.query(routes)).values())
