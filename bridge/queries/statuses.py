"""The statuses for `pbctl status` and `pbctl run`: queried from OPA, and added to the objects."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from bridge.model.nesting import as_mapping
from bridge.queries.names import reference_text

if TYPE_CHECKING:
    from bridge.opa.client import Opa
    from bridge.queries.asking import Entry, Selects
    from bridge.remediator.outcomes import Ledger

MODE_ANNOTATION = "policybridge.io/mode"  # marks a policy whose status is only computed, never written
DIFFERS_ANNOTATION = "policybridge.io/differs"  # if the controller reports another result than the bridge


@dataclass(slots=True)
class Statuses:
    """The results of the queries `status` and `affected`, and their objects, by key.

    `scopes` has by policy the number of its paths on which it has an effect, and of all: `{affected, all}`.
    """

    policies: list[Entry]
    affected: list[Entry]
    objects: dict[str, Entry] = field(default_factory=dict)
    scopes: dict[str, dict[str, int]] = field(default_factory=dict)


async def statuses(opa: Opa, *, with_objects: bool, with_affected: bool = True, kind: str | None = None) -> Statuses:
    """Query every policy (of a kind), and every object that a policy affects or that has a mark.

    What fails on single policies or objects is left out (see `in_batches`). The ledger of status writes counts the
    outcomes.
    """
    from bridge.model.keys import parse_key
    from bridge.opa.batches import batches
    from bridge.queries.asking import BATCH, in_batches, objects

    chosen = {"policyKind": kind} if kind else {}
    every = await opa.query("policies", chosen)
    counted = await count_outcomes(opa, every, with_marks=with_affected)
    ledger = counted.ledger
    policies = []
    scopes = {}
    for keys in batches(every, BATCH):
        for entry in await in_batches(opa, "status", "policies", keys, counted.tallies_of(keys)):
            policies.append(entry)
            ledger.report(entry["policyKind"], entry["policy"], entry.get("unreported", ()))
            scopes[entry["policy"]] = _count_affected(ledger.tallies(entry["policy"]))
    affected: list[Entry] = []
    marked = sorted(ledger.objects().union(await opa.query("marked_objects", {}))) if with_affected else []
    for keys in batches(marked, BATCH):
        acting = {key: ledger.marks_on(key) for key in keys}
        unreported = {key: ledger.unreported(key) for key in keys}
        more = {"affectedBy": acting, "unreported": unreported}
        affected += await in_batches(opa, "affected", "objects", keys, more)
    found = Statuses(policies, affected, scopes=scopes)
    if with_objects:
        named = [entry["policy"] for entry in policies] + [entry["object"] for entry in affected]
        held = await objects(opa, map(parse_key, named))
        found.objects = {str(key): obj for key, obj in held.items()}
    return found


async def only(opa: Opa, found: Statuses, namespace: str | None, selects: Selects | None) -> Statuses:
    """Return the statuses of one namespace's policies and affected objects, and of those with selected labels."""
    from bridge.model.keys import parse_key
    from bridge.queries.asking import selected

    def inside(entries: list[Entry], field: str) -> list[Entry]:
        return [entry for entry in entries if namespace in {None, parse_key(entry[field]).namespace}]

    policies = await selected(opa, inside(found.policies, "policy"), "policy", selects)
    affected = await selected(opa, inside(found.affected, "object"), "object", selects)
    return Statuses(policies, affected, found.objects, found.scopes)


def _count_affected(tallies: list[Entry]) -> dict[str, int]:
    lost = sum(one["count"] for one in tallies if one["outcome"] in {"Overridden", "Failed"})
    every = sum(one["count"] for one in tallies)
    return {"affected": every - lost, "all": every}


@dataclass(frozen=True, slots=True)
class Counted:
    """The outcomes of policies, counted; not `complete` if a query failed at a target."""

    ledger: Ledger
    complete: bool

    def tallies_of(self, policies: Sequence[str]) -> dict[str, Any]:
        """Return the counts of these policies as input of queries about them.

        Empty if counts may lack a target: then OPA counts for each policy alone, and fails on those that have it.
        """
        return {"tallies": {key: self.ledger.tallies(key) for key in policies}} if self.complete else {}


async def count_outcomes(opa: Opa, policies: Sequence[str], *, with_marks: bool) -> Counted:
    """Return the outcomes of all policies at the effective targets of these.

    OPA computes targets in batches: a query about a policy would need memory for all of its targets. Failures at single
    targets and policies are not among those of OPA.
    """
    from bridge.opa.batches import at_targets_of, in_parts
    from bridge.queries.asking import by_batches
    from bridge.remediator.outcomes import Ledger

    scopes: dict[str, set[str]] = {}
    for parts in await by_batches(policies, partial(in_parts, opa, "scopes", "policies", more={})):
        for _, found in parts:
            for kind, targets in found.items():
                scopes.setdefault(kind, set()).update(targets)
    ledger = Ledger()
    for kind, targets in sorted(scopes.items()):
        more, name_of = {"policyKind": kind, **({} if with_marks else {"unmarked": True})}, at_targets_of(kind)
        ask = partial(in_parts, opa, "outcomes", "targets", more=more, name_of=name_of)
        for answers in await by_batches(sorted(targets), ask):
            for _, answer in answers:
                for target, rows in answer.items():
                    ledger.replace(kind, target, rows)
    failed = [name for name in opa.failures.errors if name[0] in {"scopes", "outcomes"}]
    for query, name in failed:
        opa.failures.drop(query, [name])
    return Counted(ledger, not failed)


def condition_groups(entry: Mapping[str, Any]) -> list[list[Mapping[str, Any]]]:
    """Return the conditions of a policy's status, or those of each of its ancestors."""
    return [entry["conditions"]] if "conditions" in entry else [one["conditions"] for one in entry["ancestors"]]


def differences(entry: Mapping[str, Any]) -> list[str]:
    """Return the contradictions of an observed policy's controllers, in sentences."""
    return list(dict.fromkeys(one["difference"] for one in entry.get("reported", ()) if "difference" in one))


def objects_with_status(answer: Statuses) -> list[dict[str, Any]]:
    """Return each policy, then each affected object, with its desired status and annotations."""
    from bridge.remediator.plan import Patch, patched, plan_affected, plan_policy

    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    rows = []

    def planned(obj: Entry, plan: Callable[[Entry, Entry, str], Patch | None], wanted: Entry) -> tuple[Entry, bool]:
        """Return the object after every planned patch, and whether there is one."""
        differs = False
        while patch := plan(_read_current(obj), wanted, now):
            obj, differs = patched(obj, patch), True
        return obj, differs

    for wanted in answer.policies:
        if obj := answer.objects.get(wanted["policy"]):
            after, _ = planned(obj, plan_policy, wanted)
            rows.append(_marked(after, differences(wanted)) if wanted["mode"] == "Observe" else after)
    for wanted in answer.affected:
        if obj := answer.objects.get(wanted["object"]):
            after, differs = planned(obj, plan_affected, wanted)
            if differs or conditions_in(wanted):
                rows.append(after)
    return rows


def conditions_in(wanted: Entry) -> list[tuple[str, Entry]]:
    """Return the desired conditions of an object, each with its place; an annotation has the form of a condition."""
    found = [("", condition) for condition in wanted.get("conditions", ())]
    for name, conditions in sorted(wanted.get("listeners", {}).items()):
        found += [(f"#{name}", condition) for condition in conditions]
    for parent in wanted.get("parents", ()):
        found += [(f" at {reference_text(parent['parentRef'])}", condition) for condition in parent["conditions"]]
    for name in sorted(wanted.get("annotations", {})):
        found.append(("", {"type": name, "message": "an annotation, because the kind has no status.conditions"}))
    return found


def _read_current(obj: Entry) -> Entry:
    return {"status": obj.get("status") or {}, "annotations": as_mapping(obj["metadata"].get("annotations"))}


def _marked(obj: dict[str, Any], differing: Sequence[str]) -> dict[str, Any]:
    metadata = obj["metadata"]
    annotations = {**metadata.get("annotations", {}), MODE_ANNOTATION: "Observe"}
    if differing:
        annotations[DIFFERS_ANNOTATION] = "; ".join(differing)
    return {**obj, "metadata": {**metadata, "annotations": annotations}}
