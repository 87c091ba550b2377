"""Whatever the specs of a folder's objects contain, each command answers for the rest of the folder."""

import copy
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bridge.model.keys import key_of
from tests.in_process import run_warm
from tests.scenarios.cases import Case, all_cases

VALUES: tuple[Any, ...] = (
    *(
        None,
        "",
        " ",
        "a/b",
        "x#y",
        "@frontend",
        "-",
        "\u00a0",
        "a\nb",
        "*",
        "[0]",
        "1s",
        True,
        False,
        0,
        -1,
        1.5,
        1e308,
        2**63,
    ),
    *([], {}, [None], [{}], [[]], {"": ""}, {"name": None}, {"name": []}, ["a", {"b": 1}]),
)
Place = tuple[Any, ...]
CHANGES = 1000


def test_no_command_ends_at_a_folder_with_changed_specs(tmp_path: Path, opa_path: Path) -> None:
    chance = random.Random(0)
    answer_all(tmp_path, opa_path, chance, chance.sample(plain_cases(), 12), changes=16)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_no_command_ends_at_folders_with_changed_specs_of_all_scenarios(
    seed: int, tmp_path: Path, opa_path: Path
) -> None:
    answer_all(tmp_path, opa_path, random.Random(seed), plain_cases(), CHANGES // 20)


def plain_cases() -> list[Case]:
    """Return the scenarios of objects alone."""
    return [case for case in all_cases() if not case.modules and len(case.objects) <= 40]


def answer_all(tmp_path: Path, opa_path: Path, chance: random.Random, cases: list[Case], changes: int) -> None:
    """Change fields of the scenarios' specs in a folder, and check that each command answers."""
    before, after = tmp_path / "before", tmp_path / "after"
    worlds = {case.name: case.raw() for case in cases}
    write(before, worlds)
    changed = [change_spec(worlds, chance) for _ in range(changes)]
    write(after, worlds)
    for name, obj in changed[:3]:
        run(opa_path, "describe", str(key_of(obj)), "--manifests", str(after / f"{name}.yaml"), "-o", "json")
    for command in ("problems", "status", "effective", "violations"):
        run(opa_path, command, "--manifests", str(after), "-o", "json")
    run(opa_path, "graph", "--manifests", str(after))
    run(opa_path, "request", "shop.example.com/cart", "--manifests", str(after), "-o", "json")
    run(opa_path, "analyze", "-f", str(after), "--manifests", str(before), "-o", "json")


def run(opa_path: Path, *words: str) -> None:
    """Run a command. It must print an answer."""
    answer = run_warm(*words, environment={**os.environ, "BRIDGE_OPA": str(opa_path)})
    assert answer.returncode in {0, 1, 2}
    assert "unexpected" not in answer.stderr, answer.stderr
    assert answer.stdout, (words, answer.stderr[-1000:])


def write(folder: Path, worlds: dict[str, list[dict[str, Any]]]) -> None:
    """Write the objects of each scenario to a file."""
    folder.mkdir()
    for name, objects in worlds.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump_all(objects, allow_unicode=True))


def change_spec(worlds: dict[str, list[dict[str, Any]]], chance: random.Random) -> tuple[str, dict[str, Any]]:
    """Change or remove one field in the spec of an object; return the scenario and the object."""
    name = chance.choice(sorted(worlds))
    obj = chance.choice([obj for obj in worlds[name] if "spec" in obj])
    place = chance.choice([("spec",), *places(obj["spec"], ("spec",))])
    holder: Any = obj
    for step in place[:-1]:
        holder = holder[step]
    if chance.random() < 0.2:
        del holder[place[-1]]
        if place == ("spec",):
            obj["spec"] = {}
    else:
        holder[place[-1]] = copy.deepcopy(chance.choice(VALUES))
    if not isinstance(obj["spec"], dict):
        obj["spec"] = {}
    return name, obj


def places(value: Any, at: Place) -> Iterator[Place]:
    """Yield the place of each value inside of a value."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*at, step)
        yield from places(inner, (*at, step))
