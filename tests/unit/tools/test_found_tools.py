import re
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.opa.executable import OPA, Found, search, tool_folder
from hack.tools import find
from tests.unit.tools.conftest import MakeExecutable


def found(name: str) -> Found:
    """The tool, which is there."""
    tool = find(name)
    assert tool is not None
    return tool


def test_the_variable_wins_over_path(
    bare_machine: Path, tmp_path: Path, make_executable: MakeExecutable, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_executable(bare_machine / "opa", "Version: 1.30.0")
    named = make_executable(tmp_path / "mine" / "my-opa", "Version: 1.22.0")
    monkeypatch.setenv("BRIDGE_OPA", str(named))
    tool = found("opa")
    assert (tool.path, tool.source) == (named, "BRIDGE_OPA")


def test_kubebuilder_assets_names_the_folder_of_etcd(
    tmp_path: Path, make_executable: MakeExecutable, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = make_executable(tmp_path / "assets" / "etcd", "etcd Version: 3.7.0")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    tool = found("etcd")
    assert (tool.path, tool.source) == (named, "KUBEBUILDER_ASSETS")


def test_path_wins_over_the_cache(bare_machine: Path, make_executable: MakeExecutable) -> None:
    on_path = make_executable(bare_machine / "opa", "Version: 1.22.0")
    make_executable(tool_folder(OPA) / "opa", "Version: 1.22.0")
    assert found("opa").path == on_path


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Version: 0.70.0", "is 0.70.0, older than 1.22.0"),
        ("Version: 1.22.0-rc.1", r"is 1.22.0 \(before release\), older than 1.22.0"),
        ("hello", "does not print its version"),
    ],
)
def test_an_unfit_executable_is_passed_over_for_the_cache_with_its_reason(
    bare_machine: Path, make_executable: MakeExecutable, answer: str, reason: str
) -> None:
    make_executable(bare_machine / "opa", answer)
    cached = make_executable(tool_folder(OPA) / "opa", "Version: 1.22.0")
    result = search(OPA)
    assert result.found is not None
    assert result.found.path == cached
    assert len(result.passed_over) == 1
    assert re.search(reason, result.passed_over[0])


def test_a_fit_executable_behind_an_old_one_on_path_is_found(
    bare_machine: Path, tmp_path: Path, make_executable: MakeExecutable, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_executable(bare_machine / "opa", "Version: 0.70.0")
    fit = make_executable(tmp_path / "second" / "opa", "Version: 1.22.0")
    monkeypatch.setenv("PATH", f"{bare_machine}:{tmp_path / 'second'}")
    assert found("opa").path == fit


def test_a_variable_that_names_nothing_is_passed_over_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRIDGE_OPA", str(tmp_path / "absent"))
    result = search(OPA)
    assert result.found is None
    assert "cannot be started: No such file or directory" in result.passed_over[0]


def test_another_version_in_the_cache_is_not_taken(make_executable: MakeExecutable) -> None:
    make_executable(tool_folder(replace(OPA, version="1.21.0")) / "opa", "Version: 1.21.0")
    assert find("opa") is None
