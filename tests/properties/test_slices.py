"""An OPA with the slice for a question answers it as an OPA with everything does."""

import random
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridge.model.changes import Object, Source
from bridge.model.keys import Key, key_of
from bridge.model.types import ALWAYS
from bridge.offline.engine import Engine, FixedSource
from bridge.offline.slicing import Reading, Slice, Withheld
from bridge.opa.client import Opa
from bridge.queries.analysis import analyze
from bridge.queries.asking import AboutTargets
from bridge.queries.states import plan_change
from bridge.replicator.replicator import Replicator
from tests.builders import GATEWAY_API
from tests.properties.random_clusters import FEATURES, random_cluster
from tests.properties.small_world import THING, SmallWorld
from tests.properties.test_analysis import Change, draw_change
from tests.scenarios.cases import all_cases
from tests.warm_opa import WarmOpa
from tests.working import working

TYPES = (*ALWAYS, THING)
REPORTS = ("refused_policykinds", "policykind_doubts", "undescribed", "version_problems", "kinds_in_force", "types")
SELECTING = frozenset({"Selectors", "FieldSelectors"})  # whose policies may read any object


@asynccontextmanager
async def filled(opa_path: Path, objects: Sequence[Object]) -> AsyncIterator[Opa]:
    """An OPA with these objects."""
    async with WarmOpa(opa_path) as managed, Opa(managed.url) as opa, replicating(FixedSource(objects), opa):
        yield opa


@asynccontextmanager
async def replicating(source: Source, opa: Opa) -> AsyncIterator[Replicator]:
    """A replicator that has written everything that a source delivers."""
    replicator = Replicator(source, opa, TYPES)
    async with working(replicator.run):
        await replicator.filled.wait()
        yield replicator


@asynccontextmanager
async def sliced(opa_path: Path, objects: Sequence[Object], target: Key) -> AsyncIterator[tuple[Opa, int]]:
    """An OPA with the slice for a question about one target, and the number of objects that it lacks."""
    question = AboutTargets((str(target),))
    async with WarmOpa(opa_path) as managed, Opa(managed.url) as opa:
        withheld = Withheld(**await opa.query("withheld", {}))
        part = Slice(FixedSource(objects), withheld, question.names(withheld.types) or ())
        async with replicating(part, opa) as replicator:
            targets = await question.targets(opa)
            await replicator.add(part.take_out(await part.find_read(opa, Reading(targets))))
            yield opa, len(objects) - len(replicator)


@dataclass
class Sliced:
    """An OPA with a slice, to which a replicator adds the rest."""

    opa: Opa
    part: Slice
    replicator: Replicator

    async def changed(self) -> None:
        """Nothing changes."""

    async def add_read(self, reading: Reading) -> None:
        """Add what an answer reads."""
        await self.replicator.add(self.part.take_out(await self.part.find_read(self.opa, reading)))

    async def add_withheld(self) -> bool:
        """Add the rest."""
        rest = self.part.take_out()
        await self.replicator.add(rest)
        return bool(rest)


async def effects(opa: Opa, change: Change) -> dict[str, Any]:
    """The effects of a change on everything that an OPA has."""
    engine = Engine(opa)
    return (await analyze(engine, await plan_change(engine, change.applied, change.deleted))).document()


async def effects_on_slice(opa: Opa, objects: Sequence[Object], change: Change) -> tuple[dict[str, Any], int]:
    """The effects of a change on the slice of objects that its analysis reads, and the number that it lacks."""
    part = Slice(
        FixedSource(objects), Withheld(**await opa.query("withheld", {})), [key.name for key in change.deleted]
    )
    async with replicating(part, opa) as replicator:
        engine = Engine(opa, contents=Sliced(opa, part, replicator))
        found = await analyze(engine, await plan_change(engine, change.applied, change.deleted))
        return found.document(), len(objects) - len(replicator)


async def compare_effects(opa_path: Path, objects: Sequence[Object], changes: Iterable[Change]) -> list[int]:
    """Compare the effects of each change; how many objects each slice lacks."""
    lacking = []
    async with filled(opa_path, objects) as whole:
        expected = [(change, await effects(whole, change)) for change in changes]
    for change, effect in expected:
        async with WarmOpa(opa_path) as managed, Opa(managed.url) as opa:
            found, number = await effects_on_slice(opa, objects, change)
        assert found == effect, change
        lacking.append(number)
    return lacking


def changes_of(objects: Sequence[Object], seed: int, most: int) -> list[Change]:
    """Changes of routes and of what names targets: some are deleted, others get the spec of an object of their kind."""
    chance = random.Random(seed)
    able = {
        key_of(obj): obj for obj in objects if {"parentRefs", "targetRefs", "targetRef"} & obj.get("spec", {}).keys()
    }
    found = []
    for key in chance.sample(sorted(able), min(most, len(able))):
        other = chance.choice([one for one in able if one.type_id == key.type_id])
        if other == key or chance.random() < 0.5:
            found.append(Change(f"delete {key}", (), (key,)))
        else:
            changed = able[key] | {"spec": {**able[other]["spec"], **_some(able[key]["spec"], chance)}}
            found.append(Change(f"{key} like {other}", (changed,), ()))
    return found


def _some(spec: Object, chance: random.Random) -> Object:
    return {name: value for name, value in spec.items() if chance.random() < 0.4}


async def answers(opa: Opa, target: Key) -> dict[str, Any]:
    """Everything that commands about a target show."""
    found = {name: await opa.query(name, {}) for name in REPORTS}
    for source in ("", target.namespace):
        more = {"sourceNamespace": source} if source else {}
        found[f"effective{source}"] = await opa.query("effective", {"targets": [str(target)], **more})
    found["explain"] = await opa.query("explain", {"target": str(target)})
    return found


def routes_of(objects: Iterable[Object]) -> Iterator[Key]:
    """The routes of Gateway API among objects."""
    return (key for key in map(key_of, objects) if key.group == GATEWAY_API and key.kind.endswith("Route"))


async def compare(opa_path: Path, objects: Sequence[Object], most: int = 100) -> list[int]:
    """Compare the answers about each of so many routes; how many objects each slice lacks."""
    lacking = []
    async with filled(opa_path, objects) as whole:
        expected = {target: await answers(whole, target) for target in islice(routes_of(objects), most)}
    for target, answer in expected.items():
        async with sliced(opa_path, objects, target) as (part, number):
            assert await answers(part, target) == answer, target
        lacking.append(number)
    return lacking


def small_world(seed: int) -> list[Object]:
    """A small world, mostly without policies that select their targets."""
    objects = list(SmallWorld(seed).objects.values())
    if seed % 4:
        objects = [obj for obj in objects if "SelectingPolicy" not in {obj["kind"], obj.get("spec", {}).get("kind")}]
        objects = [obj for obj in objects if "targetSelectors" not in obj.get("spec", {})]
    return doubled(objects)


def drawn_cluster(seed: int) -> list[Object]:
    """A random cluster, mostly without policies that select their targets."""
    return doubled(random_cluster(seed, FEATURES - SELECTING if seed % 4 else FEATURES))


def doubled(objects: Iterable[Object]) -> list[Object]:
    """These objects, and again those of two namespaces in two others, at the same Gateways."""
    again = [msgspec.json.decode(re.sub(rb'"(shop|blog)"', rb'"\1-2"', msgspec.json.encode(obj))) for obj in objects]
    return list({key_of(obj): obj for obj in (*objects, *again)}.values())


@pytest.mark.parametrize("seed", [1, 4])
async def test_slices_of_random_clusters_have_all_that_their_answers_read(seed: int, opa_path: Path) -> None:
    lacking = [*await compare(opa_path, small_world(seed)), *await compare(opa_path, drawn_cluster(seed))]
    assert lacking


@pytest.mark.long
async def test_slices_of_200_random_clusters_have_all_that_their_answers_read(opa_path: Path) -> None:
    lacking = []
    for seed in range(100):
        lacking += await compare(opa_path, small_world(seed))
        lacking += await compare(opa_path, drawn_cluster(seed))
    assert sum(1 for number in lacking if number) > len(lacking) / 2


@pytest.mark.long
async def test_slices_of_scenarios_have_all_that_their_answers_read(opa_path: Path) -> None:
    lacking = [number for case in all_cases() if not case.modules for number in await compare(opa_path, case.objects)]
    assert sum(1 for number in lacking if number) > len(lacking) / 4


@pytest.mark.parametrize("seed", [1])
async def test_analyses_of_changes_of_random_clusters_need_only_their_slices(seed: int, opa_path: Path) -> None:
    for objects in (small_world(seed), drawn_cluster(seed)):
        assert await compare_effects(opa_path, objects, changes_of(objects, seed, 4))


@pytest.mark.long
async def test_analyses_of_1000_changes_of_random_clusters_need_only_their_slices(opa_path: Path) -> None:
    lacking = []
    for seed in range(100):
        lacking += await compare_effects(opa_path, objects := small_world(seed), changes_of(objects, seed, 5))
        objects = drawn_cluster(seed)
        drawn = [draw_change({key_of(obj): obj for obj in objects}, seed * 10 + step) for step in range(2)]
        lacking += await compare_effects(opa_path, objects, [*changes_of(objects, seed, 3), *drawn])
    assert sum(1 for number in lacking if number) > len(lacking) / 4


@pytest.mark.long
async def test_analyses_of_changes_of_scenarios_need_only_their_slices(opa_path: Path) -> None:
    lacking = []
    for seed, case in enumerate(case for case in all_cases() if not case.modules):
        lacking += await compare_effects(opa_path, case.objects, changes_of(case.objects, seed, 2))
    assert sum(1 for number in lacking if number) > len(lacking) / 10
