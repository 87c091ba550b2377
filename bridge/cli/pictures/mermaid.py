"""A picture for Markdown."""

from __future__ import annotations

from bridge.cli.pictures.texts import badges_at_nodes, names_of, title_of
from bridge.queries.pictures import Link, Picture

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
