"""Find, install and inspect developers' tools by name."""

from __future__ import annotations

import sys

from bridge.opa.executable.cache import Found, ToolReport, inspect_tool, search
from bridge.opa.executable.catalog import Tool
from bridge.opa.executable.command import CacheError, ToolError
from bridge.opa.executable.installation import ensure_tool
from hack.tools.catalog import GATEWAY_API_VERSION, TOOLS
from hack.tools.crds import CRDS, find_crds


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


def inspect() -> list[ToolReport]:
    """Report every tool and the Gateway API CRDs. Downloads and builds nothing; takes under a second."""
    return [*(inspect_tool(tool, _fix(tool.name)) for tool in TOOLS.values()), _inspect_crds()]


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
        fix=None if folder else _fix(CRDS),
        optional=True,
        needed_for="the tests' control plane",
    )


def _fix(name: str) -> str:
    return f"{sys.executable} -m hack.tools install {name}"
