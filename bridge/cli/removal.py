"""The work of `bridge uninstall-status`, object by object."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from bridge.cli.terminal import print_error
from bridge.kube.client import KubeClient
from bridge.kube.errors import KubeError
from bridge.opa.client import Opa
from bridge.opa.executable import ensure_opa
from bridge.opa.process import ManagedOpa
from bridge.opa.shipped import shipped_bundle
from bridge.queries.names import short_key
from bridge.remediator.statuses.plan import describe
from bridge.resources import rego_root
from bridge.settings.model import Settings
from bridge.sidecar.removal import Removal, TracedObject, delete_lease, held, holder_of, insist_on_none, read_lease

WRITERS = 8  # objects that are written in parallel


@dataclass(frozen=True, slots=True)
class RemovalOutcome:
    """An object, `what` a bridge has written there, and the result.

    `left` is the reason why it remains; `unseen` the reason why it could not be checked.
    """

    name: str
    what: tuple[str, ...] = ()
    done: bool = False
    left: str = ""
    unseen: str = ""


async def look(settings: Settings, *, refuse: bool) -> list[RemovalOutcome]:
    """Return what would be removed. With `refuse` a running bridge is an error. Raises KubeError, StillWritingError."""
    async with await _connected(settings) as client:
        if refuse:
            await insist_on_none(client, settings.lease_namespace, settings.lease_name, print_error)
        async with _removal(client, settings) as removal:
            found = await removal.look()
            outcomes = [RemovalOutcome(_name(one), tuple(describe(one.traces))) for one in found]
            if removal.lease is not None:
                outcomes.append(RemovalOutcome(_lease_name(settings), ("the object itself",)))
                if holder := holder_of(removal.lease):
                    print_error(f"{holder} holds the Lease: stop the bridges before you remove anything")
            return [*outcomes, *_unseen(removal)]


async def remove(settings: Settings) -> list[RemovalOutcome]:
    """Remove everything. Raises KubeError, and StillWritingError while a bridge is running."""
    where = settings.lease_namespace, settings.lease_name
    async with await _connected(settings) as client:
        await insist_on_none(client, *where, print_error)
        async with held(client, *where), _removal(client, settings) as removal:
            found, limit = await removal.look(), asyncio.Semaphore(WRITERS)

            async def take_back(one: TracedObject) -> RemovalOutcome:
                async with limit:
                    left = await removal.take_back(one)
                return RemovalOutcome(_name(one), tuple(describe(one.traces)), not left, left)

            # Webhook configurations are removed first, because the API server would call the webhook for other writes.
            first = [await take_back(one) for one in found if "webhooks" in one.traces]
            others = (take_back(one) for one in found if "webhooks" not in one.traces)
            outcomes = [*first, *await asyncio.gather(*others), *_unseen(removal)]
        if removal.lease is not None:
            outcomes.append(await _last(client, settings, outcomes))
        return outcomes


async def _last(client: KubeClient, settings: Settings, before: list[RemovalOutcome]) -> RemovalOutcome:
    """Delete the Lease, which stores names of former policy kinds, once no remaining object needs them."""
    name, what = _lease_name(settings), ("the object itself",)
    if any(one.left or one.unseen for one in before):
        return RemovalOutcome(name, what, left="it stores names of remaining entries")
    try:
        await delete_lease(client, settings.lease_namespace, settings.lease_name)
    except KubeError as error:
        return RemovalOutcome(name, what, left=str(error))
    return RemovalOutcome(name, what, done=True)


async def _connected(settings: Settings) -> KubeClient:
    return await KubeClient.connect(settings.kubeconfig, settings.context)


@contextlib.asynccontextmanager
async def _removal(client: KubeClient, settings: Settings) -> AsyncIterator[Removal]:
    executable = await asyncio.to_thread(ensure_opa)
    lease = await read_lease(client, settings.lease_namespace, settings.lease_name)
    async with (
        ManagedOpa(executable.path, {}, bundle=shipped_bundle(rego_root())) as managed,
        Opa(managed.url, timeout=60.0) as opa,
    ):
        yield Removal(client, opa, lease)


def _unseen(removal: Removal) -> list[RemovalOutcome]:
    return [RemovalOutcome(name, unseen=why) for name, why in sorted(removal.unseen.items())]


def _name(found: TracedObject) -> str:
    return short_key(found.key)


def _lease_name(settings: Settings) -> str:
    return f"Lease/{settings.lease_namespace}/{settings.lease_name}"
