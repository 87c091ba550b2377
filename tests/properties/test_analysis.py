"""`analyze` against applying the change for real: what it reports is exactly what becomes of it.

Random clusters change object by object: edited, created, deleted, renamed, one or several at once. Before each change
`analyze` is query_input; then the change is applied, and every effective policy (for requests from every namespace) and
every problem is compared with what it was.
"""

import asyncio
import itertools
import json
import random
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.model.types import ALWAYS, CRD
from bridge.offline.engine import Engine
from bridge.opa.client import Opa
from bridge.queries.analysis import Analysis, analyze, without_fields
from bridge.queries.states import plan_change
from bridge.replicator.replicator import Replicator
from tests.integration.scripted import BARRIER, Notices, ScriptedSource
from tests.properties.random_clusters import NAMESPACES, random_cluster
from tests.properties.random_policies import GROUP
from tests.warm_opa import WarmOpa
from tests.working import working

# A folder's source delivers objects of all types, those of policy kinds that are not described among them.
TYPES = (*ALWAYS, "example.com/Thing", *(f"{GROUP}/{kind}" for kind in ("Red", "Green", "Blue")), BARRIER)
SIDES = ("before", "after")
ANSWERS = 8  # effective policies that a cluster has at least: with fewer most changes make no difference

Names = tuple[str, ...]
Answers = dict[Names, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """What is applied and what is deleted, with a word for reports."""

    what: str
    applied: tuple[Object, ...]
    deleted: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Everything:
    """All effective policies, by target, kind, path and source, and all problems, by subject, object and reason."""

    effective: Answers
    problems: set[Names]


class Cluster:
    """An OPA that a replicator fills from a source."""

    def __init__(self, source: ScriptedSource, opa: Opa, notices: Notices) -> None:
        self.source = source
        self.opa = opa
        self._notices = notices

    async def apply(self, change: Change) -> None:
        """Apply a change as kubectl would, and wait until OPA holds it."""
        for obj in change.applied:
            self.source.put(_applied(self.source.objects.get(key_of(obj)), obj))
        for key in taken_along(self.source.objects, change):
            if key.type_id != BARRIER:
                self.source.delete(key)
        await self._notices.until_written(60)

    async def everything(self) -> Everything:
        """All that OPA answers."""
        keys = sorted(str(key) for key in self.source.objects if key.type_id != BARRIER)
        effective: Answers = {}
        for source in ("", *NAMESPACES):
            for entry in await self.opa.query("effective", {"targets": keys, "sourceNamespace": source}):
                for path in entry["paths"]:
                    path.pop("notAttached", None)  # of no account in a difference: the value is the same
                    name = (entry["target"], entry["policyKind"], json.dumps(path.pop("path")), source)
                    effective[name] = path
        problems = await self.opa.query("problems", {"objects": keys})
        return Everything(effective, {problem_name(problem) for problem in problems})


@asynccontextmanager
async def cluster_of(objects: Iterable[Object], opa: Opa) -> AsyncIterator[Cluster]:
    """A cluster with these objects in an empty OPA."""
    source = ScriptedSource(objects)
    replicator = Replicator(source, opa, TYPES)
    notices = Notices(source, replicator)
    async with working(replicator.run):
        await asyncio.wait_for(replicator.filled.wait(), 300)
        yield Cluster(source, opa, notices)


async def rich_cluster(opa: Opa, seed: int) -> list[Object]:
    """A random cluster with effective policies; for every second seed with some for requests from one namespace."""
    await opa.put("kinds", await opa.query("kinds_in_force", {}))  # without, each query makes the presets again
    try:
        return await _found(opa, seed)
    finally:
        await opa.patch([{"op": "remove", "path": "/kinds"}])


async def _found(opa: Opa, seed: int) -> list[Object]:
    for number in itertools.count(seed * 10_000):
        objects = random_cluster(number)
        if seed % 2 == 0 and not any(map(_names_a_frontend, objects)):
            continue
        found = [await _effective(opa, source, objects) for source in (("",) if seed % 2 else ("", *NAMESPACES))]
        if len(found[0]) >= ANSWERS and (seed % 2 or any(of_source != found[0] for of_source in found)):
            return objects
    raise AssertionError


def _names_a_frontend(obj: Object) -> bool:
    return any(ref.get("kind") == "Service" for ref in obj.get("spec", {}).get("parentRefs") or ())


async def _effective(opa: Opa, source: str, objects: Sequence[Object]) -> Answers:
    """The effective policies of objects that an empty OPA would have."""
    targets = sorted(str(key_of(obj)) for obj in objects)
    query_input = {"targets": targets, "sourceNamespace": source, "changes": {"upsert": objects}}
    return {
        (entry["target"], entry["policyKind"], json.dumps(path["path"])): path
        for entry in await opa.query("effective", query_input)
        for path in entry["paths"]
    }


def problem_name(problem: Mapping[str, Any]) -> Names:
    """What tells one problem from another."""
    return problem["subject"], problem["about"], problem["reason"], problem.get("value", "")


def draw_change(held: Mapping[Key, Object], seed: int) -> Change:
    """A change of one to three objects by a seed; what they become is taken from another random cluster."""
    chance = random.Random(seed)
    pool = {key_of(obj): obj for obj in random_cluster(seed)}
    present = sorted(key for key in held if key.type_id != BARRIER)
    applied: dict[Key, Object] = {}
    deleted: list[Key] = []
    words = []
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        what = chance.choice(("edit", "edit", "create", "delete", "rename"))
        left = [key for key in present if key not in applied and key not in deleted]
        choices = {
            "edit": [key for key in left if key in pool],
            "create": sorted(key for key in pool if key not in held and key not in applied),
            "delete": left,
            "rename": left,
        }[what]
        if not choices:
            continue
        near = [key for key in choices if key.group == GROUP or key.kind.endswith("Route")]  # what most depends on
        key = chance.choice(near if near and chance.random() < 0.5 else choices)
        words.append(f"{what} {key}")
        if what in {"edit", "create"}:
            applied[key] = pool[key]
        else:
            deleted.append(key)
        if what == "rename":
            renamed = _renamed(held[key], chance)
            if key_of(renamed) not in {*held, *applied}:
                applied[key_of(renamed)] = renamed
                words[-1] += f" to {key_of(renamed)}"
    return Change(", ".join(words), tuple(applied.values()), tuple(deleted))


def _renamed(obj: Object, chance: random.Random) -> Object:
    names = {"Gateway": ("public", "inner"), "Service": ("cart", "stock"), "HTTPRoute": ("one", "two")}
    name = chance.choice(names.get(obj["kind"], ("renamed",)))
    metadata = {field: value for field, value in obj["metadata"].items() if field != "resourceVersion"}
    return {**obj, "metadata": {**metadata, "name": name}}


def _applied(held: Object | None, obj: Object) -> Object:
    """An object after it was applied: it keeps the metadata that the file does not mention."""
    if held is None:
        return obj
    kept = {field: value for field, value in held["metadata"].items() if field not in {"labels", "annotations"}}
    return {**obj, "metadata": {**kept, **obj["metadata"]}}


def taken_along(held: Mapping[Key, Object], change: Change) -> list[Key]:
    """The objects that are deleted: a Namespace and a CRD take theirs along, except those that are applied."""
    applied = {key_of(obj) for obj in change.applied}
    spaces = {key.name for key in change.deleted if key.type_id == "core/Namespace" and key not in applied}
    specs = [held[key]["spec"] for key in change.deleted if key.type_id == CRD]
    kinds = {f"{spec['group']}/{spec['names']['kind']}" for spec in specs}
    taken = [key for key in held if key.namespace in spaces or key.type_id in kinds]
    return [key for key in dict.fromkeys((*change.deleted, *taken)) if key not in applied]


def reported(analysis: Analysis) -> Answers:
    """The differences of an analysis, as `real_differences` has them."""
    return {
        (
            difference["target"],
            difference["policyKind"],
            json.dumps(difference["path"]),
            difference.get("sourceNamespace", ""),
        ): tuple(difference[side] for side in SIDES)
        for difference in without_fields(analysis.effective)
    }


def real_differences(before: Everything, after: Everything) -> Answers:
    """What differs for requests from anywhere, and what differs otherwise for those of one namespace."""
    found: Answers = {}
    for name in before.effective.keys() | after.effective.keys():
        *where, source = name
        sides = (before.effective.get(name), after.effective.get(name))
        shared = (*where, "")
        for_all = (before.effective.get(shared), after.effective.get(shared))
        if sides[0] != sides[1] and (source == "" or sides != for_all):
            found[name] = sides
    return found


def _check(change: Change, analysis: Analysis, before: Everything, after: Everything, when: str) -> None:
    reported_, real = reported(analysis), real_differences(before, after)
    about = f"{when}: {change.what}\n"
    assert sorted(reported_.keys() - real.keys()) == [], f"{about}reported and not real"
    assert sorted(real.keys() - reported_.keys()) == [], f"{about}real and not reported"
    assert reported_ == real, about
    # That a change relaxes a Constraint is a problem of the change, not of the state after it.
    of_states = [one for one in analysis.introduced if one["reason"] != "GuardrailRelaxed"]
    introduced = {problem_name(problem) for problem in of_states}
    assert without_missed(introduced, analysis) == without_missed(after.problems - before.problems, analysis), about
    assert sorted(map(problem_name, analysis.fixed)) == sorted(before.problems - after.problems), about
    assert {problem_name(problem) for problem in analysis.remaining} <= after.problems & before.problems, about


def without_missed(problems: set[Names], analysis: Analysis) -> set[Names]:
    """Problems without those about missing GatewayClasses, if a change deletes one.

    The state after does not know that it existed. Without any class they are those of a platform, and not problems.
    """
    if not any("/GatewayClass/" in key for key in analysis.deleted):
        return problems
    return {name for name in problems if "/GatewayClass/" not in name[1]}


def undo(change: Change, held: Mapping[Key, Object]) -> Change:
    """The change that takes another one back; `held` are the objects before that one."""
    changed = [key_of(obj) for obj in change.applied]
    again = [held[key] for key in dict.fromkeys((*changed, *taken_along(held, change))) if key in held]
    return Change(f"undo {change.what}", tuple(again), tuple(key for key in changed if key not in held))


async def walk(seed: int, steps: int, opa_path: Path) -> None:
    """Change a random cluster and undo the change, so many times, and check each analysis.

    Without the undoing there would soon be nothing left for which anything differs.
    """
    async with (
        WarmOpa(opa_path) as managed,
        Opa(managed.url) as opa,
        cluster_of(await rich_cluster(opa, seed), opa) as cluster,
    ):
        before = await cluster.everything()
        for step in range(steps):
            held = dict(cluster.source.objects)
            first = draw_change(held, seed * 10_000 + step)
            for change in (first, undo(first, held)):
                engine = Engine(opa, running=True)
                analysis = await analyze(engine, await plan_change(engine, change.applied, change.deleted))
                await cluster.apply(change)
                after = await cluster.everything()
                _check(change, analysis, before, after, f"seed {seed}, step {step}")
                before = after


@pytest.mark.parametrize("seed", [1, 3])
async def test_analysis_equals_the_effect_of_applying_the_change(seed: int, opa_path: Path) -> None:
    await walk(seed, 4, opa_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", [*range(1, 7), *range(100, 140)])
async def test_analysis_of_many_changes_equals_the_effect_of_applying_them(seed: int, opa_path: Path) -> None:
    await walk(seed, 40, opa_path)
