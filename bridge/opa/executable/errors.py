"""Errors of tools.

ToolError ├── ToolMissingError   not found, and every installation failed ├── DownloadError      the release could not
be fetched │   └── ChecksumError  it differs from the published file: never used ├── BuildError         Go is missing,
or failed └── CacheError         the cache cannot be written
"""

from __future__ import annotations


class ToolError(Exception):
    """One line for the user who has to fix it."""


class ToolMissingError(ToolError):
    """The tool is missing; the text lists the attempts and the fix."""


class DownloadError(ToolError):
    """The release could not be fetched."""


class ChecksumError(DownloadError):
    """The fetched file differs from the published one."""


class BuildError(ToolError):
    """Go is missing, or could not build the tool."""


class CacheError(ToolError):
    """The cache's folder cannot be created or written."""
