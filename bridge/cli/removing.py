"""The work of `bridge uninstall-status`, object by object."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass

from bridge.answers.targets import short_key
from bridge.kube.client import KubeClient
from bridge.kube.errors import KubeError
from bridge.modules.shipped import shipped_bundle
from bridge.opa.client import Opa
from bridge.opa.managed import ManagedOpa
from bridge.remediator.removing import describe
from bridge.resources import rego_root
from bridge.runtime.removal import Found, Removal
from bridge.runtime.removal_lease import delete_lease, held, holder_of, insist_on_none, read_lease
from bridge.runtime.settings import Settings
from bridge.tools import ensure

WRITERS = 8  # objects that are written in parallel


@dataclass(frozen=True, slots=True)
class Outcome:
    """An object, `what` a bridge has written there, and the result.

    `left` is the reason why it remains; `unseen` the reason why it could not be checked.
    """

    name: str
    what: tuple[str, ...] = ()
    done: bool = False
    left: str = ""
    unseen: str = ""


async def look(settings: Settings, *, refuse: bool) -> list[Outcome]:
    """Return what would be removed. With `refuse` a running bridge is an error. Raises KubeError, StillWritingError."""
    async with await _connected(settings) as client:
        if refuse:
            await insist_on_none(client, settings.lease_namespace, settings.lease_name, _tell)
        async with _removal(client, settings) as removal:
            found = await removal.look()
            outcomes = [Outcome(_name(one), tuple(describe(one.traces))) for one in found]
            if removal.lease is not None:
                outcomes.append(Outcome(_lease_name(settings), ("the object itself",)))
                if holder := holder_of(removal.lease):
                    _tell(f"{holder} holds the Lease: stop the bridges before you remove anything")
            return [*outcomes, *_unseen(removal)]


async def remove(settings: Settings) -> list[Outcome]:
    """Remove everything. Raises KubeError, and StillWritingError while a bridge is running."""
    where = settings.lease_namespace, settings.lease_name
    async with await _connected(settings) as client:
        await insist_on_none(client, *where, _tell)
        async with held(client, *where), _removal(client, settings) as removal:
            found, limit = await removal.look(), asyncio.Semaphore(WRITERS)

            async def take_back(one: Found) -> Outcome:
                async with limit:
                    left = await removal.take_back(one)
                return Outcome(_name(one), tuple(describe(one.traces)), not left, left)

            # Webhook configurations are removed first, because the API server would call the webhook for other writes.
            first = [await take_back(one) for one in found if "webhooks" in one.traces]
            others = (take_back(one) for one in found if "webhooks" not in one.traces)
            outcomes = [*first, *await asyncio.gather(*others), *_unseen(removal)]
        if removal.lease is not None:
            outcomes.append(await _last(client, settings, outcomes))
        return outcomes


async def _last(client: KubeClient, settings: Settings, before: list[Outcome]) -> Outcome:
    """Delete the Lease, which stores names of former policy kinds, once no remaining object needs them."""
    name, what = _lease_name(settings), ("the object itself",)
    if any(one.left or one.unseen for one in before):
        return Outcome(name, what, left="it stores names of remaining entries")
    try:
        await delete_lease(client, settings.lease_namespace, settings.lease_name)
    except KubeError as error:
        return Outcome(name, what, left=str(error))
    return Outcome(name, what, done=True)


async def _connected(settings: Settings) -> KubeClient:
    return await KubeClient.connect(settings.kubeconfig, settings.context)


@contextlib.asynccontextmanager
async def _removal(client: KubeClient, settings: Settings) -> AsyncIterator[Removal]:
    executable = await asyncio.to_thread(ensure, "opa")
    lease = await read_lease(client, settings.lease_namespace, settings.lease_name)
    async with (
        ManagedOpa(executable.path, {}, bundle=shipped_bundle(rego_root())) as managed,
        Opa(managed.url, timeout=60.0) as opa,
    ):
        yield Removal(client, opa, lease)


def _unseen(removal: Removal) -> list[Outcome]:
    return [Outcome(name, unseen=why) for name, why in sorted(removal.unseen.items())]


def _name(found: Found) -> str:
    return short_key(found.key)


def _lease_name(settings: Settings) -> str:
    return f"Lease/{settings.lease_namespace}/{settings.lease_name}"


def _tell(text: str) -> None:
    print(text, file=sys.stderr)
