"""Looking for a tool where it may already be: the usual variables, PATH, the cache."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bridge.tools.cache import source_of, tool_folder
from bridge.tools.catalog import TOOLS, Tool
from bridge.tools.errors import CacheError, ToolError
from bridge.tools.versions import Version, parse_version

_PATIENCE = 10.0  # seconds that an executable may take to tell its version


@dataclass(frozen=True, slots=True)
class Found:
    """An executable of a sufficient version. `source` says in words where it comes from."""

    name: str
    version: str
    path: Path
    source: str


@dataclass(frozen=True, slots=True)
class Search:
    """What a search gave: the tool or None, and why executables of that name were passed over."""

    found: Found | None
    passed_over: tuple[str, ...] = ()


def find(name: str) -> Found | None:
    """The tool, if it is here already: nothing is fetched or built.

    Raises ToolError for a name that is not in the catalog.
    """
    return search(tool_named(name)).found


def tool_named(name: str) -> Tool:
    """The catalog's entry; raises ToolError with the names that there are."""
    try:
        return TOOLS[name]
    except KeyError:
        raise ToolError(f"there is no tool {name!r}; there are {', '.join(TOOLS)}") from None


def search(tool: Tool) -> Search:
    """Look in the order: variables, PATH, cache."""
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
    """The tool at the pinned version from the project's cache."""
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
    """Ask an executable for its version: the version, or None and the reason in words."""
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
