"""Stacks and specs at the bounds, and odd values and keys, on the real OPA beside the reference."""

import random
from pathlib import Path
from typing import Any

import pytest

from bridge.opa.client import Opa
from tests.bundles import bundle_with
from tests.properties.stacks import KIND, RULE, Entry, key_of, objects_of
from tests.properties.test_against_the_reference import empty_opa as empty_opa  # noqa: PLC0414 (a fixture)
from tests.reference.answers import answer
from tests.warm_opa import WarmOpa

Object = dict[str, Any]
KEYS = ("", " ", "/", "~", "~1", "a/b", "a~b", "two words", "/~/", "é", "0")
ODD_VALUES: tuple[Any, ...] = ({}, [], None, 0, "", False, "x", [None], [[]], {"a": {}}, {"a": None})
STRATEGIES = ("PatchDefaults", "PatchOverrides")


async def path_in_opa(opa: Opa, objects: list[Object]) -> Object:
    question = {"targets": [RULE], "policyKind": KIND, "changes": {"upsert": objects}}
    [row] = await opa.query("effective", question)
    [path] = row["paths"]
    found: Object = path
    return found


def path_in_the_reference(objects: list[Object]) -> Object:
    [path] = [path for (source, _, _), path in answer(objects).effective.items() if not source]
    return path


async def both_agree(opa: Opa, stack: list[Entry]) -> Object:
    """The path in OPA, which is that of the reference."""
    objects = objects_of(stack, {})
    found, wanted = await path_in_opa(opa, objects), path_in_the_reference(objects)
    for field in ("spec", "origins", "policies"):
        assert found[field] == wanted[field]
    return found


async def test_512_policies_of_one_path_are_merged(empty_opa: Opa) -> None:
    stack = [Entry(index // 128, "PatchDefaults", {f"f{index % 300}": index}) for index in range(512)]
    path = await both_agree(empty_opa, stack)
    assert path["spec"]["f211"] == 511
    assert len(path["origins"]) == 300


async def test_513_policies_of_one_path_are_an_error_that_names_all_of_them(empty_opa: Opa) -> None:
    stack = [Entry(index // 128, "PatchDefaults", {"f": index}) for index in range(513)]
    path = await path_in_opa(empty_opa, objects_of(stack, {}))
    assert path["error"]["code"] == "BoundExceeded"
    assert "spec" not in path
    assert {entry["policy"] for entry in path["policies"]} == {key_of(index) for index in range(513)}


async def test_two_specs_of_10000_leaves_are_merged_where_the_bound_allows_them(opa_path: Path) -> None:
    upper = {f"g{group}": {f"f{field}": field for field in range(100)} for group in range(100)}
    lower = {f"g{group}": {f"f{field}": None for field in range(50, 150)} for group in range(100)}
    stack = [Entry(1, "PatchDefaults", upper), Entry(3, "PatchDefaults", lower)]
    bundle = bundle_with((), {"leaves": 12_000})
    async with WarmOpa(opa_path, bundle=bundle) as managed, Opa(managed.url) as opa:
        path = await both_agree(opa, stack)
    assert len(path["origins"]) == 15_000
    assert path["spec"]["g99"] == {f"f{field}": field for field in range(50)}


ODD_STACKS = [
    [Entry(1, strategy, {"k": value}), Entry(3, strategy, {"k": other}), Entry(4, strategy, last)]
    for value in ODD_VALUES
    for other in ODD_VALUES
    for strategy in STRATEGIES
    for last in ({}, {"k": {"z": 1}})
]


@pytest.mark.parametrize(
    "stacks",
    [random.Random(1).sample(ODD_STACKS, 20), pytest.param(ODD_STACKS, marks=pytest.mark.long)],
    ids=["20", "all"],
)
async def test_each_leaf_at_one_pointer_has_the_origin_of_the_reference(
    empty_opa: Opa, stacks: list[list[Entry]]
) -> None:
    for stack in stacks:
        await both_agree(empty_opa, stack)


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_odd_keys_are_escaped_in_origins(empty_opa: Opa, strategy: str) -> None:
    upper = {key: dict.fromkeys(KEYS, 1) for key in KEYS}
    lower = {key: dict.fromkeys(KEYS[::2], 2) for key in KEYS[1:]}
    path = await both_agree(empty_opa, [Entry(1, strategy, upper), Entry(3, strategy, lower)])
    assert "//~1~0~1" in path["origins"]
    assert "/~01/" in path["origins"]
    assert len(path["origins"]) == len(KEYS) ** 2
