"""How a bridge ends: step by step, whatever one of them does."""

import asyncio
import os
import signal

import pytest

from bridge.sidecar import signals as module
from bridge.sidecar.signals import Shutdown


async def test_steps_run_in_their_order_and_one_that_fails_or_hangs_keeps_no_other_from_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SHARE", 0.2)
    monkeypatch.setattr(module, "RESERVE", 60.0)
    shutdown, done = Shutdown(grace=61.0), []

    async def fail() -> None:
        done.append("fails")
        raise OSError("no")

    async def hang() -> None:
        done.append("hangs")
        await asyncio.sleep(3600)

    async def last() -> None:
        await asyncio.sleep(0.01)
        done.append("last")

    async def serve() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            done.append("serving")

    for name, step in (("one", fail), ("two", hang), ("three", last)):
        shutdown.then(name, step)
    assert shutdown.unready() == ""
    serving = asyncio.create_task(serve())
    asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGTERM)
    await shutdown.guard(serving)
    assert done == ["fails", "hangs", "last", "serving"]
    assert shutdown.unready() == "the bridge is stopping"


async def test_a_process_that_ends_by_itself_tells_its_error_and_runs_no_step() -> None:
    shutdown, done = Shutdown(grace=10.0), []

    async def step() -> None:
        done.append("step")

    async def serve() -> None:
        await asyncio.sleep(0.01)
        raise OSError("the address is taken")

    shutdown.then("one", step)
    with pytest.raises(OSError, match="the address is taken"):
        await shutdown.guard(asyncio.create_task(serve()))
    assert done == []
