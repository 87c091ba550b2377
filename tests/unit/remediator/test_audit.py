"""When the audit's results count; what it evaluates is tested against the real OPA."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from bridge.model.changes import Notice
from bridge.model.keys import parse_key
from bridge.model.types import CONSTRAINT
from bridge.opa.client import Opa
from bridge.remediator.audit import Audit
from bridge.remediator.writer import MemorySink
from bridge.work import Budget
from tests.unit.fake_time import run

CHANGE = Notice((parse_key(f"{CONSTRAINT}/-/c"),))


class Answers(Opa):
    """An OPA with one Constraint that concerns no object; each query takes a second."""

    def __init__(self) -> None:
        super().__init__("http://localhost")

    async def query(self, name: str, input_document: Any) -> Any:
        """The Constraint, and its objects."""
        await asyncio.sleep(1.0)
        return {"constraints": [{"constraint": "c"}], "audit_keys": {"c": []}, "current_statuses": {}}[name]

    async def bundle_revision(self) -> str:
        """Always the same."""
        return "1"


def auditing(steps: Callable[[Audit], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        audit = Audit(Answers(), MemorySink(), Budget(100, 100))
        task = asyncio.create_task(audit.run())
        audit.note(Notice(refilled=True))
        await audit.settled()
        await steps(audit)
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(main())


def test_results_count_after_a_sync_that_took_less_than_a_query() -> None:
    async def steps(audit: Audit) -> None:
        audit.note(CHANGE)
        await asyncio.sleep(0.5)
        audit.note(Notice(refilling=True))
        audit.note(Notice(refilled=True))
        async with asyncio.timeout(100):
            await audit.settled()

    auditing(steps)


def test_no_results_count_before_a_sync_has_ended() -> None:
    async def steps(audit: Audit) -> None:
        audit.note(Notice(refilling=True))
        audit.note(CHANGE)
        await asyncio.sleep(100)
        assert not audit._may_write()
        audit.note(Notice(refilled=True))
        await audit.settled()

    auditing(steps)
