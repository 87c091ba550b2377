"""`pbctl explain`: the effective policies at a target, with the stack, the steps, origins, and what is ignored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bridge.cli.config_dumps import PROXIES, compare_proxies, names_proxies
from bridge.cli.config_dumps import QUERIES as OF_PROXIES
from bridge.cli.notation import (
    MARKS,
    Entry,
    compact,
    kind_text,
    name_of,
    names_text,
    nodes_of,
    origin_text,
    proxy_lines,
    shadow_text,
    value_lines,
    via_text,
)
from bridge.cli.options import EVERY_SOURCE, ONLY_KIND, kind_option, namespace_options, source_namespace_option, words
from bridge.cli.output import Answer
from bridge.cli.read_commands import read_command
from bridge.cli.reading import INPUT_ERROR, Asked
from bridge.cli.table import Block, Table
from bridge.model.keys import Key, field_name, parse_key
from bridge.model.text import TIE
from bridge.queries.names import first_of, short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine

# That the command sends; where an option names proxies also those about them.
QUERIES = (
    "affected",
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
    "policies_below",
    "problems",
    "proxy_commands",
    "rules_above",
    "scopes",
    "status",
    "tree",
    "violations",
)


def _check(asked: Asked) -> Sequence[str]:
    names_proxies(asked)
    return ()


@read_command(
    "Explain the effective policies at a target",
    words("TARGET...", "objects", required=True),
    kind_option(ONLY_KIND),
    *namespace_options("The namespace of a TARGET without one."),
    source_namespace_option(EVERY_SOURCE),
    *PROXIES,
    queries=lambda asked: (*QUERIES, *(OF_PROXIES if names_proxies(asked) else ())),
    at_targets=lambda asked: not names_proxies(asked),  # which may be about places beside the targets
    check=_check,
)
async def explain(engine: Engine, asked: Asked) -> Answer:
    """Explain the effective policies at a target.

    For each path to the target, the output has the policies from the top down, the steps of their merge, and the spec
    with the origin of each field. Then it lists policies and links of the hierarchy that are ignored, with the reason.

    TARGET is an object or a section of an object: KIND NAME, KIND/NAME, KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a
    full key. A target above the level at which a policy kind acts means all effective targets below it. For a policy:
    its status, its effective targets, and the changes if it were deleted. With --config-dump or --pods, the column
    PROXY has the state of each field in these proxies, as `pbctl verify` shows it. Exits with 2 if a proxy cannot be
    read.

    Examples:
        # Explain the effective policies of a rule
        pbctl explain httproute/cart#checkout -n shop --manifests examples/shop
        # Explain one policy kind, with the result of each step
        pbctl explain svc/catalog -n shop --kind timeoutpolicies -o wide --manifests examples/shop
        # Explain from kubectl's cluster
        pbctl explain HTTPRoute/shop/cart --kind ColorPolicy
        # Compare each field with a proxy
        pbctl explain httproute/cart#checkout -n shop --config-dump dump.json --manifests deploy/
    """
    from bridge.cli.describe import description
    from bridge.queries.asking import acting_below, explained_at, policy_kind, proxy_commands, target_keys
    from bridge.queries.description import describe
    from bridge.queries.proxy_states import add_states

    kind = await policy_kind(engine.opa, asked.kind) if asked.kind else None
    keys = await target_keys(engine.opa, asked.words, asked.namespace)
    kinds = await engine.opa.query("kinds_in_force", {})
    named = [key for key in keys if key.type_id in kinds]
    policies = [await describe(engine, key) for key in named]
    targets = [] if policies else keys
    found = [entry for key in targets for entry in await explained_at(engine.opa, key, kind, asked.source_namespace)]
    code = 0
    if found and names_proxies(asked):
        compared = await compare_proxies(engine, asked, targets, everything=True)
        add_states(found, compared.rows)
        code = INPUT_ERROR if compared.unread else 0
    what, asked_at = kind.partition("/")[2] if kind else "policy", " ".join(asked.words)
    below = "" if asked.wants_document else await acting_below(engine.opa, targets, kind)
    nothing = f"No {what} applies at {asked_at}, and none is rejected there."
    nodes = [node for entry in found for path in entry["paths"] for node in nodes_of(path["path"])]
    commands = await proxy_commands(engine.opa, nodes)
    return Answer(
        lambda: [
            *explanation(found, asked.wide),
            *([f"Below {asked_at}, {below}"] if found and below else ()),
            *proxy_lines(commands),
            *(block for policy in policies for block in description(policy, asked.wide)),
        ],
        f"{nothing} Below it, {below}" if below else nothing,
        [*found, *(policy.document() for policy in policies)],
        names=lambda: [*(entry["target"] for entry in found), *(str(policy.key) for policy in policies)],
        code=code,
        whole=True,
    )


_SHOWN = 8  # targets that are listed if many have the same explanation


def explanation(entries: Sequence[Entry], wide: bool = False) -> list[Block]:
    """Return the tables for the query `explain`; equal explanations of several targets once.

    Wide: also each step's result.
    """
    blocks: list[Block] = []
    for group in _alike(entries):
        blocks += _of_target(group[0], wide)
        if others := [short_key(parse_key(entry["target"])) for entry in group[1:]]:
            blocks.append(f"The same at {first_of(others, _SHOWN)}, where the paths end")
    return blocks


def _alike(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Group entries that differ only in their targets, and so in the ends of paths."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        paths = [
            {**path, "path": path["path"][:-1] if len(path["path"]) < 3 else path["path"][:-2]}
            for path in entry["paths"]
        ]
        same = json.dumps([entry["policyKind"], paths, entry["attachments"], entry["links"]], sort_keys=True)
        groups.setdefault(same, []).append(entry)
    return list(groups.values())


def _of_target(entry: Entry, wide: bool) -> Iterator[Block]:
    target = parse_key(entry["target"])
    title = f"{kind_text(entry['policyKind'], wide=False)} at {short_key(target)}"
    paths = entry["paths"]
    for number, at_path in enumerate(paths, 1):
        nodes = nodes_of(at_path["path"])
        via = via_text(nodes, target)
        which = f" via {via}" if via != "-" else ""
        source = f" for requests from {at_path['sourceNamespace']}" if "sourceNamespace" in at_path else ""
        yield f"{title}{which}{source}" + (f" (path {number} of {len(paths)})" if len(paths) > 1 else "")
        yield _stack(nodes, at_path)
        yield _steps(at_path, wide)
        yield _spec(at_path)
        yield _notes(at_path)
    if not paths:
        unread = entry.get("incomplete", ())
        yield f"{title}: no policy found, but {'; '.join(unread)}" if unread else f"{title}: no policy applies here"
    yield _left_out(entry)


def _stack(nodes: Sequence[Key], at_path: Entry) -> Table:
    """Return every node of the path, from the root, with the policies that are attached there."""
    table = Table(["PATH, FROM THE TOP", "POLICY", "STRATEGY", "OUTCOME"])
    mark = MARKS["Incomplete"] if "incomplete" in at_path else ""
    outcome_of = {policy["policy"]: f"{_outcome(policy)}{mark}" for policy in at_path["policies"]}
    for node in nodes:
        attached = [policy for policy in at_path["policies"] if policy["target"] == str(node)]
        place = short_key(node)
        for policy in attached:
            table.rows.append(
                [place, name_of(parse_key(policy["policy"])), policy["strategy"], outcome_of[policy["policy"]]]
            )
            place = ""
        if not attached:
            table.rows.append([place, "-", "", ""])
    return table


def _outcome(policy: Entry) -> str:
    outcome: str = policy.get("outcome", "Failed")
    text = "partly, overridden" if outcome == "PartiallyProgrammed" else outcome
    by = names_text(policy.get("overriddenBy", ()))
    return f"{text}{TIE}by {by}" if by else text


def _steps(at_path: Entry, wide: bool) -> Table:
    """Return the steps of the merge in order: the higher or older policy is the established one of semantics F1."""
    table = Table(["STEP", "HIGHER", "LOWER", "STRATEGY", "WINS", "RESULT"])
    for number, step in enumerate(at_path.get("steps", ()), 1):
        sides = [_side(step["established"]), _side(step["challenger"])]
        table.rows.append([str(number), *sides, step["strategy"], _winner(step), _result(step) if wide else ""])
    return table.without_empty("RESULT")


def _side(policies: Sequence[str]) -> str:
    return " + ".join(dict.fromkeys(name_of(parse_key(policy)) for policy in policies))


_SIDES = {"Established": "higher", "Challenger": "lower"}


def _winner(step: Entry) -> str:
    side = _SIDES.get(step["winner"], step["winner"].lower())
    return f"{side} alone" if step["strategy"].startswith("Atomic") else side


def _result(step: Entry) -> str:
    return f"error: {step['error']['message']}" if "error" in step else compact(step["result"])


def _spec(at_path: Entry) -> Table:
    """Return each field of the effective spec with its value and origin."""
    if "error" in at_path:
        return Table(["ERROR"], [[f"error: {at_path['error']['message']}"]])
    rows: list[Sequence[str]] = []
    for one in at_path["fields"]:
        first, *others = _value_lines(one)
        name, origin = field_name(one["field"]) or "(all)", origin_text(one["policies"])
        rows.append([name, first, origin, one.get("proxy", "")])
        rows += [["", line, "", ""] for line in others]
    return Table(["EFFECTIVE FIELD", "VALUE", "FROM", "PROXY"], rows).without_empty("PROXY")


def _notes(at_path: Entry) -> Table:
    """Return what the fields do not show: meanings of values, fields of the route that replace them, and doubts."""
    shadowed = [shadow_text(one) for one in at_path.get("shadowed", ())]
    incomplete = [f"incomplete: {why}" for why in at_path.get("incomplete", ())]
    return Table(["NOTE"], [[note] for note in (*at_path.get("remarks", ()), *shadowed, *incomplete)])


def _value_lines(field: Entry) -> list[str]:
    """Return a value, in lines of YAML if it is a list or a mapping."""
    return value_lines(field["value"]) if "value" in field else ["(removed)"]  # by a null of its policy (semantics F3)


def _left_out(entry: Entry) -> Table:
    """Return the policies and links that are ignored. What the user can't read is shown as incomplete instead."""
    table = Table(["IGNORED HERE", "REASON", "WHY"])
    for lost in entry["attachments"]:
        what = f"{name_of(parse_key(lost['policy']))} on {short_key(parse_key(lost['target']))}"
        table.rows.append([what, lost["reason"], lost["message"]])
    unread = entry.get("incomplete", ())
    for link in (one for one in entry["links"] if one["message"] not in unread):
        what = f"{short_key(parse_key(link['child']))} below {short_key(parse_key(link['parent']))}"
        table.rows.append([what, link["reason"], link["message"]])
    return table
