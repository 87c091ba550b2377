"""`pbctl tree`: the hierarchy as a tree, one line for each node, with its policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridge.cli.command import option
from bridge.cli.notation import MARKS, kind_text, name_of
from bridge.cli.options import DEPTH, kind_option, namespace_options, words
from bridge.cli.output import Answer
from bridge.cli.read_commands import read_command
from bridge.cli.reading import Asked
from bridge.cli.table import Table
from bridge.model.keys import Key, parse_key
from bridge.model.text import TIE
from bridge.queries.names import short_key

if TYPE_CHECKING:
    from bridge.offline.engine import Engine
    from bridge.queries.hierarchies import Tree

# That the command sends.
QUERIES = (
    "affected",
    "kinds_in_force",
    "marked_objects",
    "outcomes",
    "policies",
    "scopes",
    "status",
    "tree",
)

_MOST = 20  # children of one kind that are shown below a node by default
_SECTIONS = {"Gateway": "listener", "ListenerSet": "listener", "Service": "port"}

Row = tuple[str, str]


@read_command(
    "Show the hierarchy with the policies at each node",
    words("[ROOT]", "targets"),
    kind_option("Only policies of this kind: ColorPolicy, colorpolicies.example.com, …"),
    DEPTH,
    option("--all", "everything", is_flag=True, help="All children of a node, and ports without policies."),
    *namespace_options("The namespace of a ROOT without one; without ROOT, show only this namespace."),
    queries=QUERIES,
)
async def tree(engine: Engine, asked: Asked) -> Answer:
    """Show the hierarchy (accepted links only) with each node's policies and their outcomes.

    ROOT is an object or a section of an object: KIND/NAME, KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a full key.
    Without it: everything, from the nodes without a parent. A node with several parents is printed once. If a
    node has many children, only the first are shown, children with policies first.

    Examples:
        # Everything, from the GatewayClasses down
        pbctl tree --manifests examples/shop
        # Everything below one listener, from a running OPA
        pbctl tree gtw/public#https --opa http://opa:8181
        # Only Gateways and their listeners
        pbctl tree gatewayclass/example --depth 2 --manifests examples/shop
        # All routes of a Gateway with thousands of them
        pbctl tree gtw/infra/public --all
    """
    from bridge.queries.asking import one_target, policy_kind
    from bridge.queries.hierarchies import tree_below

    kind = await policy_kind(engine.opa, asked.kind) if asked.kind else None
    key = await one_target(engine.opa, asked.words, asked.namespace) if asked.words else None
    found = await tree_below(engine.opa, key, kind, asked.depth, None if key else asked.namespace)
    return Answer(
        lambda: [tree_table(found, wide=asked.wide, everything=asked.everything)],
        "The hierarchy is empty.",
        found.found,
        names=lambda: sorted(found.found["nodes"]),
        whole=True,
    )


def tree_table(answer: Tree, *, wide: bool = False, everything: bool = False) -> Table:
    """Return the result of the query `tree` as rows. `everything`: all children, and ports without policies."""
    writer = _Writer(answer.found["nodes"], answer.outcomes, wide=wide, everything=everything)
    rows = [row for root in answer.found["roots"] for row in writer.rows(root, "", "")]
    return Table(["HIERARCHY", "POLICIES"], list(rows))


class _Writer:
    def __init__(self, nodes: Mapping[str, Any], outcomes: Mapping[str, str], *, wide: bool, everything: bool) -> None:
        self._nodes = nodes
        self._outcomes = outcomes
        self._wide = wide
        self._everything = everything
        self._written: set[str] = set()

    def rows(self, node: str, first: str, rest: str, above: Key | None = None) -> Iterator[Row]:
        """Return the lines of a node and the nodes below; `first` precedes its own line, `rest` the others."""
        key = parse_key(node)
        about = self._nodes[node]
        below: list[str] = [*_parameters(about), *self._listed(about["children"])]
        again = node in self._written and bool(below)
        self._written.add(node)
        label = _label(key, above) + (f"{TIE}(see above)" if again else "")
        yield _tied(first + label), ", ".join(self._policies(about))
        if again:
            return
        for index, part in enumerate(below):
            last = index == len(below) - 1
            drawn = ("└─ ", "   ") if last else ("├─ ", "│  ")
            if part in self._nodes:
                yield from self.rows(part, rest + drawn[0], rest + drawn[1], key)
            else:
                yield _tied(rest + drawn[0] + part), ""

    def _listed(self, children: Sequence[str]) -> list[str]:
        """Return the children to print, and the number of omitted ones."""
        found: list[str] = []
        hidden = [child for child in children if child not in self._nodes]
        by_type: dict[str, list[str]] = {}
        for child in children:
            if child in self._nodes and (self._everything or not self._is_plain_port(child)):
                by_type.setdefault(parse_key(child).type_id, []).append(child)
        for members in by_type.values():
            most = len(members) if self._everything else _MOST
            ordered = members if len(members) <= most else self._policies_first(members)
            found += ordered[:most]
            if len(ordered) > most:
                found.append(_more(parse_key(ordered[0]), len(ordered) - most, "--all shows them"))
        if hidden:
            found.append(_more(parse_key(hidden[0]), len(hidden), "below --depth"))
        return found

    def _is_plain_port(self, node: str) -> bool:
        return self._nodes[node]["level"] == "Port" and not self._nodes[node]["policies"]

    def _policies_first(self, members: Sequence[str]) -> list[str]:
        return sorted(members, key=lambda child: not self._nodes[child]["policies"])

    def _policies(self, about: Mapping[str, Any]) -> Iterator[str]:
        above = self._nodes.get(about.get("namespace", ""))
        for policy in above["policies"] if above else ():
            yield f"{self._policy(policy)}{TIE}on{TIE}its{TIE}Namespace"
        for policy in about["policies"]:
            yield self._policy(policy)

    def _policy(self, policy: Mapping[str, Any]) -> str:
        key = parse_key(policy["policy"])
        kind = kind_text(key.type_id, wide=self._wide)
        if not policy["accepted"]:
            return f"{kind}/{name_of(key)}{TIE}({policy['reason']})"
        outcome = self._outcomes.get(policy["policy"], "Programmed")
        mark = "" if outcome == "Programmed" else MARKS.get(outcome, f"{TIE}({outcome})")
        return f"{kind}/{name_of(key)}{mark}"


def _more(key: Key, count: int, why: str) -> str:
    """Return the line for omitted children, and the reason."""
    return f"… {count:,} more {_noun(key)}{'s' if count > 1 else ''} ({why})"


def _noun(key: Key) -> str:
    """Return the name of a node's kind for counts: a section is not an object of its kind."""
    return _SECTIONS.get(key.kind, "rule" if key.kind.endswith("Route") else "section") if key.section else key.kind


def _parameters(about: Mapping[str, Any]) -> list[str]:
    """Return the object that a node takes its parameters from, which is not a node of the tree."""
    return [f"{short_key(parse_key(about['parameters']))} (parameters)"] if "parameters" in about else []


def _label(key: Key, above: Key | None) -> str:
    """Return the label of a node; a section below its object has only its name."""
    if above is not None and key.section and key.object == above.object:
        return f"#{key.section}"
    return short_key(key)


def _tied(text: str) -> str:
    return text.replace(" ", TIE)
