"""What the remediator keeps up to date at the cost of each change equals what is computed from scratch."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bridge.derived.loop import Loop
from bridge.model.changes import Object
from bridge.model.keys import key_of
from bridge.model.types import ALWAYS
from bridge.opa.client import Opa, Requests
from bridge.remediator.outcomes import Ledger
from bridge.remediator.remediator import Remediator
from bridge.replicator.replicator import Replicator
from bridge.work import Budget
from tests.integration.scripted import BARRIER, Notices, ScriptedSink, ScriptedSource
from tests.properties.shown import MARKED, marks_shown, marks_wanted, said, shown
from tests.properties.small_world import GROUP, PARAMETERS, THING, SmallWorld
from tests.properties.thorough import STEPS, TIMES
from tests.warm_opa import WarmOpa
from tests.working import working

AT_ONCE = (1, 1, 2, 1, 4)  # steps that happen together before the next look


@dataclass
class Bridge:
    """The replicator and the remediator at work on a source, with a sink in memory."""

    source: ScriptedSource
    opa: Opa
    sink: ScriptedSink
    notices: Notices
    remediator: Remediator
    replicator: Replicator
    loop: Loop

    async def settled(self) -> None:
        """Wait until every change is written, computed and remediated, and the source has delivered the statuses."""
        async with asyncio.timeout(300):
            while True:
                writes = len(self.sink.writes)
                await self.notices.until_written()
                await self.remediator.settled()
                if len(self.sink.writes) == writes:
                    return

    def put(self, obj: Object) -> None:
        """An object is created or changed; it keeps its status and annotations, as with an API server."""
        before = self.source.objects.get(key_of(obj), {})
        annotations = before.get("metadata", {}).get("annotations", {})
        kept = {"status": before["status"]} if "status" in before else {}
        metadata = {**obj["metadata"], **({"annotations": annotations} if annotations else {})}
        self.source.put({**obj, **kept, "metadata": metadata})

    def step(self, world: SmallWorld) -> str:
        """The next change of a world arrives; returns its description."""
        what, key, obj = world.step()
        if obj is None:
            self.source.delete(key)
        else:
            self.put(obj)
        return f"{what} {key}: {obj['spec'] if obj and 'spec' in obj else obj}"


@asynccontextmanager
async def at_work(
    opa_url: str, objects: Iterable[Object] | ScriptedSource, requests: Requests | None = None, *, wait: bool = True
) -> AsyncIterator[Bridge]:
    """A bridge that has taken these objects in, or with `wait` False begins to, and counts its `requests`."""
    source = objects if isinstance(objects, ScriptedSource) else ScriptedSource(objects)
    async with Opa(opa_url, requests=requests) as opa:
        replicator = Replicator(source, opa, (*ALWAYS, THING, PARAMETERS, BARRIER))
        sink = ScriptedSink(source)
        notices = Notices(source, replicator)
        loop = Loop(opa)
        remediator = Remediator(loop, opa, sink, Budget(1e6, 1_000_000))
        replicator.listen(loop.take_in)
        async with working(replicator.run, remediator.run, loop.run):
            if wait:
                await asyncio.wait_for(replicator.filled.wait(), 300)
            yield Bridge(source, opa, sink, notices, remediator, replicator, loop)


@asynccontextmanager
async def settled(opa_path: Path, objects: Iterable[Object]) -> AsyncIterator[Bridge]:
    """A bridge with an OPA of its own that has written all there is to write about these objects."""
    async with WarmOpa(opa_path) as managed, at_work(managed.url, objects) as bridge:
        await bridge.settled()
        yield bridge


@pytest.mark.parametrize("seed", range(1, 1 + TIMES))
async def test_after_every_change_statuses_and_ledger_equal_those_from_scratch(seed: int, opa_path: Path) -> None:
    await walk(seed, STEPS, opa_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", [*range(1, 9), *range(100, 130)])
async def test_after_many_changes_statuses_and_ledger_equal_those_from_scratch(seed: int, opa_path: Path) -> None:
    await walk(seed, 300, opa_path)


@pytest.mark.parametrize("seed", range(1, 1 + TIMES))
async def test_gateways_that_share_proxies_have_after_every_change_the_statuses_from_scratch(
    seed: int, opa_path: Path
) -> None:
    await walk(seed, STEPS, opa_path, merging=True)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 10))
async def test_gateways_that_share_proxies_have_after_many_changes_the_statuses_from_scratch(
    seed: int, opa_path: Path
) -> None:
    await walk(seed, 200, opa_path, merging=True)


async def test_a_backend_that_a_route_no_longer_names_is_no_longer_counted(opa_path: Path) -> None:
    world = SmallWorld(1)
    kind, service = world._policy_kind("BackendPolicy", plain=True), world._service("cart", "shop")
    route = world._route("one", "shop")
    route["spec"] = {"parentRefs": [], "rules": [{"name": "all", "backendRefs": [{"name": "cart", "port": 80}]}]}
    policy = world._policy("BackendPolicy")
    policy["metadata"] = {"name": "p", "namespace": "shop"}
    ref = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "one"}
    policy["spec"] = {"targetRefs": [ref], "a": 1}
    async with settled(opa_path, [kind, service, route, policy]) as bridge:
        assert len(bridge.remediator._ledger) == 1
        bridge.source.put({**route, "spec": {"parentRefs": [], "rules": [{"name": "all"}]}})
        await bridge.settled()
        assert len(bridge.remediator._ledger) == 0
        await compare(bridge, "after the route has changed")


async def walk(seed: int, steps: int, opa_path: Path, *, merging: bool = False) -> None:
    world = SmallWorld(seed, merging=merging)
    chance = random.Random(seed)
    history: list[str] = []
    async with settled(opa_path, world.objects.values()) as bridge:
        await compare(bridge, f"seed {seed}, at the start")
        together = itertools.cycle(AT_ONCE)
        while len(history) < steps:
            history.extend(bridge.step(world) for _ in range(next(together)))
            if chance.random() < 0.2:
                history.append(_meddle(bridge.source, chance))
            await bridge.settled()
            await compare(bridge, f"seed {seed}, after {len(history)} steps, the last:\n" + "\n".join(history[-4:]))


def _meddle(source: ScriptedSource, chance: random.Random) -> str:
    """Another client writes a status: over ours, or beside it."""
    key = chance.choice([key for key in source.objects if key.group != "core" or key.kind in MARKED])
    obj = source.objects[key]
    status = dict(obj.get("status", {}))
    theirs = {"type": "Theirs", "status": "True", "reason": "R", "message": ""}
    number = chance.randint(1, 20)
    entries = [{"ancestorRef": {"name": str(n)}, "controllerName": "they", "conditions": []} for n in range(number)]
    match chance.choice(("nothing", "condition", "ancestors", "listeners", "parents", "odd")):
        case "nothing":
            status = {}
        case "condition":
            status["conditions"] = [*status.get("conditions", []), theirs][-3:]
        case "listeners" if key.kind == "Gateway":
            held = {one["name"]: one for one in status.get("listeners", [])}
            names = [listener["name"] for listener in obj["spec"]["listeners"]]
            status["listeners"] = [held.get(name, {"name": name, "conditions": [theirs]}) for name in names]
        case "parents" if key.kind == "HTTPRoute":
            held = status.get("parents", [])
            status["parents"] = [{"parentRef": {"name": "x"}, "controllerName": "they", "conditions": [theirs]}, *held]
        case "ancestors":
            status["ancestors"] = [*entries, *status.get("ancestors", [])]
        case "odd":
            status = {"conditions": ["odd", {"type": 1}], "ancestors": {}} if key.group == GROUP else status
    source.put({**obj, "status": status})
    return f"status of {key}: {status}"


async def compare(bridge: Bridge, when: str) -> None:
    opa = bridge.opa
    assert await opa.get("kinds") == await opa.query("kinds_in_force", {}), when
    policies = [*await opa.query("policies", {}), *await opa.query("policykinds", {})]
    wanted = [entry for entry in await opa.query("status", {"policies": policies}) if entry["mode"] == "Manage"]
    found = {entry["policy"]: shown(bridge.source.objects, entry) for entry in wanted}
    assert found == {entry["policy"]: said(entry) for entry in wanted}, when
    marked = [str(key) for key in bridge.source.objects if key.kind in MARKED]
    affected = await opa.query("affected", {"objects": marked})
    assert {entry["object"]: marks_shown(bridge.source.objects, entry) for entry in affected} == {
        entry["object"]: marks_wanted(entry) for entry in affected
    }, when
    await _compare_ledger(opa, bridge.remediator, {*policies, *marked}, when)
    await _compare_facts(opa, bridge.source, when)


async def _compare_facts(opa: Opa, source: ScriptedSource, when: str) -> None:
    """Stored facts are those that would be made now, of the objects that exist."""
    keys = [str(key) for key in source.objects]
    assert await opa.query("stale_facts", {"keys": keys}) == [], when
    stored = _flattened(await opa.get("facts"))
    assert stored <= {str(key) for key in source.objects}, when


def _flattened(facts: Any, depth: int = 4) -> set[str]:
    if depth == 1:
        return set(facts)
    return {f"{name}/{rest}" for name, below in facts.items() for rest in _flattened(below, depth - 1)}


async def _compare_ledger(opa: Opa, remediator: Remediator, keys: set[str], when: str) -> None:
    ledger, fresh = remediator._ledger, Ledger()
    kinds = await opa.query("kinds_in_force", {})
    for kind, targets in (await opa.query("scopes", {})).items():
        if kinds[kind]["mode"] == "Manage" or remediator._computing.observes:
            rows = await opa.query("outcomes", {"policyKind": kind, "targets": targets})
            for target in targets:
                fresh.replace(kind, target, rows.get(target, ()))
    assert ledger._rows == fresh._rows, when
    assert ledger._targets_of == fresh._targets_of, when
    for key in keys:
        assert ledger.tallies(key) == fresh.tallies(key), when
        assert ledger.marks_on(key) == fresh.marks_on(key), when
    assert ledger._marks == fresh._marks, when
