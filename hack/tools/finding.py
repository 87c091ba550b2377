"""Find and install developers' tools by name."""

from __future__ import annotations

from bridge.opa.executable.cache import Found, search
from bridge.opa.executable.catalog import Tool
from bridge.opa.executable.command import ToolError
from bridge.opa.executable.installation import ensure_tool
from hack.tools.catalog import TOOLS


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
