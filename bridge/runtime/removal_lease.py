"""The Lease while a bridge's traces are taken back: no bridge writes meanwhile, and it goes last."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from bridge.kube.client import KubeClient
from bridge.kube.errors import NotFound
from bridge.kube.lease import Lease

LOOK = 0.5  # seconds between two looks at who renews it
TAKING = 20.0  # seconds in which a free Lease must be taken


class StillWritingError(Exception):
    """A bridge is at work, which would write everything again."""


async def read_lease(client: KubeClient, namespace: str, name: str) -> dict[str, Any] | None:
    """The Lease; None where there is none. Raises KubeError."""
    try:
        found: dict[str, Any] = await client.get(_path(namespace, name))
    except NotFound:
        return None
    return found


def holder_of(lease: dict[str, Any] | None) -> str:
    """Whose it is by what it says; empty: nobody's."""
    return str(((lease or {}).get("spec") or {}).get("holderIdentity") or "")


async def insist_on_none(client: KubeClient, namespace: str, name: str, tell: Callable[[str], None]) -> None:
    """Return once it is sure that no bridge holds the Lease. Raises StillWritingError.

    One that was killed is still its holder: it is waited for as long as it would have to renew.
    """
    lease = await read_lease(client, namespace, name)
    holder = holder_of(lease)
    if not holder or lease is None:
        return
    renewed, duration = lease["spec"].get("renewTime"), float(lease["spec"].get("leaseDurationSeconds") or 15)
    tell(f"looks for {duration:g} seconds at most whether {holder} still renews the Lease {namespace}/{name}")
    until = time.monotonic() + duration
    while time.monotonic() < until:
        await asyncio.sleep(LOOK)
        lease = await read_lease(client, namespace, name)
        if not holder_of(lease):
            return
        if lease is not None and lease["spec"].get("renewTime") != renewed:
            raise StillWritingError(
                f"{holder_of(lease)} holds the Lease {namespace}/{name}, and would write everything again: stop the "
                "bridges first (helm uninstall, or kubectl scale deployment --replicas=0), then run this again"
            )


@asynccontextmanager
async def held(client: KubeClient, namespace: str, name: str) -> AsyncIterator[None]:
    """Hold the Lease, where there is one, so that no bridge begins to write meanwhile. Raises StillWritingError."""
    if await read_lease(client, namespace, name) is None:
        yield
        return
    lease = Lease(client, namespace, name, f"uninstall-status-{socket.gethostname()}-{os.getpid()}")
    running = asyncio.create_task(lease.run())
    try:
        try:
            await asyncio.wait_for(lease.taken.wait(), TAKING)
        except TimeoutError:
            why = lease.trouble or f"{lease.holder} was faster"
            raise StillWritingError(f"the Lease {namespace}/{name} cannot be taken: {why}") from None
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def delete_lease(client: KubeClient, namespace: str, name: str) -> None:
    """Delete the Lease, unless somebody holds it. Raises KubeError."""
    lease = await read_lease(client, namespace, name)
    if lease is not None and not holder_of(lease):
        await client.delete(_path(namespace, name))


def _path(namespace: str, name: str) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
