"""Find developers' tools by name, and install them: the official release, otherwise a build by Go."""

from __future__ import annotations

import os
from pathlib import Path

from bridge.opa.executable import (
    Found,
    ToolError,
    find_cached,
    locked,
    new_folder,
    probe,
    say,
    say_once,
    search,
    this_platform,
    tool_folder,
    write_source,
)
from hack.tools.building import BuildError, ChecksumError, DownloadError, build_executable
from hack.tools.catalog import TOOLS, Tool
from hack.tools.releases import download_executable, pin_variable

PREFER_GO = "BRIDGE_PREFER_GO"  # this variable with the value `1` builds with Go, and downloads what Go cannot build


def find(name: str) -> Found | None:
    """Return the tool if it is installed; download and build nothing.

    Raises ToolError for a name that is not in the catalog.
    """
    return search(tool_named(name)).found


def ensure(name: str) -> Found:
    """Return the tool, and install it into the cache if it is missing. Raises as `ensure_tool`, and ToolError."""
    return ensure_tool(tool_named(name))


def tool_named(name: str) -> Tool:
    """Return the catalog's entry. Raises ToolError with the names of all tools."""
    try:
        return TOOLS[name]
    except KeyError:
        raise ToolError(f"there is no tool {name!r}; there are {', '.join(TOOLS)}") from None


def ensure_tool(tool: Tool) -> Found:
    """Return a tool, installed into the cache if it is missing. Each step prints a line on standard error.

    Raises ToolError, with the attempts and the fix, if every way fails or the cache cannot be written.
    """
    result = search(tool)
    for reason in result.passed_over:
        say_once(f"{tool.name}: skipped: {reason}")
    if result.found:
        return result.found
    with locked(f"{tool.name}-{tool.version}"):
        return find_cached(tool) or _install(tool)


def _install(tool: Tool) -> Found:
    folder = tool_folder(tool)
    failures = []
    ways = (_by_go, _by_release) if os.environ.get(PREFER_GO) == "1" else (_by_release, _by_go)
    for way in ways:
        try:
            with new_folder(folder) as temporary:
                source = way(tool, temporary)
                _check(tool, temporary / tool.name)
                write_source(temporary, source)
        except ChecksumError:
            raise  # that file is wrong, which users must know
        except (DownloadError, BuildError) as error:
            failures.append(str(error))
            say(f"{tool.name}: {error}")
        else:
            return Found(tool.name, tool.version, folder / tool.name, source)
    raise ToolError(_advice(tool, failures))


def _check(tool: Tool, path: Path) -> None:
    version, reason = probe(tool, path)
    if version is None:
        raise BuildError(f"the new {tool.name} {reason}")


def _by_release(tool: Tool, folder: Path) -> str:
    release = tool.release(this_platform())
    if release is None:
        raise DownloadError(f"there is no official release for {this_platform()}")
    digest = download_executable(tool.name, release, folder)
    return f"release {release.url}, sha256 {digest}"


def _by_go(tool: Tool, folder: Path) -> str:
    if os.environ.get(pin_variable(tool.name)):
        raise BuildError(f"{pin_variable(tool.name)} pins the release's file, which a build by Go is not")
    build_executable(tool.name, tool.go, folder)
    return f"built by Go from {tool.go.module}@{tool.go.version}"


def _advice(tool: Tool, failures: list[str]) -> str:
    places = [f"or name it by ${name}" for name in tool.variables]
    places += [f"or put it into ${name}" for name in tool.folder_variables]
    return (
        f"{tool.name} {tool.version} is missing and could not be installed ({'; '.join(failures)}). "
        f"Put {tool.name} {tool.minimum} or newer on PATH {' '.join(places)}, "
        f"or give this machine internet or Go 1.26 or newer, and run `python -m hack.tools install {tool.name}`"
    )
