"""The style of an SVG on a light and on a dark background; the background is part of the picture."""

from __future__ import annotations

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
