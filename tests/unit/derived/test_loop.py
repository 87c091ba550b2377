"""When the loop computes what, and in which order; that results are right is a property (tests/properties)."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Hashable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bridge.derived.loop import Derived, Loop, Outdated
from bridge.model.changes import Notice
from bridge.model.keys import parse_key
from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected, OpaTimeout, OpaUnavailable
from bridge.work import Turns
from tests.working import working

pytestmark = pytest.mark.fake_time

SYNCED, SYNCING = Notice(refilled=True), Notice(refilling=True)


def changed(*names: str, **more: Any) -> Notice:
    """A change of these objects, `namespace/name`."""
    return Notice(tuple(parse_key(f"core/Service/{name}") for name in names), **more)


class Concerning(Opa):
    """An OPA in which a change concerns what it changes; `queries` has the inputs."""

    def __init__(self) -> None:
        super().__init__("http://localhost")
        self.queries: list[Mapping[str, Any]] = []
        self.asked_at: list[float] = []
        self.raising: list[Exception] = []

    async def query(self, name: str, input_document: Any) -> Any:
        """The keys, for each wanted part."""
        assert name == "outdated"
        self.queries.append(input_document)
        self.asked_at.append(asyncio.get_running_loop().time())
        await asyncio.sleep(1.0)
        if self.raising:
            raise self.raising.pop()
        return {part: list(input_document["keys"]) for part in input_document["wanted"]}


class Lengths(Derived[str]):
    """A result with a key for each object; each computation takes a second."""

    name = "lengths"

    def __init__(self, *known: str, part: str = "lengths") -> None:
        self.known = known
        self.part = part
        self.computed: list[tuple[str, ...]] = []
        self.begun_at: list[float] = []
        self.settled: list[int] = []
        self.since: list[float] = []
        self.forgotten = self.distrusted = 0
        self.failures: list[Exception] = []

    def wants(self, change: Notice, since: float) -> Mapping[str, Any]:
        """The objects of one part."""
        self.since.append(since)
        return {self.part: {}}

    async def keys_of(self, outdated: Outdated) -> Iterable[str] | None:
        """The objects' names; any after a change of kinds."""
        if outdated.change.kinds:
            return None
        return [key.removeprefix("core/Service/") for key in outdated.parts.get(self.part, ())]

    async def every(self) -> AsyncIterator[Iterable[str]]:
        """One after the other."""
        for key in self.known:
            yield [key]

    def owner_of(self, key: str) -> Hashable:
        """The namespace."""
        return key.partition("/")[0]

    def take(self, stale: Turns[str]) -> Iterable[Sequence[str]]:
        """Two batches of one key."""
        return [[key] for key in stale.take(2)]

    async def compute(self, keys: Sequence[str]) -> None:
        """Remember the keys."""
        self.begun_at.append(asyncio.get_running_loop().time())
        await asyncio.sleep(1.0)
        if self.failures:
            raise self.failures.pop()
        self.computed.append(tuple(keys))

    def settle(self, revision: int) -> None:
        """Remember the revision."""
        self.settled.append(revision)

    def forget(self) -> None:
        """Count it."""
        self.forgotten += 1

    def distrust(self) -> None:
        """Count it."""
        self.distrusted += 1

    def taken(self) -> list[str]:
        """The computed keys since the last call."""
        keys = [key for keys in self.computed for key in keys]
        self.computed.clear()
        return keys


@asynccontextmanager
async def computing(
    *results: Derived[Any], synced: bool = True, opa: Concerning | None = None
) -> AsyncIterator[tuple[Loop, Concerning]]:
    """A loop with these results, after the first sync of OPA and their first computation."""
    opa = opa or Concerning()
    loop = Loop(opa)
    async with working(loop.run):
        for result in results:
            loop.follow(result)
        if synced:
            loop.take_in(SYNCED)
            await settled(loop, *results)
        yield loop, opa


def pauses(times: Sequence[float]) -> list[float]:
    """The seconds between the beginnings of what takes a second, without that one."""
    return [round(after - before - 1, 1) for before, after in itertools.pairwise(times)]


async def settled(loop: Loop, *results: Derived[Any]) -> None:
    """Wait until no key is stale."""
    while not all(map(loop.is_settled, results)):  # noqa: ASYNC110 - the clock jumps
        await asyncio.sleep(0.1)


async def test_everything_is_computed_after_the_first_sync() -> None:
    result = Lengths("a/one", "b/two")
    async with computing(result, synced=False) as (loop, opa):
        loop.take_in(changed("a/one"))
        await asyncio.sleep(10)
        assert not result.computed
        loop.take_in(SYNCED)
        await settled(loop, result)
        assert result.taken() == ["a/one", "b/two"]
        assert opa.queries[1:] == []


async def test_changes_that_wait_are_one_query_for_all_results() -> None:
    one, other, silent = Lengths(part="one"), Lengths(part="other"), Lengths()
    silent.wants = lambda *_: {}  # type: ignore[method-assign]
    async with computing(one, other, silent) as (loop, opa):
        was = {parse_key("core/Service/a/x"): (("parents", "p"),)}
        loop.take_in(changed("a/x", was=was))
        loop.take_in(changed("a/y", "a/x"))
        await settled(loop, one, other, silent)
        keys = ["core/Service/a/x", "core/Service/a/y"]
        assert opa.queries == [
            {"keys": keys, "was": {"core/Service/a/x": (("parents", "p"),)}, "wanted": {"one": {}, "other": {}}}
        ]
        assert one.taken() == other.taken() == ["a/y", "a/x"]
        assert one.settled[-1] == loop.revision == 3


async def test_a_change_that_changes_no_declaration_is_no_query() -> None:
    result = Lengths("a/one")
    async with computing(result) as (loop, opa):
        result.taken()
        loop.take_in(Notice(reported=(parse_key("core/Service/a/one"),)))
        await settled(loop, result)
        assert not opa.queries
        assert result.taken() == []
        assert result.settled[-1] == loop.revision


async def test_after_a_change_of_policy_kinds_everything_is_stale() -> None:
    result = Lengths("a/one", "b/two")
    async with computing(result) as (loop, _):
        result.taken()
        loop.take_in(changed("a/x", kinds=True))
        await settled(loop, result)
        assert result.taken() == ["a/one", "b/two"]


async def test_namespaces_take_turns_and_changes_come_before_the_others_of_their_namespace() -> None:
    result = Lengths()
    async with computing(result) as (loop, _):
        loop.add(result, [f"many/{number}" for number in range(20)])
        loop.take_in(changed("few/x", "many/new"))
        await settled(loop, result)
        order = result.taken()
        # The query takes a second, and so does each computation.
        assert order.index("few/x") <= 4
        assert order.index("many/new") <= 4
        assert len(order) == 22


async def test_nothing_is_computed_while_opa_is_synced_again() -> None:
    result = Lengths("a/one")
    async with computing(result) as (loop, opa):
        result.taken()
        loop.take_in(SYNCING)
        assert not loop.is_settled(result)
        assert result.distrusted == 1
        loop.take_in(changed("a/x"))
        await asyncio.sleep(100)
        assert result.taken() == []
        loop.take_in(SYNCED)
        await settled(loop, result)
        assert result.taken() == ["a/one"]
        assert len(opa.queries) == 1


async def test_a_sync_ends_queries_from_before_it() -> None:
    result = Lengths("a/one")
    async with computing(result) as (loop, _):
        result.taken()
        loop.take_in(changed("a/x"))
        await asyncio.sleep(0.5)
        loop.take_in(SYNCING)
        loop.take_in(SYNCED)
        await settled(loop, result)
        assert result.taken() == ["a/one"]


async def test_a_result_learns_when_the_first_of_several_changes_arrived() -> None:
    result = Lengths()
    async with computing(result) as (loop, opa):
        opa.raising.append(OpaUnavailable("away"))
        began = asyncio.get_running_loop().time()
        for name in ("x", "y", "z"):
            loop.take_in(changed(f"a/{name}"))
            await asyncio.sleep(0.2)
        await settled(loop, result)
        assert [round(since - began, 1) for since in result.since] == [0.0, 0.0]
        loop.take_in(changed("a/x"))
        await asyncio.sleep(0.2)
        loop.take_in(changed("a/y"))
        await asyncio.sleep(0.2)
        loop.take_in(changed("a/z"))
        await settled(loop, result)
        first, second = result.since[2:]
        assert round(second - first, 1) == 0.2


async def test_a_sync_covers_changes_that_wait() -> None:
    result = Lengths("a/one")
    async with computing(result) as (loop, opa):
        loop.take_in(changed("a/x"))
        loop.take_in(SYNCING)
        loop.take_in(SYNCED)
        await settled(loop, result)
        assert not opa.queries


async def test_results_computed_before_the_first_sync_do_not_wait_for_it() -> None:
    result = Lengths("a/one")
    result.before_sync = True
    async with computing(result, synced=False) as (loop, _):
        await settled(loop, result)
        assert result.taken() == ["a/one"]


async def test_an_opa_that_does_not_answer_is_asked_again() -> None:
    result = Lengths()
    async with computing(result) as (loop, opa):
        opa.raising += [OpaUnavailable("away"), OpaUnavailable("away")]
        result.failures += [OpaUnavailable("away")]
        loop.take_in(changed("a/x"))
        loop.take_in(changed("a/y"))
        await settled(loop, result)
        assert len(opa.queries) == 3
        assert sorted(result.taken()) == ["a/x", "a/y"]
        assert not result.forgotten


async def test_a_batch_that_fails_keeps_no_other_from_its_turn() -> None:
    result = Lengths()
    async with computing(result) as (loop, _):
        result.failures += [OpaUnavailable("away")] * 3
        loop.add(result, ["a/x", "b/y"])
        await settled(loop, result)
        assert sorted(result.taken()) == ["a/x", "b/y"]


async def test_after_another_failure_everything_is_computed_again_with_growing_delays() -> None:
    result, other = Lengths("a/one"), Lengths("b/two")
    async with computing(result, other) as (loop, _):
        began = asyncio.get_running_loop().time()
        result.failures += [ValueError("defect"), OpaRejected(500, "internal_error", "odd"), ValueError("defect")]
        other.taken()
        loop.add(result, ["a/x"])
        await settled(loop, result, other)
        assert result.taken() == ["a/one", "a/one"]
        assert result.forgotten == 3
        assert asyncio.get_running_loop().time() - began > 3 + 0.1 + 0.2 + 0.4
        assert other.taken() == []


async def test_a_query_that_fails_makes_everything_stale() -> None:
    result = Lengths("a/one")
    async with computing(result) as (loop, opa):
        result.taken()
        opa.raising += [ValueError("defect")]
        loop.take_in(changed("a/x"))
        await settled(loop, result)
        assert result.taken() == ["a/one"]


async def test_answer_that_a_result_cannot_take_makes_everything_stale() -> None:
    class Broken(Lengths):
        def hear(self, outdated: Outdated) -> None:
            if not self.forgotten:
                self.forgotten = 1
                raise KeyError("defect")

    result, other = Broken("a/one"), Lengths("b/two")
    async with computing(result, other) as (loop, _):
        result.taken(), other.taken()
        loop.take_in(changed("a/x"))
        await settled(loop, result, other)
        assert result.taken() == ["a/one"]
        assert other.taken() == ["b/two"]


async def test_patient_result_keeps_its_values_and_object_is_asked_about_again() -> None:
    class Slow(Concerning):
        times: list[float]

        async def query(self, name: str, input_document: Any) -> Any:
            if "core/Service/a/slow" in input_document["keys"] and len(self.times) < 5:
                if len(input_document["keys"]) == 1:
                    self.times.append(round(asyncio.get_running_loop().time(), 1))
                raise OpaTimeout("no answer in time")
            return await super().query(name, input_document)

        async def is_ready(self) -> bool:
            return True

    opa, patient, other = Slow(), Lengths("a/one"), Lengths("b/two")
    opa.times = []
    patient.patient = True
    async with computing(patient, other, opa=opa) as (loop, _):
        patient.taken(), other.taken()
        loop.take_in(changed("a/x", "a/slow"))
        await settled(loop, patient, other)
        assert patient.taken() == ["a/x"]
        assert other.taken() == ["b/two"]
        await asyncio.sleep(10)
        await settled(loop, patient, other)
        assert [round(after - before, 1) for before, after in itertools.pairwise(opa.times)] == [1.1, 0.2, 0.4, 0.8]
        assert patient.taken() == ["a/slow"]
        assert other.taken() == ["a/slow"]


async def test_a_too_slow_question_makes_everything_stale() -> None:
    class Slow(Concerning):
        async def query(self, name: str, input_document: Any) -> Any:
            if "core/Service/a/slow" in input_document["keys"]:
                raise OpaTimeout("no answer in time")
            return await super().query(name, input_document)

        async def is_ready(self) -> bool:
            return True

    result = Lengths("a/one")
    async with computing(result, opa=Slow()) as (loop, _):
        result.taken()
        loop.take_in(changed("a/x", "a/slow"))
        await settled(loop, result)
        assert result.taken() == ["a/one"]


async def test_parts_of_a_divided_query_are_one() -> None:
    class Divided(Concerning):
        async def query(self, name: str, input_document: Any) -> Any:
            if len(input_document["keys"]) > 1:
                raise OpaTimeout("no answer in time")
            return {"scopes": {"x/P": ["a", *input_document["keys"]]}, "lengths": ["core/Service/a/y"]}

        async def is_ready(self) -> bool:
            return True

    class Scopes(Lengths):
        async def keys_of(self, outdated: Outdated) -> Iterable[str] | None:
            heard.append(outdated.parts)
            return ()

    heard: list[Mapping[str, Any]] = []
    result = Scopes()
    async with computing(result, opa=Divided()) as (loop, _):
        loop.take_in(changed("a/x", "a/z"))
        await settled(loop, result)
        scopes = ["a", "core/Service/a/x", "core/Service/a/z"]
        assert heard == [{"scopes": {"x/P": scopes}, "lengths": ["core/Service/a/y"]}]


async def test_keys_that_cannot_be_listed_are_listed_again() -> None:
    class Broken(Lengths):
        tries = 0

        async def every(self) -> AsyncIterator[Iterable[str]]:
            self.tries += 1
            yield ["a/one"]
            if self.tries == 1:
                raise OpaUnavailable("away")
            yield ["b/two"]

    result = Broken()
    async with computing(result):
        assert result.taken() == ["a/one", "a/one", "b/two"]


async def test_a_result_that_nobody_follows_is_not_computed() -> None:
    result = Lengths("a/one")
    async with computing(result) as (loop, opa):
        loop.leave(result)
        result.taken()
        loop.take_in(changed("a/x"))
        await asyncio.sleep(10)
        assert not opa.queries
        loop.follow(result)
        await settled(loop, result)
        assert result.taken() == ["a/one"]
        loop.leave(result)
        loop.take_in(SYNCING)
        loop.follow(result)
        await asyncio.sleep(10)
        assert result.taken() == []


async def test_waiting_for_a_result_ends_at_once_when_it_is_settled() -> None:
    result = Lengths("a/one")
    async with computing(result) as (loop, _):
        clock = asyncio.get_running_loop().time
        began = clock()
        loop.take_in(changed("a/x"))
        await loop.settled(result)
        assert round(clock() - began, 3) == 2.0  # the query, and a computation
        assert loop.is_settled(result)


async def test_a_result_that_is_followed_while_opa_is_asked_is_settled_when_it_has_answered() -> None:
    former, late = Lengths(), Lengths()
    async with computing(former) as (loop, _):
        loop.take_in(changed("a/x"))
        await asyncio.sleep(0.5)
        with loop.following(late):
            loop.leave(former)
            await asyncio.sleep(0.1)
            assert late.settled == [loop.revision]
            assert not loop.is_settled(late)
            await loop.settled(late)


async def test_a_result_left_while_it_computes_ends_its_work() -> None:
    result = Lengths("a/one")
    async with computing(synced=False) as (loop, _):
        loop.take_in(SYNCED)
        with loop.following(result):
            await asyncio.sleep(0.5)
        await asyncio.sleep(10)
        assert (result.begun_at != [], result.computed) == (True, [])
        assert not loop.is_settled(result)


@pytest.mark.parametrize("defect", [ValueError("defect"), OpaRejected(500, "internal_error", "odd")])
async def test_delays_after_failed_queries_grow_until_one_succeeds(defect: Exception) -> None:
    class Unconcerned(Lengths):
        async def keys_of(self, outdated: Outdated) -> Iterable[str] | None:
            return ()

    result = Unconcerned()
    async with computing(result) as (loop, opa):
        for _ in range(2):
            opa.asked_at.clear()
            for failures in (3, 0):
                opa.raising += [defect] * failures
                for name in "wxyz":
                    loop.take_in(changed(f"a/{name}", *(f"a/{name}{number}" for number in range(400))))
            await settled(loop, result)
            assert pauses(opa.asked_at)[:4] == [0.1, 0.2, 0.4, 0.0]


async def test_delays_after_failed_computations_grow_until_nothing_is_stale() -> None:
    result = Lengths("a/one")
    async with computing(result) as (loop, _):
        for _ in range(2):
            result.begun_at.clear()
            result.failures += [ValueError("defect")] * 3
            loop.renew(result)
            await settled(loop, result)
            assert pauses(result.begun_at) == [0.1, 0.2, 0.4]


async def test_a_query_that_fails_after_a_sync_makes_nothing_stale() -> None:
    result = Lengths("a/one")
    async with computing(result) as (loop, opa):
        result.taken()
        opa.raising += [ValueError("defect")]
        loop.take_in(changed("a/x"))
        await asyncio.sleep(0.5)
        loop.take_in(SYNCING)
        loop.take_in(SYNCED)
        await asyncio.sleep(10)
        assert result.taken() == ["a/one"]
        assert len(opa.queries) == 1


async def test_an_unavailable_opa_is_not_asked_again_about_changes_before_a_sync() -> None:
    result = Lengths("a/one")
    async with computing(result) as (loop, opa):
        opa.raising += [OpaUnavailable("away")]
        loop.take_in(changed("a/x"))
        await asyncio.sleep(0.5)
        loop.take_in(SYNCING)
        loop.take_in(SYNCED)
        await asyncio.sleep(10)
        assert len(opa.queries) == 1


class Slow(Concerning):
    """An OPA that takes too long for the object a/slow, `left` times."""

    left = 1000

    async def query(self, name: str, input_document: Any) -> Any:
        """As usual for the others."""
        if "core/Service/a/slow" in input_document["keys"] and self.left:
            if len(input_document["keys"]) == 1:
                self.left -= 1
                self.asked_at.append(asyncio.get_running_loop().time())
            raise OpaTimeout("no answer in time")
        return await super().query(name, input_document)

    async def is_ready(self) -> bool:
        """Other queries succeed."""
        return True


@pytest.mark.parametrize("again", [SYNCED, changed("a/slow")])
async def test_delays_of_a_slow_object_begin_again_after_a_sync_and_after_an_answer(again: Notice) -> None:
    opa, patient = Slow(), Lengths()
    patient.patient = True
    async with computing(patient, opa=opa) as (loop, _):
        loop.take_in(changed("a/slow"))
        await asyncio.sleep(5)
        opa.left = 1000 if again.refilled else 0
        loop.take_in(again)
        await asyncio.sleep(10)
        opa.left, opa.asked_at = 4, []
        loop.take_in(changed("a/slow"))
        await asyncio.sleep(10)
        # Twice at once: with everything that saves queries, and without. A timeout takes no time here.
        delays = [round(after - before, 1) for before, after in itertools.pairwise(opa.asked_at)]
        assert delays == [0.0, 0.1, 0.2, 0.4]


async def test_a_sync_ends_repeated_questions_about_a_slow_object() -> None:
    opa, patient = Slow(), Lengths("a/one")
    patient.patient = True
    async with computing(patient, opa=opa) as (loop, _):
        loop.take_in(changed("a/slow"))
        await asyncio.sleep(5)
        loop.take_in(SYNCING)
        asked = len(opa.asked_at)
        loop.take_in(SYNCED)
        await asyncio.sleep(100)
        assert len(opa.asked_at) == asked


async def test_impatient_results_do_not_ask_again() -> None:
    opa, result = Slow(), Lengths("a/one")
    async with computing(result, opa=opa) as (loop, _):
        loop.take_in(changed("a/slow"))
        await asyncio.sleep(100)
        assert len(opa.asked_at) == 2


async def test_a_slow_object_makes_everything_stale_once_however_often_it_is_asked_about() -> None:
    opa, patient, other = Slow(), Lengths(), Lengths("b/two")
    patient.patient = True
    async with computing(patient, other, opa=opa) as (loop, _):
        other.taken()
        loop.take_in(changed("a/slow"))
        await asyncio.sleep(100)
        assert len(opa.asked_at) > 5
        assert other.taken() == ["b/two"]


async def test_patient_result_is_settled_while_a_slow_object_is_asked_about_again() -> None:
    opa, patient = Slow(), Lengths()
    patient.patient = True
    async with computing(patient, opa=opa) as (loop, _):
        opa.left = 2
        loop.take_in(changed("a/slow"))
        await asyncio.sleep(0.5)  # the query that is repeated takes a second
        assert len(opa.queries) == 1
        assert loop.is_settled(patient)


async def test_a_change_that_concerns_too_much_is_asked_about_for_each_namespace() -> None:
    large, other = Lengths(), Lengths()
    large.is_large = lambda outdated: len(outdated.parts["lengths"]) > 2  # type: ignore[method-assign]
    async with computing(large, other) as (loop, opa):
        loop.take_in(changed("a/x", "a/y", "a/z", "b/x"))
        loop.take_in(changed("c/x"))
        await settled(loop, large, other)
        asked = [[parse_key(key).namespace for key in query["keys"]] for query in opa.queries]
        assert asked == [["a", "a", "a", "b", "c"], ["c"], ["b"], ["a", "a", "a"]]
        assert sorted(large.taken()) == sorted(other.taken()) == ["a/x", "a/y", "a/z", "b/x", "c/x"]


async def test_parts_that_save_queries_are_asked_at_once_alone() -> None:
    opa, result = Slow(), Lengths()
    result.wants_besides = lambda change: {"besides": {"of": len(change.keys)}}  # type: ignore[method-assign]
    async with computing(result, opa=opa) as (loop, _):
        loop.take_in(changed("a/x"))
        await settled(loop, result)
        loop.take_in(changed("a/y", "a/slow"))
        await settled(loop, result)
        assert [query["wanted"] for query in opa.queries] == [{"lengths": {}, "besides": {"of": 1}}, {"lengths": {}}]


async def test_an_object_that_fails_is_listed_until_it_succeeds() -> None:
    class Failing(Concerning):
        async def query(self, name: str, input_document: Any) -> Any:
            if "core/Service/a/bad" in input_document["keys"] and self.raising:
                raise self.raising[0]
            return {}

    opa, result = Failing(), Lengths()
    opa.raising.append(OpaRejected(500, "internal_error", "evaluation", [{"code": "eval_conflict_error"}]))
    async with computing(result, opa=opa) as (loop, _):
        loop.take_in(changed("a/bad", "a/x"))
        await settled(loop, result)
        assert len(opa.failures.errors) == 1
        loop.take_in(changed("a/x"))
        await settled(loop, result)
        assert len(opa.failures.errors) == 1
        opa.raising.clear()
        loop.take_in(changed("a/bad"))
        await settled(loop, result)
        assert not opa.failures.errors


async def test_a_revision_is_settled_only_when_all_changes_up_to_it_are_known() -> None:
    result, idle = Lengths(), Lengths()
    idle.wants = lambda *_: {}  # type: ignore[method-assign]
    idle.part = "nothing"
    async with computing(result, idle) as (loop, _):
        idle.settled.clear()
        first = loop.revision + 1
        loop.take_in(changed("a/x"))
        await asyncio.sleep(0.5)
        loop.take_in(changed("b/y"))
        loop.take_in(changed("c/z"))
        await settled(loop, result, idle)
        assert idle.settled == [first, first + 2]


async def test_a_revision_is_not_settled_before_an_earlier_change_that_is_asked_about_in_halves() -> None:
    class Halting(Slow):
        async def is_ready(self) -> bool:
            await asyncio.sleep(50)
            return True

    opa, result = Halting(), Lengths()
    async with computing(result, opa=opa) as (loop, _):
        before = loop.revision
        opa.left = 2
        loop.take_in(changed("a/slow"))
        await asyncio.sleep(60)  # the query in halves has begun
        loop.take_in(changed("b/x"))
        await asyncio.sleep(5)
        assert (result.taken(), result.settled[-1]) == (["b/x"], before)
        await settled(loop, result)
        assert result.settled[-1] == loop.revision


async def test_a_change_of_something_else_is_heard_by_the_one_result() -> None:
    result, other = Lengths("a/one"), Lengths("b/two")
    async with computing(result, other) as (loop, opa):
        result.taken(), other.taken()
        loop.hear(result, Notice(kinds=True))
        loop.hear(Lengths(), Notice(kinds=True))
        assert not loop.is_settled(result)
        await settled(loop, result, other)
        assert (result.taken(), other.taken(), opa.queries) == (["a/one"], [], [])


async def test_added_keys_and_a_renewal_count_at_once() -> None:
    result = Lengths("a/one")
    async with computing(result) as (loop, _):
        result.taken()
        loop.add(result, ["a/x", "a/x"])
        assert not loop.is_settled(result)
        await settled(loop, result)
        assert result.taken() == ["a/x"]
        loop.add(result, ["a/y"])
        loop.renew(result)
        loop.add(result, ["a/z"])
        assert not loop.is_settled(result)
        await settled(loop, result)
        assert result.taken() == ["a/one"]


async def test_keys_of_a_change_before_a_renewal_are_not_computed_beside_it() -> None:
    class Pausing(Lengths):
        async def keys_of(self, outdated: Outdated) -> Iterable[str] | None:
            await asyncio.sleep(1.0)
            return await super().keys_of(outdated)

    result = Pausing("a/one")
    async with computing(result) as (loop, _):
        result.taken()
        loop.take_in(changed("a/x"))
        await asyncio.sleep(1.5)
        loop.renew(result)
        loop.take_in(changed("a/y"))
        await settled(loop, result)
        assert result.taken() == ["a/one", "a/y"]


class Listing(Lengths):
    """Lists one key, which has the number of the listing, after a second. One listing may fail."""

    def __init__(self, failing: int = 0) -> None:
        super().__init__()
        self.listed = 0
        self._failing = failing

    async def every(self) -> AsyncIterator[Iterable[str]]:
        """Yield the key."""
        self.listed += 1
        number = self.listed
        await asyncio.sleep(1.0)
        if number == self._failing:
            raise OpaUnavailable("away")
        yield [f"a/{number}"]


async def test_keys_listed_before_a_renewal_are_dropped() -> None:
    result = Listing()
    async with computing(result) as (loop, _):
        result.taken()
        loop.renew(result)
        await asyncio.sleep(0.5)
        loop.renew(result)
        await settled(loop, result)
        assert result.taken() == ["a/3"]


async def test_a_listing_that_fails_after_a_renewal_makes_nothing_stale() -> None:
    result = Listing(failing=2)
    async with computing(result) as (loop, _):
        result.taken()
        loop.renew(result)
        await asyncio.sleep(0.5)
        loop.renew(result)
        await settled(loop, result)
        assert (result.taken(), result.listed) == (["a/3"], 3)


async def test_a_result_is_settled_once_for_each_time_that_something_was_stale() -> None:
    result = Lengths()
    async with computing(result) as (loop, _):
        result.settled.clear()
        loop.add(result, ())
        await asyncio.sleep(10)
        loop.add(result, ["a/x"])
        await asyncio.sleep(10)
        assert result.settled == [loop.revision, loop.revision]


class Hearing(Lengths):
    """A result that needs no query: it hears of changes when OPA has them. Each key rests for five seconds."""

    asks = False

    def __init__(self, loop: list[Loop], *known: str) -> None:
        super().__init__(*known)
        self.loop = loop
        self.rested: dict[str, float] = {}

    def notice(self, change: Notice) -> None:
        """The changed objects are stale."""
        for loop in self.loop:
            loop.add(self, [f"{key.namespace}/{key.name}" for key in change.keys])

    def owner_of(self, key: str) -> str:
        """Each its own: one that rests delays no other."""
        return key

    def rest(self, key: str) -> float:
        """What is left of the five seconds."""
        return self.rested.get(key, 0.0) - asyncio.get_running_loop().time()

    def take(self, stale: Turns[str]) -> Iterable[Sequence[str]]:
        """One that has rested."""
        return [stale.take(1, lambda key: self.rest(key) <= 0)]

    async def compute(self, keys: Sequence[str]) -> None:
        """Begin a rest."""
        await super().compute(keys)
        for key in keys:
            self.rested[key] = asyncio.get_running_loop().time() + 5


async def test_a_result_that_does_not_ask_hears_of_a_change_while_another_waits_for_the_answer() -> None:
    loops: list[Loop] = []
    hearing, asking = Hearing(loops), Lengths()
    async with computing(hearing, asking) as (loop, opa):
        loops.append(loop)
        loop.take_in(changed("a/x"))
        assert not loop.is_settled(hearing)
        await loop.settled(hearing)
        assert (hearing.taken(), asking.taken()) == (["a/x"], [])
        await settled(loop, asking)
        assert (hearing.taken(), asking.taken(), len(opa.queries)) == ([], ["a/x"], 1)


async def test_a_result_hears_of_changes_of_its_types_alone() -> None:
    loops: list[Loop] = []
    hearing = Hearing(loops)
    hearing.types = frozenset({"core/Pod"})
    async with computing(hearing) as (loop, _):
        loops.append(loop)
        loop.take_in(changed("a/x"))
        await asyncio.sleep(10)
        assert hearing.taken() == []
        loop.take_in(Notice((parse_key("core/Service/a/x"), parse_key("core/Pod/a/y"))))
        await asyncio.sleep(10)
        assert hearing.taken() == ["a/x", "a/y"]


async def test_a_key_rests_and_keeps_no_other_from_its_turn() -> None:
    loops: list[Loop] = []
    hearing = Hearing(loops, "a/one")
    async with computing(hearing) as (loop, opa):
        loops.append(loop)
        loop.take_in(changed("a/one"))
        await asyncio.sleep(0.5)
        loop.take_in(changed("a/x"))
        await asyncio.sleep(2)
        loop.take_in(changed("a/one"))
        assert hearing.taken() == ["a/one", "a/x"]
        assert not loop.is_settled(hearing)
        await loop.settled(hearing)
        assert hearing.taken() == ["a/one"]
        first, _, again = hearing.begun_at
        assert round(again - first, 1) == 6.0
        assert not opa.queries


async def test_further_keys_are_listed_while_others_rest() -> None:
    hearing = Hearing([], "a/one", "a/two")
    async with computing(hearing) as (loop, _):
        hearing.taken()
        hearing.rested["a/two"] = 0.0
        loop.renew(hearing)
        await asyncio.sleep(2)
        assert hearing.taken() == ["a/two"]
        await settled(loop, hearing)
        assert hearing.taken() == ["a/one"]


async def test_everything_is_stale_again_after_a_period() -> None:
    result = Lengths("a/one")
    result.period = 60.0
    async with computing(result, Lengths("b/two")) as (_, _):
        await asyncio.sleep(200)
        begun = [round(at - result.begun_at[0]) for at in result.begun_at]
        assert begun == [0, 60, 120, 180]


async def test_a_period_ends_only_when_nothing_is_stale() -> None:
    result = Lengths("a/one")
    result.period = 10.0
    async with computing(result) as (loop, _):
        result.taken()
        loop.add(result, [f"a/{number}" for number in range(15)])
        await asyncio.sleep(18)
        assert result.taken() == [*(f"a/{number}" for number in range(15)), "a/one"]


async def test_the_number_of_stale_keys_and_the_syncs_are_known() -> None:
    result = Lengths()
    async with computing(result) as (loop, _):
        loop.add(result, ["a/x", "a/y", "a/z"])
        assert (loop.count_stale(result), loop.count_stale(Lengths())) == (3, 0)
        epoch = loop.epoch
        assert loop.is_synced
        loop.take_in(SYNCING)
        assert (loop.is_synced, loop.epoch) == (False, epoch + 1)
        loop.take_in(SYNCED)
        assert (loop.is_synced, loop.epoch) == (True, epoch + 2)
