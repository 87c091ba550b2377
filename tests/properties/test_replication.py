"""Whatever a source tells and whatever goes wrong, OPA ends up equal to the source."""

import asyncio
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridge.model.changes import Listing, Object, Trouble, Upserted
from bridge.model.keys import Key
from bridge.opa.bundle import STATE
from bridge.opa.client import Opa
from bridge.replicator.replicator import Replicator
from tests import builders
from tests.faults.comparing import differences
from tests.integration.faulty_opa import Fault, FaultyOpa, arrive_late, lose, lose_answer, once, refuse
from tests.integration.scripted import ScriptedSource
from tests.warm_opa import WarmOpa

SERVICE = "core/Service"
ROUTE = "gateway.networking.k8s.io/HTTPRoute"
EXAMPLES = settings().max_examples // 20  # each takes a second
NAMES = ("a", "b", "c")
FAULTS: dict[str, Fault] = {
    "lost": lose,
    "answer lost": lose_answer,
    "late": arrive_late(0.2),
    "500": refuse(500),
    "429": refuse(429),
}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("service"), st.sampled_from(NAMES), st.integers(0, 3)),
        st.tuples(st.just("route"), st.sampled_from(NAMES), st.integers(0, 3)),
        st.tuples(st.just("delete"), st.sampled_from(NAMES), st.sampled_from([SERVICE, ROUTE])),
        st.tuples(st.just("unseen delete"), st.sampled_from(NAMES), st.sampled_from([SERVICE, ROUTE])),
        st.tuples(st.just("list"), st.sampled_from([SERVICE, ROUTE]), st.just("")),
        st.tuples(st.just("broken list"), st.sampled_from([SERVICE, ROUTE]), st.just("")),
        st.tuples(st.just("trouble"), st.sampled_from([SERVICE, ROUTE]), st.booleans()),
        st.tuples(st.just("absent"), st.sampled_from([SERVICE, ROUTE]), st.just("")),
        st.tuples(st.just("fault"), st.sampled_from(sorted(FAULTS)), st.integers(1, 2)),
        st.tuples(st.just("empty"), st.just(""), st.just("")),
        st.tuples(st.just("foreign"), st.just(""), st.just("")),
        st.tuples(st.just("restart"), st.just(""), st.just("")),
        st.tuples(st.just("pause"), st.just(""), st.just("")),
    ),
    max_size=25,
)


def service(name: str, number: int) -> Object:
    return builders.service(name, spec={"number": number})


def route(name: str, number: int) -> Object:
    return builders.http_route(name, parents=[f"gateway-{number % 2}"], rules=[builders.backends(*NAMES[:number])])


class Walk:
    """A replicator on an OPA behind a faulty proxy, and a source that is led step by step."""

    def __init__(self, faulty: FaultyOpa, direct: Opa) -> None:
        self._faulty = faulty
        self._direct = direct
        self._source = ScriptedSource([service("a", 0), route("a", 1)])
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin, or begin again like a process that was killed and restarted."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._source = ScriptedSource(self._source.objects.values(), begin=self._source.version)
        replicator = Replicator(self._source, Opa(self._faulty.url), [SERVICE, ROUTE], owner="walk", content="walk")
        self._replicator = replicator
        self._task = asyncio.create_task(self._run(replicator))

    async def _run(self, replicator: Replicator) -> None:
        async with replicator._opa:
            await replicator.run()

    async def step(self, what: str, one: str, two: Any) -> None:
        """One step."""
        match what:
            case "fault":
                self._faulty.fault = once(FAULTS[one], two)
            case "empty":
                await self._direct.patch([{"op": "remove", "path": f"/{name}"} for name in await roots(self._direct)])
            case "foreign":
                await self._direct.put("objects", {"core": {"Service": {"shop": {"z": service("z", 1)}}}})
                await self._direct.put(STATE, {"epoch": "another", "filled": True})
            case "restart":
                await self.start()
            case "pause":
                await asyncio.sleep(0.05)
            case _:
                self._tell(what, one, two)

    def _tell(self, what: str, one: str, two: Any) -> None:
        source = self._source
        match what:
            case "service":
                source.put(service(one, two))
            case "route":
                source.put(route(one, two))
            case "delete":
                for key in self._called(one, two):
                    source.delete(key)
            case "unseen delete":  # as happens while a watch is broken; a listing comes after it
                for key in self._called(one, two):
                    del source.objects[key]
                source.tell(two)
            case _:
                self._describe_type(what, one, two)

    def _describe_type(self, what: str, one: str, two: Any) -> None:
        source = self._source
        match what:
            case "list":
                source.tell(one)
            case "broken list":
                some = tuple(obj for key, obj in source.objects.items() if key.type_id == one)[:1]
                source.say(Listing(one), Upserted(one, some))
                source.tell(one)
            case "trouble":
                source.say(Trouble(one, "away", unknown=two))
                source.tell(one)

            case "absent":  # the CRD is deleted, with all its objects
                for key in [key for key in source.objects if key.type_id == one]:
                    del source.objects[key]
                source.say(Trouble(one, "not served", absent=True))

    def _called(self, name: str, type_id: str) -> list[Key]:
        return [key for key in self._source.objects if (key.type_id, key.name) == (type_id, name)]

    async def end(self) -> None:
        """Wait until all is written, and compare."""
        self._faulty.fault = None
        self._replicator.doubt()
        await asyncio.sleep(0.25)  # what arrives late has arrived
        self._replicator.doubt()
        async with asyncio.timeout(300):
            while not self._replicator.filled.is_set() or await self._differences():  # noqa: ASYNC110 (OPA has no event)
                await asyncio.sleep(0.02)
        await asyncio.sleep(0.05)
        assert self._task is not None
        assert not self._task.done()
        assert await self._differences() == []
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _differences(self) -> list[str]:
        return await differences(self._direct, self._source.objects.values())


async def roots(opa: Opa) -> list[str]:
    """The bridge's documents that are there."""
    names = ("objects", "facts", "index", "kinds", "kind_sets", STATE)
    return [name for name in names if await opa.get(name) is not None]


def test_any_sequence_of_changes_listings_and_faults_leaves_opa_equal_to_the_source(opa_path: Path) -> None:
    with asyncio.Runner() as runner:
        opa = WarmOpa(opa_path)
        url = runner.run(opa.start())

        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
        @given(STEPS)
        def walk(steps: list[tuple[str, str, Any]]) -> None:
            runner.run(_walk(url, steps))

        try:
            walk()
        finally:
            runner.run(opa.stop())


async def _walk(url: str, steps: list[tuple[str, str, Any]]) -> None:
    async with FaultyOpa(url).serving() as faulty, Opa(url) as direct:
        await direct.patch([{"op": "remove", "path": f"/{name}"} for name in await roots(direct)])
        one = Walk(faulty, direct)
        await one.start()
        for step in steps:
            await one.step(*step)
        await one.end()
