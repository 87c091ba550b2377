"""After any sequence of changes, faults and syncs a result equals the one from scratch, and counts only then."""

import asyncio
from collections.abc import AsyncIterator, Hashable, Iterable, Mapping, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.derived.loop import Derived, Loop, Outdated
from bridge.model.changes import Notice
from bridge.model.keys import parse_key
from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected, OpaUnavailable
from bridge.work import Turns
from tests.unit.fake_time import FakeTimeLoop
from tests.working import working

NAMES = [f"core/Service/{namespace}/{name}" for namespace in "ab" for name in "xyz"]
FAULTS = {"away": OpaUnavailable("away"), "odd": OpaRejected(500, "internal_error", "odd"), "defect": ValueError("x")}


class Numbers(Opa):
    """An OPA with a number for each object, which takes a while to answer, and fails as often as it is told to."""

    def __init__(self) -> None:
        super().__init__("http://localhost")
        self.objects: dict[str, int] = {}
        self.factor = 1  # as a policy kind describes it
        self.whole = False  # False while it is being synced
        self.faults: list[str] = []

    async def take_time(self) -> None:
        """Take a while; fail if it is time to."""
        await asyncio.sleep(0.3)
        if self.faults:
            raise FAULTS[self.faults.pop(0)]

    async def query(self, name: str, input_document: Any) -> Any:
        """A change of an object concerns all objects of its namespace."""
        await self.take_time()
        namespaces = {parse_key(key).namespace for key in input_document["keys"]}
        return {"sums": [key for key in NAMES if parse_key(key).namespace in namespaces]}

    def value(self, key: str) -> tuple[int, int] | None:
        """The number of an object, and the sum of its namespace; what does not exist has none."""
        if not self.whole:
            return (-1, -1)
        if key not in self.objects:
            return None
        namespace = parse_key(key).namespace
        numbers = [number for name, number in self.objects.items() if parse_key(name).namespace == namespace]
        return self.objects[key] * self.factor, sum(numbers) * self.factor

    def values(self) -> dict[str, tuple[int, int]]:
        """All values from scratch."""
        found = {key: self.value(key) for key in NAMES}
        return {key: value for key, value in found.items() if value is not None}


class Sums(Derived[str]):
    """The values of all objects."""

    name = "sums"

    def __init__(self, opa: Numbers) -> None:
        self.values: dict[str, tuple[int, int]] = {}
        self._opa = opa

    def wants(self, change: Notice, since: float) -> Mapping[str, Any]:
        """The objects whose sum may differ."""
        return {"sums": {}}

    async def keys_of(self, outdated: Outdated) -> Iterable[str] | None:
        """These, or any."""
        return None if outdated.change.kinds else outdated.parts.get("sums", ())

    async def every(self) -> AsyncIterator[Iterable[str]]:
        """All in two queries; what is not there has no value."""
        await self._opa.take_time()
        yield [key for key in self._opa.objects if "/a/" in key]
        await self._opa.take_time()
        yield {*self._opa.objects, *self.values}

    def owner_of(self, key: str) -> Hashable:
        """The namespace."""
        return parse_key(key).namespace

    def take(self, stale: Turns[str]) -> Iterable[Sequence[str]]:
        """Two batches."""
        keys = stale.take(3)
        return [batch for batch in (keys[:2], keys[2:]) if batch]

    async def compute(self, keys: Sequence[str]) -> None:
        """Query the values."""
        await self._opa.take_time()
        found = {key: self._opa.value(key) for key in keys}
        await asyncio.sleep(0.3)  # the answer is on its way
        for key, value in found.items():
            self.values.pop(key, None)
            if value is not None:
                self.values[key] = value

    def forget(self) -> None:
        """Drop all values."""
        self.values.clear()


class HeardSums(Sums):
    """The same by a result that needs no query; each value rests for a while after it was computed."""

    name = "heard sums"
    asks = False
    period = 50.0

    def __init__(self, opa: Numbers, loop: Loop) -> None:
        super().__init__(opa)
        self._loop = loop
        self._rests_until: dict[str, float] = {}

    def notice(self, change: Notice) -> None:
        """The keys of the namespaces, or any."""
        if change.kinds:
            self._loop.renew(self)
        namespaces = {key.namespace for key in change.keys}
        self._loop.add(self, [key for key in NAMES if parse_key(key).namespace in namespaces])

    def owner_of(self, key: str) -> Hashable:
        """Each its own: one that rests delays no other."""
        return key

    def rest(self, key: str) -> float:
        """What is left of a second."""
        return self._rests_until.get(key, 0.0) - asyncio.get_running_loop().time()

    def take(self, stale: Turns[str]) -> Iterable[Sequence[str]]:
        """Those that have rested."""
        return [stale.take(3, lambda key: self.rest(key) <= 0)]

    async def compute(self, keys: Sequence[str]) -> None:
        """Rest afterwards."""
        await super().compute(keys)
        self._rests_until |= dict.fromkeys(keys, asyncio.get_running_loop().time() + 1.0)


_PUT = st.tuples(st.just("put"), st.sampled_from(NAMES), st.integers(0, 9))
_DELETE = st.tuples(st.just("delete"), st.sampled_from(NAMES))
_KINDS = st.tuples(st.just("kinds"), st.integers(1, 3))
_FAULT = st.tuples(st.just("fault"), st.sampled_from(sorted(FAULTS)))
_WAIT = st.tuples(st.just("wait"), st.sampled_from([0.1, 0.4, 1.0, 20.0]))
_SYNC = st.tuples(st.just("sync"), st.sampled_from([0.0, 0.5, 3.0]))
_JOIN = st.tuples(st.just("rejoin"), st.just(0))
STEPS = st.lists(st.one_of(_PUT, _PUT, _DELETE, _KINDS, _FAULT, _FAULT, _WAIT, _WAIT, _SYNC, _JOIN), max_size=25)


async def _step(opa: Numbers, loop: Loop, results: Sequence[Sums], step: tuple[Any, ...]) -> None:
    match step:
        case ("put", key, number):
            opa.objects[key] = number
            loop.take_in(Notice((parse_key(key),)))
        case ("delete", key) if key in opa.objects:
            del opa.objects[key]
            loop.take_in(Notice((parse_key(key),)))
        case ("kinds", factor):
            opa.factor = factor
            loop.take_in(Notice((parse_key("policybridge.io/PolicyKind/-/k"),), kinds=True))
        case ("fault", fault):
            opa.faults.append(fault)
        case ("wait", seconds):
            await asyncio.sleep(seconds)
        case ("sync", seconds):
            opa.whole = False
            loop.take_in(Notice(refilling=True))
            await asyncio.sleep(seconds)
            opa.whole = True
            loop.take_in(Notice(refilled=True))
        case ("rejoin", _):
            for result in results:
                loop.leave(result)
                loop.follow(result)


async def _walk(steps: Sequence[tuple[Any, ...]]) -> None:
    opa = Numbers()
    loop = Loop(opa)
    results = [Sums(opa), HeardSums(opa, loop)]
    async with working(loop.run):
        for result in results:
            loop.follow(result)
        opa.whole = True
        loop.take_in(Notice(refilled=True))
        for step in [*steps, ("wait", 0.0)]:
            await _step(opa, loop, results, step)
            for result in filter(loop.is_settled, results):
                assert result.values == opa.values(), (result.name, step)
        async with asyncio.timeout(1000):
            while not all(map(loop.is_settled, results)):  # noqa: ASYNC110 - the clock jumps
                await asyncio.sleep(0.1)
        for result in results:
            assert result.values == opa.values(), result.name


@given(STEPS)
@settings(max_examples=2 * settings().max_examples, deadline=None)
def test_after_any_sequence_a_result_equals_the_one_from_scratch(steps: list[tuple[Any, ...]]) -> None:
    with asyncio.Runner(loop_factory=FakeTimeLoop) as runner:
        runner.run(_walk(steps))
