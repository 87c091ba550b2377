"""Laws of merging, by hypothesis, against the real OPA."""

import asyncio
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bridge.opa.client import Opa
from tests.properties.stacks import (
    Engine,
    Entry,
    entries,
    key_of,
    merge_rules,
    mergeable_stacks,
    objects_of,
    patch_stacks,
    specs,
    stacks,
)
from tests.reference.answers import answer
from tests.warm_opa import WarmOpa

Object = dict[str, Any]

# The ways to fold that have a law in common.
UPWARD = st.sampled_from([{}, {"sameLevel": "OldestWins"}])
ANY = st.one_of(UPWARD, st.just({"parentLevels": ["Gateway", "Listener", "Route"]}))

# Each example is a query: `make test` has 10 of each law, `make test-laws` 500.
law = settings(max_examples=settings().max_examples // 10, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def engine(opa_path: Path) -> Iterator[Engine]:
    with asyncio.Runner() as runner:
        managed = WarmOpa(opa_path)
        runner.run(managed.__aenter__())
        opa = Opa(managed.url)
        runner.run(opa.__aenter__())
        # As a replicator stores them: without, each query makes the presets again.
        runner.run(opa.put("kinds", runner.run(opa.query("kinds_in_force", {}))))
        yield Engine(runner, opa)
        runner.run(opa.__aexit__(None, None, None))
        runner.run(managed.__aexit__(None, None, None))


@law
@given(stacks, ANY)
def test_a_stack_merges_as_in_the_reference(engine: Engine, stack: list[Entry], options: Object) -> None:
    objects = objects_of(stack, options)
    assert fields_of(engine.path(objects)) == fields_of(wanted(objects))


@law
@given(mergeable_stacks, ANY, merge_rules)
def test_lists_and_units_merge_as_in_the_reference(
    engine: Engine, stack: list[Entry], options: Object, rules: Object
) -> None:
    objects = objects_of(stack, {**options, "merge": rules})
    assert fields_of(engine.path(objects)) == fields_of(wanted(objects))


@law
@given(stacks, UPWARD, st.data())
def test_an_equal_copy_of_a_policy_changes_no_spec(
    engine: Engine, stack: list[Entry], options: Object, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(stack) - 1))
    copied = [*stack[: index + 1], stack[index], *stack[index + 1 :]]
    assert engine.merged(copied, options)["spec"] == engine.merged(stack, options)["spec"]


@law
@given(stacks, ANY, st.randoms(use_true_random=False))
def test_the_order_of_objects_is_irrelevant(
    engine: Engine, stack: list[Entry], options: Object, order: random.Random
) -> None:
    objects = objects_of(stack, options)
    shuffled = order.sample(objects, len(objects))
    assert engine.path(shuffled) == engine.path(objects)


@law
@given(stacks, ANY)
def test_origins_rebuild_the_spec_exactly(engine: Engine, stack: list[Entry], options: Object) -> None:
    path = engine.merged(stack, options)
    spec_of = {key_of(index): entry.spec for index, entry in enumerate(stack)}
    rebuilt: Object = {}
    for pointer, policy in path["origins"].items():
        put(rebuilt, names_in(pointer), value_at(spec_of[policy], names_in(pointer)))
    assert rebuilt == path["spec"]


@law
@given(stacks, ANY)
def test_origins_cover_exactly_the_leaves_and_name_a_policy_that_has_them(
    engine: Engine, stack: list[Entry], options: Object
) -> None:
    path = engine.merged(stack, options)
    spec_of = {key_of(index): entry.spec for index, entry in enumerate(stack)}
    tombstones = {pointer for pointer in path["origins"] if not has(path["spec"], names_in(pointer))}
    for pointer, policy in path["origins"].items():
        names = names_in(pointer)
        assert has(spec_of[policy], names)
        assert value_at(spec_of[policy], names) == (None if pointer in tombstones else value_at(path["spec"], names))
    for pointer in pointers_of(path["spec"]) - path["origins"].keys():  # objects that tombstones left empty
        assert value_at(path["spec"], names_in(pointer)) == {}
        assert any(tombstone.startswith(f"{pointer}/") for tombstone in tombstones)
    assert path["origins"].keys() - tombstones <= pointers_of(path["spec"])


def _overlap(pointer: str, other: str) -> bool:
    return f"{pointer}/".startswith(f"{other}/") or f"{other}/".startswith(f"{pointer}/")


_EXCLUDED = [
    Entry(level=0, strategy="AtomicDefaults", spec={"b": None}),
    Entry(level=0, strategy="PatchDefaults", spec={"a": None}),
    Entry(level=0, strategy="AtomicDefaults", spec={"a": None}),
]
_OUTVOTED = [
    Entry(level=0, strategy="AtomicDefaults", spec={}),
    Entry(level=0, strategy="PatchDefaults", spec={"a": None, "b": None}),
    Entry(level=1, strategy="PatchDefaults", spec={"a": None}),
    Entry(level=2, strategy="AtomicDefaults", spec={"a": None}),
]


@law
@given(stack=stacks, options=ANY)
@example(stack=_EXCLUDED, options={})
@example(stack=_OUTVOTED, options={"sameLevel": "OldestWins"})
def test_outcomes_agree_with_origins(engine: Engine, stack: list[Entry], options: Object) -> None:
    path = engine.merged(stack, options)
    origins = path["origins"]
    assert [entry["policy"] for entry in path["policies"]] == [key_of(index) for index in range(len(stack))]
    for index, entry in enumerate(path["policies"]):
        spec = stack[index].spec
        own = pointers_of(spec)
        kept = {pointer for pointer in own if origins.get(pointer) == entry["policy"]}
        outcome = "Programmed" if kept == own else "PartiallyProgrammed" if kept else "Overridden"
        assert entry["outcome"] == outcome
        # Semantics O3: a lost leaf has an origin at, above or below it, or else any policy may have excluded this one.
        # An empty policy has no origin when it excludes others, and no leaf that an origin could have taken.
        empty = {key_of(other) for other, member in enumerate(stack) if not member.spec}
        taken = all(any(_overlap(pointer, other) for other in origins) for pointer in own - kept)
        others = {key_of(other) for other in range(len(stack))} - {entry["policy"]}
        assert set(entry["overriddenBy"]) <= ({*origins.values(), *empty} & others if taken and spec else others)
        if all(other.spec for other in stack) and any(
            value_at(spec, names_in(pointer)) != {} for pointer in own - kept
        ):
            assert entry["overriddenBy"]
        if outcome == "Programmed":
            assert not entry["overriddenBy"]
    assert {entry["policy"] for entry in path["policies"] if entry["outcome"] != "Overridden"} == set(origins.values())


@law
@given(stacks)
def test_only_policies_that_can_win_by_their_strategy_override(engine: Engine, stack: list[Entry]) -> None:
    index_of = {key_of(index): index for index in range(len(stack))}
    for index, entry in enumerate(engine.merged(stack, {})["policies"]):
        for other in map(index_of.__getitem__, entry["overriddenBy"]):
            upper = min(index, other)
            assert stack[upper].strategy.endswith("Overrides") == (other == upper)


@law
@given(patch_stacks, st.integers(1, 5))
def test_defaults_are_applied_from_the_top_one_after_the_other(engine: Engine, stack: list[Entry], split: int) -> None:
    defaults = [replace(entry, strategy="PatchDefaults") for entry in stack]
    upper = engine.merged(defaults[:split], {})["spec"]
    shorter = [replace(defaults[0], spec=upper), *defaults[split:]]
    assert engine.merged(shorter, {})["spec"] == engine.merged(defaults, {})["spec"]


@law
@given(patch_stacks, st.integers(1, 5))
def test_overrides_are_applied_from_the_bottom_one_after_the_other(
    engine: Engine, stack: list[Entry], split: int
) -> None:
    overrides = [replace(entry, strategy="PatchOverrides") for entry in stack]
    lower = engine.merged(overrides[-split:], {})["spec"]
    shorter = [*overrides[:-split], replace(overrides[-1], spec=lower)]
    assert engine.merged(shorter, {})["spec"] == engine.merged(overrides, {})["spec"]


@law
@given(stacks, UPWARD, st.sampled_from(["AtomicOverrides", "PatchOverrides"]), specs)
def test_an_override_on_top_is_never_lost(
    engine: Engine, stack: list[Entry], options: Object, strategy: str, spec: Object
) -> None:
    path = engine.merged([Entry(0, strategy, spec), *stack], options)
    for pointer in pointers_of(spec):
        names = names_in(pointer)
        value = value_at(spec, names)
        if value == {}:  # an object without fields says only that there is one
            assert isinstance(value_at(path["spec"], names), dict)
        else:
            assert path["origins"][pointer] == key_of(0)
            assert value_at(path["spec"], names) == value
    if strategy == "AtomicOverrides":
        assert set(path["origins"].values()) == {key_of(0)}


@law
@given(stacks, st.sampled_from(["PatchDefaults", "PatchOverrides"]), st.data())
def test_a_policy_above_another_that_sets_nothing_changes_no_spec(
    engine: Engine, stack: list[Entry], strategy: str, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(stack) - 1))
    longer = [*stack[:index], Entry(stack[index].level, strategy, {}), *stack[index:]]
    assert engine.merged(longer, {})["spec"] == engine.merged(stack, {})["spec"]


@law
@given(patch_stacks, UPWARD, entries)
def test_among_patches_a_policy_that_sets_nothing_changes_no_spec(
    engine: Engine, stack: list[Entry], options: Object, anywhere: Entry
) -> None:
    nothing = Entry(anywhere.level, "PatchDefaults", {})
    place = sum(entry.level <= nothing.level for entry in stack)
    longer = [*stack[:place], nothing, *stack[place:]]
    assert engine.merged(longer, options)["spec"] == engine.merged(stack, options)["spec"]


def has(spec: Any, names: list[str]) -> bool:
    for name in names:
        if not isinstance(spec, dict) or name not in spec:
            return False
        spec = spec[name]
    return True


def wanted(objects: list[Object]) -> Object:
    """What the reference makes of the one path."""
    [path] = [path for (source, _, _), path in answer(objects).effective.items() if not source]
    return path


def fields_of(path: Object) -> list[Any]:
    return [path["spec"], path["origins"], path["policies"]]


def names_in(pointer: str) -> list[str]:
    return [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]]


def value_at(spec: Any, names: list[str]) -> Any:
    for name in names:
        spec = spec.get(name) if isinstance(spec, dict) else None
    return spec


def put(spec: Object, names: list[str], value: Any) -> None:
    """Set a value below objects that are made where they are missing; a null stands for a field that is not there."""
    for name in names[:-1]:
        spec = spec.setdefault(name, {})
    if names and value is not None:
        spec[names[-1]] = value


def pointers_of(spec: Any, above: str = "") -> set[str]:
    if not isinstance(spec, dict) or not spec:
        return {above}
    return {
        pointer
        for name, value in spec.items()
        for pointer in pointers_of(value, f"{above}/{name.replace('~', '~0').replace('/', '~1')}")
    }
