"""Official releases: fetched, verified and unpacked.

A file must have the SHA-256 that its project lists. In addition:

- A digest that a user has pinned (`OPA_SHA256`, `KUBE_APISERVER_SHA256`, …) must match.
- The digest of the first download is recorded in the cache; another one for the same URL is rejected.
- A signature is verified if the project publishes one and `cosign` is on PATH.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from bridge.opa.executable.cache import cache_root, locked
from bridge.opa.executable.catalog import Release
from bridge.opa.executable.command import CacheError, ChecksumError, DownloadError, say, step

RECORD = "digests.json"  # in the cache: the SHA-256 of each release file, by URL, from the first download
_PATIENCE = 120.0  # seconds for cosign, which may query a transparency log


def pin_variable(name: str) -> str:
    """Return the environment variable with the accepted SHA-256 digests of a tool's release file: one a platform."""
    return f"{name.upper().replace('-', '_')}_SHA256"


def check_pin(name: str, release: Release, digest: str) -> None:
    """Compare a digest with the pinned one, if any. Raises ChecksumError."""
    variable = pin_variable(name)
    pinned = os.environ.get(variable, "").lower().split()
    if pinned and digest not in pinned:
        raise ChecksumError(f"{release.url} has the sha256 {digest}, but {variable} is {' '.join(pinned)}: not used")


def check_record(release: Release, digest: str) -> None:
    """Record the digest of a URL, or compare it with the recorded one. Raises ChecksumError, and CacheError."""
    with locked(RECORD):
        file = cache_root() / RECORD
        known = _recorded(file)
        before = known.get(release.url)
        if before is not None and before != digest:
            raise ChecksumError(
                f"{release.url} has the sha256 {digest}, but the first download had {before}: rejected. "
                f"If the project has published another file on purpose, remove its line from {file}"
            )
        if before is None:
            _write(file, {**known, release.url: digest})


def check_signature(release: Release, file: Path, fetch: Any) -> str:
    """Verify the signature of a downloaded file; return the result as text.

    `fetch` reads a small text of a URL. Raises ChecksumError for a signature of another signer, and DownloadError if
    the signature cannot be read.
    """
    if release.signer is None:
        return "digest only: the project publishes no signature of it"
    cosign = shutil.which("cosign")
    if cosign is None:
        return "digest only: cosign is not on PATH to verify the signature"
    with tempfile.TemporaryDirectory(prefix="policy-bridge-signature-") as folder:
        signature, certificate = Path(folder) / "sig", Path(folder) / "cert"
        signature.write_text(fetch(f"{release.url}.sig"), encoding="utf-8")
        certificate.write_text(fetch(f"{release.url}.cert"), encoding="utf-8")
        command: list[str | Path] = [cosign, "verify-blob", "--signature", signature, "--certificate", certificate]
        command += ["--certificate-identity", release.signer.identity]
        command += ["--certificate-oidc-issuer", release.signer.issuer, file]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DownloadError(f"cosign could not verify {release.url}: {error}") from error
    if answer.returncode != 0:
        said = " ".join(answer.stderr.split())[-300:]
        raise ChecksumError(f"{release.url} is not signed by {release.signer.identity}: not used (cosign: {said})")
    return f"signed by {release.signer.identity}"


def _recorded(file: Path) -> dict[str, str]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CacheError(f"{file} cannot be read ({error}): repair it, or remove it to record digests again") from error
    if not isinstance(found, dict):
        raise CacheError(f"{file} is not an object of digests by URL: repair it, or remove it")
    return found


def _write(file: Path, digests: dict[str, str]) -> None:
    temporary = file.with_suffix(".new")
    try:
        temporary.write_text(json.dumps(digests, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        raise CacheError(f"{file} cannot be written: {error.strerror}") from error


DOWNLOADS = "BRIDGE_DOWNLOADS"  # this variable with the value `never` skips downloads and uses Go
# this variable with the value `1` builds with Go, and downloads only tools that Go cannot build
PREFER_GO = "BRIDGE_PREFER_GO"

_CONNECT = 5.0  # seconds, short for machines without internet
_SILENCE = 30.0  # seconds without a byte of a file that has begun to arrive
_CHUNK = 1 << 20
_MOST_CHECKSUMS = 1 << 20  # bytes
_unreachable: dict[str, str] = {}  # hosts that did not respond to this process, so each delays it only once


def downloads_allowed() -> bool:
    """Return whether releases may be fetched at all."""
    return os.environ.get(DOWNLOADS, "").lower() != "never"


def go_is_preferred() -> bool:
    """Return whether a build by Go, whose modules the checksum database verifies, precedes a release."""
    return os.environ.get(PREFER_GO, "") == "1"


def download_executable(name: str, release: Release, folder: Path) -> str:
    """Fetch a release into `folder / name` and make it executable; return its SHA-256.

    Raises DownloadError if it cannot be fetched and ChecksumError, leaving nothing, if it differs from the published,
    pinned, signed (`bridge.opa.executable.releases`) or earlier file.
    """
    file = PurePosixPath(urllib.parse.urlsplit(release.url).path).name
    wanted = published_checksum(fetch_text(release.checksums), file, release.checksums)
    archive = folder / f"{file}.download"
    try:
        with step(f"{name}: downloading {release.url}"):
            found = fetch_file(release.url, archive)
        if found != wanted:
            raise ChecksumError(f"{release.url} has the sha256 {found}, but {wanted} was published: not used")
        check_pin(name, release, found)
        verified = check_signature(release, archive, fetch_text)
        check_record(release, found)
        say(f"{name}: sha256 {found}, {verified}")
        if release.member:
            extract_member(archive, release.member, folder / name)
        else:
            archive.rename(folder / name)
    finally:
        archive.unlink(missing_ok=True)
    (folder / name).chmod(0o755)
    return found


def published_checksum(text: str, file: str, where: str) -> str:
    """Return the SHA-256 of `file` in a list of lines `<sha256>  <file>`, or in a text that is only a SHA-256."""
    for line in text.splitlines():
        words = line.split()
        if words and len(words[0]) == 64 and (len(words) == 1 or words[-1].lstrip("*").rsplit("/", 1)[-1] == file):
            return words[0].lower()
    raise DownloadError(f"{where} has no sha256 of {file}")


def fetch_text(url: str) -> str:
    """Return a small text file. Raises DownloadError."""
    try:
        with _open(url, _CONNECT) as answer:
            return answer.read(_MOST_CHECKSUMS).decode("utf-8", "replace")  # type: ignore[no-any-return]
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"{url} cannot be read: {_reason(error)}") from error


def fetch_file(url: str, target: Path) -> str:
    """Fetch a file and return its SHA-256. Raises DownloadError."""
    digest = hashlib.sha256()
    try:
        with _open(url, _SILENCE) as answer, target.open("wb") as file:
            while chunk := answer.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"{url} cannot be downloaded: {_reason(error)}") from error
    return digest.hexdigest()


def extract_member(archive: Path, member: str, target: Path) -> None:
    """Write one file of a tar or zip archive to `target`. Raises DownloadError if the archive lacks it."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped, zipped.open(member) as source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
            return
        with tarfile.open(archive) as tarred:
            stream = tarred.extractfile(member)
            if stream is None:
                raise DownloadError(f"{member} is not a file in {archive.name}")
            with stream, target.open("wb") as file:
                shutil.copyfileobj(stream, file)
    except (KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise DownloadError(f"{archive.name} has no {member}: {error}") from error


def _open(url: str, timeout: float) -> Any:
    host = urllib.parse.urlsplit(url).netloc
    if host in _unreachable:
        raise DownloadError(f"{host} cannot be reached: {_unreachable[host]}")
    try:
        return urllib.request.urlopen(url, timeout=timeout)
    except urllib.error.HTTPError:
        raise
    except OSError as error:
        _unreachable[host] = _reason(error)
        raise DownloadError(f"{host} cannot be reached: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.URLError) and not isinstance(error, urllib.error.HTTPError):
        reason = error.reason
        return (reason.strerror or str(reason)) if isinstance(reason, OSError) else str(reason)
    return str(error) or type(error).__name__
