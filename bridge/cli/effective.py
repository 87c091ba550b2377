"""`pbctl effective`: the effective policies at targets, as a row for the paths to a target with the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bridge.cli.command import option
from bridge.cli.notation import Entry, fields_of, kind_text, name_of, path_text, policy_text, shadow_text, ways_text
from bridge.cli.options import (
    ONLY_KIND,
    SAME_FOR_ALL,
    SELECTOR,
    kind_option,
    namespace_options,
    source_namespace_option,
    words,
)
from bridge.cli.output import Answer
from bridge.cli.read_commands import read_command
from bridge.cli.reading import Asked
from bridge.cli.table import Lines, Table
from bridge.model.keys import parse_key
from bridge.queries.names import short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine

QUERIES = ("effective", "kinds_in_force", "scopes")  # that the command sends


@read_command(
    "Show effective policies at targets, or everywhere",
    words("[TARGET]...", "targets"),
    kind_option(ONLY_KIND),
    *namespace_options("The namespace of TARGETs without one; without TARGET, show only this namespace."),
    source_namespace_option(SAME_FOR_ALL),
    option("--with-staged", is_flag=True, help="As if staged policies were in effect."),
    SELECTOR,
    queries=QUERIES,
    only_merging=True,
    at_targets=lambda _: True,
)
async def effective(engine: Engine, asked: Asked) -> Answer:
    """Show effective policies: the spec that applies at a target, and the policies that it comes from.

    TARGET is an object or a section of an object: KIND NAME, KIND/NAME, KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a
    full key; KIND alone means all objects of the kind. A target above the level at which a policy kind acts means all
    effective targets below it. Without TARGET: all effective targets of policies. A staged policy, such as one with
    Istio's annotation istio.io/dry-run, has no effect; --with-staged shows what would be in effect.

    Examples:
        # All effective policies of a folder of manifests
        pbctl effective --manifests examples/shop
        # One rule of a route, from a running OPA
        pbctl effective httproute/cart#checkout -n shop --opa http://opa:8181
        # Everything below one listener
        pbctl effective gtw/public#https --manifests examples/shop
        # One policy kind, as the JSON result of the query
        pbctl effective --kind colorpolicies --manifests examples/shop -o json
        # Two clusters of the kubeconfig
        pbctl effective --context staging --context production
        # All clusters of an OPA that has the data of several
        pbctl effective --opa http://opa:8181 --all-clusters
        # The output of kustomize
        kubectl kustomize . | pbctl effective --manifests -
    """
    from bridge.queries.asking import effective_at, effective_everywhere, policy_kind, selected, target_keys

    kind = await policy_kind(engine.opa, asked.kind) if asked.kind else None
    staged: bool = asked.more["with_staged"]
    if asked.words:
        keys = await target_keys(engine.opa, asked.words, asked.namespace)
        found = await effective_at(
            engine.opa, keys, kind, asked.source_namespace, with_staged=staged, fields=not asked.wants_document
        )
    else:
        found = await effective_everywhere(
            engine.opa,
            kind,
            asked.namespace,
            asked.source_namespace,
            with_staged=staged,
            fields=not asked.wants_document,
        )
    found = await selected(engine.opa, found, "target", asked.selects)
    return Answer(lambda: [effective_table(found, wide=asked.wide)], "No effective policies found.", found)


def effective_table(entries: Sequence[Entry], *, wide: bool = False) -> Table:
    """Return the table for the query `effective`: a row for the paths to a target with the same effective policy.

    Wide it has a row for each path, with the whole path, strategies, and the origin of each field.
    """
    table = Table(["TARGET", "POLICY KIND", "VIA", "EFFECTIVE", "POLICIES", "NOTE"], long=("VIA",) if wide else ())
    for entry in entries:
        target, kind = parse_key(entry["target"]), kind_text(entry["policyKind"], wide=wide)
        ways: dict[tuple[str, str, str], list[str]] = {}
        for at_path in entry["paths"]:
            via = path_text(at_path["path"], target, wide=wide)
            policies = ", ".join(policy_text(policy, wide=wide) for policy in at_path["policies"])
            cells = _effective(at_path, wide=wide), policies, _notes(at_path)
            if wide:
                table.rows.append([short_key(target), kind, via, *cells])
            else:
                ways.setdefault(cells, []).append(via)
        table.rows.extend([short_key(target), kind, ways_text(vias), *same] for same, vias in ways.items())
    return table.without_empty("NOTE")


def _effective(at_path: Entry, *, wide: bool) -> Lines:
    if "error" in at_path:
        return Lines(f"error: {at_path['error']['message']}")
    fields = fields_of(at_path, with_policies=wide)
    return Lines.joined(fields.values(), ", ") if fields else Lines("{}")


def _notes(at_path: Entry) -> Lines:
    """Return what a reader has to know about the effective policy, a sentence a line; empty if nothing."""
    staged = [f"would be, with {name_of(parse_key(policy))}" for policy in at_path.get("staged", ())]
    shadowed = [shadow_text(one) for one in at_path.get("shadowed", ())]
    incomplete = [f"incomplete: {why}" for why in at_path.get("incomplete", ())]
    detached = [f"not attached: {why}" for why in at_path.get("notAttached", ())]
    notes = [*at_path.get("remarks", ()), *shadowed, *staged, *incomplete, *detached]
    return Lines.joined(map(Lines, notes), "; ")
