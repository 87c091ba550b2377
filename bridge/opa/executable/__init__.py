"""Find the `opa` executable, and install it if it is missing.

Searched in this order: `$BRIDGE_OPA` and PATH, at the pinned version or newer; the project's cache; the official
release, verified by SHA-256; a build by Go. `hack.tools` does the same for the tools of developers. Only Python's
standard library is used here, so an image can install `opa` before anything else.
"""

from __future__ import annotations

from bridge.opa.executable.cache import Found, ToolReport, inspect_tool, search
from bridge.opa.executable.catalog import OPA
from bridge.opa.executable.command import BuildError, ChecksumError, DownloadError, ToolError, ToolMissingError
from bridge.opa.executable.installation import ensure_opa, ensure_tool

__all__ = [
    "OPA",
    "BuildError",
    "ChecksumError",
    "DownloadError",
    "Found",
    "ToolError",
    "ToolMissingError",
    "ToolReport",
    "ensure_opa",
    "ensure_tool",
    "inspect_tool",
    "search",
]
