from __future__ import annotations

from pathlib import Path

from bridge.opa.executable.cache import inspect_tool
from hack.tools import TOOLS
from tests.unit.tools.conftest import MakeExecutable


def test_a_missing_tool_has_the_command_that_installs_it(bare_machine: Path, make_executable: MakeExecutable) -> None:
    make_executable(bare_machine / "opa", "Version: 0.70.0")
    report = inspect_tool(TOOLS["opa"], "make setup")
    assert (report.wanted, report.version, report.optional) == (">=1.22.0", None, False)
    assert report.fix == "make setup"
    assert report.passed_over == (f"{bare_machine / 'opa'} (PATH) is 0.70.0, older than 1.22.0",)


def test_a_tool_that_is_there_has_its_version_and_place(bare_machine: Path, make_executable: MakeExecutable) -> None:
    on_path = make_executable(bare_machine / "kubectl", "Client Version: v1.32.4")
    report = inspect_tool(TOOLS["kubectl"], "make setup")
    assert (report.version, report.path, report.source, report.fix) == ("1.32.4", on_path, "PATH", None)
