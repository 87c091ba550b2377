"""When the audit's results count; what it evaluates is tested against the real OPA."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bridge.derived.loop import Loop
from bridge.model.changes import Notice
from bridge.model.keys import parse_key
from bridge.model.types import CONSTRAINT
from bridge.opa.client import Opa
from bridge.remediator.audit import Audit
from bridge.remediator.write_loop import MemorySink
from bridge.work import Budget
from tests.working import working

pytestmark = pytest.mark.fake_time

CHANGE = Notice((parse_key(f"{CONSTRAINT}/-/c"),))


class Answers(Opa):
    """An OPA with one Constraint that concerns no object; each query takes a second."""

    def __init__(self) -> None:
        super().__init__("http://localhost")

    async def query(self, name: str, input_document: Any) -> Any:
        """The Constraint, and its objects."""
        await asyncio.sleep(1.0)
        return {
            "constraints": [{"constraint": "c", "policy": "k8s.limits"}],
            "audit_keys": {"c": []},
            "current_statuses": {},
        }[name]

    async def bundle_revision(self) -> str:
        """Always the same."""
        return "1"


@asynccontextmanager
async def auditing(opa: Opa | None = None) -> AsyncIterator[tuple[Audit, Loop]]:
    loop = Loop(opa or Answers())
    audit = Audit(loop, opa or Answers(), MemorySink(), Budget(100, 100))
    async with working(loop.run, audit.run):
        loop.take_in(Notice(refilled=True))
        await audit.settled()
        yield audit, loop


async def test_results_count_after_a_sync_that_took_less_than_a_query() -> None:
    async with auditing() as (audit, loop):
        loop.take_in(CHANGE)
        await asyncio.sleep(0.5)
        loop.take_in(Notice(refilling=True))
        assert not audit._may_write()
        loop.take_in(Notice(refilled=True))
        await asyncio.wait_for(audit.settled(), 100)
        assert audit._may_write()


async def test_no_results_count_before_a_sync_has_ended() -> None:
    async with auditing() as (audit, loop):
        loop.take_in(Notice(refilling=True))
        loop.take_in(CHANGE)
        await asyncio.sleep(100)
        assert not audit._may_write()
        loop.take_in(Notice(refilled=True))
        await audit.settled()
        assert audit._may_write()


class WithGuardrail(Opa):
    """An OPA with one guardrail: what is in effect at a Service depends on a Gateway."""

    def __init__(self) -> None:
        super().__init__("http://localhost")
        self.judged: list[list[str]] = []

    async def query(self, name: str, input_document: Any) -> Any:
        """The guardrail, what it must judge again, and no violations."""
        if name == "violations":
            self.judged.append(input_document["objects"])
        if name == "outdated":
            was = {str(GATEWAY): (("parents", "x"),)}
            assert input_document == {"keys": [str(GATEWAY)], "was": was, "wanted": {"guarded": {}}}
        answers = {"constraints": [{"constraint": "c", "policy": "bridge.guardrails.mine"}], "audit_keys": {"c": []}}
        return (answers | {"outdated": {"guarded": [AFFECTED]}, "violations": [], "current_statuses": {}})[name]

    async def bundle_revision(self) -> str:
        """Always the same."""
        return "1"


GATEWAY = parse_key("gateway.networking.k8s.io/Gateway/infra/public")
AFFECTED = "core/Service/shop/cart"


async def test_a_guardrail_judges_the_objects_that_a_change_affects() -> None:
    opa = WithGuardrail()
    async with auditing(opa) as (audit, loop):
        loop.take_in(Notice((GATEWAY,), was={GATEWAY: (("parents", "x"),)}))
        await audit.settled()
    assert sorted(key for keys in opa.judged for key in keys) == [AFFECTED, str(GATEWAY)]
