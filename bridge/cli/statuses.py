"""What `bridge status` and `bridge run` tell of statuses: asked of OPA, and put into the objects."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bridge.cli.asking import Entry
    from bridge.opa.client import Opa

MODE_ANNOTATION = "policybridge.io/mode"  # marks a policy whose status is only computed, never written


@dataclass(slots=True)
class Statuses:
    """What the queries `status` and `affected` say, and the objects that this is about, by key."""

    policies: list[Entry]
    affected: list[Entry]
    objects: dict[str, Entry] = field(default_factory=dict)


async def statuses(opa: Opa, *, with_objects: bool) -> Statuses:
    """Ask for every policy, and for every object that a policy may affect or that is marked as if one did."""
    from bridge.cli.asking import in_batches, objects, scopes
    from bridge.model.keys import parse_key

    policies = await in_batches(opa, "status", "policies", await opa.query("policies", {}))
    reached = {str(key.object) for targets in (await scopes(opa)).values() for key in targets}
    candidates = sorted(reached.union(await opa.query("marked", {})))
    affected = await in_batches(opa, "affected", "objects", candidates)
    found = Statuses(policies, affected)
    if with_objects:
        keys = [entry["policy"] for entry in policies] + [entry["object"] for entry in affected]
        held = await objects(opa, map(parse_key, keys))
        found.objects = {str(key): obj for key, obj in held.items()}
    return found


def objects_with_status(answer: Statuses) -> list[dict[str, Any]]:
    """Each policy, then each affected object, as it would be with its status."""
    from bridge.remediator.plan import plan_affected_status, plan_policy_status, with_status

    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    shown = []
    for wanted in answer.policies:
        obj = answer.objects.get(wanted["policy"])
        if obj is not None:
            planned = with_status(obj, plan_policy_status(obj.get("status", {}), wanted, now))
            shown.append(_marked(planned) if wanted["mode"] == "Observe" else planned)
    for wanted in answer.affected:
        obj = answer.objects.get(wanted["object"])
        part = plan_affected_status(obj.get("status", {}), wanted, now) if obj is not None else None
        if obj is not None and (wanted["conditions"] or part is not None):
            shown.append(with_status(obj, part))
    return shown


def _marked(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj["metadata"]
    annotations = {**metadata.get("annotations", {}), MODE_ANNOTATION: "Observe"}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}
