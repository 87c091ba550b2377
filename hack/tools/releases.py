"""Official releases: fetched, verified and unpacked.

A file must have the SHA-256 that its project lists, and the one that a user has pinned (`KUBECTL_SHA256`, …), if any.
A signature is verified if the project publishes one and `cosign` is on PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
import urllib.parse
import zipfile
from pathlib import Path, PurePosixPath
from urllib.error import HTTPError

from bridge.opa.executable import CHECKSUMS, DOWNLOADS, RELEASE, RELEASE_FILES, fetch, published_checksum, say
from hack.tools.building import ChecksumError, DownloadError, step
from hack.tools.catalog import Release

_COSIGN_TIMEOUT = 120.0  # seconds; it may query a transparency log
_unreachable: set[str] = set()  # hosts that did not respond to this process, so each delays it only once


def pin_variable(name: str) -> str:
    """Return the environment variable with the accepted SHA-256 digests of a tool's release file: one a platform."""
    return f"{name.upper().replace('-', '_')}_SHA256"


def check_pin(name: str, release: Release, digest: str) -> None:
    """Compare a digest with the pinned one, if any. Raises ChecksumError."""
    variable = pin_variable(name)
    pinned = os.environ.get(variable, "").lower().split()
    if pinned and digest not in pinned:
        raise ChecksumError(f"{release.url} has the sha256 {digest}, but {variable} is {' '.join(pinned)}: not used")


def check_signature(release: Release, file: Path) -> str:
    """Verify the signature of a downloaded file; return the result as text.

    Raises ChecksumError for a signature of another signer, and DownloadError if the signature cannot be read.
    """
    if release.signer is None:
        return "digest only: the project publishes no signature of it"
    cosign = shutil.which("cosign")
    if cosign is None:
        return "digest only: cosign is not on PATH to verify the signature"
    with tempfile.TemporaryDirectory(prefix="policy-bridge-signature-") as folder:
        signature, certificate = Path(folder) / "sig", Path(folder) / "cert"
        fetch_file(f"{release.url}.sig", signature)
        fetch_file(f"{release.url}.cert", certificate)
        command: list[str | Path] = [cosign, "verify-blob", "--signature", signature, "--certificate", certificate]
        command += ["--certificate-identity", release.signer.identity]
        command += ["--certificate-oidc-issuer", release.signer.issuer, file]
        try:
            answer = subprocess.run(command, capture_output=True, text=True, timeout=_COSIGN_TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DownloadError(f"cosign could not verify {release.url}: {error}") from error
    if answer.returncode != 0:
        said = " ".join(answer.stderr.split())[-300:]
        raise ChecksumError(f"{release.url} is not signed by {release.signer.identity}: not used (cosign: {said})")
    return f"signed by {release.signer.identity}"


def download_executable(name: str, release: Release, folder: Path) -> str:
    """Fetch a release into `folder / name` and make it executable; return its SHA-256.

    Raises DownloadError if it cannot be fetched and ChecksumError, leaving nothing, if it differs from the published,
    pinned or signed file.
    """
    file = PurePosixPath(urllib.parse.urlsplit(release.url).path).name
    wanted = _published(release.checksums, file)
    archive = folder / f"{file}.download"
    try:
        with step(f"{name}: downloading {release.url}"):
            found = fetch_file(release.url, archive)
        if found != wanted:
            raise ChecksumError(f"{release.url} has the sha256 {found}, but {wanted} was published: not used")
        check_pin(name, release, found)
        say(f"{name}: sha256 {found}, {check_signature(release, archive)}")
        if release.member:
            extract_member(archive, release.member, folder / name)
        else:
            archive.rename(folder / name)
    finally:
        archive.unlink(missing_ok=True)
    (folder / name).chmod(0o755)
    return found


def fetch_file(url: str, target: Path) -> str:
    """Fetch a file and return its SHA-256. Raises DownloadError."""
    host = urllib.parse.urlsplit(url).netloc
    if os.environ.get(DOWNLOADS, "").lower() == "never":
        raise DownloadError(f"{DOWNLOADS}=never")
    if host in _unreachable:
        raise DownloadError(f"{host} cannot be reached")
    try:
        return fetch(url, target)
    except OSError as error:
        if not isinstance(error.__cause__, HTTPError):
            _unreachable.add(host)
        raise DownloadError(f"cannot download {error}") from error


def write_checksums() -> None:
    """Write the SHA-256 of each file of OPA's pinned release into the package. Raises DownloadError."""
    files = RELEASE_FILES.values()
    lines = [f"{_published(f'{RELEASE}/{file}.sha256', file)}  {file}\n" for file in files]
    CHECKSUMS.write_text("".join(lines), encoding="utf-8")


def _published(listed: str, file: str) -> str:
    with tempfile.NamedTemporaryFile() as text:
        fetch_file(listed, Path(text.name))
        try:
            return published_checksum(text.read().decode("utf-8", "replace"), file, listed)
        except OSError as error:
            raise DownloadError(str(error)) from error


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
