"""Whatever the objects of a scenario hold, no query fails, and every policy has a status.

An API server accepts much where a CRD keeps unknown fields, and a folder of manifests accepts anything. Their links are
only those of the fields that `links` reads.
"""

import copy
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path as File
from typing import Any

import pytest
import pytest_asyncio

from bridge.model.keys import parse_key
from bridge.opa.client import Opa
from bridge.replicator.links import LinkFields
from tests.scenarios.cases import Case, all_cases
from tests.warm_opa import WarmOpa

WORLDS = 40  # for each seed
IDENTITY = {("apiVersion",), ("kind",), ("metadata",), ("metadata", "name"), ("metadata", "namespace")}
VALUES: tuple[Any, ...] = (
    *(None, "", 0, -1, 1e308, True, "x", "a.b", "a/b", "#", "@frontend", "[0]", "*", 12345678901234567890),
    *([], {}, [None], [{}], [[]], {"a": None}, {"a": 1}, {"name": None}, {"": ""}, ["a", {"b": 1}]),
)
Place = tuple[Any, ...]


@pytest_asyncio.fixture
async def empty_opa(opa_path: File) -> AsyncIterator[Opa]:
    async with WarmOpa(opa_path) as managed, Opa(managed.url) as opa:
        await opa.put("kinds", await opa.query("kinds_in_force", {}))
        yield opa


async def test_no_query_fails_whatever_objects_hold(empty_opa: Opa) -> None:
    await no_query_fails(empty_opa, 0, worlds=4)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
async def test_no_query_fails_in_many_clusters_whatever_objects_hold(seed: int, empty_opa: Opa) -> None:
    await no_query_fails(empty_opa, seed)


async def no_query_fails(empty_opa: Opa, seed: int, worlds: int = WORLDS) -> None:
    chance = random.Random(seed)
    cases = [case for case in all_cases() if not case.modules and len(case.objects) <= 40]
    for number in range(worlds):
        case = chance.choice(cases)
        world = _hostile(case, chance)
        policies, statuses = await _ask_everything(empty_opa, world)
        dead = sum("deletionTimestamp" in obj["metadata"] for obj in world)
        assert len(policies) - dead <= len(statuses), f"{case.name}, seed {seed}, world {number}"


def _hostile(case: Case, chance: random.Random) -> list[dict[str, Any]]:
    world = [copy.deepcopy(obj) for obj in case.objects]
    for _ in range(chance.choice([1, 2, 4])):
        obj, place = chance.choice([(obj, at) for obj in world for at in _places(obj) if at not in IDENTITY])
        holder: Any = obj
        for step in place[:-1]:
            holder = holder[step]
        if chance.random() < 0.2:
            del holder[place[-1]]
        else:
            holder[place[-1]] = copy.deepcopy(chance.choice(VALUES))
    return world


def _places(value: Any, at: Place = ()) -> Iterator[Place]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*at, step)
        yield from _places(inner, (*at, step))


async def _ask_everything(opa: Opa, world: list[dict[str, Any]]) -> tuple[list[str], list[dict[str, Any]]]:
    changes = {"upsert": world}
    await opa.query("tree", {"changes": changes})
    await opa.query("problems", {"changes": changes})
    await opa.query("violations", {"changes": changes})
    await opa.query("request", {"host": "shop.example.com", "path": "/cart", "changes": changes})
    for kind, targets in (await opa.query("scopes", {"changes": changes})).items():
        await opa.query("effective", {"targets": targets, "policyKind": kind, "changes": changes})
        for target in targets[:1]:
            await opa.query("explain", {"target": target, "changes": changes})
    links = await opa.query("links", {"objects": world})
    reading = LinkFields(await opa.query("link_fields", {}))
    assert (
        await opa.query("links", {"objects": [reading.select(obj) for obj in world], "reads": reading.fields}) == links
    )
    keys = sorted(links)
    await opa.query("affected", {"objects": keys, "changes": changes})
    await opa.query("dependents", {"keys": keys, "changes": changes})
    await _draw(opa, keys, changes)
    policies = await opa.query("policies", {"changes": changes})
    for policy in policies[:2]:
        await opa.query("impact", {"policy": policy, "changes": changes})
    return policies, await opa.query("status", {"policies": policies, "changes": changes})


async def _draw(opa: Opa, changed: list[str], changes: dict[str, Any]) -> None:
    """Ask for the picture as the page does: what a change concerns is drawn, and then what each edge leads to."""
    drawn: set[str] = set()
    upcoming = {key for part in await opa.query("picture_roots", {"changes": changes}) for key in part}
    concerned = await opa.query("outdated", {"keys": changed, "wanted": {"picture": {}}, "changes": changes})
    upcoming.update(concerned["picture"])
    while upcoming - drawn:
        entries = await opa.query("picture", {"objects": sorted(upcoming - drawn), "changes": changes})
        drawn |= upcoming
        upcoming = {str(parse_key(end).object) for entry in entries.values() for edge in entry["edges"] for end in edge}
