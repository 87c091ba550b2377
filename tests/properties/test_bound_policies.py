"""Policies that other objects bind, and objects that a kind places below others, equal those computed from scratch."""

import random
from pathlib import Path
from typing import Any

import pytest

from bridge.model.changes import Object
from bridge.model.keys import key_of
from tests.builders import resource
from tests.properties.test_incremental_statuses import Bridge, compare, settled
from tests.properties.thorough import STEPS

GROUP = "fleet.example.com"
VERSION = f"{GROUP}/v1"
SPEC: Object = {
    "group": GROUP,
    "kind": "Rule",
    "class": "Direct",
    "mode": "Manage",
    "controllerName": "fleet.example.com/controller",
    "targets": [{"group": GROUP, "kind": "Site"}, {"group": "", "kind": "Namespace"}],
    "boundBy": [
        {
            "group": GROUP,
            "kind": "Bundle",
            "policies": "/spec/rules",
            "exclusions": {"path": "/spec/except", "policy": "/rule", "targets": "/sites"},
        },
        {
            "group": GROUP,
            "kind": "Grant",
            "policies": "/subjects",
            "targets": "/area",
            "restricted": {"path": "/mode", "value": "override"},
            "overrides": [{"from": "/level", "to": "/level"}],
        },
        {
            "group": GROUP,
            "kind": "Listing",
            "policies": "/metadata/labels/area",
            "policiesKind": {"group": GROUP, "kind": "Area"},
            "targets": "/status/found/*/site",
            "targetsKind": {"group": GROUP, "kind": "Site"},
        },
        {
            "group": GROUP,
            "kind": "Reach",
            "policies": "/spec/rule",
            "targets": "/spec/namespaces",
            "selects": {"group": "", "kind": "Namespace"},
            "within": "/spec/only",
        },
    ],
    "defaultStrategy": "Additive",
}
# Limits on areas act at the sites that name an area, or that it selects.
LIMIT: Object = {
    "group": GROUP,
    "kind": "Limit",
    "class": "Inherited",
    "mode": "Manage",
    "controllerName": "fleet.example.com/controller",
    "effectiveTarget": "Backend",
    "targets": [{"group": GROUP, "kind": "Area"}, {"group": GROUP, "kind": "Site"}],
    "hierarchy": [
        {
            "parent": {"group": GROUP, "kind": "Area"},
            "child": {"group": GROUP, "kind": "Site"},
            "name": "/spec/area",
            "selector": {"path": "/spec/labels", "where": {"path": "/spec/by", "value": "Labels"}},
        }
    ],
    "defaultStrategy": "PatchDefaults",
}
NAMES = ("a", "b")
SITES = ("north", "south", "east")


@pytest.mark.parametrize("seed", [1])
async def test_after_every_change_of_a_binding_statuses_and_ledger_equal_those_from_scratch(
    seed: int, opa_path: Path
) -> None:
    await walk(seed, STEPS, opa_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
async def test_after_many_changes_of_bindings_statuses_and_ledger_equal_those_from_scratch(
    seed: int, opa_path: Path
) -> None:
    await walk(seed, 200, opa_path)


async def walk(seed: int, steps: int, opa_path: Path) -> None:
    """Put and delete random objects, several at once, and compare after each of these changes."""
    chance = random.Random(seed)
    kinds = [
        resource("policybridge.io/v1alpha1", "PolicyKind", f"{spec['kind'].lower()}s.fleet.example.com", spec=spec)
        for spec in (SPEC, LIMIT)
    ]
    objects = {key_of(obj): obj for obj in [*kinds, *(_draw(chance) for _ in range(30))]}
    async with settled(opa_path, objects.values()) as bridge:
        await compare(bridge, f"seed {seed}, at the start")
        for number in range(steps):
            changed = [_change(bridge, chance) for _ in range(chance.choice((1, 1, 2, 4)))]
            await bridge.settled()
            await compare(bridge, f"seed {seed}, step {number}: {changed}")


def _change(bridge: Bridge, chance: random.Random) -> str:
    obj = _draw(chance)
    key = key_of(obj)
    if key in bridge.source.objects and chance.random() < 0.4:
        bridge.source.delete(key)
        return f"without {key}"
    if obj["kind"] == "Listing":
        bridge.source.put(obj)  # its status is what it declares
    else:
        bridge.put(obj)
    return f"with {obj}"


def _draw(chance: random.Random) -> Object:
    return _DRAWN[chance.choice(list(_DRAWN))](chance)


def _some(chance: random.Random, names: tuple[str, ...]) -> list[str]:
    return chance.sample(names, chance.randint(0, len(names)))


def _rule(chance: random.Random) -> Object:
    spec: dict[str, Any] = {"level": chance.choice(("low", "high"))}
    if chance.random() < 0.5:
        spec["only"] = {"matchLabels": {"tier": chance.choice(("gold", "silver"))}}
    return resource(VERSION, "Rule", chance.choice(("r", "s", "t")), "hub", spec=spec)


def _bundle(chance: random.Random) -> Object:
    excluded = [{"rule": chance.choice(("r", "s", "t")), "sites": _some(chance, SITES)}]
    spec = {"rules": _some(chance, ("r", "s", "t")), "except": excluded if chance.random() < 0.5 else []}
    return resource(VERSION, "Bundle", chance.choice(NAMES), "hub", spec=spec)


def _grant(chance: random.Random) -> Object:
    subjects = [
        {"group": GROUP, "kind": kind, "name": name}
        for kind, names in (("Rule", ("r", "s", "t")), ("Bundle", NAMES))
        for name in _some(chance, names)
    ]
    grant = resource(VERSION, "Grant", chance.choice(("g", "h", "i")), "hub")
    grant |= {"subjects": subjects, "area": {"group": GROUP, "kind": "Area", "name": chance.choice(NAMES)}}
    return grant | chance.choice(({}, {"level": "forced"}, {"level": "forced", "mode": "override"}))


def _area(chance: random.Random) -> Object:
    selecting = {"by": "Labels", "labels": {"matchLabels": {"tier": chance.choice(("gold", "silver"))}}}
    return resource(VERSION, "Area", chance.choice(NAMES), "hub", spec=chance.choice(({}, selecting)))


def _listing(chance: random.Random) -> Object:
    listing = resource(VERSION, "Listing", chance.choice(("l", "m")), "hub")
    listing["metadata"]["labels"] = {"area": chance.choice(NAMES)}
    return listing | {"status": {"found": [{"site": site} for site in _some(chance, SITES)]}}


def _site(chance: random.Random) -> Object:
    spec = chance.choice(({}, {"area": chance.choice(NAMES)}))
    site = resource(VERSION, "Site", chance.choice(SITES), "hub", spec=spec)
    site["metadata"]["labels"] = {"tier": chance.choice(("gold", "silver"))}
    return site


def _limit(chance: random.Random) -> Object:
    kind, names = chance.choice((("Area", NAMES), ("Site", SITES)))
    target = {"group": GROUP, "kind": kind, "name": chance.choice(names)}
    spec = {"targetRef": target, chance.choice(("cpu", "memory")): chance.randint(1, 3)}
    return resource(VERSION, "Limit", chance.choice(("x", "y", "z")), "hub", spec=spec)


def _reach(chance: random.Random) -> Object:
    spec: dict[str, Any] = {"rule": chance.choice(("r", "s", "t"))}
    if chance.random() < 0.7:
        spec["namespaces"] = {"matchLabels": {"tier": chance.choice(("gold", "silver"))}}
    return resource(VERSION, "Reach", chance.choice(NAMES), "hub", spec=spec)


def _namespace(chance: random.Random) -> Object:
    namespace = resource("v1", "Namespace", chance.choice(("one", "two")))
    namespace["metadata"]["labels"] = {"tier": chance.choice(("gold", "silver"))}
    return namespace


_DRAWN = {
    "Rule": _rule,
    "Bundle": _bundle,
    "Grant": _grant,
    "Area": _area,
    "Listing": _listing,
    "Site": _site,
    "Limit": _limit,
    "Reach": _reach,
    "Namespace": _namespace,
}
