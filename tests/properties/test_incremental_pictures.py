"""What the page and the stream keep up to date at the cost of each change equals what is requested from scratch."""

import asyncio
import itertools
import random
import time
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bridge.model.changes import Object
from bridge.model.keys import key_of, parse_key
from bridge.opa.client import Opa
from bridge.opa.errors import QueryError
from bridge.opa.judging import Judging, Row
from bridge.queries.asking import effective_at
from bridge.queries.names import CommandError
from bridge.remediator.audit import Audit
from bridge.remediator.write_loop import MemorySink
from bridge.sidecar.program import Backing
from bridge.web.picture import PagePicture
from bridge.web.picture_updates import Drawing
from bridge.web.subscriptions import Followed, Following
from bridge.work import Budget
from tests.builders import resource
from tests.bundles import bundle_with
from tests.properties.small_world import SmallWorld
from tests.properties.test_incremental_statuses import Bridge, at_work
from tests.properties.thorough import TIMES
from tests.warm_opa import WarmOpa
from tests.working import working

AT_ONCE = (1, 1, 3, 1, 2)  # steps that happen together before the next look
GUARDRAIL = """package bridge.guardrails.shown

violations contains {"message": json.marshal(input.policies), "severity": "low"}
"""
CONSTRAINT = resource(
    "policybridge.io/v1alpha1",
    "Constraint",
    "shown",
    spec={"policy": "bridge.guardrails.shown", "match": {"kinds": [{"apiGroups": ["*"], "kinds": ["*"]}]}},
)
PATIENCE = 300.0  # seconds for what is kept to become what it should be


@dataclass
class Looking:
    """A bridge with an open picture and some followed targets."""

    bridge: Bridge
    drawing: Drawing
    followed: list[Followed]
    audit: Audit


@asynccontextmanager
async def looking(opa_url: str, objects: Collection[Object], remediator: Any = None) -> AsyncIterator[Looking]:
    """A bridge that has taken objects in; its own remediator counts outcomes, or another."""
    drawing, following = Drawing(), Following()
    async with at_work(opa_url, objects) as bridge:
        opa = bridge.opa
        counting = remediator or bridge.remediator
        audit = Audit(bridge.loop, opa, MemorySink(), Budget(1e6, 1_000_000))
        backing = Backing(opa, opa, bridge.loop, bridge.replicator, counting, dict, audit.audited)
        drawing.open(backing)
        following.open(backing)
        kinds = ("Gateway", "HTTPRoute", "Service", "Thing", "Namespace", "GatewayClass", "ListenerSet")
        targets = [key_of(obj) for obj in objects if obj["kind"] in kinds]
        async with working(audit.run):
            with drawing.looking(), following.following(targets, None, None) as (_, followed):
                yield Looking(bridge, drawing, followed, audit)


@pytest.mark.parametrize("seed", range(1, 1 + TIMES))
async def test_after_every_change_picture_and_stream_equal_those_from_scratch(seed: int, opa_path: Path) -> None:
    await walk(seed, 15, opa_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", [3, *range(100, 112)])
async def test_after_many_changes_picture_and_stream_equal_those_from_scratch(seed: int, opa_path: Path) -> None:
    await walk(seed, 150, opa_path)


async def walk(seed: int, steps: int, opa_path: Path) -> None:
    world, chance = SmallWorld(seed), random.Random(seed)
    history: list[str] = []
    own = WarmOpa(opa_path, bundle=bundle_with([GUARDRAIL]))
    async with own as managed, looking(managed.url, [CONSTRAINT, *world.objects.values()]) as seen:
        await _compare(seen, f"seed {seed}, at the start")
        together = itertools.cycle(AT_ONCE)
        while len(history) < steps:
            for _ in range(next(together)):
                history.append(seen.bridge.step(world))
                if chance.random() < 0.5:
                    await asyncio.sleep(0.005)
            await seen.bridge.settled()
            await _compare(seen, f"seed {seed}, after {len(history)} steps, the last:\n" + "\n".join(history[-4:]))


async def _compare(seen: Looking, where: str) -> None:
    opa, drawing = seen.bridge.opa, seen.drawing
    picture = await _picture(opa)
    policies = await _policies(opa)
    effective = [await _effective(opa, one) for one in seen.followed]
    await seen.audit.settled()
    assert _sorted(seen.audit.audited.all_rows()) == _sorted(await _violations(opa)), where
    deadline = time.monotonic() + PATIENCE
    while True:
        kept = _shown(drawing.picture)
        found = {key: policy["conditions"] for key, policy in drawing.policies.items()}
        followed = [list(one.entries.values()) for one in seen.followed]
        followed = [sorted(entries, key=_place) for entries in followed]
        if (kept, found, followed) == (picture, policies, effective):
            return
        if time.monotonic() > deadline:
            assert not _differences(kept, picture), f"{_differences(kept, picture)}\n{where}"
            assert found == policies, where
            for one, now, then in zip(seen.followed, followed, effective, strict=True):
                assert now == then, f"{where}\nfollowing {one.target}"
        await asyncio.sleep(0.01)


async def _picture(opa: Opa) -> dict[str, Any]:
    drawn, upcoming = PagePicture(), {key for part in await opa.query("picture_roots", {}) for key in part}
    requested: set[str] = set()
    while upcoming:
        found = await opa.query("picture", {"objects": sorted(upcoming)})
        requested |= upcoming
        changed = set().union(*(drawn.set_entry(key, found.get(key)) for key in upcoming))
        upcoming = drawn.missing(changed) - requested
    return _shown(drawn)


def _shown(picture: PagePicture) -> dict[str, Any]:
    return {key: _without_hints(picture.node_of(key)) for key in sorted(picture.shown())}


def _without_hints(node: Any) -> Any:
    """A node whose messages end before similar names, which are as of when the node was drawn."""
    problems = [one | {"message": one["message"].partition("; did you mean")[0]} for one in node["problems"]]
    return {**node, "problems": problems}


def _differences(kept: dict[str, Any], picture: dict[str, Any]) -> list[str]:
    found = []
    for key in sorted(kept.keys() | picture.keys()):
        one, other = kept.get(key) or {}, picture.get(key) or {}
        found += [
            f"{key} {name}: {one.get(name)} for {other.get(name)}"
            for name in one | other
            if one.get(name) != other.get(name)
        ]
    return found


async def _violations(opa: Opa) -> list[Row]:
    names = [entry["constraint"] for entry in await opa.query("constraints", {})]
    audited = await opa.query("audit_keys", {"constraints": names})
    keys = sorted({key for found in audited.values() for key in found})
    return await Judging(opa).rows(keys, None)


def _sorted(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["constraint"], row["object"], row["message"]))


async def _policies(opa: Opa) -> dict[str, Any]:
    reported = await opa.query("status", {"policies": await opa.query("policies", {})})
    found = {}
    for entry in reported:
        groups = [entry["conditions"]] if "conditions" in entry else [one["conditions"] for one in entry["ancestors"]]
        conditions: list[Any] = []
        for condition in itertools.chain(*groups):
            shown = {name: condition[name] for name in ("type", "status", "reason", "message")}
            if shown not in conditions:
                conditions.append(shown)
        found[entry["policy"]] = conditions
    return found


async def _effective(opa: Opa, one: Followed) -> list[Any]:
    try:
        reported = await effective_at(opa, [one.target])
    except (QueryError, CommandError):
        return []
    return sorted(reported, key=_place)


def _place(entry: Any) -> tuple[str, str]:
    return (str(parse_key(entry["target"])), entry["policyKind"])
