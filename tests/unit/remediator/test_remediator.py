"""How the remediator continues after errors; its results are tested against the real OPA."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bridge.derived.loop import Loop
from bridge.model.changes import Notice
from bridge.model.keys import Key, parse_key
from bridge.opa.batches import in_parts
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaRejected, OpaUnavailable
from bridge.remediator.remediator import Remediator
from bridge.remediator.write_loop import Gone, MemorySink, Patch
from bridge.work import WRITERS_EACH, Budget
from tests.working import working

pytestmark = pytest.mark.fake_time

KIND = "x/P"
POLICY = "x/P/n/p"
MARK = ["g/R/n/a", ""]
ROW = {
    "policy": POLICY,
    "targets": [],
    "ancestor": "",
    "outcome": "Programmed",
    "by": [],
    "count": 1,
    "examples": ["s"],
    "marks": [MARK],
}
CONFLICT = OpaRejected(500, "internal_error", "it failed", [{"code": "eval_conflict_error", "message": "two values"}])


class Answers(Opa):
    """A client of OPA that returns prepared results. `failing` may raise instead."""

    def __init__(self, failing: Callable[[str, Any], OpaError | None] = lambda *_: None) -> None:
        super().__init__("http://localhost")
        self.failing = failing
        self.requested: list[str] = []
        self.status: list[dict[str, Any]] = []
        self.policies: list[str] = []  # that a change concerns
        self.mode = "Manage"

    async def get(self, path: str) -> Any:
        """The policy kinds."""
        return {KIND: {"mode": self.mode, "controllerName": "x/c", "kind": "P"}}

    async def query(self, name: str, input_document: Any) -> Any:
        """One policy at two targets."""
        self.requested.append(name)
        await asyncio.sleep(0.001)
        if error := self.failing(name, input_document):
            raise error
        match name:
            case "outdated":
                return {"scopes": {KIND: ["g/R/n/a", "g/R/n/b"]}, "objects": [], "policies": self.policies}
            case "outcomes":
                return {target: [ROW] for target in input_document["targets"]}
            case "scopes":
                return {KIND: ["g/R/n/a", "g/R/n/b"]}
            case "policies":
                return [f"{POLICY}{number}" for number in range(20)]
            case "reports":
                seen = {"status": {}, "annotations": {}, "resourceVersion": "1"}
                wanted = {entry["policy"]: entry for entry in self.status}
                items = [item for item in input_document["items"] if item[0] == "policy" and item[1] in wanted]
                return [{"item": item, "desired": wanted[item[1]], "current": seen} for item in items]
            case _:
                return []


async def test_a_key_that_fails_in_evaluation_is_left_out_and_the_others_are_answered() -> None:
    opa = Answers(lambda _, requested: CONFLICT if "c" in requested["targets"] else None)
    parts = await in_parts(opa, "outcomes", "targets", list("abcde"), {})
    assert all(answer == {key: [ROW] for key in keys} for keys, answer in parts)
    assert [key for keys, _ in parts for key in keys] == list("abde")


async def test_an_opa_that_refuses_for_another_reason_is_an_error() -> None:
    with pytest.raises(OpaRejected):
        await in_parts(Answers(lambda *_: OpaRejected(401, "unauthorized", "no")), "outcomes", "targets", ["a"], {})


class Sink(MemorySink):
    """Takes its time, and may stop to be the one that writes."""

    def __init__(self) -> None:
        super().__init__()
        self.held = True
        self.served = True
        self.seconds: dict[str, float] = {}  # that a write takes, by namespace

    async def write(self, key: Key, patch: Patch, resource_version: str) -> None:
        """As slow as an API server."""
        await asyncio.sleep(self.seconds.get(key.namespace, 0.01))
        if not self.served:
            raise Gone
        await super().write(key, patch, resource_version)

    def may_write(self) -> bool:
        """Whatever the test says."""
        return self.held


@asynccontextmanager
async def remediating(
    budget: Budget, sink: Sink | None = None
) -> AsyncIterator[tuple[Remediator, Loop, Answers, Sink]]:
    sink = sink or Sink()
    opa = Answers()
    opa.status = [
        {
            "policy": f"{POLICY}{number}",
            "policyKind": KIND,
            "mode": "Manage",
            "conditions": [condition()],
            "types": [],
        }
        for number in range(20)
    ]
    loop = Loop(opa)
    remediator = Remediator(loop, opa, sink, budget)
    async with working(loop.run, remediator.run):
        yield remediator, loop, opa, sink


def condition() -> dict[str, Any]:
    return {"type": "Accepted", "status": "True", "reason": "Accepted", "message": ""}


def all_policies() -> Notice:
    return Notice(reported=tuple(Key("x", "P", "n", f"p{number}") for number in range(20)))


async def test_after_the_lease_is_lost_nothing_more_of_a_batch_is_written() -> None:
    async with remediating(Budget(1, 1)) as (remediator, loop, _, sink):
        loop.take_in(Notice(refilled=True))
        loop.take_in(all_policies())
        await asyncio.sleep(5.5)
        sink.held = False
        written = len(sink.statuses)
        assert 3 < written < 15
        await asyncio.sleep(60)
        assert len(sink.statuses) <= written + 1
        sink.held = True
        await remediator.settled()
        assert len(sink.statuses) == 20


async def test_first_statuses_are_planned_in_batches_at_the_pace_of_the_budget() -> None:
    async with remediating(Budget(50, 10)) as (remediator, loop, opa, sink):
        [one, *_] = opa.status
        names = [f"x/P/n{number % 40}/p{number}" for number in range(400)]
        opa.status = [{**one, "policy": name} for name in names]
        loop.take_in(Notice(refilled=True))
        await remediator.settled()
        loop.take_in(Notice(reported=tuple(map(parse_key, names))))
        await remediator.settled()
        assert len(sink.statuses) == 400
        assert opa.requested.count("reports") <= 100  # of 400 policies, and of as many objects


async def test_nothing_is_written_while_opa_is_synced_again() -> None:
    async with remediating(Budget(1000, 1000)) as (remediator, loop, opa, sink):
        loop.take_in(all_policies())
        await asyncio.sleep(10)
        assert sink.statuses == {}
        loop.take_in(Notice(refilled=True))
        await remediator.settled()
        assert len(sink.statuses) == 20
        sink.statuses.clear()
        loop.take_in(Notice(refilling=True))
        loop.take_in(all_policies())
        await asyncio.sleep(10)
        assert sink.statuses == {}
        opa.failing = lambda name, _: OpaUnavailable("away") if name == "scopes" else None
        loop.take_in(Notice(refilled=True))
        await asyncio.sleep(10)
        assert sink.statuses == {}
        opa.failing = lambda *_: None
        await remediator.settled()
        assert len(sink.statuses) == 20


async def test_a_status_that_was_computed_before_an_initial_sync_is_not_written() -> None:
    async with remediating(Budget(1, 1)) as (_, loop, _, sink):
        loop.take_in(Notice(refilled=True))
        loop.take_in(all_policies())
        await asyncio.sleep(2.5)
        loop.take_in(Notice(refilling=True))
        written = len(sink.statuses)
        await asyncio.sleep(60)
        assert len(sink.statuses) <= written + 1


async def test_statuses_are_written_after_their_type_was_unavailable_for_a_moment() -> None:
    async with remediating(Budget(1000, 1000)) as (remediator, loop, _, sink):
        sink.served = False
        loop.take_in(Notice(refilled=True))
        await asyncio.sleep(5)
        sink.served = True
        await remediator.settled()
        assert len(sink.statuses) == 20


async def test_write_for_a_deleted_object_ends_once_opa_does_not_have_it() -> None:
    async with remediating(Budget(1000, 1000)) as (remediator, loop, opa, sink):
        sink.served = False
        loop.take_in(Notice(refilled=True))
        await asyncio.sleep(5)
        opa.status.clear()
        await remediator.settled()
        assert sink.statuses == {}


async def test_kinds_in_mode_observe_are_counted_for_a_follower_that_comes_while_everything_is_computed() -> None:
    async with remediating(Budget(1000, 1000)) as (remediator, loop, opa, _):
        opa.mode = "Observe"
        loop.take_in(Notice(refilled=True))
        while not opa.requested:  # noqa: ASYNC110 - from then on the kinds have been read
            await asyncio.sleep(0)
        remediator.follow(lambda _: None)
        await asyncio.sleep(1)
        assert remediator.tallies(POLICY)


async def test_slow_writes_of_a_namespace_do_not_delay_another() -> None:
    async with remediating(Budget(1000, 1000)) as (remediator, loop, opa, sink):
        sink.seconds = {"n": 7.0}
        quiet = Key("x", "P", "quiet", "p")
        opa.status.append({**opa.status[0], "policy": str(quiet)})
        loop.take_in(Notice(refilled=True))
        loop.take_in(all_policies())
        await asyncio.sleep(1)
        loop.take_in(Notice(reported=(quiet,)))
        await asyncio.sleep(1)
        assert list(sink.statuses) == [quiet]
        await asyncio.sleep(6)
        assert len(sink.statuses) == 1 + WRITERS_EACH
        await remediator.settled()
        assert len(sink.statuses) == 21


async def test_status_of_a_changed_object_comes_before_its_namespaces_backlog() -> None:
    async with remediating(Budget(1, 1)) as (_, loop, opa, sink):
        changed = Key("x", "P", "n", "z")
        opa.status.append({**opa.status[0], "policy": str(changed)})
        loop.take_in(Notice(refilled=True))
        loop.take_in(all_policies())
        await asyncio.sleep(2.5)
        opa.policies = [str(changed)]
        loop.take_in(Notice(keys=(changed,)))
        await asyncio.sleep(7)  # writes that began before
        assert changed in sink.statuses
        assert len(sink.statuses) < 12


async def test_waits_for_the_budget_do_not_make_a_namespace_slow() -> None:
    async with remediating(Budget(1, 1)) as (remediator, loop, _, sink):
        loop.take_in(Notice(refilled=True))
        loop.take_in(all_policies())
        await remediator.settled()
        assert len(sink.statuses) == 20
        assert not remediator._writers._slow


class LargeChange(Answers):
    """A change in namespace n concerns 3,000 targets; one elsewhere one target, and the policy of namespace n."""

    async def query(self, name: str, input_document: Any) -> Any:
        """As Answers; notes the queries for reports of the policy."""
        answer = await super().query(name, input_document)
        if name == "reports" and any(key == f"{POLICY}0" for _, key in input_document["items"]):
            self.requested.append("report of the policy")
        if name == "outdated" and f"{POLICY}0" in input_document["keys"]:
            return {**answer, "scopes": {KIND: [f"g/R/n/r{number}" for number in range(3_000)]}}
        if name == "outdated":
            return {**answer, "scopes": {KIND: ["g/R/other/a"]}, "policies": [f"{POLICY}0"]}
        return answer


async def test_status_of_a_policy_is_not_written_while_its_own_change_is_half_computed() -> None:
    opa, sink = LargeChange(), Sink()
    loop = Loop(opa)
    remediator = Remediator(loop, opa, sink, Budget(1000, 1000))
    async with working(loop.run, remediator.run):
        loop.take_in(Notice(refilled=True))
        await remediator.settled()
        opa.requested.clear()
        loop.take_in(Notice((Key("x", "P", "n", "p0"),)))
        await asyncio.sleep(0.003)
        loop.take_in(Notice((Key("g", "R", "other", "a"),)))
        await remediator.settled()
        assert opa.requested.count("outcomes") > 3
        assert opa.requested[-1] == "report of the policy"
        assert opa.requested.count("report of the policy") == 1


class SlowToSayWhatIsMarked(Answers):
    """What is marked takes half a second."""

    async def query(self, name: str, input_document: Any) -> Any:
        """As Answers."""
        if name == "marked_objects":
            await asyncio.sleep(0.5)
        return await super().query(name, input_document)


async def test_notices_during_the_query_for_marked_objects_are_settled_too() -> None:
    opa = SlowToSayWhatIsMarked()
    loop = Loop(opa)
    remediator = Remediator(loop, opa, MemorySink(), Budget(1_000, 1_000))
    async with working(loop.run, remediator.run):
        loop.take_in(Notice(refilled=True))
        await remediator.settled()
        while not remediator._computing.former and remediator._busy == 0:  # noqa: ASYNC110 (it has no event)
            await asyncio.sleep(0.01)
        loop.take_in(Notice())
        await asyncio.wait_for(remediator.settled(), 300)
