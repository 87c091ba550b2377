"""`pbctl impact`: the effects of one policy; and differences of effective policies, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from bridge.cli.command import option
from bridge.cli.notation import Entry, kind_text, leaves_of, name_of, path_text, policy_text
from bridge.cli.options import EVERY_SOURCE, namespace_options, source_namespace_option, words
from bridge.cli.output import Answer
from bridge.cli.read_commands import read_command
from bridge.cli.reading import COMMON, Asked
from bridge.cli.table import Table
from bridge.model.keys import parse_key
from bridge.queries.names import first_of, short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine

_NAMED = 3  # targets that a row lists; a wide table lists all
_Side = Entry | None


@read_command(
    "Show the effects of a policy",
    words("POLICY", "policies", required=True),
    *namespace_options("The namespace of a POLICY without one."),
    option(
        "--limit",
        type=click.IntRange(1),
        default=1000,
        show_default=True,
        help="The number of effective targets to compare before and after.",
    ),
    source_namespace_option(EVERY_SOURCE),
    queries=COMMON,
)
async def impact(engine: Engine, asked: Asked) -> Answer:
    """Show the number of effective targets of a policy by outcome, and the changes if it were deleted.

    POLICY is NAME, NAMESPACE/NAME, KIND NAME, KIND/NAME or a full key. Targets with equal changes share a row.

    Examples:
        # Show the changes if a policy were deleted
        pbctl impact colorpolicy/infra/brand --manifests examples/shop
        # The same for a cluster, from its OPA
        pbctl impact cp/brand -n infra --opa http://opa:8181
        # Each target, before and after
        pbctl impact cp/infra/brand --opa http://opa:8181 -o json
    """
    from bridge.queries.analysis import policy_impact
    from bridge.queries.asking import one_target, policy_keys

    key = await one_target(engine.opa, asked.words, asked.namespace, policy_keys)
    more = {"sourceNamespace": asked.source_namespace} if asked.source_namespace else {}
    found: Entry = await policy_impact(engine, {"policy": str(key), "limit": asked.more["limit"], **more})
    return Answer(
        lambda: impact_tables(found, asked.wide),
        "The policy has no effective targets.",
        found,
        names=lambda: found["scopes"],
        whole=True,
    )


def impact_tables(answer: Entry, wide: bool = False) -> list[Table]:
    """Return the tables for the query `impact`: the counts, then the changes if the policy were deleted."""
    counts = answer["counts"]
    outcomes = [f"{name} on {number:,}" for name, number in counts["outcomes"].items() if number]
    compared = "" if counts["compared"] == counts["scopes"] else f" ({counts['compared']:,} compared)"
    about = Table(["POLICY", "KIND", "TARGETS", "PATHS"])
    if counts["scopes"]:
        key = parse_key(answer["policy"])
        kind = kind_text(key.type_id, wide=wide)
        about.rows.append([name_of(key), kind, f"{counts['scopes']:,}{compared}", ", ".join(outcomes) or "-"])
    policy_kind = {"policyKind": answer["policyKind"]}
    deleted = differences_table([{**policy_kind, **row} for row in answer["ifDeleted"]], wide)
    return [about, deleted.titled(BEFORE="WITH IT", AFTER="WITHOUT IT").without("POLICY KIND")]


def differences_table(differences: Sequence[Entry], wide: bool = False) -> Table:
    """Return a row for each set of targets with equal changes of a policy kind, on paths with the same nodes.

    If a difference is for requests from one namespace only, a column names that namespace.
    """
    alike: dict[tuple[str, str, str, str, str], dict[str, None]] = {}
    for difference in differences:
        sides = difference["before"], difference["after"]
        before, after = _fields(*sides), _fields(*reversed(sides))
        if before == after:
            before, after = map(_policies, sides)
        key = parse_key(difference["target"])
        kind, via = kind_text(difference["policyKind"], wide=wide), path_text(difference["path"], key, wide=wide)
        row = (kind, via, difference.get("sourceNamespace", ""), before, after)
        alike.setdefault(row, {})[short_key(key)] = None
    rows: list[Sequence[str]] = [
        [_targets(list(targets), wide=wide), kind, via, source, before, after]
        for (kind, via, source, before, after), targets in alike.items()
    ]
    titles = ["TARGETS", "POLICY KIND", "VIA", "REQUESTS FROM", "BEFORE", "AFTER"]
    return Table(titles, rows, long=("VIA",) if wide else ()).without_empty("REQUESTS FROM")


def _targets(targets: Sequence[str], *, wide: bool) -> str:
    # "and 1 more" is not shorter than a name.
    return first_of(targets, len(targets) if wide or len(targets) == _NAMED + 1 else _NAMED)


def _fields(side: _Side, other: _Side) -> str:
    """Return the fields of one side that the other side lacks, or has with another value or another policy."""
    if side is None:
        return "(no policy)"
    if "error" in side:
        return f"error: {side['error']['message']}"
    theirs = leaves_of(other) if other and "error" not in other else {}
    differing = {path: field for path, field in leaves_of(side).items() if theirs.get(path) != field}
    return ", ".join(differing.values()) or ("(not set)" if side["spec"] else "{}")


def _policies(side: _Side) -> str:
    """Return the policies of one side with their outcomes, by which two sides with equal fields differ."""
    return ", ".join(map(policy_text, side["policies"])) if side else "(no policy)"
