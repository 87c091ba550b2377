"""The search for an installed tool (the usual variables, PATH, the cache), and the project's cache of tools.

The cache is `<cache>/tools/<system>-<processor>/<name>/<version>/`. A folder is created by one rename, complete or not
at all; two processes that need the same one wait for each other.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bridge.opa.executable.catalog import Tool, Version, parse_version, this_platform
from bridge.opa.executable.command import CacheError, say

_ABANDONED = 24 * 3600  # seconds after which an unfinished folder belongs to no running process
_SOURCE = "source"  # the file next to a tool with its origin


def cache_root() -> Path:
    """Return `$BRIDGE_CACHE`, otherwise `policy-bridge` in `$XDG_CACHE_HOME` or `~/.cache`. Need not exist yet."""
    if named := os.environ.get("BRIDGE_CACHE"):
        return Path(named).expanduser().absolute()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base) / "policy-bridge"
    try:
        return Path.home() / ".cache" / "policy-bridge"
    except RuntimeError as error:
        raise CacheError("no home folder for the cache: set BRIDGE_CACHE to a folder") from error


def tool_folder(name: str, version: str) -> Path:
    """Return the folder of a tool of that version, whether it exists or not."""
    return cache_root() / "tools" / str(this_platform()) / name / version


def source_of(folder: Path) -> str:
    """Return the origin of a cached tool, as text; empty if unknown."""
    try:
        return (folder / _SOURCE).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `target` if the block succeeds, and is removed otherwise.

    Raises CacheError if the cache cannot be written.
    """
    waiting_room = cache_root() / "tmp"
    try:
        waiting_room.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(waiting_room)
        temporary = Path(tempfile.mkdtemp(prefix=f"{target.name}-", dir=waiting_room))
    except OSError as error:
        raise CacheError(f"the cache {cache_root()} cannot be written ({error}): set BRIDGE_CACHE") from error
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
        raise CacheError(f"the cache {cache_root()} cannot be written ({error}): set BRIDGE_CACHE") from error
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


_PATIENCE = 10.0  # seconds for an executable to print its version


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
    """Return the tool at the pinned version from the project's cache."""
    try:
        folder = tool_folder(tool.name, tool.version)
    except CacheError:
        return None  # no home folder: then there is no cache either
    path = folder / tool.name
    if not _is_executable(path):
        return None
    origin = source_of(folder)
    return Found(tool.name, tool.version, path, f"cache; {origin}" if origin else "cache")


def probe(tool: Tool, path: Path) -> tuple[Version | None, str]:
    """Run an executable for its version: return the version, or None and the reason as text."""
    try:
        answer = subprocess.run(
            [path, *tool.version_arguments], capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"did not print its version within {_PATIENCE:.0f} s"
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


@dataclass(frozen=True, slots=True)
class ToolReport:
    """One tool. `version`, `path` and `source` are None if it is missing; then `fix` is the command that helps.

    `optional` tools are needed only by the tests. `passed_over` lists why executables of that name were rejected.
    """

    name: str
    wanted: str
    version: str | None
    path: Path | None
    source: str | None
    fix: str | None
    optional: bool
    needed_for: str
    passed_over: tuple[str, ...] = ()


def inspect_tool(tool: Tool, fix: str) -> ToolReport:
    """Search for a tool; `fix` is the command that installs it. Fetches and builds nothing; takes under a second."""
    result = search(tool)
    found = result.found
    return ToolReport(
        name=tool.name,
        wanted=f">={tool.minimum}",
        version=found.version if found else None,
        path=found.path if found else None,
        source=found.source if found else None,
        fix=None if found else fix,
        optional=tool.optional,
        needed_for=tool.needed_for,
        passed_over=result.passed_over,
    )
