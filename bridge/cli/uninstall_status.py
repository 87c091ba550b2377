"""`pbctl admin uninstall-status`: remove everything that a bridge has written into objects."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridge.cli.command import command, option
from bridge.cli.options import file_option, output_option
from bridge.cli.output import Answer, print_answer, print_error
from bridge.cli.source import kubeconfig_option
from bridge.cli.table import Table
from bridge.queries.names import CommandError, short_key

if TYPE_CHECKING:
    from bridge.kube.kube_client import KubeClient
    from bridge.settings.model import Settings
    from bridge.sidecar.removal import Removal, TracedObject

_AGAIN = "of other bridges: run the command again after this"
_LEFT = 1  # exit code if something remains, or could not be checked
WRITERS = 8  # objects that are written in parallel


@command(
    "Remove everything that a bridge wrote into a cluster",
    kubeconfig_option("The cluster. Default: kubectl's cluster."),
    option("--context", metavar="NAME", help="The context in the kubeconfig."),
    file_option("--config", "Settings of the bridges (lease_name, lease_namespace). The environment takes precedence."),
    option("--dry-run", is_flag=True, help="Only show what would be removed."),
    option("--yes", is_flag=True, help="Remove without confirmation."),
    output_option("table", "json", "yaml"),
)
def uninstall_status(config: Path | None, output: str, *, dry_run: bool, yes: bool, **flags: Any) -> int:
    """Remove everything that Policy Bridge wrote to the cluster. Entries from other controllers are kept.

    These are conditions, annotations and statuses, the bridge's fields of the webhook configurations, and its Lease.
    Stop the bridges first: while a bridge holds the Lease, the command removes nothing. The exit code is 1 if something
    remains, or could not be checked.

    Examples:
        # Show what the command would remove
        pbctl admin uninstall-status --dry-run
        # Remove it without confirmation, after the bridges are stopped
        pbctl admin uninstall-status --yes
        # For bridges with another name of the Lease
        pbctl admin uninstall-status --config bridge.yaml
    """
    from bridge.settings.loading import load_settings

    settings = load_settings(config, flags)
    if dry_run or not yes:
        found = asyncio.run(look(settings, refuse=not dry_run))
        if dry_run or not any(one.what for one in found):
            _show(output, found)
            return _LEFT if any(one.unseen for one in found) else 0
        if not sys.stdin.isatty():
            raise CommandError(
                "no terminal for the confirmation: give --yes, or --dry-run to see what would be removed"
            )
        _show(output, found)
        click.confirm(f"Remove this from {sum(bool(one.what) for one in found)} objects?", abort=True, err=True)
    done = asyncio.run(remove(settings))
    _show(output, done)
    return _LEFT if any(one.left or one.unseen for one in done) else 0


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

    @property
    def result(self) -> str:
        """Return the result in words, empty before a removal."""
        return "removed" if self.done else f"left: {self.left}" if self.left else ""


def _show(output: str, outcomes: Sequence[RemovalOutcome]) -> None:
    """Print a row for each object; below, objects that could not be checked."""
    found = Table(
        ["OBJECT", "WRITTEN BY A BRIDGE", "RESULT"],
        [[one.name, "; ".join(one.what), one.result] for one in outcomes if one.what],
    )
    unseen = Table(["NOT CHECKED", "WHY"], [[one.name, one.unseen] for one in outcomes if one.unseen])
    documents = [
        {"object": one.name, "written": list(one.what), "result": one.result}
        if one.what
        else {"notChecked": one.name, "why": one.unseen}
        for one in outcomes
    ]
    nothing = "Nothing of a bridge is left in this cluster."
    print_answer(output, Answer(lambda: [found.without_empty("RESULT"), unseen], nothing, documents))


async def look(settings: Settings, *, refuse: bool) -> list[RemovalOutcome]:
    """Return what would be removed. With `refuse` a running bridge is an error. Raises KubeError, StillWritingError."""
    from bridge.remediator.plan import describe
    from bridge.sidecar.removal import holder_of, insist_on_none

    async with await _connected(settings) as client:
        settings, others = await _find_leases(client, settings)
        if refuse:
            for namespace in [settings.lease_namespace, *others.namespaces]:
                await insist_on_none(client, namespace, settings.lease_name, print_error)
        async with _removal(client, settings) as removal:
            found = await removal.look()
            outcomes = [RemovalOutcome(short_key(one.key), tuple(describe(one.traces))) for one in found]
            if removal.lease is not None:
                outcomes.append(RemovalOutcome(_lease_name(settings), ("the object itself",)))
                if holder := holder_of(removal.lease):
                    print_error(f"{holder} holds the Lease: stop the bridges before you remove anything")
            return [*outcomes, *_unseen(removal), *others.outcomes]


async def remove(settings: Settings) -> list[RemovalOutcome]:
    """Remove everything. Raises KubeError, and StillWritingError while a bridge is running."""
    from bridge.remediator.plan import describe
    from bridge.sidecar.removal import held, insist_on_none

    async with await _connected(settings) as client:
        settings, others = await _find_leases(client, settings)
        where = settings.lease_namespace, settings.lease_name
        for namespace in [settings.lease_namespace, *others.namespaces]:
            await insist_on_none(client, namespace, settings.lease_name, print_error)
        async with held(client, *where), _removal(client, settings) as removal:
            found, limit = await removal.look(), asyncio.Semaphore(WRITERS)

            async def take_back(one: TracedObject) -> RemovalOutcome:
                async with limit:
                    left = await removal.take_back(one)
                return RemovalOutcome(short_key(one.key), tuple(describe(one.traces)), not left, left)

            # Webhook configurations are removed first, because the API server would call the webhook for other writes.
            first = [await take_back(one) for one in found if "webhooks" in one.traces]
            later = (take_back(one) for one in found if "webhooks" not in one.traces)
            outcomes = [*first, *await asyncio.gather(*later), *_unseen(removal)]
        if removal.lease is not None:
            outcomes.append(await _last(client, settings, outcomes))
        return [*outcomes, *others.outcomes]


@dataclass(frozen=True, slots=True)
class _OtherLeases:
    """The namespaces with further Leases of the bridges' name, and why they were not found, "" if they were."""

    name: str
    namespaces: tuple[str, ...] = ()
    unknown: str = ""

    @property
    def outcomes(self) -> list[RemovalOutcome]:
        """Return a row for each Lease that remains, or for all if they are unknown."""
        if self.unknown:
            return [RemovalOutcome("Leases of other namespaces", unseen=self.unknown)]
        return [RemovalOutcome(f"Lease/{namespace}/{self.name}", unseen=_AGAIN) for namespace in self.namespaces]


async def _find_leases(client: KubeClient, settings: Settings) -> tuple[Settings, _OtherLeases]:
    """Return the settings with the Lease's namespace, and the other Leases of this name.

    If the settings' namespace has no such Lease, it is the first one that has.
    """
    from bridge.kube.kube_errors import KubeError
    from bridge.sidecar.removal import find_lease_namespaces

    try:
        namespaces = await find_lease_namespaces(client, settings.lease_name)
    except KubeError as error:
        return settings, _OtherLeases(settings.lease_name, unknown=str(error))
    if namespaces and settings.lease_namespace not in namespaces:
        settings = replace(settings, lease_namespace=namespaces[0])
    others = tuple(namespace for namespace in namespaces if namespace != settings.lease_namespace)
    return settings, _OtherLeases(settings.lease_name, others)


async def _last(client: KubeClient, settings: Settings, before: list[RemovalOutcome]) -> RemovalOutcome:
    """Delete the Lease, which stores names of former policy kinds, once no remaining object needs them."""
    from bridge.kube.kube_errors import KubeError
    from bridge.sidecar.removal import delete_lease

    name, what = _lease_name(settings), ("the object itself",)
    if any(one.left or one.unseen for one in before):
        return RemovalOutcome(name, what, left="it stores names of remaining entries")
    try:
        await delete_lease(client, settings.lease_namespace, settings.lease_name)
    except KubeError as error:
        return RemovalOutcome(name, what, left=str(error))
    return RemovalOutcome(name, what, done=True)


async def _connected(settings: Settings) -> KubeClient:
    from bridge.kube.kube_client import KubeClient

    return await KubeClient.connect(settings.kubeconfig, settings.context)


@contextlib.asynccontextmanager
async def _removal(client: KubeClient, settings: Settings) -> AsyncIterator[Removal]:
    from bridge.files import rego_root
    from bridge.opa.client import Opa
    from bridge.opa.executable import ensure_opa
    from bridge.opa.process import ManagedOpa
    from bridge.opa.shipped import shipped_bundle
    from bridge.sidecar.removal import Removal, read_lease

    executable = await asyncio.to_thread(ensure_opa)
    lease = await read_lease(client, settings.lease_namespace, settings.lease_name)
    async with (
        ManagedOpa(executable.path, {}, bundle=shipped_bundle(rego_root())) as managed,
        Opa(managed.url, timeout=60.0) as opa,
    ):
        yield Removal(client, opa, lease)


def _unseen(removal: Removal) -> list[RemovalOutcome]:
    return [RemovalOutcome(name, unseen=why) for name, why in sorted(removal.unseen.items())]


def _lease_name(settings: Settings) -> str:
    return f"Lease/{settings.lease_namespace}/{settings.lease_name}"
