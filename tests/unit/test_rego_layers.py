from __future__ import annotations

from typing import TYPE_CHECKING

from hack.rego_layers import main, violations

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def _write(folder: Path, **sources: str) -> Path:
    for name, source in sources.items():
        path = folder / f"{name.replace('__', '/')}.rego"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return folder


def test_rule_that_no_query_reaches_is_reported(tmp_path: Path) -> None:
    query = "# METADATA\n# entrypoint: true\nshown := kinds.used\n"
    used = "# METADATA\n# description: x\nused := _inner\n\n_inner := 1\n"
    folder = _write(
        tmp_path,
        kinds__a=f"package bridge.kinds\n\n{used}\nspare := _own\n\n_own := 2\n",
        v1__b=f"package bridge.v1\n\nimport data.bridge.kinds\n\n{query}",
    )
    assert violations(folder) == ["kinds/a.rego: no query reaches _own", "kinds/a.rego: no query reaches spare"]


def test_import_of_a_lower_package_is_allowed(tmp_path: Path) -> None:
    folder = _write(
        tmp_path,
        kinds__kinds="package bridge.kinds\n\nimport data.bridge.lookup\n\nall := lookup.objects\n",
        lookup__objects="package bridge.lookup\n\n# METADATA\n# description: All.\nobjects := data.objects\n",
    )
    assert violations(folder) == []


def test_import_of_a_higher_package_is_reported(tmp_path: Path) -> None:
    folder = _write(
        tmp_path,
        kinds__kinds="package bridge.kinds\n\nimport data.bridge.hierarchy as tree\n\nlevels := tree.levels\n",
        hierarchy__levels="package bridge.hierarchy\n\n# METADATA\n# description: All.\nlevels := {}\n",
    )
    assert violations(folder) == [
        "kinds/kinds.rego: bridge.kinds refers to bridge.hierarchy, which is not in a lower layer",
    ]


def test_full_reference_to_a_package_of_the_same_layer_is_reported(tmp_path: Path) -> None:
    folder = _write(
        tmp_path,
        request__a="package bridge.request\n\na := data.bridge.topology.b\n",
        topology__b="package bridge.topology\n\n# METADATA\n# description: x\nb := 1\n",
    )
    assert violations(folder) == [
        "request/a.rego: bridge.request refers to bridge.topology, which is not in a lower layer",
    ]


def test_data_and_modules_of_admins_have_no_layer(tmp_path: Path) -> None:
    folder = _write(
        tmp_path,
        kinds__a="package bridge.kinds\n\na := [data.bridge_settings.presets, data.bridge.extensions.hierarchy]\n",
    )
    assert violations(folder) == []


def test_package_without_a_layer_is_reported(tmp_path: Path) -> None:
    folder = _write(tmp_path, other__a="package bridge.other\n\na := 1\n")
    assert violations(folder) == ["other/a.rego: package bridge.other has no layer"]


def test_private_rule_of_another_file_is_reported(tmp_path: Path) -> None:
    folder = _write(
        tmp_path,
        kinds__a="package bridge.kinds\n\n_hidden(x) := x\n\na := _hidden(1)\n",
        kinds__b="package bridge.kinds\n\nb := [y | some _, x in [1]; y := _hidden(x)]\n",
    )
    assert violations(folder) == ["kinds/b.rego: _hidden is another file's"]


def test_private_rule_of_another_package_is_reported(tmp_path: Path) -> None:
    folder = _write(
        tmp_path,
        kinds__b="package bridge.kinds\n\nimport data.bridge.lookup as found\n\nb := found._hidden\n",
        lookup__a="package bridge.lookup\n\n_hidden := 1\n",
    )
    assert violations(folder) == ["kinds/b.rego: found._hidden is another package's"]


def test_private_rule_that_two_files_define_is_reported(tmp_path: Path) -> None:
    folder = _write(
        tmp_path,
        kinds__a='package bridge.kinds\n\n_of("A") := 1\n',
        kinds__b='package bridge.kinds\n\n_of("B") := 2\n',
    )
    assert violations(folder) == ["kinds/b.rego: _of is defined in kinds/a.rego too"]


def test_files_of_tests_are_not_checked(tmp_path: Path) -> None:
    folder = _write(tmp_path, kinds__a_test="package bridge.kinds_test\n\ntest_it if data.bridge.kinds._hidden == 1\n")
    assert violations(folder) == []


def test_a_violation_fails_the_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = _write(tmp_path, other__a="package bridge.other\n\na := 1\n")
    monkeypatch.setattr("sys.argv", ["rego_layers", str(folder)])
    assert main() == 1
    assert capsys.readouterr().err == "other/a.rego: package bridge.other has no layer\n"
