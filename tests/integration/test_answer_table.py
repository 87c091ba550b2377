"""Answers of a view while changes arrive: none is lost, and OPA is asked about few at once."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridge.model.types import GATEWAY_API
from bridge.model.views import view_of
from bridge.opa.client import Opa
from bridge.opa.errors import OpaRejected, OpaUnavailable
from bridge.replicator import answer_table as module
from bridge.replicator.answer_table import AnswerTable
from tests.builders import NAMESPACE, gateway, http_route, policy, policy_kind, target_ref
from tests.properties.test_incremental_statuses import Bridge, settled

VIEW = view_of(f"Gateway/{NAMESPACE}/public=effective")


class Watched:
    """Queries that a test counts, and those about one changed object that fail."""

    def __init__(self, opa: Opa) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.failing: Exception | None = None
        self.at = ""
        self._query = opa.query

    async def query(self, name: str, query_input: Mapping[str, Any]) -> Any:
        """Ask OPA."""
        self.asked.append((name, query_input))
        if name == "outdated" and self.failing and (not self.at or self.at in query_input["keys"]):
            raise self.failing
        return await self._query(name, query_input)

    def changes(self) -> list[int]:
        """Return the numbers of changed objects of each query."""
        return [len(query_input["keys"]) for name, query_input in self.asked if name == "outdated"]


@asynccontextmanager
async def watched(opa_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Bridge, Watched]]:
    """A bridge with a Gateway, a route, and a kind of policies."""
    spec: Any = {"class": "Direct", "targets": [{"group": GATEWAY_API, "kind": "Gateway"}]}
    kind = policy_kind("ColorPolicy", **spec)
    async with settled(opa_path, [kind, gateway("public"), http_route("first")]) as hub:
        seen = Watched(hub.opa)
        monkeypatch.setattr(hub.opa, "query", seen.query)
        yield hub, seen


async def test_object_that_joins_while_opa_does_not_answer_is_not_forgotten(
    opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watched(opa_path, monkeypatch) as (hub, seen):
        table = AnswerTable(VIEW, hub.opa)
        await table.read()
        hub.source.put(policy("ColorPolicy", "red", [target_ref("Gateway", "public")]))
        await hub.settled()
        seen.failing = OpaUnavailable("OPA gave no answer")
        with pytest.raises(OpaUnavailable):
            await table.read()
        seen.failing = None
        table.drop_changes(0)
        assert await table.read() == await AnswerTable(VIEW, hub.opa).read()


async def test_many_changes_are_asked_about_in_parts(opa_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHANGES", 10)
    async with watched(opa_path, monkeypatch) as (hub, seen):
        table = AnswerTable(VIEW, hub.opa)
        await table.read()
        for number in range(25):
            table.add_change(f"core/Service/shop/s{number}", ())
        await table.read()
        assert seen.changes() == [10, 10, 5]


async def test_change_that_opa_fails_on_makes_all_answers_stale(
    opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watched(opa_path, monkeypatch) as (hub, seen):
        table = AnswerTable(VIEW, hub.opa)
        fresh = await table.read()
        assert fresh.objects
        seen.failing = OpaRejected(500, "internal_error", "evaluation failed", [{"code": "eval_conflict_error"}])
        seen.at = "core/Service/shop/bad"
        for name in ("bad", "good"):
            table.add_change(f"core/Service/shop/{name}", ())
        seen.asked.clear()
        assert await table.read() == fresh
        computed = [key for name, asked in seen.asked if name == "answers" for key in asked["objects"]]
        assert len(computed) == fresh.objects


async def test_few_stale_answers_are_computed_before_changes_wait(
    opa_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with watched(opa_path, monkeypatch) as (hub, seen):
        table = AnswerTable(VIEW, hub.opa)
        await table.catch_up()
        assert [name for name, _ in seen.asked if name == "answers"]
        seen.asked.clear()
        assert (await table.read()).objects
        assert not [name for name, _ in seen.asked if name == "answers"]
