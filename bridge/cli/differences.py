"""Tables of differences of effective policies, and of the effects of one policy."""

from __future__ import annotations

from collections.abc import Sequence

from bridge.cli.notation import Entry, fields_of, kind_text, name_of, path_text, policy_text
from bridge.cli.table import Lines, Table
from bridge.model.keys import parse_key
from bridge.queries.names import first_of, short_key

_NAMED = 3  # targets that a row lists; a wide table lists all
_Side = Entry | None


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
            if before == after:
                before, after = (_policies(side, overriding=True) for side in sides)
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


def _fields(side: _Side, other: _Side) -> Lines:
    """Return the fields of one side that the other side lacks, or has with another value or another policy."""
    if side is None:
        return Lines("(no policy)")
    if "error" in side:
        return Lines(f"error: {side['error']['message']}")
    theirs = fields_of(other) if other and "error" not in other else {}
    differing = {path: field for path, field in fields_of(side).items() if theirs.get(path) != field}
    return Lines.joined(differing.values(), ", ") if differing else Lines("(not set)" if side["spec"] else "{}")


def _policies(side: _Side, *, overriding: bool = False) -> Lines:
    """Return the policies of one side with their outcomes, by which two sides with equal fields differ.

    `overriding`: with the policies that override each, and its target and strategy, for two sides with equal outcomes.
    """
    if side is None:
        return Lines("(no policy)")
    policies = [policy_text(policy, wide=overriding) for policy in side["policies"]]
    return Lines(", ".join(policies), policies if overriding else ())
