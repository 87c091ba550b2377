"""Which changes are computed when; what is computed is tested against the real OPA."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bridge.derived.loop import Loop
from bridge.model.changes import Notice
from bridge.model.keys import Key
from bridge.opa.errors import OpaError, OpaRejected, OpaTimeout, OpaUnavailable
from bridge.remediator.remediator import Remediator
from bridge.remediator.write_loop import MemorySink
from bridge.work import Budget
from tests.unit.remediator.test_remediator import CONFLICT, KIND, POLICY, ROW, Answers
from tests.working import working

pytestmark = pytest.mark.fake_time

Seconds = Callable[[str, Any], float]
SHORT = 5.0  # seconds that a client of OPA waits


class Costly(Answers):
    """An OPA whose queries take as long as `seconds` says; `targets` are those of a namespace's changes."""

    def __init__(self, targets: dict[str, int] | None = None, seconds: Seconds = lambda *_: 0.0) -> None:
        super().__init__()
        self.targets = targets or {}
        self.seconds = seconds
        self.asked: list[tuple[str, list[str]]] = []  # queries about changes and targets, with their namespaces
        self.kept: list[Any] = []  # the counts that queries about small changes were given
        self.small = False  # whether small changes are computed at once
        self.controller = "x/c"

    async def get(self, path: str) -> Any:
        """The policy kind, of one controller or another."""
        return {KIND: {"mode": "Manage", "controllerName": self.controller, "kind": "P"}}

    async def query(self, name: str, input_document: Any) -> Any:
        """A change concerns targets of its namespace."""
        if error := self.failing(name, input_document):
            raise error
        about = input_document.get("keys") or input_document.get("targets")
        if name in {"outdated", "outcomes"}:
            self.asked.append((name, sorted({key.split("/")[2] for key in about})))
        needed = self.seconds(name, about)
        await asyncio.sleep(min(needed, SHORT) or 0.001)
        if needed > SHORT:
            raise OpaTimeout("no answer within 5 s")
        if name == "outdated":
            return self.affected(about, input_document["wanted"])
        if name == "outcomes":
            return {target: [ROW] for target in about}
        if name == "policies":
            return [POLICY]
        return (
            {KIND: [f"g/R/all/r{number}" for number in range(self.targets.get("all", 1))]} if name == "scopes" else []
        )

    def affected(self, about: list[str], wanted: Any) -> Any:
        """The targets of the changes' namespaces."""
        spaces = sorted({key.split("/")[2] for key in about})
        targets = [f"g/R/{space}/r{number}" for space in spaces for number in range(self.targets.get(space, 1))]
        found = {"scopes": {KIND: targets}, "objects": [], "policies": []}
        if self.small and "remediation" in wanted and len(targets) <= 100:
            self.kept.append(wanted["remediation"]["kept"])
            reports = [{"item": ["policy", POLICY]}]
            found["remediation"] = {"outcomes": {KIND: {target: [ROW] for target in targets}}, "reports": reports}
        return found

    async def is_ready(self) -> bool:
        """Whatever else it does, it answers."""
        return True


@asynccontextmanager
async def following(opa: Costly) -> AsyncIterator[tuple[Loop, Remediator, list[tuple[float, frozenset[str]]]]]:
    """A loop and a remediator after a sync, and the reports of changes, with their times."""
    loop = Loop(opa)
    remediator = Remediator(loop, opa, MemorySink(), Budget(1e6, 1_000_000))
    reports: list[tuple[float, frozenset[str]]] = []
    clock = asyncio.get_running_loop().time
    async with working(loop.run, remediator.run):
        loop.take_in(Notice(refilled=True))
        await remediator.settled()
        remediator.follow(lambda policies: reports.append((clock(), policies)))
        await remediator.settled()
        opa.asked.clear()
        reports.clear()
        yield loop, remediator, reports


def changed(*names: str, **more: Any) -> Notice:
    """A change of these objects, `namespace/name`."""
    return Notice(tuple(Key("g", "R", *name.split("/")) for name in names), **more)


def keys_of(reports: list[tuple[float, frozenset[str]]]) -> list[set[str]]:
    """The changed objects of each report with any, as `namespace/name`."""
    found = [{key.removeprefix("g/R/") for key in keys if key.startswith("g/R/")} for _, keys in reports]
    return [keys for keys in found if keys]


async def test_namespace_with_many_targets_delays_another_by_two_queries() -> None:
    opa = Costly({"a": 10_000, "b": 500}, lambda name, _: 0.2 if name == "outcomes" else 0.01)
    async with following(opa) as (loop, remediator, reports):
        loop.take_in(changed("a/x"))
        await asyncio.sleep(3)
        loop.take_in(changed("b/y"))
        opa.asked.clear()
        await asyncio.sleep(3)
        while {"b/y"} not in keys_of(reports):  # noqa: ASYNC110 - the clock jumps
            await asyncio.sleep(0.1)
        order = [space for name, (space,) in opa.asked if name == "outcomes"]
        turns = [first != second for first, second in itertools.pairwise(order)]
        assert all(turns[: 2 * order.count("b") - 2])
        await remediator.settled()
        assert keys_of(reports) == [{"b/y"}, {"a/x"}]


async def test_change_is_settled_although_its_namespace_has_later_ones_again_and_again() -> None:
    opa = Costly({"a": 2_000}, lambda name, _: 0.2 if name == "outcomes" else 0.01)
    async with following(opa) as (loop, _, reports):
        for number in range(20):
            opa.targets["a"] += 200  # each change concerns further targets
            loop.take_in(changed(f"a/x{number}"))
            await asyncio.sleep(1)
        assert {"a/x0"} in keys_of(reports)


async def test_small_changes_of_many_namespaces_are_one_query() -> None:
    opa = Costly()
    async with following(opa) as (loop, remediator, _):
        loop.take_in(changed("n0/x"))
        await asyncio.sleep(0.0005)
        for number in range(1, 50):
            loop.take_in(changed(f"n{number}/x"))
        await remediator.settled()
        assert [name for name, _ in opa.asked].count("outdated") == 2


async def test_changes_of_several_namespaces_with_many_targets_are_asked_about_alone() -> None:
    opa = Costly({"a": 5_000})
    async with following(opa) as (loop, remediator, reports):
        loop.take_in(changed("first/x"))
        await asyncio.sleep(0.0005)
        loop.take_in(changed("a/x"))
        loop.take_in(changed("b/y"))
        await remediator.settled()
        assert [spaces for name, spaces in opa.asked if name == "outdated"] == [["first"], ["a", "b"], ["b"], ["a"]]
        assert keys_of(reports)[-1] == {"a/x"}


async def test_change_that_takes_too_long_waits_alone_and_delays_no_other() -> None:
    def seconds(name: str, about: list[str]) -> float:
        return 60.0 if name == "outdated" and "g/R/a/x7" in about else 0.0

    opa = Costly(seconds=seconds)
    async with following(opa) as (loop, remediator, reports):
        began = asyncio.get_running_loop().time()
        loop.take_in(changed(*(f"a/x{number}" for number in range(10))))
        await asyncio.sleep(SHORT + 0.1)
        loop.take_in(changed("b/y"))
        await asyncio.sleep(0.1)
        assert keys_of(reports) == [{"b/y"}]
        await remediator.settled()
        assert keys_of(reports)[-1] == {f"a/x{number}" for number in range(10)}
        assert reports[-1][0] - began < 35
        opa.asked.clear()
        await asyncio.sleep(100)
        assert 8 < len(opa.asked) < 20  # with growing delays
        assert {name for name, _ in opa.asked} == {"outdated"}


async def test_targets_of_a_query_that_fails_are_computed_alone() -> None:
    opa = Costly({"a": 200})
    opa.failing = lambda name, asked: CONFLICT if name == "outcomes" and "g/R/a/r7" in asked["targets"] else None
    async with following(opa) as (loop, remediator, reports):
        loop.take_in(changed("a/x"))
        await remediator.settled()
        assert keys_of(reports)[-1] == {"a/x"}
        assert list(opa.failures.errors) == [("outcomes", f"{KIND} at g/R/a/r7")]
        assert len(remediator._ledger) == 1 + 199


async def test_target_that_takes_too_long_is_computed_again_with_growing_delays() -> None:
    opa = Costly({"a": 3}, lambda name, about: 60.0 if name == "outcomes" and "g/R/a/r1" in about else 0.0)
    async with following(opa) as (loop, remediator, reports):
        loop.take_in(changed("a/x"))
        await remediator.settled()
        assert keys_of(reports)[-1] == {"a/x"}
        opa.seconds = lambda *_: 0.0
        await asyncio.sleep(60)
        assert len(remediator._ledger) == 1 + 3


async def test_change_of_policy_kinds_takes_along_all_that_waits() -> None:
    opa = Costly()
    async with following(opa) as (loop, remediator, reports):
        loop.take_in(changed("first/x"))
        await asyncio.sleep(0.0005)
        loop.take_in(changed("b/y"))
        loop.take_in(Notice((Key("policybridge.io", "PolicyKind", "-", "k"),), kinds=True))
        loop.take_in(changed("c/z"))
        await remediator.settled()
        assert [spaces for name, spaces in opa.asked if name == "outdated"] == [["first"], ["-", "b", "c"]]
        assert keys_of(reports)[-1] == {"b/y", "c/z"}


@pytest.mark.parametrize("failing", ["policies", "scopes", "marked_objects", "outcomes"])
@pytest.mark.parametrize("error", [OpaUnavailable("away"), OpaRejected(500, "internal_error", "odd")])
async def test_error_while_all_of_a_kind_is_computed_loses_none_of_its_targets(failing: str, error: OpaError) -> None:
    opa = Costly({"all": 1_500})
    async with following(opa) as (loop, remediator, _):
        assert len(remediator._ledger) == 1_500
        opa.controller = "x/another"
        failures = [error]
        opa.failing = lambda name, _: failures.pop() if failures and name == failing else None
        loop.take_in(Notice((Key("policybridge.io", "PolicyKind", "a", "k"),), kinds=True))
        await remediator.settled()
        assert not failures
        assert len(remediator._ledger) >= 1_500
        assert remediator.is_complete


async def test_small_change_is_settled_while_everything_is_computed_and_without_incomplete_counts() -> None:
    opa = Costly({"all": 10_000}, lambda name, _: 0.2 if name == "outcomes" else 0.001)
    opa.small = True
    async with following(opa) as (loop, remediator, reports):
        loop.take_in(Notice(refilling=True))
        loop.take_in(Notice(refilled=True))
        await asyncio.sleep(2)
        assert not remediator.is_complete
        loop.take_in(changed("a/r1"))
        await asyncio.sleep(0.01)
        assert keys_of(reports) == [{"a/r1"}]
        await remediator.settled()
        loop.take_in(changed("a/r0"))
        await remediator.settled()
        assert opa.kept[-2:] == [{}, {POLICY: opa.kept[-1][POLICY]}]


async def test_older_answer_does_not_replace_a_newer_one() -> None:
    late = asyncio.Event()

    class Late(Costly):
        held = False

        async def query(self, name: str, input_document: Any) -> Any:
            answer = await super().query(name, input_document)
            if name == "outcomes" and self.held:
                self.held = False
                await late.wait()
                return {target: [] for target in input_document["targets"]}  # as before the later change
            return answer

    opa = Late()
    async with following(opa) as (loop, remediator, _):
        opa.held = True
        loop.take_in(changed("a/x"))
        await asyncio.sleep(1)
        opa.small = True
        loop.take_in(changed("a/y"))
        await asyncio.sleep(1)
        assert remediator._ledger.policies_at(KIND, "g/R/a/r0") == {POLICY}
        late.set()
        await remediator.settled()
        assert remediator._ledger.policies_at(KIND, "g/R/a/r0") == {POLICY}


async def test_counts_that_changed_during_a_query_are_not_reported() -> None:
    opa = Costly()
    opa.small = True
    async with following(opa) as (loop, remediator, _):
        loop.take_in(changed("a/r0"))  # its policy has one row there
        await remediator.settled()
        opa.requested.clear()
        opa.seconds = lambda name, _: 1.0 if name == "outdated" else 0.0
        loop.take_in(changed("a/r0"))
        await asyncio.sleep(0.5)
        remediator._ledger.replace(KIND, "g/R/b/r0", [ROW])
        await asyncio.sleep(0.6)
        assert ("policy", POLICY) not in remediator._reported


async def test_sync_during_a_query_forgets_its_answer() -> None:
    opa = Costly({"a": 5_000}, lambda *_: 1.0)
    async with following(opa) as (loop, remediator, reports):
        loop.take_in(changed("a/x"))
        await asyncio.sleep(0.5)
        loop.take_in(Notice(refilling=True))
        await asyncio.sleep(10)
        assert reports == []
        loop.take_in(Notice(refilled=True))
        await remediator.settled()
        assert len(remediator._ledger) == 1
