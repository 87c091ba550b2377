"""The positions of a picture's boxes: columns from left to right, by the number of links to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from grandalf.graphs import Edge, Graph, Vertex
from grandalf.layouts import SugiyamaLayout, VertexViewer

_APART = 14.0  # between two boxes of a column
_LINE = 6.0
_ROUNDS = 3  # of ordering each column to reduce crossing lines

Pair = tuple[str, str]


@dataclass(slots=True)
class Layout:
    """`boxes` maps a name to its column and the height of its middle; `bends` has the same for points of lines."""

    boxes: dict[str, tuple[int, float]] = field(default_factory=dict)
    bends: dict[Pair, list[tuple[int, float]]] = field(default_factory=dict)
    height: float = 0.0


def laid_out(heights: Mapping[str, float], links: Sequence[Pair]) -> Layout:
    """Return the layout of boxes of these heights, by name, with links from left to right, parts below each other."""
    layout = Layout()
    vertices = {name: Vertex(name) for name in heights}
    for name, vertex in vertices.items():
        # grandalf's layers are horizontal: the height of a column is their width
        vertex.view = VertexViewer(w=heights[name], h=1.0)
    edges = {pair: Edge(vertices[pair[0]], vertices[pair[1]]) for pair in dict.fromkeys(links) if pair[0] != pair[1]}
    for part in Graph(list(vertices.values()), list(edges.values())).C:
        _lay_out_part(part, layout)
    for pair, edge in edges.items():
        layout.bends[pair] = layout.bends.pop((edge.v[0].data, edge.v[1].data), [])
    return layout


def _lay_out_part(part: Graph, layout: Layout) -> None:
    sugiyama = SugiyamaLayout(part)
    sugiyama.xspace = _APART
    sugiyama.dw = _LINE  # the space for a line that passes a column
    sugiyama.init_all()
    sugiyama.draw(_ROUNDS)
    down = layout.height + (_APART if layout.height else 0.0)
    for column in sugiyama.layers:
        _part_boxes(column)
    down -= min(_top(vertex) for column in sugiyama.layers for vertex in column)
    for vertex in part.sV:
        layout.boxes[vertex.data] = (sugiyama.grx[vertex].rank, vertex.view.xy[0] + down)
    for edge in part.sE:
        passed = sugiyama.ctrls.get(edge, {})
        ends = {sugiyama.grx[vertex].rank for vertex in edge.v}
        layout.bends[edge.v[0].data, edge.v[1].data] = [
            (column, passed[column].view.xy[0] + down) for column in sorted(set(passed) - ends)
        ]
    layout.height = max(_top(vertex) + vertex.view.w for column in sugiyama.layers for vertex in column) + down


def _part_boxes(column: Sequence[Vertex]) -> None:
    """Move overlapping boxes down; the library leaves overlaps if heights differ much."""
    reached = float("-inf")
    for vertex in sorted(column, key=_top):
        top = max(_top(vertex), reached)
        vertex.view.xy = (top + vertex.view.w / 2, vertex.view.xy[1])
        reached = top + vertex.view.w + _APART / 2


def _top(vertex: Vertex) -> float:
    return float(vertex.view.xy[0] - vertex.view.w / 2)
