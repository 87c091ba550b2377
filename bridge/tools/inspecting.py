"""What `bridge doctor` says about tools: what is here, what is not, and the command that mends it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from bridge.tools.catalog import GATEWAY_API_VERSION, TOOLS, Tool
from bridge.tools.crds import CRDS, find_crds
from bridge.tools.errors import CacheError
from bridge.tools.finding import search


@dataclass(frozen=True, slots=True)
class ToolReport:
    """One tool. `version`, `path` and `source` are None when it is missing; then `mend` is the command that helps.

    `optional` tools are needed by the tests alone. `passed_over` says why executables of that name were not taken.
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


def inspect() -> list[ToolReport]:
    """Every tool of the catalog and the Gateway API CRDs. Nothing is fetched or built; it takes under a second."""
    return [*(_inspect_tool(tool) for tool in TOOLS.values()), _inspect_crds()]


def _inspect_tool(tool: Tool) -> ToolReport:
    result = search(tool)
    found = result.found
    return ToolReport(
        name=tool.name,
        wanted=f">={tool.minimum}",
        version=found.version if found else None,
        path=found.path if found else None,
        source=found.source if found else None,
        mend=None if found else _mend(tool.name),
        optional=tool.optional,
        needed_for=tool.needed_for,
        passed_over=result.passed_over,
    )


def _inspect_crds() -> ToolReport:
    try:
        folder = find_crds()
    except CacheError:
        folder = None
    return ToolReport(
        name=CRDS,
        wanted=GATEWAY_API_VERSION,
        version=GATEWAY_API_VERSION if folder else None,
        path=folder,
        source="cache" if folder else None,
        mend=None if folder else _mend(CRDS),
        optional=True,
        needed_for="the tests' control plane",
    )


def _mend(name: str) -> str:
    return f"{sys.executable} -m bridge.tools install {name}"
