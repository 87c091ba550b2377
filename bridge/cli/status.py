"""`pbctl status`: the statuses of policies, and the conditions on objects that they affect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bridge.cli.notation import MARKS, Entry, brief, counts_of, kind_text, name_of
from bridge.cli.options import SELECTOR, namespace_options, words
from bridge.cli.output import Answer
from bridge.cli.read_commands import read_command
from bridge.cli.reading import Asked
from bridge.cli.table import Table
from bridge.model.keys import CORE, Key, parse_key
from bridge.queries.asking import policy_keys
from bridge.queries.names import CommandError, object_name, short_key
from bridge.queries.statuses import conditions_in, differences, objects_with_status, only, statuses

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.queries.statuses import Statuses

# That the command sends.
QUERIES = (
    "affected",
    "marked_objects",
    "outcomes",
    "policies",
    "scopes",
    "status",
)


@read_command(
    "Show statuses of policies and affected objects",
    words("[POLICY]...", "policies"),
    *namespace_options("Only policies and affected objects in this namespace."),
    SELECTOR,
    queries=QUERIES,
)
async def status(engine: Engine, asked: Asked) -> Answer:
    """Show the status of each policy, and the conditions on objects that policies affect.

    POLICY is NAME, NAMESPACE/NAME, KIND NAME, KIND/NAME or a full key; default: all, with the objects that they affect.

    -o json and yaml print an array of these objects with their desired status. A policy of a kind in mode Observe,
    whose status the bridge does not write, has the annotation policybridge.io/mode: Observe there.

    Examples:
        # The statuses of the policies in a folder of manifests
        pbctl status --manifests examples/shop
        # The same for a cluster, from its OPA
        pbctl status --opa http://opa:8181
        # The status of one policy
        pbctl status accessibility -n infra --manifests examples/shop
        # Each object with its desired status
        pbctl status --manifests examples/shop -o yaml
    """
    named = await policy_keys(engine.opa, asked.words, asked.namespace) if asked.words else None
    every = await statuses(engine.opa, with_objects=asked.wants_document, with_affected=named is None)
    if named is not None:
        every.policies = [entry for entry in every.policies if parse_key(entry["policy"]) in named]
        if unreported := set(named) - {parse_key(entry["policy"]) for entry in every.policies}:
            raise CommandError(f"not a policy: {', '.join(sorted(map(short_key, unreported)))}")
    found = await only(engine.opa, every, None if named else asked.namespace, asked.selects)
    return Answer(
        lambda: status_tables(found, asked.wide),
        "No policies found.",
        objects_with_status(found),
        names=lambda: [object_name(parse_key(entry["policy"])) for entry in found.policies],
    )


def status_tables(answer: Statuses, wide: bool = False) -> list[Table]:
    """Return a row for each policy and, if its kind reports by ancestor, for each ancestor.

    Observed policies also have the reports of their controllers, and a third table has the differences.
    """
    policies = Table(
        ["POLICY", "KIND", "MODE", "ANCESTOR", "ACCEPTED", "PROGRAMMED", "REPORTED", "MESSAGE"],
        [row for entry in answer.policies for row in _policy_rows(entry, wide)],
        spare=() if wide else ("MODE",),
    )
    affected = Table(["AFFECTED", "AT", "CONDITION", "MESSAGE"], spare=() if wide else ("CONDITION",))
    for entry in answer.affected:
        name = short_key(parse_key(entry["object"]))
        for place, condition in conditions_in(entry):
            kind = condition["type"] if wide else condition["type"].rpartition("/")[2]
            affected.rows.append([*(name + place).partition(" at ")[::2], kind, condition["message"]])
    differing = Table(["POLICY", "KIND", "DIFFERENCE"])
    for entry in answer.policies:
        key = parse_key(entry["policy"])
        differing.rows.extend([name_of(key), kind_text(key.type_id, wide=wide), text] for text in differences(entry))
    # Only Observe is marked; written statuses are the normal case.
    return [policies.without_empty("MODE", "ANCESTOR", "REPORTED"), affected.without_empty("AT"), differing]


def _policy_rows(entry: Entry, wide: bool) -> Iterator[Sequence[str]]:
    key = parse_key(entry["policy"])
    mode = entry["mode"] if wide or entry["mode"] == "Observe" else ""
    cells = [name_of(key), kind_text(key.type_id, wide=wide), mode]
    # Ancestors are for the wide table and for policies with several; a single one is usually the target itself.
    ancestors = entry.get("ancestors")
    if ancestors is None:
        yield [*cells, "", *_condition_cells(entry["conditions"], entry, wide)]
        return
    for ancestor in ancestors:
        ancestor_text = _ancestor(ancestor["ancestorRef"]) if wide or len(ancestors) > 1 else ""
        yield [*cells, ancestor_text, *_condition_cells(ancestor["conditions"], entry, wide)]
    if not ancestors:
        yield [*cells, "", "", "", _reported(entry), ""]


def _reported(entry: Entry) -> str:
    """Return one word per controller for its report on a policy, marked if it is old or contradicts the bridge."""
    marks = {
        one["says"] + (" (outdated)" if one["outdated"] else " (differs)" if "difference" in one else ""): None
        for one in entry.get("reported", ())
    }
    return ", ".join(marks)


def _condition_cells(conditions: Sequence[Entry], entry: Entry, wide: bool) -> tuple[str, str, str, str]:
    """Return Accepted, the reason of Programmed (or its replacement), the reports, and the more important message."""
    by_type = {condition["type"]: condition for condition in conditions}
    accepted = by_type.get("Accepted", {"status": "", "reason": "", "message": ""})
    outcomes = [condition for condition in conditions if condition["type"] != "Accepted"]
    if not outcomes:
        return accepted["status"], "", _reported(entry), f"{accepted['reason']}: {accepted['message']}"
    message = "; ".join(condition["message"] for condition in outcomes)
    if "but not for" in accepted["message"]:  # some of its targets are rejected, which must not be lost
        message = f"{accepted['message']}; {message}"
    reasons = ", ".join(condition["reason"] for condition in outcomes)
    reasons += MARKS["Incomplete"] if "incomplete" in entry else ""
    return accepted["status"], reasons, _reported(entry), message if wide else brief(counts_of(message))


def _ancestor(reference: Entry) -> str:
    group = reference.get("group", "") or CORE
    namespace = reference.get("namespace", "-")
    return short_key(Key(group, reference["kind"], namespace, reference["name"], reference.get("sectionName", "")))
