"""The engine beside the reference: the same objects, and where their answers differ.

.venv/bin/python -m tests.properties.compare SEED [SEED…]
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from bridge.modules.shipped import shipped_bundle
from bridge.opa.client import Opa
from bridge.opa.managed import ManagedOpa
from bridge.resources import rego_root
from bridge.tools.finding import find
from tests.properties.random_clusters import random_cluster
from tests.reference.answers import answer

Object = dict[str, Any]


async def engine_answers(opa: Opa, changes: dict[str, Any]) -> dict[str, Any]:
    """What the engine says, each answer under a name that the reference's has too."""
    found: dict[str, Any] = {}
    scopes = await opa.query("scopes", changes)
    for kind, targets in scopes.items():
        for row in await opa.query("effective", {"targets": targets, "policyKind": kind, **changes}):
            for path in row["paths"]:
                body = {name: value for name, value in path.items() if name != "path"}
                found[f"{row['policyKind']} {' > '.join(path['path'])}"] = body
    policies = await opa.query("policies", changes)
    for status in await opa.query("status", {"policies": policies, **changes}):
        if status["policyKind"] == "policybridge.io/PolicyKind":
            found[status["policy"]] = [condition["status"] for condition in status["conditions"]]
            continue
        found[status["policy"]] = {
            condition["type"]: f"{condition['status']}/{condition['reason']}" for condition in status["conditions"]
        }
    return found


def reference_answers(objects: list[Object]) -> dict[str, Any]:
    """What the reference says, in the same form."""
    answers = answer(objects)
    found: dict[str, Any] = dict(answers.conditions)
    for (kind, _, path), body in answers.effective.items():
        found[f"{kind} {' > '.join(path)}"] = body
    return found


async def differences(opa: Opa, objects: list[Object]) -> dict[str, str]:
    """Where the two differ, by policy or by policy kind and path, and how; empty where they agree."""
    engine = await engine_answers(opa, {"changes": {"upsert": objects}})
    reference = reference_answers(objects)
    return {
        name: f"  reference: {reference.get(name)}\n  engine:    {engine.get(name)}"
        for name in sorted({*engine, *reference})
        if engine.get(name) != reference.get(name)
    }


async def shrunken(opa: Opa, objects: list[Object], seed: int) -> str:
    """The fewest objects (by leaving out one after the other) where the first difference is one still, and that."""
    first = next(iter(await differences(opa, objects)))
    again = True
    while again:
        again = False
        for obj in list(objects):
            fewer = [other for other in objects if other is not obj]
            if first in await differences(opa, fewer):
                objects, again = fewer, True
    how = (await differences(opa, objects))[first]
    plain = json.loads(json.dumps(objects))  # without the anchors that YAML makes of shared values
    return f"seed {seed}, {len(objects)} objects:\n{yaml.safe_dump_all(plain)}\n{first}\n{how}"


def _opa() -> Path:
    found = find("opa")
    if found is None:
        raise SystemExit("there is no opa: make setup")
    return found.path


async def _main(seeds: list[int]) -> None:
    async with ManagedOpa(_opa(), {}, bundle=shipped_bundle(rego_root())) as managed, Opa(managed.url) as opa:
        for seed in seeds:
            objects = random_cluster(seed)
            found = await differences(opa, objects)
            sys.stdout.write(f"seed {seed}: {len(objects)} objects, {len(found)} differences\n")
            if found:
                sys.stdout.write(f"{await shrunken(opa, objects, seed)}\n")


if __name__ == "__main__":
    asyncio.run(_main([int(seed) for seed in sys.argv[1:]]))
