"""`pbctl describe`: one object with everything that concerns its policies, in sections as in kubectl describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bridge.cli.differences import impact_tables
from bridge.cli.effective import effective_table
from bridge.cli.notation import MARKS, Entry, brief, name_of, namespace_cell
from bridge.cli.options import namespace_options, words
from bridge.cli.output import Answer, to_yaml
from bridge.cli.problems import known, problems_table
from bridge.cli.read_commands import read_command
from bridge.cli.reading import Asked
from bridge.cli.table import Block, Document, Fields, Table, filled
from bridge.model.keys import parse_key
from bridge.model.nesting import as_mapping
from bridge.queries.names import WORKLOADS, first_of, match_kinds, object_name, reference_text, short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.queries.description import Description

# That the command sends.
QUERIES = (
    "affected",
    "audit_keys",
    "compared_problems",
    "constraints",
    "differences",
    "effective_at_scopes",
    "explain",
    "guarded_targets",
    "impact",
    "kinds_in_force",
    "marked_objects",
    "outcomes",
    "picture",
    "policies",
    "problems",
    "resource_versions",
    "rules_above",
    "scopes",
    "selecting_services",
    "status",
    "tree",
    "violations",
)

_MOST = 20  # nodes below that are listed; wide: all
_PLACES = 5  # parents or listeners with an equal condition that are named
_CONDITION = ("type", "status", "reason", "message")


def _workloads_among(asked: Asked) -> list[str]:
    """Return the types of workloads that the words name, which no other command reads."""
    kinds = [word.partition("/")[0] for word in asked.words[: None if "/" in asked.words[0] else 1]]
    return [name for kind in kinds for name in match_kinds(kind, dict.fromkeys(WORKLOADS, ()))]


@read_command(
    "Describe objects",
    words("OBJECT...", "objects", required=True),
    *namespace_options("The namespace of an OBJECT without one."),
    queries=QUERIES,
    check=_workloads_among,
)
async def describe(engine: Engine, asked: Asked) -> Answer:
    """Describe objects: the objects above and below it, its policies, effective policies, problems and events.

    For a policy: its status, its targets, and the changes if it were deleted. OBJECT is KIND NAME, KIND/NAME,
    KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a full key; the kind `policy` means every policy kind. Events are shown
    only for a cluster. A Pod or Deployment means the Services that select it. For a Service, the effective policies of
    the rules that send requests to it are shown, too.

    Examples:
        # Describe a route with its policies, problems and events
        pbctl describe httproute cart -n shop
        # Describe a Gateway of a folder of manifests
        pbctl describe gtw/infra/public --manifests examples/shop
        # Describe a policy, with its status and targets
        pbctl describe colorpolicy/infra/brand --manifests examples/shop
        # Describe the Services of a Deployment
        pbctl describe deployment/cart -n shop
        # Describe two policies of any kind
        pbctl describe policy brand accessibility -n infra --manifests examples/shop
    """
    from bridge.queries.asking import some_targets, target_keys, without_workloads
    from bridge.queries.description import describe as described

    find = partial(target_keys, with_policies=True, more=WORKLOADS)
    keys = await without_workloads(engine.opa, await some_targets(engine.opa, asked.words, asked.namespace, find))
    every = [await described(engine, key) for key in keys]
    found = [replace(one, problems=known(engine, one.problems)) for one in every]
    documents = [one.document() for one in found]
    return Answer(
        lambda: [block for one in found for block in description(one, asked.wide)],
        "Nothing found.",
        documents if len(documents) > 1 else documents[0],
        names=lambda: [object_name(one.key) for one in found],
        whole=True,
    )


def description(found: Description, wide: bool = False) -> list[Block]:
    """Return the sections that have content, each with its title."""
    return filled(_blocks(found, wide))


def _blocks(found: Description, wide: bool) -> Iterator[Block]:
    yield _summary(found, wide)
    if found.impact is not None:
        yield Document(["Spec:", *(f"  {line}" for line in to_yaml(found.object.get("spec") or {}).splitlines())])
    yield from _titled("Conditions", _conditions(found.object))
    if found.status is not None:
        yield from _titled("Expected status", _wanted(found.status, wide))
        yield from _titled("Reports that differ", _differing(found.status))
    if found.impact is not None:
        yield "Effects, and what would change without it"
        yield from impact_tables(found.impact, wide)
    yield from _titled("Policies attached here", _attached(found.attached))
    yield from _titled("Policies inherited from above", _inherited(found.inherited))
    entries = [entry for entry in found.explained if entry["paths"]]
    yield from _titled("Effective policies", effective_table(entries, wide=wide))
    wrong = problems_table(found.problems, lambda _: None)
    of_others = any(one["subject"] != str(found.key) for one in found.problems)
    yield from _titled("Problems", wrong if of_others else wrong.without("OBJECT"))
    yield from _titled("Events", _events(found.events))


def _titled(title: str, table: Table) -> Iterator[Block]:
    if table.rows:
        yield title
        yield table


def _summary(found: Description, wide: bool) -> Fields:
    key, obj = found.key, found.object
    metadata = obj["metadata"]
    most = len(found.children) if wide else _MOST
    return Fields(
        [
            ("Name", key.name),
            ("Namespace", namespace_cell(key)),
            ("Kind", f"{key.kind} ({obj.get('apiVersion', '')})"),
            ("Section", key.section),
            ("Labels", _pairs(metadata.get("labels"))),
            ("Annotations", _pairs(metadata.get("annotations"))),
            ("Created", str(metadata.get("creationTimestamp") or "")),
            ("Above", ", ".join(short_key(parse_key(node)) for node in found.parents)),
            ("Below", first_of([short_key(parse_key(node)) for node in found.children], most)),
        ]
    )


def _pairs(value: Any) -> str:
    return ", ".join(f"{name}={text}" for name, text in sorted(value.items())) if isinstance(value, Mapping) else ""


def _conditions(obj: Entry) -> Table:
    """Return the object's current conditions, of all writers; equal ones of parents and listeners with their places."""
    places: dict[tuple[str, ...], list[str]] = {}
    for place, holder in _holders(as_mapping(obj.get("status"))):
        conditions = holder.get("conditions")
        for one in conditions if isinstance(conditions, list) else ():
            if isinstance(one, Mapping):
                places.setdefault(tuple(str(one.get(name, "")) for name in _CONDITION), []).append(place)
    rows: list[Sequence[str]] = [[first_of(at, _PLACES), *cells] for cells, at in places.items()]
    return Table(["AT", "TYPE", "STATUS", "REASON", "MESSAGE"], rows).without_empty("AT")


def _holders(status: Entry) -> Iterator[tuple[str, Entry]]:
    yield "", status
    for field, name in (("listeners", "name"), ("parents", "parentRef"), ("ancestors", "ancestorRef")):
        parts = status.get(field)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, Mapping):
                place = part.get(name)
                yield reference_text(place) if isinstance(place, Mapping) else f"#{place}", part


def _wanted(status: Entry, wide: bool) -> Table:
    from bridge.queries.statuses import condition_groups

    conditions = [one for group in condition_groups(status) for one in group]
    rows = dict.fromkeys(tuple(str(one.get(name, "")) for name in _CONDITION) for one in conditions)
    shown: list[Sequence[str]] = [[*cells, message if wide else brief(message)] for *cells, message in rows]
    return Table(["TYPE", "STATUS", "REASON", "MESSAGE"], shown)


def _differing(status: Entry) -> Table:
    from bridge.queries.statuses import differences

    return Table(["DIFFERENCE"], [[text] for text in differences(status)])


def _attached(policies: Sequence[Entry]) -> Table:
    table = Table(["KIND", "POLICY", "AT", "ACCEPTED", "REASON"])
    for entry in policies:
        accepted = "True" if entry["accepted"] else "False"
        table.rows.append([*_policy_cells(entry), accepted, entry.get("reason", "")])
    return table.without_empty("REASON")


def _inherited(policies: Sequence[Entry]) -> Table:
    rows: list[Sequence[str]] = [
        [*_policy_cells(entry), entry["outcome"] + (MARKS["Incomplete"] if "incomplete" in entry else "")]
        for entry in policies
    ]
    return Table(["KIND", "POLICY", "AT", "OUTCOME"], rows)


def _policy_cells(entry: Entry) -> list[str]:
    key = parse_key(entry["policy"])
    return [key.kind, name_of(key), short_key(parse_key(entry["at"]))]


def _events(events: Sequence[Entry]) -> Table:
    table = Table(["LAST SEEN", "TYPE", "REASON", "FROM", "MESSAGE"])
    for event in events:
        times = f" (x{event['count']})" if event["count"] != 1 else ""
        table.rows.append([event["last"] + times, event["type"], event["reason"], event["from"], event["message"]])
    return table
