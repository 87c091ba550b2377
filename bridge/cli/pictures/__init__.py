"""A picture of the hierarchy as text: graphviz's dot, mermaid, or SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bridge.cli.printers.effective import MARKS, name_of
from bridge.cli.printers.table import display_width
from bridge.model.keys import Key
from bridge.model.text import TIE, plain
from bridge.queries.names import short_key
from bridge.queries.topology import Attached, Drawn, Link, Picture


def draw(picture: Picture, form: str) -> str:
    """Return the picture in the form `dot`, `mermaid` or `svg`. Raises CommandError for too large an SVG."""
    if form == "svg":
        from bridge.cli.pictures.svg import svg  # an expensive import

        return svg(picture)
    return dot(picture) if form == "dot" else mermaid(picture)


MOST = 48  # characters of a name; a longer one is shortened in the middle


@dataclass(frozen=True, slots=True)
class Badge:
    """A policy at a node. `state`: holds, partly, overridden, refused; `mark` is its text, "" for holds."""

    name: str
    mark: str
    state: str

    @property
    def text(self) -> str:
        """Return the name and the mark."""
        return f"{self.name} {self.mark}".rstrip()


def badge_of(attached: Attached, outcomes: Mapping[str, Sequence[str]]) -> Badge:
    """Return the badge of a policy."""
    name = f"{attached.policy.kind} {shortened(name_of(attached.policy))}"
    name += " on its Namespace" if attached.on_namespace else ""
    if attached.reason:
        return Badge(name, f"({plain(attached.reason)})", "refused")
    reasons = outcomes.get(str(attached.policy), ())
    reason = reasons[0] if len(reasons) == 1 else ""
    mark = MARKS.get(reason, "").replace(TIE, "")
    state = {"Overridden": "overridden", "PartiallyProgrammed": "partly"}.get(reason, "holds")
    return Badge(name, mark, state)


def badges_at_nodes(picture: Picture) -> Iterator[tuple[str, Badge | None, str]]:
    """Return policies as separate nodes: the name of each, and the key of the node that it is connected to.

    The mark is between the two for the first name, and None afterwards.
    """
    named: dict[tuple[str, str], str] = {}
    for key, node in picture.nodes.items():
        for attached in node.policies:
            badge = badge_of(attached, picture.outcomes)
            where = (str(attached.policy), badge.text)
            first = where not in named
            yield named.setdefault(where, f"p{len(named)}"), badge if first else None, key


def names_of(node: Drawn) -> tuple[str, str]:
    """Return a node's kind and its name; the `#` shows that a section belongs to its object."""
    key = node.key
    role = f" {key.role}" if key.role else ""
    more = ", which does not exist" if node.missing else ", parameters" if node.parameters else ""
    return plain(f"{key.kind}{role}{more}"), shortened(name_of(key))


def full_name(key: Key) -> str:
    """Return a key in the form for commands."""
    return plain(short_key(key))


def title_of(picture: Picture) -> str:
    """Return the title: the subject of the picture and its size."""
    drawn = sum(1 for node in picture.nodes.values() if not node.missing and not node.parameters)
    nodes = f"{picture.total:,} nodes" if picture.total != 1 else "1 node"
    return f"Hierarchy with policies: {nodes}" + (f", {drawn:,} of them drawn" if picture.counted else "")


def shortened(text: str) -> str:
    """Return a name short enough for a picture."""
    text = plain(text)
    if display_width(text) <= MOST:
        return text
    half = MOST // 2 - 1
    while display_width(text[:half]) + display_width(text[-half:]) >= MOST:
        half -= 1
    return f"{text[:half]}…{text[-half:]}"


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


# Explicit colors, readable on a light and on a dark background.
_CLASSES = """\
  classDef node fill:#f6f8fa,stroke:#8c959f,color:#1f2328
  classDef missing fill:#ffffff,stroke:#cf222e,color:#cf222e,stroke-dasharray:4 3
  classDef counted fill:#ffffff,stroke:#8c959f,color:#59636e,stroke-dasharray:4 3
  classDef holds fill:#ddf4ff,stroke:#0969da,color:#0a3069
  classDef partly fill:#fff8c5,stroke:#9a6700,color:#4d2d00
  classDef overridden fill:#eaeef2,stroke:#818b98,color:#59636e,stroke-dasharray:4 3
  classDef refused fill:#ffebe9,stroke:#cf222e,color:#82071e,stroke-dasharray:4 3"""
_ESCAPED = set("#&<>\"'`\\*_~$%")


def mermaid(picture: Picture) -> str:
    """Return the picture in mermaid's language. A policy is a separate node, connected to its target."""
    names = {key: f"n{number}" for number, key in enumerate(picture.nodes)}
    lines = ["flowchart LR", f"  %% {title_of(picture)}"]
    for key, node in picture.nodes.items():
        label = "<br>".join(map(_escaped, names_of(node)))
        lines.append(f'  {names[key]}["{label}"]:::{"missing" if node.missing else "node"}')
    lines += [f"  {names[link.parent]} {_arrow(link)} {names[link.child]}" for link in picture.links]
    for name, badge, key in badges_at_nodes(picture):
        if badge is not None:
            lines.append(f'  {name}(["{_escaped(badge.text)}"]):::{badge.state}')
        lines.append(f"  {name} -.- {names[key]}")
    for number, counted in enumerate(picture.counted):
        lines.append(f'  c{number}["{_escaped(counted.text)}"]:::counted')
        if counted.parent:
            lines.append(f"  {names[counted.parent]} -.- c{number}")
    return "\n".join((*lines, _CLASSES)) + "\n"


def _arrow(link: Link) -> str:
    if link.refused:
        return f'-. "{_escaped(link.refused)}" .->'
    return "-.->" if link.parameters else "-->"


def _escaped(text: str) -> str:
    """Return a text without mermaid markup: special characters become character references."""
    return "".join(f"#{ord(character)};" if character in _ESCAPED else character for character in text)
