"""The hierarchy as a tree: one line for each node, with its policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridge.cli.printers.effective import MARKS, name_of
from bridge.cli.printers.table import Column, Table
from bridge.model.keys import Key, parse_key
from bridge.model.text import TIE
from bridge.queries.names import short_key

if TYPE_CHECKING:
    from bridge.queries.topology import Tree

_MOST = 20  # children of one kind that are shown below a node by default

_SECTIONS = {"Gateway": "listener", "ListenerSet": "listener", "Service": "port"}

Row = tuple[str, str]


def tree_table(answer: Tree, *, wide: bool = False, everything: bool = False) -> Table:
    """Return the result of the query `tree` as rows. `everything`: all children, and ports without policies."""
    writer = _Writer(answer.found["nodes"], answer.outcomes, wide=wide, everything=everything)
    rows = [row for root in answer.found["roots"] for row in writer.rows(root, "", "")]
    return Table(
        [Column("HIERARCHY", tree=True), Column("POLICIES", painted=True, long=True)], [list(row) for row in rows]
    )


class _Writer:
    def __init__(
        self, nodes: Mapping[str, Any], outcomes: Mapping[str, Sequence[str]], *, wide: bool, everything: bool
    ) -> None:
        self._nodes = nodes
        self._outcomes = outcomes
        self._wide = wide
        self._everything = everything
        self._written: set[str] = set()

    def rows(self, node: str, first: str, rest: str, above: Key | None = None) -> Iterator[Row]:
        """Return the lines of a node and the nodes below; `first` precedes its own line, `rest` the others."""
        key = parse_key(node)
        about = self._nodes[node]
        below: list[str | _More] = [*_parameters(about), *self._listed(about["children"])]
        again = node in self._written and bool(below)
        self._written.add(node)
        label = _label(key, above) + (f"{TIE}(see above)" if again else "")
        yield _tied(first + label), ", ".join(self._policies(about))
        if again:
            return
        for index, part in enumerate(below):
            last = index == len(below) - 1
            drawn = ("└─ ", "   ") if last else ("├─ ", "│  ")
            if isinstance(part, str) and part in self._nodes:
                yield from self.rows(part, rest + drawn[0], rest + drawn[1], key)
            else:
                yield _tied(rest + drawn[0] + str(part)), ""

    def _listed(self, children: Sequence[str]) -> list[str | _More]:
        """Return the children to print, and the number of omitted ones."""
        found: list[str | _More] = []
        hidden = [child for child in children if child not in self._nodes]
        by_type: dict[str, list[str]] = {}
        for child in children:
            if child in self._nodes and (self._everything or not self._is_plain_port(child)):
                by_type.setdefault(parse_key(child).type_id, []).append(child)
        for members in by_type.values():
            ordered = members if self._everything or len(members) <= _MOST else self._policies_first(members)
            most = len(ordered) if self._everything or len(ordered) <= _MOST else _MOST
            found += ordered[:most]
            if len(ordered) > most:
                found.append(_More(_noun(parse_key(ordered[0])), len(ordered) - most, "--all shows them"))
        if hidden:
            found.append(_More(_noun(parse_key(hidden[0])), len(hidden), "below --depth"))
        return found

    def _is_plain_port(self, node: str) -> bool:
        return self._nodes[node]["level"] == "Port" and not self._nodes[node]["policies"]

    def _policies_first(self, members: Sequence[str]) -> list[str]:
        return sorted(members, key=lambda child: not self._nodes[child]["policies"])

    def _policies(self, about: Mapping[str, Any]) -> Iterator[str]:
        above = self._nodes.get(about.get("namespace", ""))
        for policy in above["policies"] if above else ():
            yield f"{self._policy(policy)} on its Namespace"
        for policy in about["policies"]:
            yield self._policy(policy)

    def _policy(self, policy: Mapping[str, Any]) -> str:
        key = parse_key(policy["policy"])
        kind = key.type_id if self._wide else key.kind
        if not policy["accepted"]:
            return f"{kind} {name_of(key)}{TIE}({policy['reason']})"
        outcomes = self._outcomes.get(policy["policy"], ())
        marks = MARKS.get(outcomes[0], f"{TIE}({outcomes[0]})") if len(outcomes) == 1 else ""
        return f"{kind} {name_of(key)}{'' if outcomes == ['Programmed'] else marks}"


class _More:
    """The number of omitted children, and the reason."""

    def __init__(self, kind: str, count: int, why: str) -> None:
        self._text = f"… {count:,} more {kind}{'s' if count > 1 else ''} ({why})"

    def __str__(self) -> str:
        return self._text


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
