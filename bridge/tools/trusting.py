"""Whether a release file is the right one, beyond the checksum that its own origin lists.

- A digest that a person has pinned (`OPA_SHA256`, `KUBE_APISERVER_SHA256`, …) must be the file's.
- The digest of the first download is recorded in the cache; another one for the same URL is refused.
- A signature is verified where the project publishes one and `cosign` is on PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from bridge.tools.cache import cache_root, locked
from bridge.tools.catalog import Release
from bridge.tools.errors import CacheError, ChecksumError, DownloadError

RECORD = "digests.json"  # in the cache: the sha256 of each release file, by URL, as first downloaded
_PATIENCE = 120.0  # seconds for cosign, which may ask a transparency log


def pin_variable(name: str) -> str:
    """The environment variable with the sha256 that a tool's release file must have."""
    return f"{name.upper().replace('-', '_')}_SHA256"


def check_pin(name: str, release: Release, digest: str) -> None:
    """Compare a digest with the pinned one, if any. Raises ChecksumError."""
    variable = pin_variable(name)
    pinned = os.environ.get(variable, "").strip().lower()
    if pinned and pinned != digest:
        raise ChecksumError(f"{release.url} has the sha256 {digest}, but {variable} is {pinned}: not used")


def check_record(release: Release, digest: str) -> None:
    """Record the digest of a URL, or compare it with the recorded one. Raises ChecksumError, and CacheError."""
    with locked(RECORD):
        file = cache_root() / RECORD
        known = _recorded(file)
        before = known.get(release.url)
        if before is not None and before != digest:
            raise ChecksumError(
                f"{release.url} has the sha256 {digest}, but had {before} when it was first downloaded: not used. "
                f"If the project has published another file on purpose, remove its line from {file}"
            )
        if before is None:
            _write(file, {**known, release.url: digest})


def check_signature(release: Release, file: Path, fetch: Any) -> str:
    """Verify the signature of a downloaded file; returns what was verified, in words.

    `fetch` reads a small text of a URL. Raises ChecksumError for a signature that is not the signer's, and
    DownloadError where the signature cannot be read.
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
