"""Limits for the processor time of child processes."""

import asyncio
import sys

import pytest

from bridge import processes
from bridge.processes import end, follow, limit_work

SPINNING = "import time\nwhile time.process_time() < {}: pass\n"


async def run(program: str) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program)
    try:
        async with follow(process):
            await process.wait()
    finally:
        await end(process)


async def test_a_child_that_waits_longer_than_the_limit_is_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "BUSY", 1000.0)
    async with limit_work(0.5) as work:
        await run("import time\ntime.sleep(1)\n")
    assert work.seconds < 0.5


async def test_a_child_that_uses_more_processor_time_than_the_limit_is_late() -> None:
    with pytest.raises(TimeoutError):
        async with limit_work(0.5):
            await run(SPINNING.format(60))


async def test_a_child_that_waits_much_longer_than_the_limit_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "BUSY", 2.0)
    with pytest.raises(TimeoutError):
        async with limit_work(0.1):
            await run("import time\ntime.sleep(60)\n")


async def test_each_of_two_limits_counts_children_within() -> None:
    async with limit_work(60) as outer:
        with pytest.raises(TimeoutError):
            async with limit_work(0.5):
                await run(SPINNING.format(60))
        await run("pass")
    assert outer.seconds >= 0.5


async def test_a_limit_does_not_count_children_of_other_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "BUSY", 1000.0)
    other = asyncio.create_task(run(SPINNING.format(1)))
    async with limit_work(60) as work:
        await other
    assert work.seconds < 0.5
