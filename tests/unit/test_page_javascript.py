"""The check of the page's JavaScript in `make lint`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hack.web import javascript

FLAWS = """
import { h } from "./dom.js";
const unused = 1;
export const wrong = (/** @type {number} */ number) => number.length;
export const markup = (element) => { element.innerHTML = "x"; };
"""


@pytest.mark.parametrize(("required", "code"), [("", 0), ("required", 1)])
def test_machine_without_node_is_an_error_only_where_it_is_required(
    required: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("BRIDGE_NODE", required)
    assert javascript.main() == code
    assert capsys.readouterr().err == "lint: JavaScript is not checked: node is not on PATH\n"


@pytest.mark.long
def test_flaws_are_found(tmp_path: Path) -> None:
    static = shutil.copytree(javascript.STATIC, tmp_path / "static")
    (static / "flaws.js").write_text(FLAWS)
    try:
        found = javascript.check(static, tmp_path / "work")
    except javascript.MissingError as error:
        pytest.skip(str(error))
    assert all(line.startswith("flaws.js(") for line in found), found
    for flaw in ("'unused' is assigned", "'length' does not exist on type 'number'", "innerHTML", "'h' is defined"):
        assert any(flaw in line for line in found), (flaw, found)
