"""A picture as SVG: its layout in layers, shapes and style."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from grandalf.graphs import Edge, Graph, Vertex
from grandalf.layouts import SugiyamaLayout, VertexViewer

from bridge.cli.captions import Badge, badge_of, full_name, names_of, title_of
from bridge.cli.table import display_width
from bridge.queries.hierarchies import Link, Picture
from bridge.queries.names import CommandError

_CHARACTER = 7.3  # width of a character in the fonts of the style, at 12 px
_LINE = 17.0  # height of a line of text
_PAD = 9.0  # within a box
_GAP = 44.0  # between columns; more if a reason is written there
_MARGIN = 16.0
_MOST = 2_000  # boxes; a larger layout takes minutes and would not be readable


@dataclass(frozen=True, slots=True)
class _Box:
    """The contents of a box: its kind (small), its name, policies; `look` is its class in the style."""

    kind: str
    name: str
    badges: Sequence[Badge]
    look: str
    title: str

    @property
    def width(self) -> float:
        texts = [self.kind, self.name, *(f"  {badge.text}" for badge in self.badges)]
        return max(map(display_width, texts)) * _CHARACTER + 2 * _PAD

    @property
    def height(self) -> float:
        return (bool(self.kind) + 1 + len(self.badges)) * _LINE + 2 * _PAD - 6


@dataclass(frozen=True, slots=True)
class _Line:
    parent: str
    child: str
    look: str
    reason: str = ""


def svg(picture: Picture) -> str:
    """Return the picture as SVG, the same for the same objects. Raises CommandError for too many nodes."""
    boxes, lines = _parts(picture)
    if len(boxes) > _MOST:
        raise CommandError(
            f"{len(boxes):,} boxes are too many for one SVG: omit --all, or give a ROOT, -n or --depth; "
            "-o dot and -o mermaid have no limit"
        )
    layout = lay_out({name: box.height for name, box in boxes.items()}, [(line.parent, line.child) for line in lines])
    lefts, widths = _columns(boxes, lines, layout)
    width = max((left + wide for left, wide in zip(lefts, widths, strict=True)), default=0) + 2 * _MARGIN
    title = title_of(picture)
    width = max(width, display_width(title) * _CHARACTER + 2 * _MARGIN)
    height = layout.height + 2 * _MARGIN + _LINE
    place = _Place(boxes, layout, lefts, widths)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return "\n".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        '<rect class="ground" width="100%" height="100%"/>',
        *(text for line in lines for text in place.line(line)),
        *(text for name in boxes for text in place.box(name)),
        *(text for line in lines for text in place.reason(line)),
        f'<text class="kind" x="{_MARGIN}" y="{height - _MARGIN / 2:.1f}">{escape(title)}</text>',
        "</svg>\n",
    ))  # fmt: skip


def _parts(picture: Picture) -> tuple[dict[str, _Box], list[_Line]]:
    boxes: dict[str, _Box] = {}
    for key, node in picture.nodes.items():
        kind, name = names_of(node)
        badges = [badge_of(attached, picture.outcomes) for attached in node.policies]
        boxes[key] = _Box(kind, name, badges, "missing" if node.missing else "node", full_name(node.key))
    lines = [_Line(link.parent, link.child, _look_of(link), link.refused) for link in picture.links]
    for number, counted in enumerate(picture.counted):
        name = f"counted {number}"
        boxes[name] = _Box("", counted.text, (), "counted", counted.text)
        if counted.parent:
            lines.append(_Line(counted.parent, name, "counts"))
    return boxes, lines


def _look_of(link: Link) -> str:
    if link.refused:
        return "refused"
    return "parameters" if link.parameters else "link"


def _columns(boxes: Mapping[str, _Box], lines: Sequence[_Line], layout: Layout) -> tuple[list[float], list[float]]:
    """Return the left edge and the width of each column."""
    count = max((column for column, _ in layout.boxes.values()), default=-1) + 1
    widths, gaps = [0.0] * count, [_GAP] * count
    for name, box in boxes.items():
        column = layout.boxes[name][0]
        widths[column] = max(widths[column], box.width)
    for line in lines:
        column = layout.boxes[line.child][0]
        if line.reason and column:
            gaps[column - 1] = max(gaps[column - 1], display_width(line.reason) * _CHARACTER + _GAP)
    lefts = [sum(widths[:column]) + sum(gaps[:column]) for column in range(count)]
    return lefts, widths


class _Place:
    """Writes boxes and lines at their positions."""

    def __init__(
        self, boxes: Mapping[str, _Box], layout: Layout, lefts: Sequence[float], widths: Sequence[float]
    ) -> None:
        self._boxes = boxes
        self._layout = layout
        self._lefts = [left + _MARGIN for left in lefts]
        self._widths = widths

    def box(self, name: str) -> Iterator[str]:
        box = self._boxes[name]
        column, middle = self._layout.boxes[name]
        left, top = self._lefts[column], middle + _MARGIN - box.height / 2
        yield f'<g class="{box.look}"><title>{escape(box.title)}</title>'
        yield f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="5"/>'
        down = top + _PAD + 8
        for look, text in (("kind", box.kind), ("name", box.name)):
            if text:
                yield f'<text class="{look}" x="{left + _PAD:.1f}" y="{down:.1f}">{escape(text)}</text>'
                down += _LINE
        for badge in box.badges:
            yield f'<rect class="mark {badge.state}" x="{left + _PAD:.1f}" y="{down - 10:.1f}" width="4" height="13"/>'
            mark = f' <tspan class="state">{escape(badge.mark)}</tspan>' if badge.mark else ""
            yield (
                f'<text class="policy {badge.state}" x="{left + _PAD + 2 * _CHARACTER:.1f}" y="{down:.1f}">'
                f'<tspan class="policyname">{escape(badge.name)}</tspan>{mark}</text>'
            )
            down += _LINE
        yield "</g>"

    def line(self, line: _Line) -> Iterator[str]:
        points = self._points(line)
        (left, height), *others = points
        path = f"M{left:.1f} {height:.1f}"
        for right, down in others:
            middle = (left + right) / 2
            path += f" C{middle:.1f} {height:.1f} {middle:.1f} {down:.1f} {right:.1f} {down:.1f}"
            left, height = right, down
        yield f'<path class="{line.look}" d="{path}"/>'

    def reason(self, line: _Line) -> Iterator[str]:
        """Write why a link is ignored, before its child, where no other line's reason is."""
        if not line.reason:
            return
        right, height = self._points(line)[-1]
        wide = display_width(line.reason) * _CHARACTER
        left, top = right - wide - 12, height - 9
        yield f'<rect class="ground" x="{left:.1f}" y="{top:.1f}" width="{wide + 4:.1f}" height="16"/>'
        yield f'<text class="reason" x="{right - 10:.1f}" y="{height + 4:.1f}">{escape(line.reason)}</text>'

    def _points(self, line: _Line) -> list[tuple[float, float]]:
        """Return the points of a line: from the right of a box, along passed columns, to the left of another."""
        column, middle = self._layout.boxes[line.parent]
        points = [(self._lefts[column] + self._boxes[line.parent].width, middle + _MARGIN)]
        for passed, height in ((column, middle), *self._layout.bends[line.parent, line.child]):
            if passed != column:
                points.append((self._lefts[passed], height + _MARGIN))
            points.append((self._lefts[passed] + self._widths[passed], height + _MARGIN))
        last, middle = self._layout.boxes[line.child]
        return [*points, (self._lefts[last], middle + _MARGIN)]


_APART = 14.0  # between two boxes of a column
_LINE_SPACE = 6.0
_ROUNDS = 3  # of ordering each column to reduce crossing lines

Pair = tuple[str, str]


@dataclass(slots=True)
class Layout:
    """`boxes` maps a name to its column and the height of its middle; `bends` has the same for points of lines."""

    boxes: dict[str, tuple[int, float]] = field(default_factory=dict)
    bends: dict[Pair, list[tuple[int, float]]] = field(default_factory=dict)
    height: float = 0.0


def lay_out(heights: Mapping[str, float], links: Sequence[Pair]) -> Layout:
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
    sugiyama.dw = _LINE_SPACE  # the space for a line that passes a column
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


_LIGHT = {
    "ground": "#ffffff",
    "box": "#f6f8fa",
    "line": "#8c959f",
    "text": "#1f2328",
    "quiet": "#59636e",
    "holds": "#0969da",
    "partly": "#9a6700",
    "bad": "#cf222e",
}
_DARK = {
    "ground": "#0d1117",
    "box": "#161b22",
    "line": "#6e7681",
    "text": "#e6edf3",
    "quiet": "#9198a1",
    "holds": "#4493f8",
    "partly": "#d29922",
    "bad": "#f85149",
}
_SHAPES = """
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.name{font-weight:600}
.reason{text-anchor:end}
path{fill:none}
.refused,.counts,.parameters,.missing>rect,.counted>rect{stroke-dasharray:5 3}
.mark{stroke-dasharray:none}
.overridden .policyname,.policy.refused .policyname{text-decoration:line-through}
"""


def _colors(color: dict[str, str]) -> str:
    return f"""\
.ground{{fill:{color["ground"]}}}
.node>rect{{fill:{color["box"]};stroke:{color["line"]}}}
.missing>rect{{fill:{color["ground"]};stroke:{color["bad"]}}}
.counted>rect{{fill:{color["ground"]};stroke:{color["line"]}}}
text{{fill:{color["text"]}}}
.kind,.counted>text,.policy.overridden,.policy.refused{{fill:{color["quiet"]}}}
.missing>text,.reason,.policy.refused>.state{{fill:{color["bad"]}}}
.policy.partly>.state{{fill:{color["partly"]}}}
path{{stroke:{color["line"]}}}
path.refused{{stroke:{color["bad"]}}}
.node>.mark.holds{{fill:{color["holds"]};stroke:none}}
.node>.mark.partly{{fill:{color["partly"]};stroke:none}}
.node>.mark.overridden{{fill:none;stroke:{color["quiet"]}}}
.node>.mark.refused{{fill:none;stroke:{color["bad"]}}}
"""


STYLE = f"{_SHAPES}{_colors(_LIGHT)}@media (prefers-color-scheme:dark){{\n{_colors(_DARK)}}}\n"
