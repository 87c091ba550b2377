"""`pbctl graph`: the hierarchy as a picture: graphviz's dot, mermaid, or SVG."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import click

from bridge.cli.captions import Badge, badge_of, full_name, names_of, title_of
from bridge.cli.command import command, option
from bridge.cli.options import DEPTH, kind_option, namespace_options, output_option, words
from bridge.cli.output import print_error
from bridge.cli.reading import asked_for, read
from bridge.cli.source import SOURCE
from bridge.queries.hierarchies import Picture

if TYPE_CHECKING:
    from bridge.offline.engine import Engine


@command(
    "Draw the hierarchy",
    words("[ROOT]", "targets"),
    kind_option("Only policies of this kind: ColorPolicy, colorpolicies.example.com, …"),
    DEPTH,
    option("--all", "everything", is_flag=True, help="Draw every node, including ports without policies."),
    *namespace_options(
        "The namespace of a ROOT without one; without ROOT, draw its nodes and those above and below.", "default"
    ),
    *SOURCE,
    output_option("dot", "mermaid", "svg"),
)
def graph(**options: Any) -> int:
    """Draw the hierarchy, with the policies at each node and their outcomes.

    Policies that are overridden on all paths are marked; links that are ignored are dashed, with the reason. ROOT is
    an object or a section of an object: KIND/NAME, KIND/NAMESPACE/NAME, KIND/NAME#SECTION or a full key. The default is
    everything. If a node has many children, only the first are drawn, children with policies first. The same objects
    always give the same picture.

    Examples:
        # Draw a picture for a browser or a README
        pbctl graph --manifests examples/shop -o svg >shop.svg
        # Draw everything below one Gateway, for a page in Markdown
        pbctl graph gtw/infra/public -o mermaid
        # Draw one namespace, with the nodes above it
        pbctl graph -n shop --manifests examples/shop -o svg >shop.svg
        # For graphviz
        pbctl graph --kind ColorPolicy -o dot | dot -Tpng >graph.png
    """
    asked = asked_for(options)

    async def ask(engine: Engine) -> Picture:
        from bridge.queries.asking import one_target, policy_kind, require_namespace
        from bridge.queries.hierarchies import picture_below

        await require_namespace(engine.opa, asked.namespace)
        kind = await policy_kind(engine.opa, asked.kind) if asked.kind else None
        key = await one_target(engine.opa, asked.words, asked.namespace) if asked.words else None
        return await picture_below(
            engine.opa, key, kind, asked.depth, None if key else asked.namespace, everything=asked.everything
        )

    picture, code = read(asked.source, ask)
    click.echo(draw(picture, asked.output), nl=False)
    if asked.output == "dot" and sys.stdout.isatty():
        print_error("For graphviz: `| dot -Tsvg`. `pbctl tree` draws in the terminal, -o svg for a browser.")
    return code


def draw(picture: Picture, form: str) -> str:
    """Return the picture in the form `dot`, `mermaid` or `svg`. Raises CommandError for too large an SVG."""
    if form == "svg":
        from bridge.cli.svg import svg  # an expensive import

        return svg(picture)
    return _text(picture, _FORMS[form])


class _Language(Protocol):
    """How a language writes the parts of a picture; nodes have short names there.

    `look` of a node is node, missing, counted or the state of a policy; `kind` of a link is link, parameters, refused
    (with its reason), policy or counted.
    """

    foot: str

    def head(self, title: str) -> list[str]: ...
    def node(self, name: str, label: Sequence[str], title: str, look: str) -> str: ...
    def policy(self, name: str, badge: Badge) -> str: ...
    def link(self, start: str, end: str, kind: str, reason: str) -> str: ...


def _text(picture: Picture, language: _Language) -> str:
    """Return the picture in a language. A policy is a separate node, connected to its targets."""
    names = {key: f"n{number}" for number, key in enumerate(picture.nodes)}
    lines = language.head(title_of(picture))
    for key, node in picture.nodes.items():
        look = "missing" if node.missing else "node"
        lines.append(language.node(names[key], names_of(node), full_name(node.key), look))
    for link in picture.links:
        kind = "refused" if link.refused else "parameters" if link.parameters else "link"
        lines.append(language.link(names[link.parent], names[link.child], kind, link.refused))
    drawn: dict[tuple[str, str], str] = {}  # the names of policies; a policy has one node for each mark
    for key, node in picture.nodes.items():
        for attached in node.policies:
            badge = badge_of(attached, picture.outcomes)
            what = (str(attached.policy), badge.text)
            if what not in drawn:
                drawn[what] = f"p{len(drawn)}"
                lines.append(language.policy(drawn[what], badge))
            lines.append(language.link(drawn[what], names[key], "policy", ""))
    for number, counted in enumerate(picture.counted):
        lines.append(language.node(f"c{number}", [counted.text], "", "counted"))
        if counted.parent:
            lines.append(language.link(names[counted.parent], f"c{number}", "counted", ""))
    return "\n".join((*lines, language.foot)) + "\n"


# Explicit colors on a white background, so they are readable on a dark page too.
_DOT_HEAD = """\
  graph [rankdir=LR, bgcolor="white", fontname="Helvetica", nodesep=0.15, ranksep=0.6, labelloc=b, fontsize=10];
  node [shape=box, style="rounded,filled", fillcolor="#f6f8fa", color="#8c959f", fontcolor="#1f2328",
    fontname="Helvetica", fontsize=11, margin="0.12,0.05"];
  edge [color="#8c959f", fontname="Helvetica", fontsize=9, arrowsize=0.6];"""
_DOT_NODES = {
    "node": "",
    "missing": ', style="rounded,dashed", color="#cf222e", fontcolor="#cf222e"',
    "counted": ', style="rounded,dashed", fontcolor="#59636e"',
}
_DOT_STATES = {
    "holds": 'fillcolor="#ddf4ff", color="#0969da"',
    "partly": 'fillcolor="#fff8c5", color="#9a6700"',
    "overridden": 'style="filled,dashed", fillcolor="#eaeef2", color="#818b98", fontcolor="#59636e"',
    "refused": 'style="filled,dashed", fillcolor="#ffebe9", color="#cf222e", fontcolor="#82071e"',
}
_DOT_LINKS = {
    "link": "",
    "parameters": " [style=dotted]",
    "policy": " [style=dotted, arrowhead=none]",
    "counted": " [style=dashed, arrowhead=none]",
}


class _Dot:
    foot = "}"

    def head(self, title: str) -> list[str]:
        return ["digraph policies {", _DOT_HEAD, f"  label={_quoted(title)};"]

    def node(self, name: str, label: Sequence[str], title: str, look: str) -> str:
        tooltip = f", tooltip={_quoted(title)}" if title else ""
        return f"  {name} [label={_quoted(chr(10).join(label))}{tooltip}{_DOT_NODES[look]}];"

    def policy(self, name: str, badge: Badge) -> str:
        return f"  {name} [shape=note, label={_quoted(badge.text)}, {_DOT_STATES[badge.state]}];"

    def link(self, start: str, end: str, kind: str, reason: str) -> str:
        refused = f' [style=dashed, color="#cf222e", fontcolor="#cf222e", label={_quoted(reason)}]'
        return f"  {start} -> {end}{refused if reason else _DOT_LINKS[kind]};"


def _quoted(text: str) -> str:
    """Return a quoted string of graphviz, in which backslashes and ampersands are escaped."""
    escaped = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


# Explicit colors, readable on a light and on a dark background.
_MERMAID_FOOT = """\
  classDef node fill:#f6f8fa,stroke:#8c959f,color:#1f2328
  classDef missing fill:#ffffff,stroke:#cf222e,color:#cf222e,stroke-dasharray:4 3
  classDef counted fill:#ffffff,stroke:#8c959f,color:#59636e,stroke-dasharray:4 3
  classDef holds fill:#ddf4ff,stroke:#0969da,color:#0a3069
  classDef partly fill:#fff8c5,stroke:#9a6700,color:#4d2d00
  classDef overridden fill:#eaeef2,stroke:#818b98,color:#59636e,stroke-dasharray:4 3
  classDef refused fill:#ffebe9,stroke:#cf222e,color:#82071e,stroke-dasharray:4 3"""
_MERMAID_LINKS = {"link": "-->", "parameters": "-.->", "policy": "-.-", "counted": "-.-"}
_ESCAPED = set("#&<>\"'`\\*_~$%")


class _Mermaid:
    foot = _MERMAID_FOOT

    def head(self, title: str) -> list[str]:
        return ["flowchart LR", f"  %% {title}"]

    def node(self, name: str, label: Sequence[str], title: str, look: str) -> str:  # noqa: ARG002 - it has no tooltips
        return f'  {name}["{"<br>".join(map(_escaped, label))}"]:::{look}'

    def policy(self, name: str, badge: Badge) -> str:
        return f'  {name}(["{_escaped(badge.text)}"]):::{badge.state}'

    def link(self, start: str, end: str, kind: str, reason: str) -> str:
        arrow = f'-. "{_escaped(reason)}" .->' if reason else _MERMAID_LINKS[kind]
        return f"  {start} {arrow} {end}"


def _escaped(text: str) -> str:
    """Return a text without mermaid markup: special characters become character references."""
    return "".join(f"#{ord(character)};" if character in _ESCAPED else character for character in text)


_FORMS: Mapping[str, _Language] = {"dot": _Dot(), "mermaid": _Mermaid()}
