"""The `opa` that the bridge downloads: which bytes it accepts, and what it reports where it gets none."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from bridge.opa import executable
from bridge.opa.executable import OPA, ToolError, ensure_opa, main, tool_folder
from tests.unit.tools.conftest import bare_machine
from tests.unit.tools.test_releases import Site, site

__all__ = ["bare_machine", "site"]  # fixtures

PROGRAM = b"#!/bin/sh\necho Version: 1.22.0\n"
DIGEST = hashlib.sha256(PROGRAM).hexdigest()
OTHER = "ab" * 32


@pytest.fixture
def release(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A release of `opa` on loopback, and a wheel without checksums."""
    site.files["/opa"] = PROGRAM
    monkeypatch.setattr(executable, "RELEASE", site.url)
    monkeypatch.setattr(executable, "RELEASE_FILES", {executable.this_platform(): "opa"})
    monkeypatch.setattr(executable, "CHECKSUMS", tmp_path / "opa.sha256")
    return site


def test_a_release_with_the_checksum_of_the_wheel_is_installed_once(release: Site, tmp_path: Path) -> None:
    (tmp_path / "opa.sha256").write_text(f"{OTHER}  other\n{DIGEST}  opa\n")
    found = ensure_opa()
    assert (found.path, found.source) == (tool_folder(OPA) / "opa", f"release {release.url}/opa, sha256 {DIGEST}")
    release.files.clear()
    assert ensure_opa().path == found.path


def test_a_release_with_another_checksum_is_refused_whatever_its_project_lists(release: Site, tmp_path: Path) -> None:
    (tmp_path / "opa.sha256").write_text(f"{OTHER}  opa\n")
    release.files["/opa.sha256"] = f"{DIGEST}  opa\n".encode()
    with pytest.raises(ToolError, match=f"has the sha256 {DIGEST}, but the bridge has {OTHER}: not used"):
        ensure_opa()
    assert not tool_folder(OPA).exists()


def test_a_pin_replaces_the_checksum_of_the_wheel(
    release: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "opa.sha256").write_text(f"{OTHER}  opa\n")
    monkeypatch.setenv("OPA_SHA256", f"{OTHER} {DIGEST.upper()}")
    assert ensure_opa().version == "1.22.0"


def test_without_a_checksum_in_the_wheel_the_published_one_counts(release: Site) -> None:
    release.files["/opa.sha256"] = f"{OTHER}\n".encode()
    with pytest.raises(ToolError, match=f"but {release.url}/opa.sha256 has {OTHER}: not used"):
        ensure_opa()
    release.files["/opa.sha256"] = f"{DIGEST}\n".encode()
    assert ensure_opa().version == "1.22.0"


@pytest.mark.parametrize("downloads", ["never", ""])
def test_without_a_download_the_error_has_the_reason_and_the_command(
    release: Site, downloads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BRIDGE_DOWNLOADS", downloads)
    with pytest.raises(ToolError) as missing:
        ensure_opa()
    reason = "BRIDGE_DOWNLOADS=never" if downloads else f"{release.url}/opa.sha256: HTTP Error 404"
    assert reason in str(missing.value)
    assert "go install github.com/open-policy-agent/opa@v1.22.0" in str(missing.value)


def test_an_executable_that_does_not_run_here_is_not_cached(release: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    release.files["/opa"] = b"no program"
    monkeypatch.setenv("OPA_SHA256", hashlib.sha256(b"no program").hexdigest())
    with pytest.raises(ToolError, match="the downloaded opa cannot be started"):
        ensure_opa()
    assert not tool_folder(OPA).exists()


def test_the_command_installs_and_prints_the_path(
    release: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["which"]) == 1
    assert "-m bridge.opa.executable install` gets it" in capsys.readouterr().err
    monkeypatch.setenv("OPA_SHA256", DIGEST)
    assert main(["install"]) == 0
    assert main(["which"]) == 0
    assert capsys.readouterr().out == f"{tool_folder(OPA) / 'opa'}\n"
