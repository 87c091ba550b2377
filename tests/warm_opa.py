"""OPAs that tests share, one after another: to start one takes longer than most tests, as it compiles the Rego."""

import asyncio
import atexit
import threading
from collections.abc import Coroutine, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from bridge.files import rego_root
from bridge.opa.bundle import Bundle
from bridge.opa.client import Opa
from bridge.opa.errors import OpaUnavailable
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped_bundle
from bridge.policy_loader.submissions import WRITTEN
from bridge.replicator.replicator import QUERIES_OF_SYNC
from bridge.replicator.slices import BELOW

_KEPT = 2  # idle processes in a worker, of 150 MiB each
_Result = TypeVar("_Result")


class WarmOpa:
    """A ManagedOpa with a bundle, whose process is one that an earlier test left, without data.

    A test that stops the process, changes its policies, or writes other documents than the bridge's needs a
    ManagedOpa of its own.
    """

    _idle: ClassVar[list[tuple[str, ManagedOpa]]] = []  # with the bundle's revision, the longest idle first

    def __init__(
        self,
        executable: str | Path,
        config: Mapping[str, Any] | None = None,
        *,
        bundle: Bundle | None = None,
        few: bool = False,
    ) -> None:
        assert not config  # it and `few` are there so that this class can take ManagedOpa's place
        self._executable = executable
        self._bundle = bundle or whole_bundle()
        self._managed: ManagedOpa | None = None
        self.url = ""

    @property
    def pid(self) -> int | None:
        """The id of the process, as of a ManagedOpa."""
        return self._managed.pid if self._managed else None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> str:
        """Take an idle process with the bundle, or start one. Returns its URL."""
        fitting = (idle for idle in WarmOpa._idle if idle[0] == self._bundle.revision)
        if found := next(fitting, None):
            WarmOpa._idle.remove(found)
            self._managed = found[1]
        else:
            self._managed = ManagedOpa(self._executable, {}, bundle=self._bundle, start_timeout=300)
            await _outliving_loops(self._managed.start())
        self.url = self._managed.url
        return self.url

    async def stop(self) -> None:
        """Take the data away and leave the process to the next test."""
        managed, self._managed = self._managed, None
        if managed is None:
            return
        try:
            await _empty(managed.url, self._bundle)
        except OpaUnavailable:  # the test has stopped or frozen it
            await _outliving_loops(managed.stop())
            return
        WarmOpa._idle.append((self._bundle.revision, managed))
        if len(WarmOpa._idle) > _KEPT:
            _, oldest = WarmOpa._idle.pop(0)
            await _outliving_loops(oldest.stop())


@cache
def whole_bundle() -> Bundle:
    """The bundle of all shipped modules."""
    return shipped_bundle(rego_root())


@cache
def sync_bundle() -> Bundle:
    """The rules that a replicator queries, for an OPA of a test's own: they compile in a fifth of the time."""
    return shipped_bundle(rego_root(), queries=QUERIES_OF_SYNC)


async def _empty(url: str, bundle: Bundle) -> None:
    paths = [f"/{name}" for name in (*WRITTEN, BELOW) if name not in bundle.roots]
    async with Opa(url) as opa:
        # A document that is missing cannot be removed, nor one that was added by the same request.
        await opa.patch([{"op": "add", "path": path, "value": {}} for path in paths])
        await opa.patch([{"op": "remove", "path": path} for path in paths])


async def _outliving_loops(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine in the loop of a thread: a process's transport belongs to a loop, and a test's loop ends."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, _loop()))


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="warm OPAs", daemon=True).start()
    atexit.register(_stop_all, loop)
    return loop


def _stop_all(loop: asyncio.AbstractEventLoop) -> None:
    for _, managed in WarmOpa._idle:
        asyncio.run_coroutine_threadsafe(managed.stop(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
