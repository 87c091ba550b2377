"""Finding, and where need be installing, the executables that the bridge and its tests use.

`find` looks (quickly), `ensure` also installs, `inspect` reports. In this order: PATH or the tool's usual variable, at
the pinned version or newer; the project's cache; the official release, checked by sha256; a build by Go.
Only Python's standard library is used here: it runs before there is a virtual environment.
"""

from __future__ import annotations

from bridge.tools.catalog import GATEWAY_API_VERSION, TOOLS
from bridge.tools.crds import CHANNELS, ensure_crds, find_crds
from bridge.tools.errors import BuildError, ChecksumError, DownloadError, ToolError, ToolMissingError
from bridge.tools.finding import Found, find
from bridge.tools.inspecting import ToolReport, inspect
from bridge.tools.installing import ensure

__all__ = [
    "CHANNELS",
    "GATEWAY_API_VERSION",
    "TOOLS",
    "BuildError",
    "ChecksumError",
    "DownloadError",
    "Found",
    "ToolError",
    "ToolMissingError",
    "ToolReport",
    "ensure",
    "ensure_crds",
    "find",
    "find_crds",
    "inspect",
]
