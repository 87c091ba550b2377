"""Random clusters and stacks: the engine has the answers of the reference implementation.

A failure prints the seed and the fewest objects that still differ. To repeat it:

    .venv/bin/python -m tests.properties.compare [--stacks] SEED
"""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from bridge.opa.client import Opa
from tests.properties.compare import Object, bundle_of_both, differences, shrunken
from tests.properties.random_clusters import random_cluster
from tests.properties.random_stacks import random_stack
from tests.properties.test_incremental_statuses import settled
from tests.warm_opa import WarmOpa


@pytest.fixture
async def empty_opa(opa_path: Path) -> AsyncIterator[Opa]:
    async with WarmOpa(opa_path, bundle=bundle_of_both()) as managed, Opa(managed.url) as opa:
        # As a replicator stores them: without, each query makes the presets again.
        await opa.put("kinds", await opa.query("kinds_in_force", {}))
        yield opa


async def every_answer_agrees(opa: Opa, make: Callable[[int], list[Object]], seeds: range) -> None:
    for seed in seeds:
        objects = make(seed)
        if await differences(opa, objects):
            pytest.fail(await shrunken(opa, objects, seed), pytrace=False)


async def test_20_random_clusters_have_the_answers_of_the_reference(empty_opa: Opa) -> None:
    await every_answer_agrees(empty_opa, random_cluster, range(20))


async def test_20_random_stacks_have_the_answers_of_the_reference(empty_opa: Opa) -> None:
    await every_answer_agrees(empty_opa, random_stack, range(20))


@pytest.mark.long
async def test_1480_random_clusters_have_the_answers_of_the_reference(empty_opa: Opa) -> None:
    await every_answer_agrees(empty_opa, random_cluster, range(20, 1500))


@pytest.mark.long
async def test_780_random_stacks_have_the_answers_of_the_reference(empty_opa: Opa) -> None:
    await every_answer_agrees(empty_opa, random_stack, range(20, 800))


@pytest.mark.parametrize("seed", range(3))
async def test_a_cluster_that_was_replicated_has_the_answers_of_the_reference(seed: int, opa_path: Path) -> None:
    objects = random_cluster(seed)
    async with settled(opa_path, objects) as bridge:
        assert not await differences(bridge.opa, objects, held=True)
