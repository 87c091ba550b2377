"""How effective policies are followed; what the queries say is tested against the real OPA."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

from bridge.derived.loop import Loop
from bridge.model.changes import Notice
from bridge.model.keys import parse_key
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError, OpaIncomplete, OpaRejected, OpaUnavailable
from bridge.sidecar.program import Backing
from bridge.web.subscriptions import Followed, Following
from tests.eventually import eventually
from tests.working import working

KIND = "x/P"
RULE = "g/R/n/a#r"
OTHER = "g/R/n/b#r"
ROUTE = parse_key("g/R/n/a")
CHANGE = Notice(keys=(parse_key("x/P/n/p"),))
SPOILT = OpaRejected(500, "internal_error", "it failed", [{"code": "eval_conflict_error", "message": "two values"}])


class Answers(Opa):
    """A client of OPA that returns prepared results."""

    def __init__(self) -> None:
        super().__init__("http://localhost")
        self.requested: list[str] = []
        self.sources: list[str] = []  # of the queries after the last change
        self.paths: dict[str, list[Any]] = {RULE: [{"spec": 1}]}
        self.failing: dict[str, OpaError] = {}

    async def query(self, name: str, input_document: Any) -> Any:
        """The effective policies at the targets of `paths`."""
        self.requested.append(name)
        await asyncio.sleep(0)
        if error := self.failing.get(name):
            raise error
        if name == "outdated":
            self.sources.clear()
            return {"scopes": {KIND: sorted(self.paths)}, "objects": []}
        if name == "effective":
            return [{"target": target, "policyKind": KIND, "paths": paths} for target, paths in self.paths.items()]
        self.sources.append(input_document.get("sourceNamespace", ""))
        targets = input_document["scopes"][KIND]
        if OTHER in targets and len(targets) > 1:
            raise SPOILT
        return [
            {"target": target, "policyKind": KIND, "paths": self.paths[target], "watched": input_document["watched"]}
            for target in targets
            if target != OTHER
        ]


@asynccontextmanager
async def at_work(opa: Answers) -> AsyncIterator[tuple[Following, Loop]]:
    """Something that follows, requested of this OPA, and the loop that computes it."""
    following, loop = Following(), Loop(opa)
    following.open(cast("Backing", SimpleNamespace(opa=opa, loop=loop)))
    async with working(loop.run):
        yield following, loop


async def until(condition: Any) -> None:
    """Wait until something holds."""
    await eventually(condition, patience=120, pause=0.001)


def current(followed: list[Followed]) -> bool:
    """Whether the effective policies are known."""
    return all(one.current for one in followed)


async def test_any_number_of_readers_cost_one_query() -> None:
    opa = Answers()
    async with at_work(opa) as (following, loop):
        with (
            following.following([ROUTE], None, None) as (first, followed),
            following.following([ROUTE], None, None) as (second, _),
        ):
            await until(lambda: current(followed))
            assert opa.requested == ["effective"]
            opa.paths = {RULE: [{"spec": 2}]}
            loop.take_in(CHANGE)
            await until(lambda: first.wake.is_set() and following.settled == following.revision)
            assert opa.requested == ["effective", "outdated", "watch_results"]
            assert list(first.differing) == list(second.differing) == [(RULE, KIND)]
            assert followed[0].entries[RULE, KIND]["paths"] == [{"spec": 2}]
        assert not following.knows([ROUTE], None, None)


async def test_many_source_namespaces_of_a_client_delay_no_other_client_and_each_has_its_turn() -> None:
    opa = Answers()
    async with at_work(opa) as (following, loop):
        with ExitStack() as stack:
            of_many = [
                stack.enter_context(following.following([ROUTE], None, f"n{number}", "many"))[0] for number in range(50)
            ]
            _, followed = stack.enter_context(following.following([ROUTE], None, "own", "single"))
            await until(lambda: current(followed))
            await until(lambda: following.settled == following.revision)
            for spec in range(2, 60):
                opa.paths = {RULE: [{"spec": spec}]}
                loop.take_in(CHANGE)
                await until(lambda spec=spec: followed[0].entries[RULE, KIND]["paths"] == [{"spec": spec}])
                assert "own" in opa.sources[:3]  # what was begun before ends first: of two sources
            assert all(one.differing for one in of_many)
            await until(lambda: following.settled == following.revision)


async def test_slow_reader_gets_the_latest_only() -> None:
    opa = Answers()
    async with at_work(opa) as (following, loop):
        with following.following([ROUTE], None, None) as (reader, followed):
            await until(lambda: current(followed))
            reader.differing.clear()
            for spec in range(2, 50):
                opa.paths = {RULE: [{"spec": spec}]}
                loop.take_in(CHANGE)
                await until(lambda: following.settled == following.revision)
            assert list(reader.differing) == [(RULE, KIND)]
            assert followed[0].entries[RULE, KIND]["paths"] == [{"spec": 49}]


async def test_nothing_is_queried_while_no_client_follows() -> None:
    opa = Answers()
    async with at_work(opa) as (following, loop):
        loop.take_in(CHANGE)
        await asyncio.sleep(0.01)
        assert opa.requested == []
        assert following.settled == following.revision


async def test_an_opa_that_is_unavailable_is_queried_again() -> None:
    opa = Answers()
    opa.failing["effective"] = OpaUnavailable("away")
    async with at_work(opa) as (following, _):
        with following.following([ROUTE], None, None) as (_, followed):
            await until(lambda: opa.requested)
            assert not current(followed)
            opa.failing.clear()
            await until(lambda: current(followed))


async def test_effective_policies_stay_while_an_opa_that_was_emptied_lacks_objects() -> None:
    opa = Answers()
    async with at_work(opa) as (following, loop):
        with following.following([ROUTE], None, None) as (reader, followed):
            await until(lambda: current(followed))
            for failing in (("effective", "watch_results"), ("outdated",)):
                opa.failing = dict.fromkeys(failing, OpaIncomplete("the initial sync of OPA is incomplete"))
                asked = len(opa.requested)
                loop.take_in(CHANGE)
                loop.add(following, followed)
                reader.differing.clear()
                await until(lambda asked=asked: {*opa.requested[asked + 1 :]} & {*opa.failing})
                assert followed[0].entries[RULE, KIND]["paths"] == [{"spec": 1}]
                assert not reader.differing
                opa.failing.clear()
                await until(lambda: following.settled == following.revision)
            assert followed[0].entries[RULE, KIND]["paths"] == [{"spec": 1}]


async def test_a_target_that_spoils_a_query_is_left_out_alone() -> None:
    opa = Answers()
    async with at_work(opa) as (following, loop):
        with following.following([ROUTE], None, None) as (_, followed):
            await until(lambda: current(followed))
            opa.paths = {RULE: [{"spec": 2}], OTHER: []}
            loop.take_in(CHANGE)
            await until(lambda: following.settled == following.revision)
            assert followed[0].entries[RULE, KIND]["paths"] == [{"spec": 2}]


async def test_after_opa_was_synced_again_everything_is_queried_again() -> None:
    opa = Answers()
    async with at_work(opa) as (following, loop):
        with following.following([ROUTE], None, None) as (reader, followed):
            await until(lambda: current(followed))
            reader.differing.clear()
            opa.paths = {}
            loop.take_in(Notice(refilling=True))
            loop.take_in(Notice(refilled=True))
            await until(lambda: following.settled == following.revision)
            assert opa.requested == ["effective", "effective"]
            assert list(reader.differing) == [(RULE, KIND)]
            assert followed[0].entries == {}
