"""Problems and statuses from outcomes that are counted once for all policies equal those from each policy's own."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridge.model.changes import Object
from bridge.queries.analysis import all_problems
from bridge.queries.statuses import statuses
from tests.properties.random_clusters import FEATURES, random_cluster
from tests.properties.small_world import SmallWorld
from tests.properties.test_slices import filled
from tests.scenarios.cases import all_cases


def texts_of(problems: Iterable[dict[str, Any]]) -> set[str]:
    """The identity and message of each problem, without the names that a command suggests.

    Without those that only one of the two lists: violations, and problems of which a list has one for each kind.
    """
    return {
        msgspec.json.encode({**one, "message": one["message"].partition(";")[0]}, order="deterministic").decode()
        for one in problems
        if one["reason"] not in {"Violation", "NotJudged"}
    }


async def compare(opa_path: Path, objects: Sequence[Object]) -> int:
    """Compare both ways; the number of problems."""
    async with filled(opa_path, objects) as opa:
        alone = await opa.query("problems", {})
        counted = await all_problems(opa)
        assert texts_of(counted) == texts_of(alone)
        by_counts = (await statuses(opa, with_objects=False)).policies
        by_each = await opa.query("status", {"policies": await opa.query("policies", {})})
        assert {one["policy"]: one for one in by_counts} == {one["policy"]: one for one in by_each}
        assert not opa.failures.errors
    return len(alone)


@pytest.mark.parametrize("seed", range(1, 4))
async def test_problems_by_counts_in_random_clusters(seed: int, opa_path: Path) -> None:
    assert await compare(opa_path, list(SmallWorld(seed).objects.values()))
    assert await compare(opa_path, random_cluster(seed, FEATURES))


@pytest.mark.long
async def test_problems_by_counts_in_all_scenarios(opa_path: Path) -> None:
    found = [await compare(opa_path, case.objects) for case in all_cases() if not case.modules]
    assert sum(found) > len(found)
