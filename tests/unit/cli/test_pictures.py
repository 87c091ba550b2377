"""Pictures as text, whatever names hold."""

import itertools
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from bridge.cli.captions import MOST, shortened
from bridge.cli.graph import draw
from bridge.cli.svg import lay_out
from bridge.cli.table import display_width
from bridge.model.keys import Key
from bridge.queries.hierarchies import Attached, CountedNodes, Drawn, Link, Picture
from bridge.queries.names import CommandError

GROUP = "gateway.networking.k8s.io"
FORMS = ("dot", "mermaid", "svg")
HOSTILE = '"]<script>alert(1)</script>\x1b[31m\u202e&amp;\\N `x` #lt; %% \n'


def key(kind: str, name: str) -> Key:
    return Key(GROUP, kind, "shop", name)


def picture(name: str = "cart", **more: Any) -> Picture:
    gateway, route, gone = key("Gateway", "public"), key("HTTPRoute", name), key("Gateway", "gone")
    policy = Key("example.com", "ColorPolicy", "shop", name)
    return Picture(
        total=3,
        nodes={
            str(gateway): Drawn(gateway, (Attached(policy, ""),)),
            str(route): Drawn(route, (Attached(policy, "", on_namespace=True), Attached(policy, "TargetNotFound"))),
            str(gone): Drawn(gone, missing=True),
        },
        links=[Link(str(gateway), str(route)), Link(str(gone), str(route), "ParentNotFound")],
        counted=[CountedNodes(str(gateway), "HTTPRoute", 27, 2, drawn=True)],
        outcomes={str(policy): "Overridden"},
        **more,
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_picture_shows_nodes_policies_and_ignored_links(form: str) -> None:
    text = draw(picture(), form)
    for said in ("shop/cart", "(overridden)", "TargetNotFound", "ParentNotFound", "on its Namespace", "27 more"):
        assert said in text
    assert re.search({"dot": "filled,dashed", "mermaid": ":::overridden", "svg": "policy overridden"}[form], text)
    assert text == draw(picture(), form)


def test_a_hostile_name_stays_a_text_in_svg() -> None:
    root = ET.fromstring(draw(picture(HOSTILE), "svg"))  # noqa: S314 - our own
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    assert any("<script>" in text for text in root.itertext())
    assert not re.search(r"[\x1b\u202e]", "".join(root.itertext()))


def test_a_hostile_name_stays_within_its_quotes_in_dot() -> None:
    text = draw(picture(HOSTILE), "dot")
    plain = re.sub(r'"(?:[^"\\\n]|\\.)*"', "", text)
    assert '"' not in plain
    assert "script" not in plain
    assert re.search(r"\\\\N", text)
    assert "&amp;amp;" in text
    assert "\x1b" not in text


def test_a_hostile_name_stays_within_its_quotes_in_mermaid() -> None:
    text = draw(picture(HOSTILE), "mermaid")
    assert "<script" not in text
    assert not [line for line in text.splitlines() if line.count('"') not in {0, 2}]
    assert not re.search(r"[\x1b\u202e`]|&", text)


def test_a_long_name_loses_its_middle_and_is_whole_in_the_title() -> None:
    name = "a" * 253
    assert display_width(shortened(f"{name}z")) <= MOST
    assert shortened(f"{name}z").endswith("az")
    assert display_width(shortened("路" * 100)) <= MOST
    text = draw(picture(name), "svg")
    assert f"<title>HTTPRoute/shop/{name}</title>" in text
    assert text.count(name) == 1


def test_boxes_of_a_column_do_not_stand_in_one_another() -> None:
    heights = {f"{column}-{row}": 20.0 + 37 * (row % 4) for column in range(4) for row in range(12)}
    links = [(f"{column}-{row}", f"{column + 1}-{row * 5 % 12}") for column in range(3) for row in range(12)]
    layout = lay_out(heights, [*links, ("0-0", "3-0"), ("3-1", "0-1")])
    for column in range(4):
        spans = sorted(
            (middle - heights[name] / 2, middle + heights[name] / 2)
            for name, (at, middle) in layout.boxes.items()
            if at == column
        )
        assert all(above[1] <= below[0] for above, below in itertools.pairwise(spans))
        assert all(top >= 0 and bottom <= layout.height for top, bottom in spans)


def test_a_line_crosses_a_passed_column_horizontally() -> None:
    gateway, route, service = key("Gateway", "public"), key("HTTPRoute", "cart"), key("Service", "cart")
    links = [Link(str(gateway), str(route)), Link(str(route), str(service)), Link(str(gateway), str(service))]
    shown = Picture(total=3, nodes={str(one): Drawn(one) for one in (gateway, route, service)}, links=links)
    lines = re.findall(r'<path class="[^"]*" d="(M[^"]*)"', draw(shown, "svg"))
    curves = max((line.split(" C")[1:] for line in lines), key=len)
    ends = [curve.split()[-1] for curve in curves]
    assert len(ends) == 4  # out of its own column, into the next one, across that, and to the box
    assert ends[1] == ends[2]


def test_nothing_makes_an_empty_picture() -> None:
    for form in FORMS:
        assert "0 nodes" in draw(Picture(total=0), form)


def test_an_svg_of_too_many_boxes_is_refused_with_a_way_out() -> None:
    many = {str(one): Drawn(one) for one in (key("HTTPRoute", f"r{number}") for number in range(2001))}
    with pytest.raises(CommandError, match="2,001 boxes are too many for one SVG: omit --all"):
        draw(Picture(total=2001, nodes=many), "svg")
    assert "2,001 nodes" in draw(Picture(total=2001, nodes=many), "dot")


@pytest.mark.parametrize(
    ("form", "line"),
    [("dot", "n0 -> n3 [style=dotted];"), ("mermaid", "n0 -.-> n3"), ("svg", '<path class="parameters"')],
)
def test_parameters_are_a_box_at_a_dashed_line(form: str, line: str) -> None:
    shown = picture()
    gateway, config = next(iter(shown.nodes)), Key("core", "ConfigMap", "shop", "large")
    shown.nodes[str(config)] = Drawn(config, parameters=True)
    shown.links.append(Link(gateway, str(config), parameters=True))
    text = draw(shown, form)
    assert "ConfigMap, parameters" in text
    assert line in text
