"""A picture of the hierarchy as text: graphviz's dot, mermaid, or SVG."""

from __future__ import annotations

from bridge.cli.pictures.texts import dot, mermaid
from bridge.queries.topology import Picture


def draw(picture: Picture, form: str) -> str:
    """Return the picture in the form `dot`, `mermaid` or `svg`. Raises CommandError for too large an SVG."""
    if form == "svg":
        from bridge.cli.pictures.svg import svg  # an expensive import

        return svg(picture)
    return dot(picture) if form == "dot" else mermaid(picture)
