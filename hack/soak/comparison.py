"""What OPA and the statuses have, compared with the objects of the API server."""

from __future__ import annotations

from collections.abc import Mapping

from bridge.model.changes import Object
from bridge.model.keys import Key, key_of
from bridge.model.types import ALWAYS
from bridge.opa.client import Opa
from hack.soak.objects import GROUP
from tests.controlplane.api import ApiServer
from tests.faults.comparing import differences
from tests.properties.shown import MARKED, marks_shown, marks_wanted, said, shown
from tests.properties.small_world import GROUP as CHANGING_GROUP
from tests.properties.small_world import POLICY_KINDS, THING

TYPES = (*ALWAYS, THING, f"{GROUP}/LimitPolicy", *(f"{CHANGING_GROUP}/{kind}" for kind in POLICY_KINDS))


def replicated_objects(api: ApiServer) -> dict[Key, Object]:
    """Return all objects of the replicated types, in their preferred version. Blocks; raises ApiError and OSError."""
    roots = {"core": "/api/v1"}
    for group in api.get("/apis")["groups"]:
        roots[group["name"]] = f"/apis/{group['preferredVersion']['groupVersion']}"
    found: dict[Key, Object] = {}
    for group in {type_id.partition("/")[0] for type_id in TYPES} & roots.keys():
        for served in api.get(roots[group])["resources"]:
            if f"{group}/{served['kind']}" in TYPES and "/" not in served["name"]:
                answer = api.get(f"{roots[group]}/{served['name']}")
                for item in answer["items"]:
                    obj = {**item, "apiVersion": answer["apiVersion"], "kind": served["kind"]}
                    found[key_of(obj)] = obj
    return found


async def wrong_in_opa(opa: Opa, objects: Mapping[Key, Object]) -> list[str]:
    """Return the differences of OPA's objects and index, and the statuses and marks that are not as computed anew."""
    if found := await differences(opa, objects.values()):
        return found
    policies = [*await opa.query("policies", {}), *await opa.query("policykinds", {})]
    wanted = [entry for entry in await opa.query("status", {"policies": policies}) if entry["mode"] == "Manage"]
    wrong = [
        f"{entry['policy']} shows {shown(objects, entry)}, not {said(entry)}"
        for entry in wanted
        if shown(objects, entry) != said(entry)
    ]
    marked = [str(key) for key in objects if key.kind in MARKED]
    wrong += [
        f"{entry['object']} shows {marks_shown(objects, entry)}, not {marks_wanted(entry)}"
        for entry in await opa.query("affected", {"objects": marked})
        if marks_shown(objects, entry) != marks_wanted(entry)
    ]
    return wrong
