"""When placement evaluates objects, and how often."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from bridge.derived.loop import Loop
from bridge.model.changes import Notice
from bridge.model.keys import Key, parse_key
from bridge.model.placement_decision import Placed, decision_path
from bridge.opa.client import Opa
from bridge.opa.errors import OpaUnavailable
from bridge.remediator.placement_updates import Placement
from bridge.remediator.write_loop import MemorySink, Patch
from bridge.work import Budget
from tests.working import working

pytestmark = pytest.mark.fake_time

DEPLOYMENT = "apps/Deployment"
CLUSTER = parse_key("example.com/Cluster/-/west")
NAMES = [f"n{number}/app" for number in range(5)]


class Deciding(Opa):
    """An OPA that places every Deployment on `where`, and takes `seconds` to decide on all of them."""

    def __init__(self) -> None:
        super().__init__("http://localhost")
        self.where = "a"
        self.revision = "1"
        self.seconds = 1.0
        self.away = False
        self.whole: list[float] = []  # when all objects were decided on
        self.alone: list[float] = []

    async def evaluate(self, query: str, input_document: Any) -> Any:
        """The answers of the queries of placement, by the name of their first rule."""
        if self.away:
            raise OpaUnavailable("away")
        if query.startswith("revisions"):
            return [{"revisions": {"admins": self.revision}}]
        if query.startswith("keys"):
            return [{"keys": [name.split("/") for name in NAMES]}]
        keys = input_document["keys"]
        (self.whole if len(keys) == len(NAMES) else self.alone).append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.seconds if len(keys) == len(NAMES) else 0.01)
        return [{"decided": {key: self._decided(parse_key(key)) for key in keys}}]

    def _decided(self, key: Key) -> Mapping[str, Any]:
        metadata = {"namespace": key.namespace, "name": key.name}
        subject = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
        return {"object": subject, "decision": {"annotations": {"where": self.where}}}


class Sink(MemorySink):
    """What is written, while this bridge has the Lease."""

    def __init__(self) -> None:
        super().__init__()
        self.held = True
        self.count = 0

    async def write(self, key: Key, patch: Patch, resource_version: str) -> None:
        """Count it."""
        self.count += 1
        await super().write(key, patch, resource_version)

    def may_write(self) -> bool:
        """As the test says."""
        return self.held


@dataclass
class Placing:
    """A placement at work."""

    placement: Placement
    loop: Loop
    opa: Deciding
    sink: Sink = field(default_factory=Sink)

    def change(self, *names: str) -> None:
        """Change Deployments, or a cluster."""
        keys = [parse_key(f"{DEPLOYMENT}/{name}") for name in names] or [CLUSTER]
        self.loop.take_in(Notice(tuple(keys)))

    @property
    def places(self) -> set[str]:
        """Where objects are."""
        return {annotations["where"] for annotations in self.sink.annotations.values()}


@asynccontextmanager
async def placing() -> AsyncIterator[Placing]:
    """A placement after its first sweep."""
    opa, sink = Deciding(), Sink()
    loop = Loop(opa)
    placed = [Placed(DEPLOYMENT, "Write", decision_path("data.placement"))]
    placement = Placement(loop, opa, sink, placed, Budget(1000, 1000))
    async with working(loop.run, placement.run):
        await asyncio.sleep(5)
        assert not opa.whole
        loop.take_in(Notice(refilled=True))
        await placement.settled()
        opa.whole.clear()
        opa.alone.clear()
        yield Placing(placement, loop, opa, sink)


async def test_all_objects_are_placed_after_the_first_sync() -> None:
    async with placing() as found:
        assert (found.places, found.sink.count) == ({"a"}, len(NAMES))


async def test_sweeps_take_at_most_a_fifth_of_the_time() -> None:
    async with placing() as found:
        for _ in range(1000):
            found.change()
            await asyncio.sleep(0.1)
        assert 15 <= len(found.opa.whole) <= 20


async def test_changed_objects_wait_for_no_sweep() -> None:
    async with placing() as found:
        found.opa.seconds = 100.0
        await asyncio.sleep(10)
        found.change()
        await asyncio.sleep(5)
        assert len(found.opa.whole) == 1
        found.opa.where = "b"
        found.change("n1/app")
        await asyncio.sleep(1)
        assert found.opa.alone
        assert found.places == {"a", "b"}


async def test_own_annotations_begin_no_sweep() -> None:
    async with placing() as found:
        await asyncio.sleep(10)
        for name in NAMES:
            found.change(name)
            await asyncio.sleep(0.1)
        await found.placement.settled()
        assert (found.opa.whole, found.opa.alone != []) == ([], True)


async def test_everything_is_evaluated_once_a_minute() -> None:
    async with placing() as found:
        found.opa.where = "b"
        await asyncio.sleep(300)
        assert found.places == {"b"}
        assert len(found.opa.whole) == 6  # the first sweep's differences are decided on once more


async def test_a_changed_policy_waits_for_no_rest() -> None:
    async with placing() as found:
        found.opa.seconds = 30.0
        found.change()
        await asyncio.sleep(10)
        assert len(found.opa.whole) == 1
        found.opa.revision, found.opa.where = "2", "b"
        await asyncio.sleep(55)  # the sweep, and another one
        found.opa.seconds = 1.0
        await asyncio.sleep(10)
        assert found.places == {"b"}


async def test_nothing_is_evaluated_while_opa_is_synced() -> None:
    async with placing() as found:
        found.loop.take_in(Notice(refilling=True))
        found.change()
        found.change("n1/app")
        found.opa.where = "b"
        await asyncio.sleep(200)
        assert found.opa.whole == found.opa.alone == []
        found.loop.take_in(Notice(refilled=True))
        await found.placement.settled()
        assert found.places == {"b"}


async def test_nothing_is_evaluated_without_the_lease_and_everything_when_it_is_back() -> None:
    async with placing() as found:
        found.sink.held = False
        await asyncio.sleep(1)
        found.opa.where = "b"
        found.change()
        found.change("n1/app")
        await asyncio.sleep(200)
        assert found.opa.whole == found.opa.alone == []
        found.sink.held = True
        await found.placement.settled()
        assert found.places == {"b"}


async def test_a_sweep_is_repeated_when_opa_is_back() -> None:
    async with placing() as found:
        found.opa.away = True
        found.opa.where = "b"
        found.change()
        found.change("n1/app")
        await asyncio.sleep(100)
        assert found.places == {"a"}
        found.opa.away = False
        await found.placement.settled()
        assert found.places == {"b"}
