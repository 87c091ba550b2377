from __future__ import annotations

import re

import pytest

from bridge.files import rego_root
from hack.pages.rego import PACKAGES, WHERE
from hack.rego_layers import query


@pytest.mark.parametrize(("file", "rule"), WHERE.values(), ids=WHERE)
def test_reading_table_names_a_rule_that_the_file_defines(file: str, rule: str) -> None:
    source = (rego_root() / "bridge" / file).read_text()
    assert re.search(rf"^{rule}\b", source, re.MULTILINE), f"{file} defines no {rule}"


def test_package_table_has_every_layer_in_order() -> None:
    layers = iter(PACKAGES)
    for names in query("layers", {}):
        assert {next(layers) for _ in names} == {*names}
    assert not list(layers)
