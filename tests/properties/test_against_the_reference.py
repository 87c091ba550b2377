"""Random clusters: the engine says what the reference implementation says.

A failure prints the seed. That seed again, with the fewest objects that still differ:

    .venv/bin/python -m tests.properties.compare SEED
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.modules.shipped import shipped_bundle
from bridge.opa.client import Opa
from bridge.opa.managed import ManagedOpa
from bridge.resources import rego_root
from tests.properties.compare import differences, shrunken
from tests.properties.random_clusters import random_cluster
from tests.properties.test_incremental_statuses import at_work


@pytest.fixture
async def empty_opa(opa_path: Path) -> AsyncIterator[Opa]:
    async with ManagedOpa(opa_path, {}, bundle=shipped_bundle(rego_root())) as managed, Opa(managed.url) as opa:
        yield opa


async def every_cluster_agrees(opa: Opa, seeds: range) -> None:
    for seed in seeds:
        objects = random_cluster(seed)
        if await differences(opa, objects):
            pytest.fail(await shrunken(opa, objects, seed), pytrace=False)


async def test_200_random_clusters_have_the_answers_of_the_reference(empty_opa: Opa) -> None:
    await every_cluster_agrees(empty_opa, range(200))


@pytest.mark.long
async def test_2000_random_clusters_have_the_answers_of_the_reference(empty_opa: Opa) -> None:
    await every_cluster_agrees(empty_opa, range(200, 2200))


@pytest.mark.parametrize("seed", range(6))
async def test_a_cluster_that_was_replicated_has_the_answers_of_the_reference(seed: int, opa_path: Path) -> None:
    objects = random_cluster(seed)
    bundle = shipped_bundle(rego_root())
    async with ManagedOpa(opa_path, {}, bundle=bundle) as managed, at_work(managed.url, objects) as bridge:
        await bridge.settled()
        assert not await differences(bridge.opa, objects, held=True)
