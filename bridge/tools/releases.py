"""Official releases: fetched, checked by sha256 and unpacked."""

from __future__ import annotations

import hashlib
import http.client
import os
import shutil
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from bridge.tools.catalog import Release
from bridge.tools.errors import ChecksumError, DownloadError
from bridge.tools.progress import say, step
from bridge.tools.trusting import check_pin, check_record, check_signature

DOWNLOADS = "BRIDGE_DOWNLOADS"  # this variable with the value `never` goes straight to Go
PREFER_GO = "BRIDGE_PREFER_GO"  # this variable with the value `1` builds by Go, and downloads only what Go cannot build

_CONNECT = 5.0  # seconds: where nothing can be downloaded, go on soon
_SILENCE = 30.0  # seconds without a byte of a file that has begun to arrive
_CHUNK = 1 << 20
_MOST_CHECKSUMS = 1 << 20  # bytes
_unreachable: dict[str, str] = {}  # hosts that did not answer this process, so that each is waited for only once


def downloads_allowed() -> bool:
    """Whether releases may be fetched at all."""
    return os.environ.get(DOWNLOADS, "").lower() != "never"


def go_is_preferred() -> bool:
    """Whether a build by Go, whose modules the checksum database vouches for, goes before a release."""
    return os.environ.get(PREFER_GO, "") == "1"


def download_executable(name: str, release: Release, folder: Path) -> str:
    """Fetch a release into `folder / name` and make it executable; returns its sha256.

    Raises DownloadError when it cannot be fetched and ChecksumError, leaving nothing, when it is not what was
    published, pinned, signed (`bridge.tools.trusting`) or downloaded before.
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
    """The sha256 of `file` in a list of lines `<sha256>  <file>`, or in a text that is one sha256 alone."""
    for line in text.splitlines():
        words = line.split()
        if words and len(words[0]) == 64 and (len(words) == 1 or words[-1].lstrip("*").rsplit("/", 1)[-1] == file):
            return words[0].lower()
    raise DownloadError(f"{where} has no sha256 of {file}")


def fetch_text(url: str) -> str:
    """A small text file. Raises DownloadError."""
    try:
        with _open(url, _CONNECT) as answer:
            return answer.read(_MOST_CHECKSUMS).decode("utf-8", "replace")  # type: ignore[no-any-return]
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"{url} cannot be read: {_reason(error)}") from error


def fetch_file(url: str, target: Path) -> str:
    """Fetch a file and answer its sha256. Raises DownloadError."""
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
    """Write one file of a tar or zip archive to `target`. Raises DownloadError when it is not in there."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped, zipped.open(member) as source, target.open("wb") as file:
                shutil.copyfileobj(source, file)
            return
        with tarfile.open(archive) as tarred:
            stream = tarred.extractfile(member)
            if stream is None:
                raise DownloadError(f"{member} is no file in {archive.name}")
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
