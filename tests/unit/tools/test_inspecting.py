from __future__ import annotations

from pathlib import Path

from hack.tools import inspect
from tests.unit.tools.conftest import MakeExecutable


def test_a_missing_tool_has_the_command_that_installs_it(bare_machine: Path, make_executable: MakeExecutable) -> None:
    make_executable(bare_machine / "opa", "Version: 0.70.0")
    report = {entry.name: entry for entry in inspect()}["opa"]
    assert (report.wanted, report.version, report.optional) == (">=1.22.0", None, False)
    assert report.fix is not None
    assert report.fix.endswith("-m hack.tools install opa")
    assert report.passed_over == (f"{bare_machine / 'opa'} (PATH) is 0.70.0, older than 1.22.0",)


def test_a_tool_that_is_there_has_its_version_and_place(bare_machine: Path, make_executable: MakeExecutable) -> None:
    on_path = make_executable(bare_machine / "kubectl", "Client Version: v1.32.4")
    report = {entry.name: entry for entry in inspect()}["kubectl"]
    assert (report.version, report.path, report.source, report.fix) == ("1.32.4", on_path, "PATH", None)


def test_every_tool_and_the_crds_are_reported() -> None:
    known = ["opa", "etcd", "kube-apiserver", "kubectl", "helm", "promtool", "gateway-api-crds"]
    assert [entry.name for entry in inspect()] == known
