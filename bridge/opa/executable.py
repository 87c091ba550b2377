"""The `opa` executable: on PATH or in the cache, otherwise the pinned release, verified by its SHA-256.

`python -m bridge.opa.executable` installs it, or prints its path. Only Python's standard library is used here, so an
image can install `opa` before anything else.
"""

import argparse
import fcntl
import hashlib
import http.client
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path


class ToolError(Exception):
    """A tool that is missing, and cannot be installed: one line for the user who has to fix it."""


_VERSION = re.compile(r"(?<![\d.])v?(\d+)\.(\d+)\.(\d+)(?!\.?\d)(?:-([0-9A-Za-z.-]+))?")
_BEFORE_RELEASE = re.compile(r"^(alpha|beta|rc|dev|pre)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """Major, minor, patch, and whether it is a release (1) or a pre-release (0: alpha, beta, rc, dev).

    A vendor's suffix (`1.36.3-gke.1`) counts as the release.
    """

    major: int
    minor: int
    patch: int
    released: int = 1

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}" + ("" if self.released else " (before release)")


def parse_version(text: str) -> Version | None:
    """Return the first `[v]X.Y.Z[-suffix]` in a text, such as the output of `opa version`; None if there is none."""
    match = _VERSION.search(text)
    if match is None:
        return None
    major, minor, patch, suffix = match.groups()
    return Version(int(major), int(minor), int(patch), 0 if suffix and _BEFORE_RELEASE.match(suffix) else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool: `version` is the one to install, `minimum` the lowest accepted one.

    `variables` of the environment name the executable, `folder_variables` a folder with it.
    """

    name: str
    version: str
    minimum: Version
    version_arguments: tuple[str, ...]
    variables: tuple[str, ...] = ()
    folder_variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """An executable of a sufficient version. `source` describes its origin."""

    name: str
    version: str
    path: Path
    source: str


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search: the tool or None, and why executables of that name were rejected."""

    found: Found | None
    passed_over: tuple[str, ...] = ()


OPA = Tool(
    name="opa", version="1.22.0", minimum=Version(1, 22, 0), version_arguments=("version",), variables=("BRIDGE_OPA",)
)
RELEASE = f"https://github.com/open-policy-agent/opa/releases/download/v{OPA.version}"
RELEASE_FILES = {
    "linux-amd64": "opa_linux_amd64_static",
    "linux-arm64": "opa_linux_arm64_static",
    "darwin-amd64": "opa_darwin_amd64",
    "darwin-arm64": "opa_darwin_arm64_static",
}
# Lines `<sha256>  <file>` for these files, which `make release` writes. Part of the wheel.
CHECKSUMS = Path(__file__).with_name("opa.sha256")
PIN = "OPA_SHA256"  # this variable has the accepted digests instead: one a platform
DOWNLOADS = "BRIDGE_DOWNLOADS"  # this variable with the value `never` forbids downloads

_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_PROBE_TIMEOUT = 10.0  # seconds for an executable to print its version
_NETWORK_TIMEOUT = 10.0  # seconds without a byte of a download
PROGRESS = 5.0  # seconds between two lines about a download
_ABANDONED = 24 * 3600  # seconds after which an unfinished folder belongs to no running process
_SOURCE = "source"  # the file next to a tool with its origin


def this_platform() -> str:
    """Return this platform as releases name it, such as linux-amd64. An unknown processor keeps its own name."""
    machine = platform.machine().lower()
    return f"{sys.platform}-{_MACHINES.get(machine, machine or 'unknown')}"


def cache_root() -> Path:
    """Return `$BRIDGE_CACHE`, otherwise `policy-bridge` in `$XDG_CACHE_HOME` or `~/.cache`. Need not exist yet."""
    if named := os.environ.get("BRIDGE_CACHE"):
        return Path(named).expanduser().absolute()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "policy-bridge"
    try:
        return Path.home() / ".cache" / "policy-bridge"
    except RuntimeError as error:
        raise ToolError("no home folder for the cache: set BRIDGE_CACHE to a folder") from error


def tool_folder(tool: Tool) -> Path:
    """Return the cache's folder of a tool at its version, whether it exists or not."""
    return cache_root() / "tools" / this_platform() / tool.name / tool.version


def search(tool: Tool) -> Search:
    """Search in this order: variables, PATH, cache."""
    passed_over = []
    for path, source in _candidates(tool):
        version, reason = probe(tool, path)
        if version is None:
            passed_over.append(f"{path} ({source}) {reason}")
        elif version < tool.minimum:
            passed_over.append(f"{path} ({source}) is {version}, older than {tool.minimum}")
        else:
            return Search(Found(tool.name, str(version), path, source), tuple(passed_over))
    return Search(find_cached(tool), tuple(passed_over))


def find_cached(tool: Tool) -> Found | None:
    """Return the tool at the pinned version from the cache."""
    try:
        folder = tool_folder(tool)
    except ToolError:
        return None  # no home folder: then there is no cache either
    path = folder / tool.name
    if not _is_executable(path):
        return None
    try:
        origin = f"cache; {(folder / _SOURCE).read_text(encoding='utf-8').strip()}"
    except OSError:
        origin = "cache"
    return Found(tool.name, tool.version, path, origin)


def probe(tool: Tool, path: Path) -> tuple[Version | None, str]:
    """Run an executable for its version: return the version, or None and the reason as text."""
    command: list[str | Path] = [path, *tool.version_arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return None, f"did not print its version within {_PROBE_TIMEOUT:.0f} s"
    except OSError as error:
        return None, f"cannot be started: {error.strerror or error}"
    version = parse_version(answer.stdout) or parse_version(answer.stderr)
    return version, "" if version else "does not print its version"


def _candidates(tool: Tool) -> Iterator[tuple[Path, str]]:
    for variable in tool.variables:
        if named := os.environ.get(variable):
            yield Path(named).expanduser().absolute(), variable
    for variable in tool.folder_variables:
        folder = os.environ.get(variable)
        if folder and _is_executable(path := Path(folder).expanduser().absolute() / tool.name):
            yield path, variable
    seen = set()
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = Path(folder or ".").absolute() / tool.name
        if path not in seen and _is_executable(path):
            seen.add(path)
            yield path, "PATH"


def _is_executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def ensure_opa() -> Found:
    """Return the `opa` to use, downloaded into the cache if this machine has none. Raises ToolError."""
    result = search(OPA)
    for reason in result.passed_over:
        say_once(f"opa: skipped: {reason}")
    if result.found:
        return result.found
    with locked(f"{OPA.name}-{OPA.version}"):
        return find_cached(OPA) or _install()


def _install() -> Found:
    folder = tool_folder(OPA)
    try:
        with new_folder(folder) as temporary:
            source = _download(temporary / OPA.name)
            version, reason = probe(OPA, temporary / OPA.name)
            if version is None:
                raise ToolError(f"the downloaded opa {reason}")
            write_source(temporary, source)
    except OSError as error:
        raise ToolError(
            f"opa {OPA.version} is missing, and cannot be downloaded ({error}). "
            f"Put opa {OPA.minimum} or newer on PATH, name it by $BRIDGE_OPA, or build it: "
            f"GOBIN=~/.local/bin go install github.com/open-policy-agent/opa@v{OPA.version}"
        ) from error
    return Found(OPA.name, OPA.version, folder / OPA.name, source)


def _download(target: Path) -> str:
    """Download the release to `target`, executable; return its origin.

    Raises OSError, and ToolError for other bytes than the accepted ones.
    """
    if os.environ.get(DOWNLOADS, "").lower() == "never":
        raise OSError(f"{DOWNLOADS}=never")
    file = RELEASE_FILES.get(this_platform())
    if file is None:
        raise OSError(f"no official release for {this_platform()}")
    url = f"{RELEASE}/{file}"
    origin, accepted = _accepted_digests(file)
    say(f"opa: downloading {url}")
    digest = fetch(url, target)
    if digest not in accepted:
        raise ToolError(f"{url} has the sha256 {digest}, but {origin} has {' '.join(accepted)}: not used")
    target.chmod(0o755)
    return f"release {url}, sha256 {digest}"


def _accepted_digests(file: str) -> tuple[str, list[str]]:
    """Return the accepted SHA-256 digests of a release file, and their origin before it. Raises OSError."""
    if pinned := os.environ.get(PIN, "").lower().split():
        return PIN, pinned
    if CHECKSUMS.exists():
        return "the bridge", [published_checksum(CHECKSUMS.read_text(encoding="utf-8"), file, str(CHECKSUMS))]
    listed = f"{RELEASE}/{file}.sha256"
    with tempfile.NamedTemporaryFile() as text:
        fetch(listed, Path(text.name))
        return listed, [published_checksum(text.read().decode("utf-8", "replace"), file, listed)]


def published_checksum(text: str, file: str, where: str) -> str:
    """Return the SHA-256 of `file` in a list of lines `<sha256>  <file>`, or in a text that is only a SHA-256.

    Raises OSError if the list lacks it.
    """
    for line in text.splitlines():
        words = line.split()
        if words and len(words[0]) == 64 and (len(words) == 1 or words[-1].lstrip("*").rsplit("/", 1)[-1] == file):
            return words[0].lower()
    raise OSError(f"{where} has no sha256 of {file}")


def fetch(url: str, target: Path) -> str:
    """Download a file, with a line about its progress every 5 s, and return its SHA-256.

    Raises OSError, whose text names the URL.
    """
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(url, timeout=_NETWORK_TIMEOUT) as answer, target.open("wb") as file:
            whole, due = int(answer.headers.get("Content-Length") or 0), time.monotonic() + PROGRESS
            while chunk := answer.read(1 << 20):
                digest.update(chunk)
                file.write(chunk)
                if whole and time.monotonic() >= due:
                    say(f"{target.name}: {file.tell() >> 20} of {whole >> 20} MiB downloaded")
                    due = time.monotonic() + PROGRESS
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
            reason: object = error
        else:
            reason = getattr(error, "reason", error)
        raise OSError(f"{url}: {getattr(reason, 'strerror', None) or reason or type(error).__name__}") from error
    return digest.hexdigest()


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `target` if the block succeeds, and is removed otherwise.

    Raises ToolError if the cache cannot be written.
    """
    waiting_room = cache_root() / "tmp"
    try:
        waiting_room.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(waiting_room)
        temporary = Path(tempfile.mkdtemp(prefix=f"{target.name}-", dir=waiting_room))
    except OSError as error:
        raise _not_writable(error) from error
    try:
        yield temporary
        temporary.chmod(0o755)
        if target.exists():
            shutil.rmtree(target)  # only an incomplete or damaged one is ever replaced
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_source(folder: Path, source: str) -> None:
    """Write the origin of a tool next to it."""
    (folder / _SOURCE).write_text(f"{source}\n", encoding="utf-8")


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the cache's lock with that name. It is released when the process ends, for any reason."""
    folder = cache_root() / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / name).open("a")
    except OSError as error:
        raise _not_writable(error) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"{name}: waiting for another process that is installing it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _sweep(waiting_room: Path) -> None:
    for entry in waiting_room.iterdir():
        try:
            abandoned = time.time() - entry.stat().st_mtime > _ABANDONED
        except FileNotFoundError:
            continue  # another process has just removed it
        if abandoned:
            shutil.rmtree(entry, ignore_errors=True)


def _not_writable(error: OSError) -> ToolError:
    return ToolError(f"the cache {cache_root()} cannot be written ({error}): set BRIDGE_CACHE")


def say(line: str) -> None:
    """Print one line on standard error."""
    print(line, file=sys.stderr, flush=True)


@cache
def say_once(text: str) -> None:
    """Print it once: a command searches for a tool each time that it starts it."""
    say(text)


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m bridge.opa.executable install|which`; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bridge.opa.executable", description=__doc__)
    parser.add_argument("command", choices=("install", "which"), help="install a missing opa, or print its path")
    try:
        installs = parser.parse_args(arguments).command == "install"
        found = ensure_opa() if installs else search(OPA).found
    except ToolError as error:
        say(f"error: {error}")
        return 1
    if found is None:
        say(f"error: opa is not installed; `{sys.executable} -m bridge.opa.executable install` gets it")
        return 1
    if installs:
        say(f"opa {found.version}: {found.path} ({found.source})")
    else:
        print(found.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
