"""The structure of the package, as docs/explanation/architecture.md describes it."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import bridge

ROOT = Path(bridge.__file__).parent
LONGEST = 350  # lines of a module


def test_no_two_classes_have_one_name() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(file.relative_to(ROOT)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_no_module_is_too_long() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in ROOT.rglob("*.py")}
    assert {file: lines for file, lines in lengths.items() if lines > LONGEST} == {}
