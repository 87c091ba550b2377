"""The parts of a bridge on a real API server, for tests that add what judges and writes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from bridge.derived.loop import Loop
from bridge.kube.kube_client import KubeClient
from bridge.kube.lease import Lease, Term
from bridge.model.types import ALWAYS, Selection
from bridge.opa.client import Opa
from bridge.replicator.replicator import Replicator
from bridge.sidecar.store import ClusterSink
from bridge.sources.cluster import ClusterSource
from tests.controlplane.plane import ControlPlane
from tests.integration.api_objects import fresh_name
from tests.working import working

TERM = Term(duration=3, margin=1, period=0.3)


@dataclass
class Parts:
    """What reads, syncs and writes; nothing is at work yet."""

    source: ClusterSource
    opa: Opa
    client: KubeClient
    lease: Lease
    sink: ClusterSink
    replicator: Replicator
    loop: Loop

    @asynccontextmanager
    async def at_work(self, *others: Callable[[], Coroutine[Any, Any, Any]]) -> AsyncIterator[None]:
        """All of it is at work with the others, and OPA is synced."""
        async with working(self.replicator.run, self.loop.run, self.lease.run, *others):
            await asyncio.wait_for(self.replicator.filled.wait(), 300)
            yield


@asynccontextmanager
async def parts_on(
    plane: ControlPlane,
    opa_url: str,
    lease_name: str = "",
    *,
    needed: Sequence[str] = ALWAYS,
    types: Mapping[str, Selection] | None = None,
) -> AsyncIterator[Parts]:
    """The parts with this Lease, or with one of their own."""
    async with await KubeClient.connect(plane.kubeconfig) as client, Opa(opa_url) as opa:
        source = ClusterSource(client, types)
        lease = Lease(client, "default", lease_name or fresh_name("lease"), fresh_name("bridge"), term=TERM)
        sink = ClusterSink(client, source.resource, lease)
        replicator, loop = Replicator(source, opa, needed), Loop(opa)
        replicator.listen(loop.take_in)
        yield Parts(source, opa, client, lease, sink, replicator, loop)
