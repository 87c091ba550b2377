"""Links made by a real OPA, when they are needed and ahead of that."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.modules.shipped import shipped_bundle
from bridge.opa.client import Opa
from bridge.opa.managed import ManagedOpa
from bridge.replicator.linking import BATCH, Linking
from bridge.resources import rego_root


@pytest.fixture
async def linking(opa_path: Path) -> AsyncIterator[Linking]:
    async with ManagedOpa(opa_path, {}, bundle=shipped_bundle(rego_root())) as managed, Opa(managed.url) as opa:
        yield Linking(opa)


def _route(number: int, gateway: str = "public") -> Object:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": f"route-{number}", "namespace": "shop"},
        "spec": {"parentRefs": [{"name": gateway}], "rules": [{"backendRefs": [{"name": "cart"}]}]},
    }


def _by_key(*objects: Object) -> dict[Key, Object]:
    return {key_of(obj): obj for obj in objects}


async def test_links_of_many_objects_come_from_several_queries(linking: Linking) -> None:
    routes = _by_key(*(_route(number) for number in range(2 * BATCH + 1)))
    found = await linking.of(routes)
    assert found.keys() == routes.keys()


async def test_a_batch_that_was_asked_ahead_gives_what_it_gives_later(linking: Linking) -> None:
    routes = _by_key(*(_route(number) for number in range(BATCH)))
    now = await linking.of(routes)
    assert await linking.ahead(routes)
    assert await linking.of(routes) == now


async def test_less_than_a_batch_is_not_asked_ahead(linking: Linking) -> None:
    assert not await linking.ahead(_by_key(_route(1)))


async def test_what_was_asked_ahead_is_not_asked_again(linking: Linking) -> None:
    routes = _by_key(*(_route(number) for number in range(BATCH)))
    assert await linking.ahead(routes)
    assert not await linking.ahead(routes)


async def test_an_object_that_changed_after_it_was_asked_ahead_is_asked_anew(linking: Linking) -> None:
    routes = _by_key(*(_route(number) for number in range(BATCH)))
    assert await linking.ahead(routes)
    changed = _route(0, gateway="internal")
    found = await linking.of(routes | _by_key(changed))
    paths = {path for path, _ in found[key_of(changed)]}
    assert ("children", "gateway.networking.k8s.io/Gateway/shop/internal") in paths
    assert ("children", "gateway.networking.k8s.io/Gateway/shop/public") not in paths
