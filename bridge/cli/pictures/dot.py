"""A picture for graphviz."""

from __future__ import annotations

from bridge.cli.pictures.texts import badges_at_nodes, full_name, names_of, title_of
from bridge.queries.pictures import Link, Picture

# Explicit colors on a white background, so they are readable on a dark page too.
_HEAD = """\
  graph [rankdir=LR, bgcolor="white", fontname="Helvetica", nodesep=0.15, ranksep=0.6, labelloc=b, fontsize=10];
  node [shape=box, style="rounded,filled", fillcolor="#f6f8fa", color="#8c959f", fontcolor="#1f2328",
    fontname="Helvetica", fontsize=11, margin="0.12,0.05"];
  edge [color="#8c959f", fontname="Helvetica", fontsize=9, arrowsize=0.6];"""
_MISSING = 'style="rounded,dashed", color="#cf222e", fontcolor="#cf222e"'
_COUNTED = 'style="rounded,dashed", fontcolor="#59636e"'
_STATES = {
    "holds": 'fillcolor="#ddf4ff", color="#0969da"',
    "partly": 'fillcolor="#fff8c5", color="#9a6700"',
    "overridden": 'style="filled,dashed", fillcolor="#eaeef2", color="#818b98", fontcolor="#59636e"',
    "refused": 'style="filled,dashed", fillcolor="#ffebe9", color="#cf222e", fontcolor="#82071e"',
}


def dot(picture: Picture) -> str:
    """Return the picture in graphviz's language. A policy is a separate node, connected to its target."""
    names = {key: f"n{number}" for number, key in enumerate(picture.nodes)}
    lines = ["digraph policies {", _HEAD, f"  label={_quoted(title_of(picture))};"]
    for key, node in picture.nodes.items():
        more = f", {_MISSING}" if node.missing else ""
        label = _quoted("\n".join(names_of(node)))
        lines.append(f"  {names[key]} [label={label}, tooltip={_quoted(full_name(node.key))}{more}];")
    lines += [f"  {names[link.parent]} -> {names[link.child]}{_look(link)};" for link in picture.links]
    for name, badge, key in badges_at_nodes(picture):
        if badge is not None:
            lines.append(f"  {name} [shape=note, label={_quoted(badge.text)}, {_STATES[badge.state]}];")
        lines.append(f"  {name} -> {names[key]} [style=dotted, arrowhead=none];")
    for number, counted in enumerate(picture.counted):
        lines.append(f"  c{number} [label={_quoted(counted.text)}, {_COUNTED}];")
        if counted.parent:
            lines.append(f"  {names[counted.parent]} -> c{number} [style=dashed, arrowhead=none];")
    return "\n".join((*lines, "}")) + "\n"


def _look(link: Link) -> str:
    if link.refused:
        return f' [style=dashed, color="#cf222e", fontcolor="#cf222e", label={_quoted(link.refused)}]'
    return " [style=dotted]" if link.parameters else ""


def _quoted(text: str) -> str:
    """Return a quoted string of graphviz, in which backslashes and ampersands are escaped."""
    escaped = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
