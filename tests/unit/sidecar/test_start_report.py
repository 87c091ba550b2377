"""The report at the start waits for statuses, and for no longer than the bridge runs."""

import asyncio
import gc
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bridge.sidecar import program


async def test_bridge_that_ends_while_statuses_are_missing_leaves_no_error() -> None:
    errors: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
    filled = asyncio.Event()
    filled.set()
    parts = SimpleNamespace(
        replicator=SimpleNamespace(filled=filled),
        store=SimpleNamespace(sink=SimpleNamespace(may_write=lambda: True)),
        writers=[SimpleNamespace(settled=asyncio.Event().wait) for _ in range(2)],
    )

    async def report(_: object) -> None:
        pytest.fail("statuses are missing")

    task = asyncio.create_task(program._work(cast("Any", parts), [], report, cast("Any", None)))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    del task
    gc.collect()
    assert errors == []
