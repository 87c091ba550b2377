"""Which changes are computed when; what is computed is tested against the real OPA."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bridge.model.changes import Notice
from bridge.model.keys import Key
from bridge.opa.errors import OpaTimeout, OpaUnavailable
from bridge.remediator.computation import Computing, SettledShare, Shares
from bridge.remediator.ledger import Ledger
from tests.unit.remediator.test_remediator import KIND, ROW, Answers

pytestmark = pytest.mark.fake_time

Seconds = Callable[[str, Any], float]


class Costly(Answers):
    """An OPA whose queries take as long as `seconds` says; one of more than five seconds is given up."""

    def __init__(self, targets: dict[str, int], seconds: Seconds = lambda *_: 0.0) -> None:
        super().__init__()
        self.targets = targets  # effective targets that a change in a namespace concerns
        self.seconds = seconds
        self.queries: list[tuple[str, list[str]]] = []

    async def query(self, name: str, input_document: Any) -> Any:
        """Concerned targets are those of the changed objects' namespaces."""
        about = input_document.get("keys") or input_document.get("targets")
        if name in {"outdated", "remediation", "outcomes"}:
            self.queries.append((name, sorted({key.split("/")[2] for key in about})))
        needed = self.seconds(name, about)
        await asyncio.sleep(min(needed, 5.0))
        if needed > 5:
            raise OpaTimeout("no answer within 5 s")
        if name in {"outdated", "remediation"}:
            spaces = {key.split("/")[2] for key in about}
            targets = [f"g/R/{space}/r{number}" for space in spaces for number in range(self.targets.get(space, 1))]
            return {"scopes": {KIND: targets}, "objects": [], "policies": []}
        if name == "outcomes":
            return {target: [ROW] for target in about}
        return {} if name == "scopes" else []

    async def is_ready(self, *, bundles: bool = False) -> bool:
        """Whatever else it does, it answers."""
        return True


async def settle(opa: Answers, shares: Shares, rounds: int = 1_000) -> list[tuple[float, SettledShare]]:
    """All that is settled, with the time."""
    found = []
    while shares and (rounds := rounds - 1):
        settled = await shares.step()
        if settled is not None:
            found.append((asyncio.get_running_loop().time(), settled))
    return found


async def shares_of(opa: Answers) -> Shares:
    computing = Computing(opa, Ledger())
    [_ async for _ in computing.settle(Notice(refilled=True), SettledShare(Notice()).dirty, {})]
    return Shares(computing, opa, lambda: None)


def changed(*keys: str) -> Notice:
    return Notice(tuple(Key("g", "R", *key.split("/")) for key in keys))


def spaces_of(found: list[tuple[float, SettledShare]]) -> list[list[str]]:
    return [sorted({key.namespace for key in settled.notice.keys}) for _, settled in found]


async def test_namespace_with_many_targets_delays_another_by_one_query() -> None:
    opa = Costly({"a": 50_000})
    shares = await shares_of(opa)
    shares.note(changed("a/x"))
    for _ in range(10):
        assert await shares.step() is None
    shares.note(changed("b/y"))
    before = len(opa.queries)
    while (settled := await shares.step()) is None:
        pass
    assert [space for _, (space,) in opa.queries[before:]].count("a") <= 2
    first = [(0.0, settled)]
    assert spaces_of(first + await settle(opa, shares)) == [["b"], ["a"]]


async def test_small_changes_of_many_namespaces_are_computed_together() -> None:
    opa = Costly({})
    shares = await shares_of(opa)
    for number in range(50):
        shares.note(changed(f"n{number}/x"))
    await settle(opa, shares)
    assert [name for name, _ in opa.queries] == ["remediation", "outcomes"]


async def test_change_that_takes_too_long_is_found_by_halves_and_waits_alone() -> None:
    def seconds(name: str, about: list[str]) -> float:
        return 60.0 if name in {"outdated", "remediation"} and "g/R/a/x7" in about else 0.0

    opa = Costly({}, seconds)
    shares = await shares_of(opa)
    shares.note(changed(*(f"a/x{number}" for number in range(10))))
    found = await settle(opa, shares)
    settled = {str(key) for _, one in found for key in one.notice.keys}
    assert settled == {f"g/R/a/x{number}" for number in range(10)} - {"g/R/a/x7"}
    clock = asyncio.get_running_loop().time
    waits = []
    for _ in range(4):
        gave_up = clock()
        while not shares:  # noqa: ASYNC110 - the time that it takes is what the test is about
            await asyncio.sleep(0.1)
        waits.append(round(clock() - gave_up, 1))
        await settle(opa, shares)
    assert waits == [0.1, 0.2, 0.4, 0.8]


async def test_no_object_is_lost_where_the_first_query_takes_too_long() -> None:
    class Late(Costly):
        asked = True

        async def get(self, path: str) -> Any:
            """The first time there is no answer."""
            if not self.asked:
                self.asked = True
                raise OpaTimeout("no answer within 5 s")
            return await super().get(path)

    opa = Late({})
    shares = await shares_of(opa)
    opa.asked = False
    changed_keys = tuple(Key("g", "R", "a", name) for name in ("x", "y"))
    shares.note(Notice(changed_keys, (Key("g", "R", "a", "reported"),), kinds=True))
    assert {key for _, one in await settle(opa, shares) for key in one.dirty.objects} >= {
        "g/R/a/x",
        "g/R/a/y",
        "g/R/a/reported",
    }


async def test_change_of_policy_kinds_takes_in_all_that_waits() -> None:
    opa = Costly({"a": 5_000})
    shares = await shares_of(opa)
    shares.note(changed("a/x"))
    await shares.step()
    shares.note(changed("b/y"))
    shares.note(Notice((Key("policybridge.io", "PolicyKind", "-", "k"),), kinds=True))
    shares.note(changed("c/z"))
    assert spaces_of(await settle(opa, shares)) == [["-", "a", "b", "c"]]


async def test_an_initial_sync_drops_earlier_computations() -> None:
    opa = Costly({"a": 5_000})
    shares = await shares_of(opa)
    shares.note(changed("a/x"))
    await shares.step()
    shares.clear()
    shares.note(Notice(refilled=True))
    assert [settled.notice.refilled for _, settled in await settle(opa, shares)] == [True]


async def test_refill_during_a_query_forgets_what_that_query_was_for() -> None:
    opa = Costly({"a": 5_000}, lambda *_: 1.0)
    shares = await shares_of(opa)
    shares.note(changed("a/x"))
    stepping = asyncio.create_task(shares.step())
    await asyncio.sleep(0.5)
    shares.clear()
    assert await stepping is None
    assert not shares


class SlowToRespond(Costly):
    """An OPA that takes a second to respond to a check."""

    async def is_ready(self, *, bundles: bool = False) -> bool:
        """After a second."""
        await asyncio.sleep(1.0)
        return True


async def test_refill_while_opa_is_checked_after_a_timeout_forgets_what_took_too_long() -> None:
    opa = SlowToRespond({}, lambda name, _: 60.0 if name in {"outdated", "remediation"} else 0.0)
    shares = await shares_of(opa)
    shares.note(changed("a/x", "a/y"))
    stepping = asyncio.create_task(shares.step())
    await asyncio.sleep(11.5)  # two queries of five seconds, each with a check
    shares.clear()
    with pytest.raises(OpaTimeout):
        await stepping
    shares.note(Notice(refilled=True))
    assert [settled.notice.refilled for _, settled in await settle(opa, shares)] == [True]


async def test_change_that_is_computed_with_an_initial_sync_is_settled_with_it() -> None:
    opa = Costly({})
    shares = await shares_of(opa)
    shares.note(Notice(refilled=True))
    shares.note(changed("a/x"))
    assert shares.is_waiting("g/R/a/x")
    await settle(opa, shares)
    assert not shares.is_waiting("g/R/a/x")


class Full(Costly):
    """An OPA with effective targets of an initial sync; notes the tallies that queries say are kept."""

    def __init__(self) -> None:
        super().__init__({})
        self.kept: list[Any] = []
        self.controller = "x/c"

    async def get(self, path: str) -> Any:
        """The policy kind, of one controller or another."""
        return {KIND: {"mode": "Manage", "controllerName": self.controller, "kind": "P"}}

    async def query(self, name: str, input_document: Any) -> Any:
        """All scopes are those of one namespace."""
        if error := self.failing(name, input_document):
            raise error
        if name == "policies":
            return [ROW["policy"]]
        if name == "scopes":
            return {KIND: [f"g/R/a/r{number}" for number in range(5_000)]}
        if name == "remediation":
            self.kept.append(input_document["kept"])
            return {"scopes": {KIND: ["g/R/a/r1"]}, "objects": [], "policies": [], **REPORTED}
        return await super().query(name, input_document)


REPORTED = {
    "outcomes": {KIND: {"g/R/a/r1": [ROW]}},
    "reports": [{"item": ["policy", "x/P/n/p"], "desired": {}, "current": {}}],
}


async def test_small_change_is_settled_while_everything_is_computed_and_without_counts_that_are_not_complete() -> None:
    opa = Full()
    shares = Shares(Computing(opa, Ledger()), opa, lambda: None)
    shares.note(Notice(refilled=True))
    for _ in range(6):  # it has computed some targets of this policy
        assert await shares.step() is None
    shares.note(changed("a/r1"))
    found = await settle(opa, shares)
    assert opa.kept == [{}]
    shares.note(changed("a/r1"))
    await settle(opa, shares)
    assert opa.kept[1] != {}
    assert [(one.notice.refilled, len(one.reports)) for _, one in found] == [(False, 1), (True, 0)]


async def test_error_while_all_of_a_kind_is_computed_loses_none_of_its_targets() -> None:
    opa, ledger = Full(), Ledger()
    shares = Shares(Computing(opa, ledger), opa, lambda: None)
    shares.note(Notice(refilled=True))
    await settle(opa, shares)
    assert len(ledger) == 5_000
    opa.controller = "x/another"
    failures = [OpaUnavailable("away")]
    opa.failing = lambda name, _: failures.pop() if failures and name == "outcomes" else None
    shares.note(Notice((Key("policybridge.io", "PolicyKind", "a", "k"),), kinds=True))
    with pytest.raises(OpaUnavailable):
        await settle(opa, shares)
    assert len(ledger) < 5_000
    await settle(opa, shares)
    assert len(ledger) == 5_000
