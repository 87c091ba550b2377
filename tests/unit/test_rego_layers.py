from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hack.rego_layers import main, violations

if TYPE_CHECKING:
    from pathlib import Path

QUERIED = "# METADATA\n# description: x\n"


def _write(folder: Path, sources: dict[str, str]) -> Path:
    """Write modules of packages below `bridge`, by file; each file's folder is its package."""
    for name, source in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"package bridge.{path.parent.name}\n\n{source}")
    return folder


@pytest.mark.parametrize(
    ("sources", "reported"),
    [
        pytest.param(
            {
                "kinds/a.rego": f"{QUERIED}used := _inner\n\n_inner := 1\n\nspare := _own\n\n_own := 2\n",
                "v1/b.rego": "import data.bridge.kinds\n\n# METADATA\n# entrypoint: true\nshown := kinds.used\n",
            },
            ["kinds/a.rego: no query reaches _own", "kinds/a.rego: no query reaches spare"],
            id="a rule that no query reaches",
        ),
        pytest.param(
            {
                "kinds/kinds.rego": "import data.bridge.lookup\n\nall := lookup.objects\n",
                "lookup/objects.rego": f"{QUERIED}objects := data.objects\n",
            },
            [],
            id="an import of a lower package",
        ),
        pytest.param(
            {
                "kinds/kinds.rego": "import data.bridge.hierarchy as tree\n\nlevels := tree.levels\n",
                "hierarchy/levels.rego": f"{QUERIED}levels := {{}}\n",
            },
            ["kinds/kinds.rego: bridge.kinds refers to bridge.hierarchy, which is not in a lower layer"],
            id="an import of a higher package",
        ),
        pytest.param(
            {
                "request/a.rego": "a := data.bridge.topology.b\n",
                "topology/b.rego": f"{QUERIED}b := 1\n",
            },
            ["request/a.rego: bridge.request refers to bridge.topology, which is not in a lower layer"],
            id="a full reference to a package of the same layer",
        ),
        pytest.param(
            {"kinds/a.rego": "a := [data.bridge_settings.presets, data.bridge.extensions.hierarchy]\n"},
            [],
            id="data and modules of admins have no layer",
        ),
        pytest.param(
            {"other/a.rego": "a := 1\n"},
            ["other/a.rego: package bridge.other has no layer"],
            id="a package without one",
        ),
        pytest.param(
            {
                "kinds/a.rego": "_hidden(x) := x\n\na := _hidden(1)\n",
                "kinds/b.rego": "b := [y | some _, x in [1]; y := _hidden(x)]\n",
            },
            ["kinds/b.rego: _hidden is another file's"],
            id="a private rule of another file",
        ),
        pytest.param(
            {
                "kinds/b.rego": "import data.bridge.lookup as found\n\nb := found._hidden\n",
                "lookup/a.rego": "_hidden := 1\n",
            },
            ["kinds/b.rego: found._hidden is another package's"],
            id="a private rule of another package",
        ),
        pytest.param(
            {"kinds/a.rego": '_of("A") := 1\n', "kinds/b.rego": '_of("B") := 2\n'},
            ["kinds/b.rego: _of is defined in kinds/a.rego too"],
            id="a private rule that two files define",
        ),
        pytest.param(
            {"kinds_test/a_test.rego": "test_it if data.bridge.kinds._hidden == 1\n"}, [], id="files of tests"
        ),
    ],
)
def test_references_between_packages_are_checked(tmp_path: Path, sources: dict[str, str], reported: list[str]) -> None:
    assert violations(_write(tmp_path, sources)) == reported


def test_a_violation_fails_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["rego_layers", str(_write(tmp_path, {"other/a.rego": "a := 1\n"}))])
    assert main() == 1
    assert capsys.readouterr().err == "other/a.rego: package bridge.other has no layer\n"
