from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.opa.executable import OPA, ToolError, tool_folder
from hack.tools import building, find
from hack.tools.__main__ import main
from hack.tools.catalog import TOOLS
from hack.tools.finding import ensure_tool
from tests.unit.tools.conftest import MakeExecutable

NO_RELEASE = replace(TOOLS["opa"], release=lambda _platform: None)

# Stands for Go: `go install` writes an executable into $GOBIN.
GO = """#!/bin/sh
[ "$1" = install ] || exit 9
printf '#!/bin/sh\\necho Version: 1.22.0\\n' >"$GOBIN/opa"
/bin/chmod +x "$GOBIN/opa"
echo "$@" >>"$BRIDGE_CACHE/go-calls"
"""


@pytest.fixture(autouse=True)
def no_go_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a Go that a test puts on PATH counts."""
    monkeypatch.setattr(building, "_USUAL_PLACE", tmp_path / "no-go")


@pytest.fixture
def go(bare_machine: Path) -> Path:
    """A `go` on PATH."""
    path = bare_machine / "go"
    path.write_text(GO)
    path.chmod(0o755)
    return path


def test_an_installed_tool_is_not_installed_again(bare_machine: Path, make_executable: MakeExecutable) -> None:
    on_path = make_executable(bare_machine / "opa", "Version: 1.22.0")
    assert ensure_tool(NO_RELEASE).path == on_path
    assert not tool_folder(OPA).exists()


def test_go_builds_where_there_is_no_release(go: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ensure_tool(NO_RELEASE)
    assert found.path == tool_folder(OPA) / "opa"
    assert found.source == "built by Go from github.com/open-policy-agent/opa@v1.22.0"
    said = capsys.readouterr().err
    assert "opa: there is no official release for " in said
    assert "opa: building github.com/open-policy-agent/opa@v1.22.0 with Go" in said


def test_a_second_time_nothing_is_built(go: Path, tmp_path: Path) -> None:
    ensure_tool(NO_RELEASE)
    found = ensure_tool(NO_RELEASE)
    assert found.source == "cache; built by Go from github.com/open-policy-agent/opa@v1.22.0"
    assert len((tmp_path / "cache" / "go-calls").read_text().splitlines()) == 1


def test_a_cached_tool_is_executable_by_everyone(go: Path) -> None:
    found = ensure_tool(NO_RELEASE)
    assert stat.S_IMODE(found.path.parent.stat().st_mode) == 0o755


def test_without_release_and_go_the_error_has_the_attempts_and_the_fix() -> None:
    with pytest.raises(ToolError) as missing:
        ensure_tool(NO_RELEASE)
    assert "there is no official release for " in str(missing.value)
    assert "no Go on PATH to build it" in str(missing.value)
    assert "or name it by $BRIDGE_OPA" in str(missing.value)


def test_downloads_can_be_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRIDGE_DOWNLOADS", "never")
    with pytest.raises(ToolError, match="BRIDGE_DOWNLOADS=never"):
        ensure_tool(TOOLS["opa"])


def test_the_end_of_what_go_said_is_in_the_error_and_nothing_is_cached(go: Path) -> None:
    go.write_text("#!/bin/sh\necho 'go: downloading x v1'\necho 'no space left on device' >&2\nexit 1\n")
    with pytest.raises(ToolError, match="no space left on device") as failure:
        ensure_tool(NO_RELEASE)
    assert "downloading x" not in str(failure.value)
    assert find("opa") is None


def test_an_executable_that_does_not_run_here_is_not_cached(go: Path) -> None:
    go.write_text('#!/bin/sh\nprintf \'no program\' >"$GOBIN/opa"\n/bin/chmod +x "$GOBIN/opa"\n')
    with pytest.raises(ToolError, match="the new opa cannot be started"):
        ensure_tool(NO_RELEASE)
    assert find("opa") is None


def test_the_origin_of_a_tool_is_stored_beside_it(go: Path) -> None:
    ensure_tool(NO_RELEASE)
    assert (tool_folder(OPA) / "source").read_text().startswith("built by Go")


def test_which_prints_the_path(
    bare_machine: Path, make_executable: MakeExecutable, capsys: pytest.CaptureFixture[str]
) -> None:
    on_path = make_executable(bare_machine / "opa", "Version: 1.22.0")
    assert main(["which", "opa"]) == 0
    assert capsys.readouterr().out == f"{on_path}\n"


def test_which_names_the_command_that_installs_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["which", "gateway-api-crds"]) == 1
    assert "-m hack.tools install gateway-api-crds` gets it" in capsys.readouterr().err
