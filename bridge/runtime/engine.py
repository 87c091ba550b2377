"""The engine behind one command: an OPA that holds everything, whether it was there or is started for the command."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bridge.model.changes import Trouble
from bridge.model.keys import Key
from bridge.modules.shipped import shipped_bundle
from bridge.opa.client import Opa
from bridge.opa.managed import ManagedOpa
from bridge.replicator.replicator import Replicator
from bridge.resources import rego_root
from bridge.runtime.types import ALWAYS
from bridge.sources.manifests import ManifestSource
from bridge.tools import ensure


@dataclass(slots=True)
class Engine:
    """An OPA to ask. For manifests also what was wrong with them, and where each object stands."""

    opa: Opa
    problems: list[Trouble] = field(default_factory=list)
    position: Callable[[Key], tuple[str, int] | None] = lambda _: None


@asynccontextmanager
async def open_engine(
    *,
    opa_url: str | None = None,
    token: str | Callable[[], str] | None = None,
    manifests: Sequence[str] = (),
) -> AsyncIterator[Engine]:
    """An engine on a running OPA (`opa_url`), or on manifests (paths, `-` for standard input) with an OPA of its own.

    Raises ManifestError for a path that is not there, OpaError where OPA cannot be reached or started, ToolError where
    there is no `opa` and none can be had.
    """
    if opa_url:
        async with Opa(opa_url, token=token) as opa:
            yield Engine(opa)
        return
    source = ManifestSource(manifests, follow=False)
    executable = await asyncio.to_thread(ensure, "opa")
    async with (
        ManagedOpa(executable.path, {}, bundle=shipped_bundle(rego_root())) as managed,
        Opa(managed.url) as opa,
    ):
        replicator = Replicator(source, opa, ALWAYS)
        running = asyncio.create_task(replicator.run())
        filled = asyncio.create_task(replicator.filled.wait())
        try:
            await asyncio.wait({running, filled}, return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
            yield Engine(opa, list(source.problems), source.position)
        finally:
            for task in (running, filled):
                task.cancel()
            await asyncio.gather(running, filled, return_exceptions=True)
