"""The engine beside the reference: the same objects, and where their answers differ.

.venv/bin/python -m tests.properties.compare [--stacks] SEED [SEED…]
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

from bridge.opa.bundle import Bundle
from bridge.opa.client import Opa
from hack.tools import find
from tests.bundles import bundle_with
from tests.properties.random_clusters import random_cluster
from tests.properties.random_stacks import random_stack
from tests.queries import results_of
from tests.reference import custom
from tests.reference.answers import answer
from tests.warm_opa import WarmOpa

Object = dict[str, Any]


def bundle_of_both() -> Bundle:
    """The shipped modules, and the custom strategies that the reference knows too."""
    return bundle_with(custom.REGO.values())


def path_name(source: str, kind: str, path: Iterable[str]) -> str:
    """How an answer is named where the two differ."""
    return f"{kind} {' > '.join(path)}" + (f" (from {source})" if source else "")


def sources_of(objects: list[Object]) -> list[str]:
    """Where requests come from, as far as that matters: anywhere, and for a mesh one namespace, some time each (P6)."""
    meshes = any(
        ref.get("kind") == "Service" for obj in objects for ref in obj.get("spec", {}).get("parentRefs") or []
    ) or any(obj["spec"].get("crossNamespace") == "Consumer" for obj in objects if obj["kind"] == "PolicyKind")
    namespaces = sorted({obj["metadata"].get("namespace", "") for obj in objects} - {""})
    return ["", namespaces[len(objects) % len(namespaces)]] if meshes and namespaces else [""]


async def engine_answers(opa: Opa, changes: dict[str, Any], sources: list[str]) -> dict[str, Any]:
    """What the engine says, each answer under a name that the reference's has too."""
    found: dict[str, Any] = {}
    listed = await results_of(opa, "scopes", "policies", asked=changes)
    asked = {
        "targets": sorted({target for targets in listed["scopes"].values() for target in targets}),
        "policies": listed["policies"],
        **changes,
    }
    first, *others = sources
    answers = await results_of(opa, "effective", "status", asked={**asked, "sourceNamespace": first})
    effective = {first: answers["effective"]}
    for source in others:
        effective[source] = await opa.query("effective", {**asked, "sourceNamespace": source})
    for source, rows in effective.items():
        for row in rows:
            for path in row["paths"]:
                # Why nothing accepts a route is text for people, which the scenarios hold.
                body = {name: value for name, value in path.items() if name not in {"path", "notAttached"}}
                found[path_name(source, row["policyKind"], path["path"])] = body
    for status in answers["status"]:
        if status["policyKind"] == "policybridge.io/PolicyKind":
            found[status["policy"]] = [condition["status"] for condition in status["conditions"]]
            continue
        found[status["policy"]] = {
            condition["type"]: f"{condition['status']}/{condition['reason']}" for condition in status["conditions"]
        }
    return found


def reference_answers(objects: list[Object], sources: list[str]) -> dict[str, Any]:
    """What the reference says, in the same form."""
    answers = answer(objects)
    found: dict[str, Any] = dict(answers.conditions)
    for (source, kind, path), body in answers.effective.items():
        if source in sources:
            found[path_name(source, kind, path)] = {name: body[name] for name in ("spec", "origins", "policies")}
    return found


async def differences(
    opa: Opa, objects: list[Object], sources: list[str] | None = None, *, held: bool = False
) -> dict[str, str]:
    """Where the two differ, by policy or by policy kind and path, and how; empty where they agree.

    `held`: OPA holds the objects. Else it is query_input as if it did.
    """
    query_input = sources or sources_of(objects)
    engine = await engine_answers(opa, {} if held else {"changes": {"upsert": objects}}, query_input)
    reference = reference_answers(objects, query_input)
    return {
        name: f"  reference: {reference.get(name)}\n  engine:    {engine.get(name)}"
        for name in sorted({*engine, *reference})
        if engine.get(name) != reference.get(name)
    }


async def shrunken(opa: Opa, objects: list[Object], seed: int) -> str:
    """The fewest objects (by leaving out one after the other) where the first difference is one still, and that."""
    sources = sources_of(objects)
    first = next(iter(await differences(opa, objects)))
    again = True
    while again:
        again = False
        for obj in list(objects):
            fewer = [other for other in objects if other is not obj]
            if first in await differences(opa, fewer, sources):
                objects, again = fewer, True
    how = (await differences(opa, objects, sources))[first]
    plain = json.loads(json.dumps(objects))  # without the anchors that YAML makes of shared values
    return f"seed {seed}, {len(objects)} objects:\n{yaml.safe_dump_all(plain)}\n{first}\n{how}"


def _opa() -> Path:
    found = find("opa")
    if found is None:
        raise SystemExit("there is no opa: make setup")
    return found.path


async def _main(make: Callable[[int], list[Object]], seeds: list[int]) -> None:
    async with WarmOpa(_opa(), bundle=bundle_of_both()) as managed, Opa(managed.url) as opa:
        for seed in seeds:
            objects = make(seed)
            found = await differences(opa, objects)
            sys.stdout.write(f"seed {seed}: {len(objects)} objects, {len(found)} differences\n")
            if found:
                sys.stdout.write(f"{await shrunken(opa, objects, seed)}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stacks", action="store_true", help="random stacks of policies in place of random clusters")
    parser.add_argument("seeds", metavar="SEED", type=int, nargs="+")
    options = parser.parse_args()
    asyncio.run(_main(random_stack if options.stacks else random_cluster, options.seeds))
