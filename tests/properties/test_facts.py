"""Stored facts equal freshly made ones, whatever changes: objects, PolicyKinds, CRDs, and modules that add levels."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge.model.changes import Object
from bridge.model.keys import key_of
from bridge.model.types import ALWAYS
from bridge.opa.client import Opa
from bridge.replicator.replicator import Replicator
from tests.integration.loading import DEADLINE, Bench, author, loading
from tests.integration.scripted import BARRIER, Notices, ScriptedSource
from tests.properties.small_world import GROUP, POLICY_KINDS, THING, SmallWorld
from tests.properties.thorough import STEPS, TIMES
from tests.working import working

BURST = 6  # steps at most between two comparisons
MODULES = (
    """package bridge.extensions.hierarchy.edges

levels := {"acme.io/Edge": {"object": "Gateway"}}
""",
    """package bridge.extensions.hierarchy.edges

levels := {"acme.io/Edge": {"object": "Gateway", "section": "Listener"}, "example.com/Thing": {"object": "Backend"}}
""",
    """package bridge.extensions.hierarchy.edges

import data.bridge.lib.keys

links contains [gateway, keys.of(input.object)] if {
	gateway := keys.format("gateway.networking.k8s.io", "Gateway", "infra", "public")
	input.object.kind == "Service"
}
""",
)


class Walk:
    """A small world in which also CRDs and modules change, with a replicator that follows it on a real OPA."""

    def __init__(self, seed: int, bench: Bench, opa: Opa) -> None:
        self._random = random.Random(seed)
        self._world = SmallWorld(seed)
        self._bench = bench
        self._opa = opa
        self._loaded = 0  # versions of the module
        self.source = ScriptedSource(self._world.objects.values())
        self.replicator = Replicator(
            self.source, opa, (*ALWAYS, THING, BARRIER), owner="x", content="test", rules=bench.loader.links
        )
        bench.loader.before_rules_change(self.replicator.rules_change)
        self.notices = Notices(self.source, self.replicator)

    async def run(self, steps: int, modules_in: float) -> None:
        """Make so many steps, of which this share changes modules, and compare after each burst."""
        await self._compare("at first")
        done: list[str] = []
        while len(done) < steps:
            burst = [self._change(modules_in) for _ in range(self._random.randint(1, BURST))]
            done += burst
            await self._compare(" → ".join(burst))

    def _change(self, modules_in: float) -> str:
        return self._change_modules() if self._random.random() < modules_in else self._change_object()

    def _change_object(self) -> str:
        if self._random.random() < 0.15:
            crd = _crd(self._random.choice(POLICY_KINDS), self._random)
            if key_of(crd) in self.source.objects and self._random.random() < 0.4:
                self.source.delete(key_of(crd))
                return f"delete {key_of(crd)}"
            self.source.put(crd)
            return f"put {key_of(crd)}"
        what, key, obj = self._world.step()
        if obj is None:
            self.source.delete(key)
        else:
            self.source.put(obj)
        return f"{what} {key}"

    def _change_modules(self) -> str:
        if self._loaded and self._random.random() < 0.3:
            self._bench.loader.remove(author("edges"))
            return "remove the module"
        self._loaded += 1
        number = self._random.randrange(len(MODULES))
        self._bench.put("edges", MODULES[number], version=str(self._loaded))
        return f"load module {number}"

    async def _compare(self, after: str) -> None:
        async with asyncio.timeout(DEADLINE):
            await self._bench.loader.wait_until_settled()
            await self.replicator.filled.wait()
        await self.notices.until_written(DEADLINE)
        keys = [str(key) for key in self.source.objects]
        differing = await self._opa.query("stale_facts", {"keys": keys})
        assert differing == [], after
        assert set(_keys(await self._opa.get("facts") or {})) <= set(keys), after


def _keys(tree: Any, levels: int = 4, before: str = "") -> Iterator[str]:
    """The keys of a document `{group: {kind: {namespace: {name: …}}}}`."""
    if not levels:
        yield before
        return
    for name, inner in tree.items():
        yield from _keys(inner, levels - 1, f"{before}/{name}" if before else name)


def _crd(kind: str, randomness: random.Random) -> Object:
    """The CRD of a policy kind, whose label and schema describe the kind if no PolicyKind does."""
    label = randomness.choice(("direct", "inherited", "true", ""))
    ref = {"type": "object", "properties": {name: {"type": "string"} for name in ("group", "kind", "name")}}
    fields: dict[str, Any] = {"a": {"type": "object"}}
    if randomness.random() < 0.7:
        fields |= {"targetRefs": {"type": "array", "items": ref}}
    for wrapper in randomness.sample(("defaults", "overrides"), randomness.randint(0, 2)):
        fields[wrapper] = {"type": "object", "properties": {"a": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    plural = f"{kind.lower()[:-1]}ies"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{plural}.{GROUP}",
            "labels": {"gateway.networking.k8s.io/policy": label} if label else {},
        },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


async def walk(seed: int, steps: int, modules_in: float, opa_path: Path) -> None:
    """A random walk with this seed."""
    async with loading(opa_path, whole=True) as bench, Opa(bench.managed.url, recover=bench.loader.blame) as opa:
        walking = Walk(seed, bench, opa)
        async with working(walking.replicator.run):
            await walking.run(steps, modules_in)


@pytest.mark.parametrize("seed", range(1, 1 + TIMES))
async def test_stored_facts_equal_freshly_made_ones(seed: int, opa_path: Path) -> None:
    await walk(seed, STEPS, 0.05, opa_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, *range(100, 115)])
async def test_stored_facts_equal_freshly_made_ones_after_many_changes(seed: int, opa_path: Path) -> None:
    await walk(seed, 400, 0.08, opa_path)
