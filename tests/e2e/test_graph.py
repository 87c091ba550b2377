"""`pbctl graph`, and the pictures in the docs, which are its own."""

import re
import shlex
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, Run

IMAGES = ROOT / "docs" / "images"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# The marker in a page that a picture was generated.
MADE = re.compile(r"^\$ pbctl (graph .*?) >(docs/images/\S+\.svg)", re.MULTILINE)
COMMANDS = {made[2]: (page, made[1]) for page in PAGES for made in MADE.finditer(page.read_text())}


def test_every_picture_in_the_docs_has_its_command() -> None:
    assert sorted(COMMANDS) == sorted(str(path.relative_to(ROOT)) for path in IMAGES.glob("*.svg"))


@pytest.mark.parametrize("picture", COMMANDS)
def test_a_picture_in_the_docs_is_the_output_of_the_command(bridge: Run, picture: str) -> None:
    page, command = COMMANDS[picture]
    assert f"]({Path(picture).name})" in page.read_text() or f"/{Path(picture).name})" in page.read_text()
    words = [str(ROOT / word) if word.startswith("examples/") else word for word in shlex.split(command)]
    assert bridge(*words).stdout == (ROOT / picture).read_text()


def test_kind_depth_and_root_select_the_drawn_nodes(shop: Run) -> None:
    text = shop("graph", "gtw/public", "-n", "infra", "--kind", "cp", "--depth", "1").stdout
    assert "infra/public#https" in text
    assert "HTTPRoute" not in text
    assert "ColorPolicy/infra/brand (partly)" in text


def test_a_link_that_does_not_count_is_dashed_with_its_reason(shop: Run) -> None:
    text = shop("graph", "-n", "payments", "-o", "mermaid").stdout
    assert '-. "NotAllowedByListeners" .->' in text
