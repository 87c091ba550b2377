"""Checks in a pause: each OPA equals the API server, and statuses equal a new computation."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.model.types import ALWAYS, ResourceType
from bridge.opa.client import Opa
from bridge.opa.errors import OpaError
from hack.figures import progress
from tests.controlplane.api import ApiError, ApiServer
from tests.faults.comparing import differences
from tests.properties.shown import MARKED, marks_shown, marks_wanted, said, shown
from tests.properties.small_world import GROUP, POLICY_KINDS, THING

SELECTED = ("core/ConfigMap", THING)  # replicated because of the setting `types`
TYPES = (*ALWAYS, *SELECTED, *(f"{GROUP}/{kind}" for kind in POLICY_KINDS))
PATIENCE = 180.0  # seconds; what is not equal by then never is
_SHOWN = 12  # printed differences
_TELL = 20.0  # seconds between two printed differences while states converge


@dataclass(frozen=True, slots=True)
class Equal:
    """The number of compared objects, statuses and affected objects, and the `seconds` until all were equal."""

    objects: int
    statuses: int
    affected: int
    seconds: float


class Different(Exception):
    """The remaining differences, a line each."""


async def until_equal(places: Places, opas: Mapping[str, str], values: Mapping[str, tuple[int, bool]]) -> Equal:
    """Wait until each OPA (its URL by a name) equals the API server, and statuses are correct.

    Raises Different where that does not happen.
    """
    began = time.monotonic()
    tell = began + _TELL
    while True:
        found, equal = await _look(places, opas, values, time.monotonic() - began)
        if not found:
            return equal
        if time.monotonic() - began > PATIENCE:
            raise Different("\n".join([*found[:_SHOWN], f"({len(found)} differences)"]))
        if time.monotonic() > tell:
            progress(f"not yet: {found[0][:300]}")
            tell = time.monotonic() + _TELL
        await asyncio.sleep(0.5)


async def _look(
    places: Places, opas: Mapping[str, str], values: Mapping[str, tuple[int, bool]], seconds: float
) -> tuple[list[str], Equal]:
    reported: list[str] = []
    statuses = affected = 0
    objects: dict[Key, Object] = {}
    try:
        objects = await asyncio.to_thread(places.objects)
        for name, url in opas.items():
            async with Opa(url, timeout=30.0) as opa:
                found = await differences(opa, objects.values()) + await _wrong_values(opa, values)
                if not found:
                    found, statuses, affected = await _wrong_statuses(opa, objects)
            reported += [f"{name}: {one}" for one in found]
    except (OpaError, OSError, ApiError) as error:
        reported.append(str(error))
    return reported, Equal(len(objects), statuses, affected, seconds)


async def _wrong_values(opa: Opa, values: Mapping[str, tuple[int, bool]]) -> list[str]:
    """Return modules of ConfigMaps with wrong values. While a module is invalid, the previous version is expected."""
    found = await opa.get("soak") or {}
    wrong = []
    for name, (value, broken) in values.items():
        has = found.get(name, {}).get("value")
        # A good one may have been too short there to come into force; and a bridge that started later never saw it.
        if has != value and not (broken and (has is None or has < value)):
            wrong.append(f"module {name} says {has}, not {value}")
    return wrong


async def _wrong_statuses(opa: Opa, objects: Mapping[Key, Object]) -> tuple[list[str], int, int]:
    """Return statuses of policies and affected objects that differ from a new computation, and the counts."""
    policies = [*await opa.query("policies", {}), *await opa.query("policykinds", {})]
    wanted = [entry for entry in await opa.query("status", {"policies": policies}) if entry["mode"] == "Manage"]
    wrong = [
        f"{entry['policy']} shows {shown(objects, entry)}, not {said(entry)}"
        for entry in wanted
        if shown(objects, entry) != said(entry)
    ]
    marked = [str(key) for key in objects if key.kind in MARKED]
    affected = await opa.query("affected", {"objects": marked})
    wrong += [
        f"{entry['object']} shows {marks_shown(objects, entry)}, not {marks_wanted(entry)}"
        for entry in affected
        if marks_shown(objects, entry) != marks_wanted(entry)
    ]
    return wrong, len(wanted), len(affected)


class Places:
    """The API server's paths of the objects of TYPES, in its preferred version."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        preferred = {
            group["name"]: group["preferredVersion"]["version"]
            for group in api.get("/apis")["groups"]
            if any(type_id.startswith(f"{group['name']}/") for type_id in TYPES)
        }
        served = [
            ResourceType(group, version, one["kind"], one["name"], one["namespaced"])
            for group, version in {"core": "v1", **preferred}.items()
            for one in api.get("/api/v1" if group == "core" else f"/apis/{group}/{version}")["resources"]
            if "/" not in one["name"]
        ]
        self._types = {type_.id: type_ for type_ in served if type_.id in TYPES}

    def of(self, key: Key) -> str:
        """Return the path of one object."""
        type_ = self._types[key.type_id]
        namespace = f"/namespaces/{key.namespace}" if type_.namespaced else ""
        return f"{self._root(key.type_id)}{namespace}/{type_.plural}/{key.name}"

    def objects(self) -> dict[Key, Object]:
        """Return all objects. Blocks; raises OSError if the API server is unavailable."""
        found: dict[Key, Object] = {}
        for type_id, type_ in self._types.items():
            answer = self._api.get(f"{self._root(type_id)}/{type_.plural}")
            for item in answer["items"]:
                obj = {**item, "apiVersion": answer["apiVersion"], "kind": type_.kind}
                found[key_of(obj)] = obj
        return found

    def _root(self, type_id: str) -> str:
        type_ = self._types[type_id]
        return "/api/v1" if type_.group == "core" else f"/apis/{type_.group}/{type_.version}"
