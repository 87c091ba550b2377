"""The search for an installed tool: the usual variables, PATH, the cache."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bridge.opa.executable.cache import source_of, tool_folder
from bridge.opa.executable.catalog import Tool, Version, parse_version
from bridge.opa.executable.errors import CacheError

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
        return None, f"did not tell its version within {_PATIENCE:.0f} s"
    except OSError as error:
        return None, f"cannot be started: {error.strerror or error}"
    version = parse_version(answer.stdout) or parse_version(answer.stderr)
    return version, "" if version else "does not tell its version"


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
    """One tool. `version`, `path` and `source` are None if it is missing; then `mend` is the command that helps.

    `optional` tools are needed only by the tests. `passed_over` lists why executables of that name were rejected.
    """

    name: str
    wanted: str
    version: str | None
    path: Path | None
    source: str | None
    mend: str | None
    optional: bool
    needed_for: str
    passed_over: tuple[str, ...] = ()


def inspect_tool(tool: Tool, mend: str) -> ToolReport:
    """Search for a tool; `mend` is the command that installs it. Fetches and builds nothing; takes under a second."""
    result = search(tool)
    found = result.found
    return ToolReport(
        name=tool.name,
        wanted=f">={tool.minimum}",
        version=found.version if found else None,
        path=found.path if found else None,
        source=found.source if found else None,
        mend=None if found else mend,
        optional=tool.optional,
        needed_for=tool.needed_for,
        passed_over=result.passed_over,
    )
