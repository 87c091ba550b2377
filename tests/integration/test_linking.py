"""Links made by a real OPA."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.opa.client import Opa
from bridge.opa.process import ManagedOpa
from bridge.replicator.documents import Documents, Entries
from bridge.replicator.links import BATCH, Linking, Made
from tests.builders import backends, http_route
from tests.integration.test_modules_of_admins import put_module
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


def _write(documents: Documents, objects: Mapping[Key, Object], made: Mapping[Key, Made]) -> None:
    for key, obj in objects.items():
        documents.put(key, obj, made[key].links, made[key].made_from)


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


async def test_links_made_from_the_same_are_not_made_again(linking: Linking, documents: Documents) -> None:
    requested = _by_key(_route(1), _route(2))
    before = await linking.query(requested)
    route, other = requested
    labelled = {**_route(1), "metadata": {**_route(1)["metadata"], "labels": {"team": "a"}}}
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
