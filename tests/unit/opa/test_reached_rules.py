import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bridge.files import rego_root
from bridge.opa.executable import ensure_opa
from bridge.opa.shipped import prepare, reached, shipped
from hack import rego_layers

A = "package bridge.a\n\n# METADATA\n# description: x\nused(x) := _inner(x)\n\n_inner(x) := x\n\nspare := 1\n"
V1 = "package bridge.v1\n\nimport data.bridge.a as other\n\nshown := other.used(1)\n\nhidden := other.spare\n"


def no_data(_: Mapping[Path, bytes]) -> dict[str, Any]:
    return {}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BRIDGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_only_reached_rules_stay_and_their_lines_keep_their_numbers() -> None:
    found = reached(prepare({"a.rego": A, "v1.rego": V1}, {}, no_data).modules, ["shown"])
    assert found["a.rego"].splitlines()[4:] == A.splitlines()[4:7]
    assert "hidden" not in found["v1.rego"]


def test_the_prepared_file_is_read_again_and_another_text_makes_another(own_cache: Path) -> None:
    prepare({"v1.rego": V1}, {}, no_data)
    (file,) = (own_cache / "rules").iterdir()
    changed = file.read_text().replace("hidden", "cached")
    file.write_text(changed)
    assert "cached" in reached(prepare({"v1.rego": V1}, {}, no_data).modules, ["cached"])["v1.rego"]
    assert reached(prepare({"v1.rego": V1 + "\n"}, {}, no_data).modules, ["cached"]) == {}


def test_rules_are_prepared_without_a_cache(own_cache: Path) -> None:
    own_cache.write_text("a file")
    assert reached(prepare({"v1.rego": V1}, {}, no_data).modules, ["shown"])


def test_every_rule_that_opas_parser_finds_is_reached_and_the_rest_compiles(tmp_path: Path) -> None:
    texts = dict(shipped(rego_root()).modules)
    uses: dict[str, list[str]] = rego_layers.query("uses", texts)
    modules = prepare(texts, {}, no_data).modules
    queries = {
        name
        for path in texts
        if "/v1/" in path
        for name in re.findall(r"^# entrypoint: true\n(\w+)", texts[path], re.MULTILINE)
    }
    for query in sorted(queries):
        seen: set[str] = set()
        waiting = {f"bridge.v1 {query}"}
        while waiting:
            rule = waiting.pop()
            if rule in uses and rule not in seen:
                seen.add(rule)
                waiting |= {*uses[rule]}
        found = {
            f"bridge.{modules[path].package} {one.name}"
            for path, text in reached(modules, [query]).items()
            for one in modules[path].rules
            if one.text in text
        }
        assert seen <= found, query
    for path, text in reached(modules, ["effective", "links"]).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    subprocess.run([ensure_opa().path, "check", tmp_path], check=True)


@pytest.mark.parametrize(
    ("named", "found"),
    [
        (("bridge", "a", "spare"), {"spare"}),
        (("bridge", "a", "spare", "field"), {"spare"}),
        (("bridge", "a"), {"used", "_inner", "spare"}),
        (("bridge",), {"used", "_inner", "spare", "hidden"}),
        ((), {"used", "_inner", "spare", "hidden"}),
        (("bridge", "a", "spa"), set()),
        (("acme", "a", "spare"), set()),
    ],
)
def test_rules_are_reached_at_above_and_below_what_other_modules_name(named: tuple[str, ...], found: set[str]) -> None:
    modules = prepare({"a.rego": A, "v1.rego": V1}, {}, no_data).modules
    text = "\n".join(reached(modules, [], [named]).values())
    assert {name for name in ("used", "_inner", "spare", "hidden") if f"\n{name}" in text} == found
