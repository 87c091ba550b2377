from pathlib import Path

import pytest

from hack.rego_layers import main

SOURCES = {  # of modules in packages below `bridge`: each file's folder is its package
    "lookup/objects.rego": "# METADATA\n# description: x\nobjects := data.objects\n\n_hidden := 1\n",
    "hierarchy/levels.rego": "# METADATA\n# description: x\nlevels := {}\n",
    "kinds/a.rego": """import data.bridge.hierarchy as tree
import data.bridge.lookup as found

# METADATA
# description: x
used := [_inner(1), found.objects, data.bridge_settings.presets, data.bridge.extensions.hierarchy]

_inner(x) := x

# METADATA
# description: x
spare := [tree.levels, found._hidden, _own]

_own := 2
""",
    "kinds/b.rego": "b := [y | some _, x in [1]; y := _inner(x)]\n\n_own := 3\n",
    "kinds_test/a_test.rego": "test_it if data.bridge.kinds._own == 2\n",
    "guardrails/a.rego": "x := data.bridge.missing.x\n",
    "other/a.rego": "a := data.bridge.guardrails.x\n",
    "request/a.rego": "a := data.bridge.topology.b\n",
    "topology/b.rego": "# METADATA\n# description: x\nb := 1\n",
    "v1/b.rego": "import data.bridge.kinds\n\n# METADATA\n# entrypoint: true\nshown := kinds.used\n",
}


def test_references_unknown_packages_and_rules_that_no_query_reaches_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, source in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"package bridge.{path.parent.name}\n\n{source}")
    monkeypatch.setattr("sys.argv", ["rego_layers", str(tmp_path)])
    assert main() == 1
    assert capsys.readouterr().err.splitlines() == [
        "guardrails/a.rego: bridge.guardrails refers to bridge.missing, which is not a package",
        "guardrails/a.rego: no query reaches x",
        "hierarchy/levels.rego: no query reaches levels",
        "kinds/a.rego: bridge.kinds refers to bridge.hierarchy, which is not in a lower layer",
        "kinds/a.rego: found._hidden is another package's",
        "kinds/a.rego: no query reaches _own",
        "kinds/a.rego: no query reaches spare",
        "kinds/b.rego: _inner is another file's",
        "kinds/b.rego: _own is defined in kinds/a.rego too",
        "kinds/b.rego: no query reaches b",
        "lookup/objects.rego: no query reaches _hidden",
        "other/a.rego: no package may refer to a guardrail, bridge.guardrails.x",
        "other/a.rego: no query reaches a",
        "other/a.rego: package bridge.other has no layer",
        "request/a.rego: bridge.request refers to bridge.topology, which is not in a lower layer",
        "request/a.rego: no query reaches a",
        "topology/b.rego: no query reaches b",
    ]
