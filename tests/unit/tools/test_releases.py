from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bridge.opa.executable import RELEASE_FILES, published_checksum
from hack.tools import releases
from hack.tools.building import ChecksumError, DownloadError
from hack.tools.catalog import Release
from hack.tools.releases import download_executable, fetch_file, write_checksums

PROGRAM = b"#!/bin/sh\necho 1.0.0\n"


class Site:
    """An HTTP server on loopback with files in memory."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        files = self.files

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content = files.get(self.path)
                self.send_response(404 if content is None else 200)
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *arguments: object) -> None:
                """Print nothing: the test reports errors."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def publish(self, file: str, content: bytes, *, sha256: str | None = None) -> Release:
        """Put a file and its list of checksums up."""
        digest = sha256 or hashlib.sha256(content).hexdigest()
        self.files[f"/{file}"] = content
        self.files["/SUMS"] = f"{'0' * 64}  other-{file}\n{digest}  {file}\n".encode()
        return Release(f"{self.url}/{file}", f"{self.url}/SUMS")


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    thread = Thread(target=site.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield site
    site.server.shutdown()
    site.server.server_close()
    thread.join()


def test_a_release_with_the_published_sha256_is_installed_and_executable(site: Site, tmp_path: Path) -> None:
    release = site.publish("opa_linux_amd64", PROGRAM)
    digest = download_executable("opa", release, tmp_path)
    assert digest == hashlib.sha256(PROGRAM).hexdigest()
    assert (tmp_path / "opa").read_bytes() == PROGRAM
    assert (tmp_path / "opa").stat().st_mode & 0o777 == 0o755


def test_a_release_with_another_sha256_is_refused_and_nothing_is_left(site: Site, tmp_path: Path) -> None:
    release = site.publish("opa_linux_amd64", PROGRAM, sha256="ab" * 32)
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(ChecksumError, match=f"but {'ab' * 32} was published: not used"):
        download_executable("opa", release, target)
    assert list(target.iterdir()) == []


def test_a_release_without_a_published_sha256_is_refused(site: Site, tmp_path: Path) -> None:
    release = site.publish("opa_linux_amd64", PROGRAM)
    site.files["/SUMS"] = f"{'0' * 64}  another_file\n".encode()
    with pytest.raises(DownloadError, match="has no sha256 of opa_linux_amd64"):
        download_executable("opa", release, tmp_path)


def test_the_executable_is_taken_out_of_a_tar_archive(site: Site, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("etcd-v1/etcd")
        entry.size = len(PROGRAM)
        archive.addfile(entry, io.BytesIO(PROGRAM))
    release = site.publish("etcd.tar.gz", packed.getvalue())
    download_executable("etcd", Release(release.url, release.checksums, "etcd-v1/etcd"), tmp_path)
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["etcd"]
    assert (tmp_path / "etcd").read_bytes() == PROGRAM


def test_the_executable_is_taken_out_of_a_zip_archive(site: Site, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("etcd-v1/etcd", PROGRAM)
    release = site.publish("etcd.zip", packed.getvalue())
    download_executable("etcd", Release(release.url, release.checksums, "etcd-v1/etcd"), tmp_path)
    assert (tmp_path / "etcd").read_bytes() == PROGRAM


def test_an_archive_without_the_executable_is_refused(site: Site, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("README", b"")
    release = site.publish("etcd.zip", packed.getvalue())
    with pytest.raises(DownloadError, match="has no etcd-v1/etcd"):
        download_executable("etcd", Release(release.url, release.checksums, "etcd-v1/etcd"), tmp_path)


def test_a_file_that_is_missing_is_an_error_with_its_address(site: Site, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=f"cannot download {site.url}/absent: HTTP Error 404"):
        fetch_file(f"{site.url}/absent", tmp_path / "file")


def test_a_host_that_cannot_be_reached_is_queried_once(site: Site, tmp_path: Path) -> None:
    """Each tool would wait for it again otherwise."""
    site.server.server_close()
    with pytest.raises(DownloadError, match="cannot download"):
        fetch_file(f"{site.url}/a", tmp_path / "file")
    revived = ThreadingHTTPServer(site.server.server_address[:2], BaseHTTPRequestHandler)  # it would answer now
    try:
        with pytest.raises(DownloadError, match="cannot be reached"):
            fetch_file(f"{site.url}/b", tmp_path / "file")
    finally:
        revived.server_close()


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


def test_checksums_of_the_release_are_what_the_bridge_reads(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"RELEASE": site.url, "CHECKSUMS": tmp_path / "sums"}.items():
        monkeypatch.setattr(releases, name, value)
    digests = {file: hashlib.sha256(file.encode()).hexdigest() for file in RELEASE_FILES.values()}
    site.files |= {f"/{file}.sha256": f"{digest}\n".encode() for file, digest in digests.items()}
    write_checksums()
    text = (tmp_path / "sums").read_text()
    assert {file: published_checksum(text, file, "") for file in digests} == digests
