"""The files of the page: what is vendored is what npm has published, with its licence, and nothing is left out."""

import json
import re

import pytest

from hack.web.vendoring import MANIFEST, VENDOR, digest

FILES = [(package["name"], file) for package in json.loads(MANIFEST.read_text()) for file in package["files"]]


@pytest.mark.parametrize(("name", "file"), FILES, ids=[file["to"] for _, file in FILES])
def test_file_is_the_published_one(name: str, file: dict[str, str]) -> None:
    assert digest((VENDOR / file["to"]).read_bytes()) == file["sha512"], f"{name}: `make vendor` fetches it again"


def test_every_package_has_its_licence_and_nothing_else_is_there() -> None:
    for package in json.loads(MANIFEST.read_text()):
        assert any("LICENSE" in file["to"] for file in package["files"]), package["name"]
    known = {file["to"] for _, file in FILES} | {"manifest.json", "README.md"}
    assert {path.name for path in VENDOR.iterdir()} == known


def test_every_module_is_fetched_at_once() -> None:
    """None waits for the one that imports it: index.html names them all."""
    static = VENDOR.parent
    named = set(re.findall(r'rel="modulepreload" href="([^"]+)"', (static / "index.html").read_text()))
    there = {path.relative_to(static).as_posix() for path in static.rglob("*.js")} - {"main.js"}
    assert named == there
