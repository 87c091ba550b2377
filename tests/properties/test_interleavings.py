"""Whatever happens in whatever order while a bridge starts, every status is written in the end."""

import asyncio
import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from bridge.model.changes import Object, Trouble
from bridge.model.keys import key_of
from bridge.model.types import CRD
from bridge.opa.client import Opa
from tests.builders import resource
from tests.integration.scripted import ScriptedSource
from tests.properties.small_world import GROUP, POLICY_KINDS, SmallWorld
from tests.properties.test_incremental_statuses import Bridge, at_work, compare
from tests.properties.test_replication import roots
from tests.properties.thorough import TIMES
from tests.warm_opa import WarmOpa

Event = Callable[[Bridge], None]


@pytest.mark.parametrize("seeds", [range(5 * place, 5 * place + 5) for place in range(TIMES)], ids=str)
async def test_statuses_are_complete_after_any_start(seeds: range, opa_path: Path) -> None:
    await every_start(seeds, opa_path)


@pytest.mark.long
@pytest.mark.parametrize("seeds", [range(5, 200)], ids=str)
async def test_statuses_are_complete_after_200_starts(seeds: range, opa_path: Path) -> None:
    await every_start(seeds, opa_path)


async def every_start(seeds: range, opa_path: Path) -> None:
    async with WarmOpa(opa_path) as managed, Opa(managed.url) as direct:
        for seed in seeds:
            await empty(direct)
            await start(seed, managed.url, direct)


async def start(seed: int, opa_url: str, direct: Opa) -> None:
    """Start a bridge while objects, types and faults arrive in the order of the seed."""
    chance = random.Random(seed)
    objects = [crd(kind) for kind in POLICY_KINDS] + list(SmallWorld(seed).objects.values())
    chance.shuffle(objects)
    early = chance.randrange(len(objects))
    types = sorted({key_of(obj).type_id for obj in objects})
    silent = [type_id for type_id in types if type_id.startswith(GROUP) or chance.random() < 0.2]
    source = ScriptedSource(objects[:early], silent=silent)
    events: list[tuple[str, Event]] = [
        *((f"put {key_of(obj)}", put(obj)) for obj in objects[early:]),
        *((f"serve {type_id}", serve(type_id)) for type_id in silent),
        *((f"trouble with {type_id}", trouble(type_id)) for type_id in chance.sample(types, 2)),
        ("list again", lambda bridge: bridge.source.relist()),
        *([("the API server stops", stop), ("the API server is back", resume)] if chance.random() < 0.5 else []),
        ("observe", lambda bridge: bridge.remediator.follow(ignore)),
    ]
    chance.shuffle(events)
    faults = chance.choice((0, 0, 1, 2))
    history: list[str] = []
    async with at_work(opa_url, source, wait=False) as bridge:
        for place, (what, event) in enumerate(events):
            await pause(chance)
            history.append(what)
            event(bridge)
            if place % (1 + len(events) // 3) == 1 and faults:
                faults -= 1
                history.append("OPA is emptied")
                await empty(direct)
                bridge.replicator.doubt()
        for type_id in silent:
            bridge.source.tell(type_id)
        resume(bridge)
        await settle(bridge)
        await compare(bridge, f"seed {seed}: {len(objects[:early])} objects, then\n" + "\n".join(history))


async def settle(bridge: Bridge) -> None:
    """Wait until the bridge has nothing to do. The mark of `settled` may be part of another sync, without a notice."""
    async with asyncio.timeout(120):
        while True:
            await bridge.replicator.filled.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(3):
                    await bridge.settled()
                    return


def crd(kind: str) -> Object:
    """The definition of a policy kind, whose label alone makes its policies read before a PolicyKind is there."""
    plural = f"{kind.lower().removesuffix('y')}ies"
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    return resource(
        "apiextensions.k8s.io/v1",
        CRD.rpartition("/")[2],
        f"{plural}.{GROUP}",
        metadata={"labels": {"gateway.networking.k8s.io/policy": "Inherited"}},
        spec={"group": GROUP, "names": {"kind": kind, "plural": plural}, "scope": "Namespaced", "versions": [version]},
    )


def put(obj: Object) -> Event:
    """An object is created."""
    return lambda bridge: bridge.put(obj)


def serve(type_id: str) -> Event:
    """The API server begins to serve a type."""
    return lambda bridge: bridge.source.tell(type_id)


def trouble(type_id: str) -> Event:
    """The API server does not respond for a type, and its watch continues later."""
    return lambda bridge: bridge.source.say(Trouble(type_id, "storage is (re)initializing", unknown=True))


def stop(bridge: Bridge) -> None:
    """The API server does not respond: no type is read, and no status is written."""
    bridge.sink.refusal = "connection refused"
    for type_id in sorted(bridge.source.wanted):
        bridge.source.say(Trouble(type_id, "connection refused", unknown=True))


def resume(bridge: Bridge) -> None:
    """The API server responds again, and everything is listed."""
    bridge.sink.refusal = ""
    bridge.source.relist()


def ignore(_: frozenset[str]) -> None:
    """Follow the remediator, which then counts observed kinds too."""


async def pause(chance: random.Random) -> None:
    """Let the bridge work: not at all, a few steps, or some milliseconds."""
    match chance.randrange(4):
        case 0:
            return
        case 1 | 2:
            for _ in range(chance.randrange(1, 30)):
                await asyncio.sleep(0)
        case _:
            await asyncio.sleep(chance.random() * 0.03)


async def empty(opa: Opa) -> None:
    """Remove all that a bridge has written, as a restart of OPA does."""
    await opa.patch([{"op": "remove", "path": f"/{name}"} for name in await roots(opa)])
