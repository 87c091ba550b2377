"""The `opa` that the bridge downloads: which bytes it accepts, and what it reports where it gets none."""

import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bridge.opa import executable
from bridge.opa.executable import OPA, RELEASE_FILES, ToolError, ensure_opa, main, published_checksum, tool_folder
from hack.supply.release import write_checksums_of_opa
from tests.unit.tools.conftest import bare_machine

__all__ = ["bare_machine"]  # a fixture

PROGRAM = b"#!/bin/sh\necho Version: 1.22.0\n"
DIGEST = hashlib.sha256(PROGRAM).hexdigest()
OTHER = "ab" * 32


class Site:
    """An HTTP server on loopback with files in memory."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        files = self.files

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content = files.get(self.path)
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *arguments: object) -> None:
                """Print nothing: the test reports errors."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.delenv("BRIDGE_DOWNLOADS", raising=False)
    monkeypatch.delenv("OPA_SHA256", raising=False)
    site = Site()
    thread = Thread(target=site.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield site
    site.server.shutdown()
    site.server.server_close()
    thread.join()


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


def test_a_slow_download_reports_its_progress(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(executable, "PROGRESS", 0.0)
    site.files["/opa"] = bytes(2 << 20)
    executable.fetch(f"{site.url}/opa", tmp_path / "opa")
    assert capsys.readouterr().err.splitlines() == ["opa: 1 of 2 MiB downloaded", "opa: 2 of 2 MiB downloaded"]


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


@pytest.mark.parametrize(
    "text",
    [
        f"{'ab' * 32}\n",
        f"{'ab' * 32}  opa\n",
        f"{'ab' * 32} *opa\n",
        f"{'cd' * 32}  opa.exe\n{'AB' * 32}  ./dist/opa\n",
    ],
)
def test_every_usual_form_of_a_checksum_file_is_read(text: str) -> None:
    assert published_checksum(text, "opa", "SUMS") == "ab" * 32


def test_a_release_of_the_bridge_has_the_checksums_of_opas_release(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"RELEASE": site.url, "CHECKSUMS": tmp_path / "sums"}.items():
        monkeypatch.setattr(executable, name, value)
    write_checksums_of_opa()
    assert "the wheel has no checksums of OPA" in capsys.readouterr().err
    digests = {file: hashlib.sha256(file.encode()).hexdigest() for file in RELEASE_FILES.values()}
    site.files |= {f"/{file}.sha256": f"{digest}\n".encode() for file, digest in digests.items()}
    write_checksums_of_opa()
    text = (tmp_path / "sums").read_text()
    assert {file: published_checksum(text, file, "") for file in digests} == digests
