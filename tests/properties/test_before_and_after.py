"""Before + changes = after: what queries answer about a change is what they answer about the folder after it.

Random folders change several objects at once: Rego of all extension points and what uses it, CRDs, PolicyKinds,
Constraints, Namespaces, routes and policies are edited, added, deleted. All queries for people are compared, and what
`analyze` reports with the difference of the two folders.
"""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of, parse_key
from bridge.offline.engine import open_engine
from bridge.queries.analysis import Analysis, analyze, held_crds, held_keys, read_applied, without_fields
from bridge.queries.states import State, opened_states, plan_change
from tests.properties.drawing import Drawing
from tests.properties.random_clusters import FEATURES, NAMESPACES, random_cluster
from tests.properties.random_policies import GROUP
from tests.properties.random_rego import draw_rego
from tests.properties.test_analysis import Change, problem_name, real_differences, taken_along, without_missed
from tests.properties.test_analysis import Everything as Problems

Answers = dict[str, Any]
SOURCES = ("", *NAMESPACES, "default")  # of requests
NEAR = ("ConfigMap", "RegoPolicy", "PolicyKind", "CustomResourceDefinition", "Constraint", "Pick", "Namespace")


def random_folder(seed: int) -> list[Object]:
    """The manifests of a seed."""
    draw = Drawing(seed, FEATURES)
    draw.objects = random_cluster(seed)
    draw_rego(draw)
    for obj in draw.objects:
        if obj["apiVersion"] == f"{GROUP}/v1":  # in a folder, policies without a CRD are in namespaces
            obj["metadata"].setdefault("namespace", "default")
    return draw.objects


def written(path: Path, objects: Sequence[Object]) -> str:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return str(path)


def draw_change(held: Mapping[Key, Object], seed: int) -> Change:
    """One to four objects of another folder are applied, or deleted here."""
    chance = random.Random(seed)
    pool = {key_of(obj): obj for obj in random_folder(seed)}
    applied: dict[Key, Object] = {}
    deleted: list[Key] = []
    for _ in range(chance.choice((1, 1, 2, 4))):
        near = chance.random() < 0.7
        choices = [key for key in (held if chance.random() < 0.3 else pool) if not near or key.kind in NEAR]
        key = chance.choice(choices)
        if key in pool and pool[key] != held.get(key) and key not in deleted:
            applied[key] = pool[key]
        elif key in held and key not in applied:
            deleted.append(key)
    return Change(
        f"apply {[*map(str, applied)]}, delete {[*map(str, deleted)]}", tuple(applied.values()), tuple(deleted)
    )


async def answers(state: State, folder: Mapping[Key, Object]) -> Answers:
    """What the queries for people answer about a state with the objects of a folder."""
    keys = sorted(map(str, folder))
    policies = [str(key) for key in folder if key.group == GROUP]
    asked: list[tuple[str, str, Any]] = [
        (f"effective for {source}", "effective", {"targets": keys, "sourceNamespace": source}) for source in SOURCES
    ]
    asked += [(name, name, {}) for name in ("types", "names", "scopes", "policies", "constraints")]
    asked += [(name, name, {}) for name in ("refused_policykinds", "undescribed", "policykind_doubts", "audit_keys")]
    asked += [("status", "status", {"policies": policies}), ("problems", "problems", {"objects": keys})]
    asked += [(f"tree of {key}", "tree", {"root": key}) for key in keys if "Route" in key or "/Gateway/" in key]
    asked += [(f"explain {key}", "explain", {"target": key}) for key in keys if "/HTTPRoute/" in key]
    asked += [(f"impact {key}", "impact", {"policy": key}) for key in policies[:4]]
    asked += [
        (f"request to {key}", "request", {"gateway": key, "host": "shop.example.com", "path": "/"})
        for key in keys
        if "/Gateway/" in key
    ]
    found: Answers = {}
    for name, query, query_input in asked:
        try:
            found[name] = await state.query(query, query_input)
        except Exception as error:  # noqa: BLE001 - of a name that is no target: both must fail
            found[name] = type(error).__name__
    found["violations"] = sorted(
        (row["constraint"], row["object"], row["enforcementAction"], row["message"])
        for row in await state.violations(keys)
    )
    return {name: _without_order(value) for name, value in found.items()}


def _without_order(value: Any) -> Any:
    """Sets come as lists in the order of their terms, which differs with numbers of the same value."""
    return sorted(map(json.dumps, value)) if isinstance(value, list) else value


def _check_analysis(analysis: Analysis, before: Answers, after: Answers, about: str) -> None:
    sides = [_effective(one) for one in (before, after)]
    real = real_differences(Problems(sides[0], set()), Problems(sides[1], set()))
    reported: dict[tuple[str, ...], Any] = {
        (one["target"], one["policyKind"], json.dumps(one["path"]), one.get("sourceNamespace", "")): (
            one["before"],
            one["after"],
        )
        for one in without_fields(analysis.effective)
    }
    assert sorted(reported.keys() ^ real.keys()) == [], about
    for name in real:
        assert reported[name] == real[name], f"{about}: {name}"
    gone, new = [{problem_name(json.loads(one)) for one in answer["problems"]} for answer in (before, after)]
    found = [
        {
            problem_name(one)
            for one in problems
            if one["reason"] not in {"Violation", "RegoRejected", "GuardrailRelaxed"}
        }
        for problems in (analysis.introduced, analysis.fixed)
    ]
    assert without_missed(found[0], analysis) == without_missed(new - gone, analysis), about
    assert without_missed(found[1], analysis) == without_missed(gone - new, analysis), about
    rows = [{(one[1], one[0]) for one in map(json.loads, answer["violations"])} for answer in (before, after)]
    violating = {
        (one["subject"], parse_key(one["about"]).name) for one in analysis.introduced if one["reason"] == "Violation"
    }
    assert rows[1] - rows[0] <= violating <= rows[1], about


def _effective(answer: Answers) -> dict[tuple[str, ...], Any]:
    return {
        (entry["target"], entry["policyKind"], json.dumps(path["path"]), source): {
            name: value for name, value in path.items() if name not in {"path", "notAttached"}
        }
        for source in SOURCES
        for entry in map(json.loads, answer[f"effective for {source}"])
        for path in entry["paths"]
    }


async def walk(seed: int, steps: int, folder: Path) -> None:
    """Change a folder so many times; each time compare the state after the change with the changed folder."""
    objects = {key_of(obj): obj for obj in random_folder(seed)}
    there = written(folder / "folder.yaml", [*objects.values()])
    async with open_engine(manifests=(there,)) as engine:
        before = await answers(State(engine.opa), objects)
    for step in range(steps):
        change = draw_change(objects, seed * 10_000 + step)
        about = f"seed {seed}, step {step}: {change.what}"
        file = written(folder / "change.yaml", change.applied)
        gone = taken_along(objects, change)
        now = {
            **{key: obj for key, obj in objects.items() if key not in gone},
            **{key_of(obj): obj for obj in change.applied},
        }
        async with open_engine(manifests=(there,), applied=(file,)) as engine:
            applied = read_applied([file], await held_crds(engine)).objects
            planned = await plan_change(engine, applied, change.deleted)
            analysis = await analyze(engine, planned)
            async with opened_states(engine, planned) as states:
                assumed = await answers(states.after, now)
                assert await answers(states.before, objects) == before, about
        there = written(folder / "folder.yaml", [*now.values()])
        async with open_engine(manifests=(there,)) as engine:
            after = await answers(State(engine.opa), now)
            assert set(now) == {*await held_keys(engine.opa)}, about
        for name in after:
            assert assumed[name] == after[name], f"{about}: {name}"
        _check_analysis(analysis, before, after, about)
        before, objects = after, now


@pytest.mark.parametrize("seed", [1])
async def test_answers_about_a_change_are_those_after_it(
    seed: int, tmp_path: Path, opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRIDGE_OPA", str(opa_path))
    await walk(seed, 1, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, *range(10, 40)])
async def test_answers_about_many_changes_are_those_after_them(
    seed: int, tmp_path: Path, opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRIDGE_OPA", str(opa_path))
    await walk(seed, 12, tmp_path)
