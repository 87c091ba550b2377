"""Tools of developers, by the names in `hack.tools.catalog`, and the CRDs of Gateway API.

A tool that this machine lacks is built by Go at its pinned version; Go checks each module by its checksum database.
npm installs azurite by a lock file with the sum of each package. Run `python -m hack.tools` on the command line.
"""

from pathlib import Path

from bridge.opa.executable import (
    OPA,
    Found,
    ToolError,
    ensure_opa,
    find_cached,
    locked,
    new_folder,
    probe,
    say,
    say_once,
    search,
    tool_folder,
    write_source,
)
from hack.tools.building import BuildError, build_executable
from hack.tools.catalog import TOOLS, Tool
from hack.tools.npm import install_package

__all__ = ["TOOLS", "ensure", "find"]


def find(name: str) -> Found | None:
    """Return the tool of the catalog if it is installed; download and build nothing."""
    return search(TOOLS[name]).found


def ensure(name: str) -> Found:
    """Return the tool, installed into the cache if it is missing. Each step prints a line on standard error.

    Raises ToolError, with the fix, if it cannot be installed.
    """
    tool = TOOLS[name]
    if name == OPA.name:
        try:
            return ensure_opa()
        except ToolError as error:
            if error.__cause__ is None:
                raise  # it was downloaded, and is not the released file
            say(f"opa: {error}")
    result = search(tool)
    for reason in result.passed_over:
        say_once(f"{tool.name}: skipped: {reason}")
    if result.found:
        return result.found
    with locked(f"{tool.name}-{tool.version}"):
        return find_cached(tool) or _install(tool)


def _install(tool: Tool) -> Found:
    folder = tool_folder(tool)
    source = f"built by Go from {tool.go.module}@{tool.go.version}" if tool.go else "installed by npm"
    try:
        with new_folder(folder) as temporary:
            _build(tool, temporary)
            write_source(temporary, source)
    except BuildError as error:
        places = [f" or name it by ${name}" for name in tool.variables]
        places += [f" or put it into ${name}" for name in tool.folder_variables]
        needed = "Go 1.26 or newer (https://go.dev/dl)" if tool.go else "Node.js 20 or newer with npm"
        raise ToolError(
            f"{tool.name} {tool.version} is missing and could not be built ({error}). "
            f"Put {tool.name} {tool.minimum} or newer on PATH{''.join(places)}, or install {needed}, "
            f"and run `python -m hack.tools install {tool.name}`"
        ) from error
    return Found(tool.name, tool.version, folder / tool.name, source)


def _build(tool: Tool, folder: Path) -> None:
    if tool.go is None:
        install_package(tool, folder)  # at the version of its lock file
        return
    build_executable(tool.name, tool.go, folder)
    version, reason = probe(tool, folder / tool.name)
    if version is None:
        raise BuildError(f"the new {tool.name} {reason}")
