"""The installation of tools: the possible ways, in order."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from bridge.opa.executable.cache import (
    Found,
    find_cached,
    locked,
    new_folder,
    probe,
    search,
    tool_folder,
    write_source,
)
from bridge.opa.executable.catalog import OPA, Tool, this_platform
from bridge.opa.executable.command import BuildError, ChecksumError, DownloadError, ToolMissingError, say
from bridge.opa.executable.gobuild import build_executable
from bridge.opa.executable.releases import (
    DOWNLOADS,
    download_executable,
    downloads_allowed,
    go_is_preferred,
    pin_variable,
)


def ensure_opa() -> Found:
    """Return the `opa` to use, installed into the cache if this machine has none. Raises like `ensure_tool`."""
    return ensure_tool(OPA)


def ensure_tool(tool: Tool) -> Found:
    """Return a tool, installed into the cache if it is missing. Each step prints a line on standard error.

    Raises ToolMissingError, with the attempts and the fix, if every way fails, and CacheError if the cache cannot be
    written.
    """
    result = search(tool)
    for reason in result.passed_over:
        _say_once(f"{tool.name}: skipped: {reason}")
    if result.found:
        return result.found
    with locked(f"{tool.name}-{tool.version}"):
        return find_cached(tool) or _install(tool)


@cache
def _say_once(text: str) -> None:
    """Print it once: a command searches for a tool each time that it starts it."""
    say(text)


def _install(tool: Tool) -> Found:
    folder = tool_folder(tool.name, tool.version)
    failures = []
    for way in (_by_go, _by_release) if go_is_preferred() else (_by_release, _by_go):
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
    raise ToolMissingError(_advice(tool, failures))


def _by_release(tool: Tool, folder: Path) -> str:
    if not downloads_allowed():
        raise DownloadError(f"{DOWNLOADS}=never")
    platform = this_platform()
    release = tool.release(platform)
    if release is None:
        raise DownloadError(f"there is no official release for {platform}")
    digest = download_executable(tool.name, release, folder)
    return f"release {release.url}, sha256 {digest}"


def _by_go(tool: Tool, folder: Path) -> str:
    if os.environ.get(pin_variable(tool.name)):
        raise BuildError(f"{pin_variable(tool.name)} pins the release's file, which a build by Go is not")
    build_executable(tool.name, tool.go, folder)
    return f"built by Go from {tool.go.module}@{tool.go.version}"


def _check(tool: Tool, path: Path) -> None:
    version, reason = probe(tool, path)
    if version is None:
        raise BuildError(f"the new {tool.name} {reason}")


def _advice(tool: Tool, failures: list[str]) -> str:
    places = [f"or name it by ${name}" for name in tool.variables]
    places += [f"or put it into ${name}" for name in tool.folder_variables]
    tried = "; ".join(failures)
    return (
        f"{tool.name} {tool.version} is missing and could not be installed ({tried}). "
        f"Put {tool.name} {tool.minimum} or newer on PATH {' '.join(places)}, "
        "or give this machine internet or Go 1.26 or newer, and run it again"
    )
