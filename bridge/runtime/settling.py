"""Admins' Rego for a command that runs once: read, checked, and made into the bundle of the command's own OPA."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import msgspec

from bridge.model.changes import Change, Listed, Listing, Object, Trouble, Upserted
from bridge.model.keys import CLUSTER, Key, key_of
from bridge.modules import reports
from bridge.modules.checking import Checker
from bridge.modules.claims import packages
from bridge.modules.config_maps import CONFIG_MAP, config_maps_in
from bridge.modules.settling import Gathering, Settled
from bridge.modules.shipped import shipped
from bridge.modules.view import kubernetes_view
from bridge.resources import rego_root
from bridge.runtime.settings import POLICY_BOUNDS, POLICY_NAMESPACES, PREFIX, Settings
from bridge.runtime.settings_files import Mistake, SettingsError
from bridge.runtime.types import ALWAYS
from bridge.runtime.world import plural_by_rule
from bridge.tools import ensure

if TYPE_CHECKING:
    from bridge.kube.client import KubeClient

PATIENCE = 10.0  # seconds for a cluster's ConfigMaps and RegoPolicies


async def settle_manifests(objects: Iterable[Object]) -> Settled:
    """The bundle for a folder's objects. Raises ToolError where there is no `opa`, CheckError where it is broken."""
    gathering = Gathering(_namespaces())
    for type_id in gathering.authors.types:
        gathering.note(Listing(type_id))
    for obj in objects:
        gathering.note(Upserted(key_of(obj).type_id, (obj,)))
    for type_id in gathering.authors.types:
        gathering.note(Listed(type_id))
    return await _settle(gathering)


async def settle_cluster(client: KubeClient) -> Settled:
    """The bundle for a cluster. What may not be read there is among its problems, by the type's key."""
    from bridge.sources.cluster import ClusterSource

    gathering = Gathering(_namespaces())
    source = ClusterSource(client, {CONFIG_MAP: config_maps_in(_namespaces())})
    source.want(gathering.authors.types)
    try:
        told = cast("AsyncGenerator[Change, None]", source.changes())
        async with asyncio.timeout(PATIENCE), aclosing(told) as changes:
            async for change in changes:
                gathering.note(change)
                if gathering.settled:
                    break
    except TimeoutError:
        gathering.give_up()
    return await _settle(gathering)


def troubles(found: Settled, position: Callable[[Key], tuple[str, int] | None] = lambda _: None) -> list[Trouble]:
    """What is wrong with authors' objects, one a problem, at the file and line where an object stands."""
    told = []
    for key, problems in found.problems.items():
        place = position(key)
        name = key.name if key.namespace == CLUSTER else f"{key.namespace}/{key.name}"
        for problem in problems:
            subject = f"{place[0]}:{place[1]}" if place else str(key)
            text = f"{reports.place(problem)}{problem.message}"
            told.append(Trouble(subject, f"{key.kind} {name}: {text}" if place else text, retried=False))
    told += [Trouble(type_id, why, retried=False) for type_id, why in found.unread.items()]
    return told


def module_states(found: Settled) -> list[dict[str, Any]]:
    """Objects that submit Rego, `{name, packages, state, message}`: `name` is the key, `state` Active or Rejected."""
    return [
        {
            "name": str(key),
            "packages": sorted({".".join(package) for package in packages(found.submissions[key]).values()})
            if key in found.submissions
            else [],
            "state": "Rejected" if key in found.problems else "Active",
            "message": "; ".join(f"{reports.place(one)}{one.message}" for one in found.problems.get(key, ())),
        }
        for key in sorted({*found.submissions, *found.problems})
    ]


async def _settle(gathering: Gathering) -> Settled:
    found = shipped(rego_root(), _bounds())
    executable = await asyncio.to_thread(ensure, "opa")
    view = kubernetes_view((type_id, plural_by_rule(type_id)) for type_id in ALWAYS)
    return await gathering.settle(Checker(executable.path, found.modules), found, view)


def _bounds() -> dict[str, int]:
    """The settings `policy_max_…`, from the environment as well."""
    given = {name: os.environ[PREFIX + name.upper()] for name in POLICY_BOUNDS if PREFIX + name.upper() in os.environ}
    try:
        return msgspec.convert(given, Settings, strict=False).policy_bounds
    except msgspec.ValidationError as error:
        raise SettingsError(Mistake("environment", f"{PREFIX}POLICY_MAX_…: {error}")) from error


def _namespaces() -> tuple[str, ...]:
    """The setting, as far as a command without a settings file has it: from the environment."""
    given = os.environ.get(f"{PREFIX}POLICY_NAMESPACES")
    return POLICY_NAMESPACES if given is None else tuple(filter(None, given.split(",")))
