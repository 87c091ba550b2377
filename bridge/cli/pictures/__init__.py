"""A picture of the hierarchy as text: graphviz's dot, mermaid, or SVG."""

from __future__ import annotations

from bridge.cli.pictures.dot import dot
from bridge.cli.pictures.mermaid import mermaid
from bridge.queries.pictures import Picture


def drawn(picture: Picture, form: str) -> str:
    """Return the picture in the form `dot`, `mermaid` or `svg`. Raises CommandError for too large an SVG."""
    if form == "svg":
        from bridge.cli.pictures.svg import svg  # an expensive import

        return svg(picture)
    return dot(picture) if form == "dot" else mermaid(picture)
